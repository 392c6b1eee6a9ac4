"""How often `tacit plan private` is right about lists that it has not seen.

python benchmarks/private_planner.py ML_100K_FOLDER ML_SMALL_FOLDER [--splits N]
                                     [--seed S] [--times T] [--one-domain] [--json FILE]

60 cells: 15 data sets at epsilon 0.25, 0.5, 1 and 3, delta 1e-6. The planner should say yes where
private lists of ten, with default settings, gain more than .005 of NDCG@10 over exact popularity,
in the mean over splits, each with new noise. The numbers of people in generated worlds are
multiplied by T.

In one domain, for catalogues of at most 4,000 items, the gain is also printed as a share of the
gain of EASE over popularity (penalty 300), beside the share that the planner expects.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Private
from tacit.data import generate, read_movielens
from tacit.data.domains import split_by_genre
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import films
from tacit.designs.private.plan import plan_releases
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.profile_sums.usefulness import expected_share
from tacit.recommenders.baselines import EASE, Popularity

EPSILONS = (0.25, 0.5, 1.0, 3.0)
LEAST = 0.005
"""A gain of NDCG@10 above this is worthwhile."""
EASE_PENALTY = 300.0
MOST_ITEMS_FOR_EASE = 4000
World = tuple[str, Ratings, str | None, str | None]
"""Name, ratings, source and target; both domains are None in one domain."""


def worlds(folders: list[Path], seed: int, times: float) -> Iterator[World]:
    """Yield the generated worlds, and those of the folders in one domain and in two.

    Args:
        folders: Folders of MovieLens.
        seed: Seed of the generated worlds.
        times: Factor of the numbers of people in generated worlds.
    """
    for users in (int(times * size) for size in (700, 1500, 3000)):
        yield f"films across, {users}", films(users, seed=seed), "source", "target"
    for users in (int(times * size) for size in (500, 1500, 4000)):
        yield f"films, {users}", films(users, seed=seed + 1), None, None
        made = generate(users=users, items=1000, ratings=60 * users, labels=18, seed=seed + 2)
        yield f"generate, {users}", made, None, None
    for folder in folders:
        ratings = read_movielens(folder)
        yield folder.name, ratings, None, None
        both = split_by_genre(ratings)
        yield f"{folder.name}, D1 to D2", both, "D1", "D2"
        yield f"{folder.name}, D2 to D1", both, "D2", "D1"


def cells(world: World, splits: range) -> Iterator[dict[str, Any]]:
    """Yield, at each epsilon, what the planner says about a world and what lists gain in it."""
    name, ratings, source, target = world
    trials = [list_trial(ratings, source=source, target=target, seed=number) for number in splits]
    popular = [judge_lists(Popularity(likes=True), trial).ndcg for trial in trials]
    reference = None
    if target is None and ratings.n_items <= MOST_ITEMS_FOR_EASE:
        ease = [judge_lists(EASE(penalty=EASE_PENALTY), trial).ndcg for trial in trials]
        reference = float(np.mean(ease)) - float(np.mean(popular))
    for epsilon in EPSILONS:
        gains = [
            judge_lists(Private(epsilon, source=source, target=target), trial).ndcg - floor
            for trial, floor in zip(trials, popular, strict=True)
        ]
        items = ratings.n_items if target is None else len(trials[0].candidates or ())
        people = trials[0].train.n_users
        plan = plan_releases(people, items, epsilon, cross_domain=target is not None)
        gain = float(np.mean(gains))
        yield {
            "data": name,
            "people": people,
            "items": items,
            "epsilon": epsilon,
            "popularity": float(np.mean(popular)),
            "gain": gain,
            "needed": plan.needed,
            "yes": plan.worthwhile,
            "right": plan.worthwhile == (gain > LEAST),
            "share": None if reference is None else gain / reference,
            "expected": None if target else expected_share(items, people, plan.sigma),
        }


def main() -> None:
    """Measure all worlds, and print how often the planner is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--times", type=float, default=1.0)
    parser.add_argument("--one-domain", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    splits = range(options.seed, options.seed + options.splits)
    for world in worlds(options.folders, options.seed, options.times):
        if options.one_domain and world[2] is not None:
            continue
        for row in cells(world, splits):
            rows.append(row)
            line = (
                "{data}, epsilon {epsilon:g}: gain {gain:+.3f}, {people} people of {needed} "
                "needed, right: {right}"
            )
            if row["share"] is not None:
                line += ", share {share:.2f}, expected {expected:.2f}"
            print(line.format(**row), flush=True)
    right = sum(row["right"] for row in rows)
    wrong_yes = sum(row["yes"] and not row["right"] for row in rows)
    print(f"{right} of {len(rows)} right, {wrong_yes} wrong yes")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
