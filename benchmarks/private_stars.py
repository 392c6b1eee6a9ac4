"""Stars of `private`: their mean absolute error, with factors, with means alone, and of own means.

    python benchmarks/private_stars.py FOLDER/ml-100k FOLDER/ml-latest-small --seed 40

"Own mean" predicts each person's mean, exactly. "Means alone" is the release without factors. In
one domain a random 20 % of each person's ratings is held out. Generated data: films in one domain,
and people whose ratings follow ten factors, a quarter of them new to the target
(`generate_domains(20000, (1000, 1000), 30.0)`). Only `tacit.profile_sums.release_stars` is run, at
the noise that `Private(epsilon, stars=True)` gives it, which is drawn from the operating system.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np

import tacit
from tacit.data.domains import cross_domain_split
from tacit.data.ratings import Ratings
from tacit.data.splits import Split, random_per_user
from tacit.data.synthetic_worlds import films, generate_domains
from tacit.profile_sums import release_stars
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.events import noise_multipliers
from tacit.profile_sums.features import FeatureTables, feature_columns
from tacit.profile_sums.settings import Settings

EPSILONS = (0.5, 1.0, 3.0, math.inf)
PEOPLE = 1000
"""Most people whose held-out stars are predicted in a split."""


def cells(
    folders: list[str], seed: int, splits: int
) -> Iterator[tuple[str, ItemSides, list[Split]]]:
    """Yield the name, the sides of items and the splits of each data set.

    Args:
        folders: Data sets to load.
        seed: First seed.
        splits: Splits of each loaded data set; generated ones have one split.
    """
    for folder in folders:
        ratings, seeds = tacit.load(folder), range(seed, seed + splits)
        yield folder, one_domain(ratings), [random_per_user(ratings, 0.2, seed=s) for s in seeds]
    for people in (6000, 20_000):
        world = films(people, seed=seed)
        yield f"films {people}", one_domain(world), [random_per_user(world, 0.2, seed=seed)]
    world = generate_domains(20_000, (1000, 1000), 30.0, seed=seed)
    split = cross_domain_split(world, source="source", target="target", share=0.25, seed=seed)
    yield "factors 20000", ItemSides(2000, np.arange(1000), np.arange(1000, 2000)), [split]


def one_domain(ratings: Ratings) -> ItemSides:
    """Return the sides of items of a single domain."""
    items = np.arange(ratings.n_items)
    return ItemSides(ratings.n_items, items, items)


def error(split: Split, sides: ItemSides, epsilon: float) -> tuple[float, int]:
    """Return the mean absolute error of predicted stars, and the number of factors in the model."""
    train, test = split.train, split.test
    names, table = feature_columns(train, None)
    features = None
    if len(names) >= 2:
        features = FeatureTables(table[sides.context], table[sides.targets])
    noises = noise_multipliers(Settings(epsilon, stars=True))[4:]  # those of the stars
    model = release_stars.release_stars(train, sides, features, noises, float(train.n_users))
    # The model's items: targets first, then those of the context, if it is another domain.
    place = np.full(train.n_items, -1)
    for items, start in ((sides.context, len(sides.targets)), (sides.targets, 0)):
        if start + len(items) <= len(model.effects):
            place[items] = start + np.arange(len(items))
    errors = []
    for person in np.unique(test.users)[:PEOPLE]:
        own = slice(train.offsets[person], train.offsets[person + 1])
        held_out = slice(test.offsets[person], test.offsets[person + 1])
        own_places = place[train.items[own]]
        predicted = model.predict(train.values[own], own_places, len(sides.targets), train.scale)
        errors.append(np.abs(predicted[place[test.items[held_out]]] - test.values[held_out]))
    return float(np.concatenate(errors).mean()), model.loadings.shape[1]


def error_of_own_means(split: Split) -> float:
    """Return the mean absolute error of predicting each person's own mean."""
    train, test = split.train, split.test
    means = np.bincount(train.users, train.values) / np.bincount(train.users)
    chosen = test.users <= np.unique(test.users)[:PEOPLE][-1]
    return float(np.abs(means[test.users] - test.values)[chosen].mean())


def main() -> None:
    """Measure all data sets at each epsilon, and print the errors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--splits", type=int, default=4)
    options = parser.parse_args()
    people_for_factors = release_stars.PEOPLE_FOR_FACTORS
    for name, sides, splits in cells(options.folders, options.seed, options.splits):
        print(f"{name}: own mean {np.mean([error_of_own_means(split) for split in splits]):.4f}")
        for epsilon in EPSILONS:
            measured = [error(split, sides, epsilon) for split in splits]
            errors = [split_error for split_error, _ in measured]
            factors = [count for _, count in measured]
            release_stars.PEOPLE_FOR_FACTORS = math.inf  # no data set has so many: no factors
            alone = np.mean([error(split, sides, epsilon)[0] for split in splits])
            release_stars.PEOPLE_FOR_FACTORS = people_for_factors
            line = f"{np.mean(errors):.4f} (sd {np.std(errors):.4f}), factors {factors}"
            print(f"  epsilon {epsilon:g}: {line}; means alone {alone:.4f}", flush=True)


if __name__ == "__main__":
    main()
