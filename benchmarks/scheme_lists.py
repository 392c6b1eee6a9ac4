"""Lists of the standard scheme: by item-item weights, by predicted stars, and by popularity.

python benchmarks/scheme_lists.py FOLDER|--generated USERS,ITEMS,RATINGS [--folds K] [--seed S]
                                  [--json]

People are divided into folds. For each fold, the recommenders learn from the people of the other
folds. Of the people in the fold, about 30 % of the ratings are held out, and lists of 10 are made
from the other 70 %: from true stars, as on a device; and, if the data have the attribute gender,
from a simulated letter of the default release. NDCG@10 counts held-out stars in the top two fifths
of the scale as relevant; the interval is over folds. FOLDER is an unpacked MovieLens archive.
Seconds are the processor's, of one fit of the weights.
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
"""The default release."""


def main() -> None:
    """Measure all folds, and print the quality of each list with its interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--generated")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ratings = _load_ratings(options)
    people = _find_people(ratings)
    qualities_by_list, fit_seconds = defaultdict(list), []
    fold_of = np.random.default_rng(options.seed).permutation(people.n_people) % options.folds
    for fold in range(options.folds):
        qualities, seconds = _measure_fold(people, fold_of == fold, [options.seed, fold])
        fit_seconds.append(seconds)
        for name, quality in qualities.items():
            qualities_by_list[name].append(quality)
    rows = []
    for (shown_input, list_kind), values in qualities_by_list.items():
        interval = mean_interval(values)
        ends = {"ndcg_at_10": interval.mean, "low": interval.low, "high": interval.high}
        rows.append({"input": shown_input, "list": list_kind, **ends})
    result = {
        "people": people.n_people,
        "items": people.levels.shape[1],
        "ratings": people.levels.nnz,
        "folds": options.folds,
        "rows": rows,
        "seconds_of_one_fit": float(np.median(fit_seconds)),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "manifest": manifest(ratings, seed=options.seed, command=" ".join(sys.argv)),
    }
    print(json.dumps(result, indent=None if options.json else 1))


def _load_ratings(options: argparse.Namespace) -> Ratings:
    """Read or generate the ratings, as the options say."""
    if options.generated is None:
        return read_movielens(options.folder)
    users, items, ratings = map(int, options.generated.split(","))
    return generate(users=users, items=items, ratings=ratings, seed=options.seed)


def _find_people(ratings: Ratings) -> ConsentingPeople:
    """Return the people with a gender; all people, without it, if the data have no genders."""
    if "gender" in ratings.user_attributes:
        return find_consenting_people(ratings, ["gender"])[0]
    nobody = np.zeros((ratings.n_users, 0), dtype=np.int64)
    stars, scale = ratings.matrix, ratings.scale
    levels = replace_data(stars, np.round((stars.data - scale.minimum) / scale.step))
    return ConsentingPeople(levels, nobody, (), (), ratings.scale.levels)


def _choose_people(people: ConsentingPeople, chosen: NDArray[np.bool_]) -> ConsentingPeople:
    """Return some of the people; `chosen` (people,) says which."""
    return ConsentingPeople(
        people.levels[np.flatnonzero(chosen)],
        people.labels[chosen],
        people.names,
        people.values,
        people.n_levels,
    )


def _measure_fold(
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
    others = _choose_people(people, ~tested)
    asking = _choose_people(people, tested)
    tables = list(estimate_all_tables(others).values()) if people.names else []

    def simulate_letters(levels: sparse.csr_array, labels: Ints, draw: str) -> sparse.csr_array:
        """Return the levels that letters show; all levels if there is no attribute.

        Args:
            levels: (people, items) true levels.
            labels: (people, attributes) the people's values.
            draw: Name of the draw, which is a part of its seed.
        """
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
        lambda levels, who: simulate_letters(levels, others.labels[who], "penalty"),
        seed=seed[1],
    )
    weights = fit_ease_at_penalty(others.levels, people.n_levels, penalty)
    seconds = time.process_time() - started
    seen, held = _split(asking.levels, np.random.default_rng(seed))
    relevant = sparse.csr_array((weigh_levels(held, people.n_levels) == LIKED).astype(float))
    inputs = {"true stars": seen}
    if tables:
        inputs["default release"] = simulate_letters(seen, asking.labels, "asking")
    scores = {("nothing", "popularity"): -np.tile(weights.popularity_rank, (seen.shape[0], 1))}
    for name, shown in inputs.items():
        stars = profiles.predict_levels(shown)
        scores[name, "item-item weights"] = weights.preferences(shown, stars)
        scores[name, "predicted stars"] = stars
    qualities = {}
    for name, scores_of_list in scores.items():
        qualities[name] = ranking_metrics(_make_lists(scores_of_list, seen), relevant).ndcg
    return qualities, seconds


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


def _make_lists(scores: NDArray[Any], seen: sparse.csr_array) -> Ints:
    """Return (people, 10) the best unseen items by scores; ties are in the order of the items."""
    unseen_scores = scores.astype(float)
    rows = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
    unseen_scores[rows, seen.indices] = -np.inf
    return np.argsort(-unseen_scores, axis=1, kind="stable")[:, :10]


if __name__ == "__main__":
    main()
