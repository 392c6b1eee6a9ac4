"""Whether a comparison calls equal models a tie and a worse one worse, in many comparisons.

    python benchmarks/studies/comparison_verdicts.py [--pair NAME] [--runs 200] [--seed 0] [--json]

Each run draws a world of 60 people and 40 items, and compares two models on six splits as
`tacit.compare` does. Models count the ratings of each item in training and add Gaussian noise,
drawn anew at each fit as a private fit draws it; lists follow the noisy counts.

equal           both have noise of standard deviation 5: neither is better
worse           the second has noise of 30

Shares have exact 95 % intervals (Clopper and Pearson) over runs. Noise is drawn from the seed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy import sparse, stats

import tacit
from tacit.evaluation.compare import compare_entries
from tacit.evaluation.entries import entries_of_models

SPLITS = 6
"""Splits of each comparison: the default of `tacit compare`."""
OUTCOMES = ("worse", "tie", "better")


class NoisyCounts:
    """Popularity with Gaussian noise.

    Args:
        deviation: Standard deviation of the noise, in ratings.
        generator: Where noise comes from, anew at each fit.
    """

    def __init__(self, deviation: float, generator: np.random.Generator) -> None:
        self.deviation = deviation
        self.generator = generator

    def fit(self, x: sparse.csr_matrix) -> NoisyCounts:
        """Count the people of each item and add noise."""
        counts = np.bincount(x.indices, minlength=x.shape[1])
        noise = self.generator.normal(0.0, self.deviation, size=x.shape[1])
        self.scores = counts + noise
        return self

    def predict(self, x: sparse.csr_matrix) -> np.ndarray:
        """Score every item alike for everybody, shape (people, items)."""
        return np.tile(self.scores, (x.shape[0], 1))


def make_pairs(
    generator: np.random.Generator,
) -> dict[str, tuple[Callable[[], NoisyCounts], Callable[[], NoisyCounts]]]:
    """Make the pairs that are compared, each as functions that make an unfitted model."""

    def quiet() -> NoisyCounts:
        return NoisyCounts(5.0, generator)

    def loud() -> NoisyCounts:
        return NoisyCounts(30.0, generator)

    return {"equal": (quiet, quiet), "worse": (quiet, loud)}


def compare_once(
    pair: tuple[Callable[[], NoisyCounts], Callable[[], NoisyCounts]], seed: int
) -> tuple[str, float]:
    """Compare a pair on a world of its own.

    Returns:
        Outcome of the second model beside the first, and the difference of their NDCG.
    """
    made = tacit.generate(users=60, items=40, ratings=1200, seed=seed)
    users, items = made.user_ids[made.users], made.item_ids[made.items]
    ratings = tacit.Ratings.from_arrays(users, items, made.values)
    splits = range(SPLITS * seed, SPLITS * (seed + 1))
    result = compare_entries(ratings, entries_of_models(pair), seeds=splits, attacks=False)
    (row,) = result.differences
    first = entries_of_models(pair)[0].design
    if row["design"] == first:  # the first is written beside the second: turn it round
        turned = {"worse": "better", "better": "worse", "tie": "tie"}
        return turned[row["outcome"]], -row["difference"]
    return row["outcome"], row["difference"]


def share_of_runs(count: int, runs: int) -> list[float]:
    """Compute a share of runs with the ends of its exact 95 % interval."""
    low = float(stats.beta.ppf(0.025, count, runs - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(0.975, count + 1, runs - count)) if count < runs else 1.0
    return [count / runs, low, high]


def measure(names: list[str], runs: int, seed: int) -> list[dict[str, object]]:
    """Count the outcomes of each named pair over `runs` comparisons."""
    rows = []
    for name in names:
        pair = make_pairs(np.random.default_rng(seed))[name]
        found = [compare_once(pair, seed * runs + run) for run in range(runs)]
        counts = Counter(outcome for outcome, _ in found)
        row: dict[str, object] = {
            "pair": name,
            "runs": runs,
            "difference": float(np.mean([difference for _, difference in found])),
        }
        for outcome in OUTCOMES:
            row[outcome] = share_of_runs(counts[outcome], runs)
        rows.append(row)
    return rows


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pair", choices=("equal", "worse"), help="only this one")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = [options.pair] if options.pair else ["equal", "worse"]
    rows = measure(names, options.runs, options.seed)
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    for row in rows:
        shares = ", ".join(f"{outcome} {row[outcome][0]:.1%}" for outcome in OUTCOMES)  # type: ignore[index]
        print(f"{row['pair']:13} {row['difference']:+.3f}  {shares}")


if __name__ == "__main__":
    main()
