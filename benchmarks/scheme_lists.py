"""Lists of the standard scheme: by item-item weights, by predicted stars, and by popularity.

python benchmarks/scheme_lists.py FOLDER|--generated USERS,ITEMS,RATINGS [--folds K] [--seed S]
                                  [--json]

People are split in folds. A recommender learns from the others; of each person in the fold 30 % of
the ratings are held out, and a list of 10 is made from the rest: from true stars, as at the device,
and from a simulated letter of the default release, where the data have the attribute gender.
NDCG@10 with 1 for a held-out star in the top two fifths of the scale; the interval is over folds.
FOLDER: an unpacked MovieLens archive. Seconds are processor time of one fit of the weights.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data import generate, read_movielens
from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme import RELEASES
from tacit.designs.standard_scheme.messages import LIKED
from tacit.designs.standard_scheme.server import weigh_levels
from tacit.designs.standard_scheme.training.item_weights import choose_penalty, fit_ease_at_penalty
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    find_consenting_people,
    replace_data,
)
from tacit.designs.standard_scheme.training.population import simulate_release
from tacit.designs.standard_scheme.training.profiles import ProfileSettings, train_profiles
from tacit.designs.standard_scheme.training.tables import estimate_all_tables
from tacit.evaluation import manifest, mean_interval
from tacit.evaluation.metrics import ranking_metrics
from tacit.randomness import replay, simulation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RULE = RELEASES["scheme+selection+rounding"]


def main() -> None:
    """Measure all folds, and print the quality of each list with its interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--generated")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ratings = _ratings(options)
    people = _people(ratings)
    found, spent = defaultdict(list), []
    fold_of = np.random.default_rng(options.seed).permutation(people.n_people) % options.folds
    for fold in range(options.folds):
        qualities, seconds = _fold(people, fold_of == fold, [options.seed, fold])
        spent.append(seconds)
        for name, quality in qualities.items():
            found[name].append(quality)
    result = {
        "people": people.n_people,
        "items": people.levels.shape[1],
        "ratings": people.levels.nnz,
        "folds": options.folds,
        "rows": [
            {"input": name[0], "list": name[1], "ndcg_at_10": i.mean, "low": i.low, "high": i.high}
            for name, i in ((name, mean_interval(values)) for name, values in found.items())
        ],
        "seconds_of_one_fit": float(np.median(spent)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "manifest": manifest(ratings, seed=options.seed, command=" ".join(sys.argv)),
    }
    print(json.dumps(result, indent=None if options.json else 1))


def _ratings(options: argparse.Namespace) -> Ratings:
    """Read or generate the ratings, as the options say."""
    if options.generated is None:
        return read_movielens(options.folder)
    users, items, ratings = map(int, options.generated.split(","))
    return generate(users=users, items=items, ratings=ratings, seed=options.seed)


def _people(ratings: Ratings) -> ConsentingPeople:
    """Return the people with a gender; if no one has one, everyone, without an attribute."""
    if "gender" in ratings.user_attributes:
        return find_consenting_people(ratings, ["gender"])[0]
    nobody = np.zeros((ratings.n_users, 0), dtype=np.int64)
    stars, scale = ratings.matrix, ratings.scale
    levels = replace_data(stars, np.round((stars.data - scale.minimum) / scale.step))
    return ConsentingPeople(levels, nobody, (), (), ratings.scale.levels)


def _some(people: ConsentingPeople, chosen: NDArray[np.bool_]) -> ConsentingPeople:
    """Return some of the people; `chosen` (people,) says which."""
    return ConsentingPeople(
        people.levels[np.flatnonzero(chosen)],
        people.labels[chosen],
        people.names,
        people.values,
        people.n_levels,
    )


def _fold(
    people: ConsentingPeople, tested: NDArray[np.bool_], seed: list[int]
) -> tuple[dict[tuple[str, str], float], float]:
    """Learn from the people of the other folds, and judge lists for those of one fold.

    Args:
        people: Everyone.
        tested: (people,) who is in the fold.
        seed: Seed of all draws of this fold; its last number is that of the fold.

    Returns:
        NDCG@10 by input and kind of list, and the seconds of one fit of the weights.
    """
    others, asking = _some(people, ~tested), _some(people, tested)
    tables = list(estimate_all_tables(others).values()) if people.names else []

    def letters(levels: sparse.csr_array, labels: Ints, draw: str) -> sparse.csr_array:
        """Return the levels that letters show; all levels if there is no attribute."""
        if not tables:
            return levels
        with simulation():
            source = replay(f"{seed} {draw}")
            return simulate_release(
                levels, labels, tables, RULE, n_levels=people.n_levels, source=source
            )

    levels, n_levels = others.levels, people.n_levels
    profiles = train_profiles(
        levels, others.labels, tables, n_levels, lowest=1.0, settings=ProfileSettings()
    )
    started = time.process_time()
    penalty = choose_penalty(
        others.levels,
        people.n_levels,
        lambda levels, who: letters(levels, others.labels[who], "penalty"),
        seed=seed[1],
    )
    weights = fit_ease_at_penalty(others.levels, people.n_levels, penalty)
    seconds = time.process_time() - started
    seen, held = _split(asking.levels, np.random.default_rng(seed))
    relevant = sparse.csr_array((weigh_levels(held, people.n_levels) == LIKED).astype(float))
    inputs = {"true stars": seen}
    if tables:
        inputs["default release"] = letters(seen, asking.labels, "asking")
    found = {("nothing", "popularity"): -np.tile(weights.popularity_rank, (seen.shape[0], 1))}
    for name, shown in inputs.items():
        stars = profiles.predict_levels(shown)
        found[name, "item-item weights"] = weights.preferences(shown, stars)
        found[name, "predicted stars"] = stars
    metrics = {n: ranking_metrics(_lists(each, seen), relevant) for n, each in found.items()}
    return {name: each.ndcg for name, each in metrics.items()}, seconds


def _split(
    levels: sparse.csr_array, generator: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split levels into those that are shown, about 70 %, and those that are held out."""
    later = generator.random(levels.nnz) < 0.3
    halves = []
    for mask in (~later, later):
        ends = np.concatenate([[0], np.cumsum(mask)])[levels.indptr]
        halves.append(
            sparse.csr_array((levels.data[mask], levels.indices[mask], ends), shape=levels.shape)
        )
    return halves[0], halves[1]


def _lists(scores: NDArray[Any], seen: sparse.csr_array) -> Ints:
    """Return (people, 10) the best unseen items; ties are in the order of the items."""
    unseen = scores.astype(float)
    rows = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
    unseen[rows, seen.indices] = -np.inf
    return np.argsort(-unseen, axis=1, kind="stable")[:, :10]


if __name__ == "__main__":
    main()
