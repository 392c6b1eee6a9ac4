"""Private alternating least squares as a rival of private lists: same data, unit and accounting.

    python benchmarks/dpals.py FOLDER/ml-100k --epsilon 0.5,1,3 --seeds 5 [--json]

Source      Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: Private alternating least squares
            (ICML 2021). Implicit feedback: Hu, Koren, Volinsky (2008).
Guarantee   (epsilon, delta) for one person's whole profile, added or removed, by the accountant of
            the project: counts take a share of mu^2, each sweep an equal part of the rest. In a
            sweep one person adds, for each like in the head, u u' and u over the root of their
            number, with u of length 1: all together of norm sqrt(2) at most.
It is no part of the package, and is favoured: its settings are chosen for each epsilon, without
noise for the choice, on two splits that are not reported; the number of people is taken as known;
and noise is continuous, from NumPy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.accounting import GDPAccountant, smallest_noise
from tacit.data.ratings import Ratings
from tacit.evaluation import mean_interval
from tacit.evaluation.lists import ListTrial, judge_lists, list_trial
from tacit.evaluation.metrics import ranking_metrics
from tacit.profile_sums.events import event_of_sum
from tacit.recommenders.base import Recommender
from tacit.recommenders.baselines import Popularity, PrivatePopularity

Floats = NDArray[np.float64]

COUNTS_SHARE = 0.3
"""Share of mu^2 that the counts of likes take."""
PERSONAL_RIDGE = 1.0
"""Penalty of the regression that finds one person's factors."""
UNSEEN = 0.1
"""Weight of an item that a person does not like, beside 1 of a liked one."""
GRID: Mapping[str, tuple[float, ...]] = {
    "factors": (4, 8, 16),
    "sweeps": (1, 2, 3),
    "head": (150, 400),
    "ridge": (0.3, 1.0, 3.0, 10.0),
}
BLENDS = (0.1, 0.3, 1.0, 3.0)
"""Weights of factors beside popularity. Each is tried with each point of `GRID`, on `CHOSEN_ON`."""
CHOSEN_ON = (0, 1)
"""Seeds of the splits that settings are chosen on."""

Settings = Mapping[str, float]
"""One point of `GRID`."""


@dataclass(frozen=True)
class Row:
    """Lists of one recommender at one epsilon."""

    model: str
    epsilon: float
    ndcg: float
    """NDCG@10, mean of the reported seeds."""
    low: float
    """Lower end of the 95 % interval over seeds."""
    high: float
    """Upper end of it."""
    settings: str
    """Settings that were chosen; empty where there are none to choose."""


def unit_likes(ratings: Ratings) -> Floats:
    """Return (people, items) likes over their norm."""
    matrix = np.zeros((ratings.n_users, ratings.n_items))
    liked = ratings.likes
    matrix[ratings.users[liked], ratings.items[liked]] = 1
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    units: Floats = matrix / np.maximum(lengths, 1)
    return units


def person_factors(likes: Floats, items: Floats) -> Floats:
    """Solve each person's ridge regression of likes on item factors.

    A liked item has weight 1 + `UNSEEN`, any other item `UNSEEN`.

    Args:
        likes: (people, items) 0/1 likes.
        items: (items, k) factors.

    Returns:
        (people, k) factors of length 1.
    """
    k = items.shape[1]
    shared = UNSEEN * items.T @ items + PERSONAL_RIDGE * np.eye(k)
    products = (items[:, :, None] * items[:, None, :]).reshape(len(items), k * k)
    grams = shared + (likes @ products).reshape(len(likes), k, k)
    factors = np.linalg.solve(grams, (likes @ items)[:, :, None])[:, :, 0]
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    units: Floats = factors / np.maximum(lengths, 1e-12)
    return units


def fit_items(
    likes: Floats, noise: float, settings: Settings, draws: np.random.Generator
) -> tuple[Floats, Floats]:
    """Fit factors of items by noisy sweeps.

    Args:
        likes: (people, items) 0/1 likes of everybody.
        noise: Noise multiplier of everything together; 0 without noise.
        settings: One point of `GRID`.
        draws: Source of starts and noise.

    Returns:
        (items, factors) factors, zero outside the head, and (items,) noisy shares of likes.
    """
    people, items = likes.shape
    k, sweeps, ridge_factor = int(settings["factors"]), int(settings["sweeps"]), settings["ridge"]
    rows = likes / np.maximum(np.linalg.norm(likes, axis=1, keepdims=True), 1)
    count_noise = noise / math.sqrt(COUNTS_SHARE)
    sweep_noise = noise / math.sqrt((1 - COUNTS_SHARE) / sweeps)
    counts = (rows.sum(axis=0) + draws.normal(size=items) * count_noise) / people
    head = np.argsort(-counts, kind="stable")[: int(settings["head"])]
    inside = likes[:, head]
    weights = 1 / np.maximum(np.linalg.norm(inside, axis=1, keepdims=True), 1)
    factors = draws.normal(size=(len(head), k)) / math.sqrt(k)
    upper = np.triu_indices(k)
    for _ in range(sweeps):
        people_factors = person_factors(inside, factors)
        products = people_factors[:, upper[0]] * people_factors[:, upper[1]]
        # Of one person, over all their likes in the head: |y u|^2 + |y u u'|^2 <= 2.
        norm = math.sqrt(2)
        weighted = inside * weights
        first = weighted.T @ people_factors
        second = weighted.T @ products
        first = first + draws.normal(size=first.shape) * sweep_noise * norm
        second = second + draws.normal(size=second.shape) * sweep_noise * norm
        grams = np.zeros((len(head), k, k))
        grams[:, upper[0], upper[1]] = second
        grams[:, upper[1], upper[0]] = second
        values, vectors = np.linalg.eigh(grams)
        ridge = ridge_factor * (1 + sweep_noise * norm * math.sqrt(k))
        # Solve (gram + ridge) factors = first of each item, in the directions of its eigenvectors.
        positive = np.maximum(values, 0) + ridge
        coordinates = np.einsum("ijk,ij->ik", vectors, first) / positive
        factors = np.einsum("ijk,ik->ij", vectors, coordinates)
    all_factors = np.zeros((items, k))
    all_factors[head] = factors
    return all_factors, counts


