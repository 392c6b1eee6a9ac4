"""Lists of the demo's world of `private`, over many seeds: epsilon 1 beside popular items.

    python benchmarks/studies/demo_worlds.py [--seeds 20] [--json]

`tacit demo` shows one seed of this world. Here each seed draws people, ratings, the split and new
noise; means and 95 % intervals are over seeds.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import tacit
from tacit.designs.private.experiment.tour import ITEMS, PEOPLE, RATINGS
from tacit.evaluation import mean_interval
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.recommenders.baselines import Popularity


def measure(seeds: int) -> dict[str, Any]:
    """Judge both lists on each seed's world.

    Args:
        seeds: Seeds are 1, 2, ..., of which the demo shows the first.

    Returns:
        NDCG@10 of each, and its difference, as mean, low and high.
    """
    private, popular = [], []
    for seed in range(1, seeds + 1):
        ratings = tacit.generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=seed)
        trial = list_trial(ratings, source=None, target=None, seed=seed)
        private.append(float(judge_lists(tacit.Private(1.0), trial).ndcg))
        popular.append(float(judge_lists(Popularity(likes=True), trial).ndcg))
    gains = [ours - theirs for ours, theirs in zip(private, popular, strict=True)]
    rows = []
    for name, values in (("private", private), ("popularity", popular), ("gain", gains)):
        mean, low, high = mean_interval(values)
        rows.append({"lists": name, "mean": mean, "low": low, "high": high, "least": min(values)})
    return {"seeds": seeds, "rows": rows}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    asked = parser.parse_args()
    found = measure(asked.seeds)
    if asked.json:
        print(json.dumps(found, sort_keys=True))
        return
    for row in found["rows"]:
        print(f"{row['lists']:12} {row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")


if __name__ == "__main__":
    main()
