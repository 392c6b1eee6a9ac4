"""Private alternating least squares as a rival of private lists: same data, unit and accounting.

    python benchmarks/dpals.py ml-100k --epsilon 0.5,1,3 --seeds 5

Source      Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: Private alternating least squares
            (ICML 2021). Implicit feedback: Hu, Koren, Volinsky (2008).
Guarantee   (epsilon, delta) for one person's whole profile, added or removed, by the accountant of
            the project: counts take a share of mu^2, each sweep an equal part of the rest. In a
            sweep one person adds, for each like in the head, u u' and u over the root of their
            number, with u of length 1: all together of norm sqrt(2) at most.
Not in the package: it is a rival, tuned generously: its settings are chosen on two splits for each
epsilon, the number of people is taken as known, and noise is continuous, from NumPy.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
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
from tacit.recommenders.baselines import Popularity

Floats = NDArray[np.float64]

COUNTS_SHARE = 0.3
PERSONAL_RIDGE = 1.0
UNSEEN = 0.1
"""Weight of an item that a person does not like, beside 1 of a liked one."""
GRID = {
    "factors": (4, 8),
    "sweeps": (1, 2),
    "head": (150, 400),
    "ridge": (1.0, 3.0, 10.0),
}
BLENDS = (0.3, 1.0, 3.0)
"""Settings tried; the best on seeds of their own is reported on others."""


def unit_likes(ratings: Ratings) -> Floats:
    """Return (people, items) likes over their norm."""
    matrix = np.zeros((ratings.n_users, ratings.n_items))
    liked = ratings.likes
    matrix[ratings.users[liked], ratings.items[liked]] = 1
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.maximum(lengths, 1)


def person_factors(likes: Floats, items: Floats) -> Floats:
    """Solve each person's ridge regression of likes on item factors: unseen items weigh less."""
    k = items.shape[1]
    gram = UNSEEN * items.T @ items
    factors = np.zeros((len(likes), k))
    for person, row in enumerate(likes):
        own = items[row > 0]
        left = gram + own.T @ own + PERSONAL_RIDGE * np.eye(k)
        factors[person] = np.linalg.solve(left, own.sum(axis=0))
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    return factors / np.maximum(lengths, 1e-12)


def fit_items(
    likes: Floats, noise: float, settings: dict[str, float], draws: np.random.Generator
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
        for place in range(len(head)):
            gram = np.zeros((k, k))
            gram[upper] = second[place]
            gram = gram + np.triu(gram, 1).T
            values, vectors = np.linalg.eigh(gram)
            ridge = ridge_factor * (1 + sweep_noise * norm * math.sqrt(k))
            positive = np.maximum(values, 0) + ridge
            factors[place] = vectors / positive @ (vectors.T @ first[place])
    whole = np.zeros((items, k))
    whole[head] = factors
    return whole, counts


def judge(
    trial: ListTrial, epsilon: float, settings: dict[str, float], blend: float, seed: int
) -> float:
    """NDCG@10 of one fit: `blend` weighs factors beside popularity, each over its deviation."""
    noise = 0.0
    if math.isfinite(epsilon):
        noise = smallest_noise(event_of_sum, epsilon=epsilon, delta=1e-6, accountant=GDPAccountant)
    draws = np.random.default_rng((seed, 11))
    likes = (unit_likes(trial.train) > 0).astype(float)
    items, counts = fit_items(likes, noise, settings, draws)
    own = likes[trial.people]
    scores = person_factors(own, items) @ items.T
    scores = counts / counts.std() + blend * scores / max(float(scores.std()), 1e-12)
    users, seen = trial.train.users, trial.train.items
    place_of = np.full(trial.train.n_users, -1)
    place_of[trial.people] = np.arange(len(trial.people))
    judged = place_of[users] >= 0
    scores[place_of[users[judged]], seen[judged]] = -np.inf
    lists = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return float(ranking_metrics(lists, trial.relevant).ndcg)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="a folder of TACIT_DATA, or a file of ratings")
    parser.add_argument("--epsilon", default="0.5,1,3")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="first seed that is reported")
    options = parser.parse_args()
    folder = Path(os.environ.get("TACIT_DATA", "")) / options.data
    ratings = tacit.load(folder if folder.exists() else options.data)
    chosen_on = [list_trial(ratings, seed=seed) for seed in range(2)]
    reported_on = range(options.first, options.first + options.seeds)
    grid = [dict(zip(GRID, point, strict=True)) for point in itertools.product(*GRID.values())]
    print("epsilon  private ALS (95 %)       private          popularity  settings")
    for epsilon in map(float, options.epsilon.split(",")):
        tried = []
        for settings, blend in itertools.product(grid, BLENDS):
            figures = [
                judge(trial, epsilon, settings, blend, n) for n, trial in enumerate(chosen_on)
            ]
            tried.append((float(np.mean(figures)), settings, blend))
        _, settings, blend = max(tried, key=lambda entry: entry[0])
        als, ours, popular = [], [], []
        for seed in reported_on:
            trial = list_trial(ratings, seed=seed)
            als.append(judge(trial, epsilon, settings, blend, seed))
            ours.append(judge_lists(tacit.Private(epsilon), trial).ndcg)
            popular.append(judge_lists(Popularity(likes=True), trial).ndcg)
        interval = mean_interval(als, bounds=(0.0, 1.0))
        print(
            f"{epsilon:7g}  {interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})  "
            f"{np.mean(ours):.3f}  {np.mean(popular):.3f}  {settings} blend {blend}",
            flush=True,
        )


if __name__ == "__main__":
    main()