def noise_for(epsilon: float) -> float:
    """Return the noise multiplier of everything together; 0 without noise."""
    if math.isinf(epsilon):
        return 0.0
    return smallest_noise(event_of_sum, epsilon=epsilon, delta=1e-6, accountant=GDPAccountant)


def judge_blends(
    trial: ListTrial, noise: float, settings: Settings, blends: Sequence[float], seed: int
) -> list[float]:
    """Return NDCG@10 of one fit for each weight of factors beside popularity.

    Scores by factors and by popularity are divided by their standard deviations before they are
    added.
    """
    draws = np.random.default_rng((seed, 11))
    likes = (unit_likes(trial.train) > 0).astype(float)
    items, counts = fit_items(likes, noise, settings, draws)
    personal = person_factors(likes[trial.people], items) @ items.T
    personal /= max(float(personal.std()), 1e-12)
    popularity = counts / counts.std()
    rated = trial.train.matrix[trial.people].tocoo()
    figures = []
    for blend in blends:
        scores = popularity + blend * personal
        scores[rated.row, rated.col] = -np.inf
        lists = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        figures.append(float(ranking_metrics(lists, trial.relevant).ndcg))
    return figures


def choose_settings(trials: Sequence[ListTrial], noise: float) -> tuple[Settings, float]:
    """Return the point of `GRID` and the blend with the best mean over these splits."""
    tried = []
    for point in itertools.product(*GRID.values()):
        settings = dict(zip(GRID, point, strict=True))
        figures = [
            judge_blends(trial, noise, settings, BLENDS, seed)
            for seed, trial in zip(CHOSEN_ON, trials, strict=True)
        ]
        for blend, mean in zip(BLENDS, np.mean(figures, axis=0).tolist(), strict=True):
            tried.append((mean, settings, blend))
    _, settings, blend = max(tried, key=lambda entry: entry[0])
    return settings, blend


def measure(ratings: Ratings, epsilon: float, seeds: Sequence[int]) -> list[Row]:
    """Measure private ALS, `private` and both popularities at one epsilon.

    Args:
        ratings: All ratings.
        epsilon: Epsilon of the fits.
        seeds: Seeds of the splits that are reported.
    """
    noise = noise_for(epsilon)
    trials = [list_trial(ratings, seed=seed) for seed in CHOSEN_ON]
    settings, blend = choose_settings(trials, noise)
    package_models: dict[str, Recommender] = {
        "private": tacit.Private(epsilon),
        "private-popularity": PrivatePopularity(epsilon=epsilon),
        "popularity": Popularity(likes=True),
    }
    figures: dict[str, list[float]] = {"private-als": [], **{name: [] for name in package_models}}
    for seed in seeds:
        trial = list_trial(ratings, seed=seed)
        figures["private-als"] += judge_blends(trial, noise, settings, [blend], seed)
        for name, model in package_models.items():
            figures[name].append(judge_lists(model, trial).ndcg)
    chosen = ", ".join(f"{name} {value:g}" for name, value in settings.items())
    rows = []
    for name, values in figures.items():
        interval = mean_interval(values, bounds=(0.0, 1.0))
        row_settings = f"{chosen}, blend {blend:g}" if name == "private-als" else ""
        rows.append(Row(name, epsilon, interval.mean, interval.low, interval.high, row_settings))
    return rows


def main() -> None:
    """Measure all rivals at each epsilon, and print their rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="a folder or a file of ratings")
    parser.add_argument("--epsilon", default="0.5,1,3", help="numbers with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="first seed that is reported")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        print("Give a folder of ratings:  python benchmarks/dpals.py FOLDER/ml-100k")
        return
    ratings = tacit.load(options.data)
    seeds = range(options.first, options.first + options.seeds)
    rows = []
    for epsilon in map(float, options.epsilon.split(",")):
        measured = measure(ratings, epsilon, seeds)
        rows += measured
        if options.json:
            continue
        for row in measured:
            print(
                f"{row.model:20} epsilon {row.epsilon:g}: {row.ndcg:.3f} "
                f"({row.low:.3f} to {row.high:.3f}) {row.settings}",
                flush=True,
            )
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
