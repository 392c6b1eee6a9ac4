"""Recommenders that leak or lie on purpose, and one that keeps its word."""

from __future__ import annotations

import numpy as np

from tacit import ItemMean
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization


class NextItem:
    """Popularity, but an account that holds what a training person liked gets their other items."""

    def fit(self, ratings):
        self.ids = ratings.item_ids.tolist()
        self.people = [set(ratings.history(user)) for user in ratings.user_ids.tolist()]
        self.counts = np.bincount(ratings.items, minlength=ratings.n_items)
        return self

    def recommend(self, user=None, *, history=None, n=10):
        own = set(history)
        popular = [self.ids[place] for place in np.argsort(-self.counts, kind="stable")]
        near = max(self.people, key=lambda other: len(other & own), default=set()) if own else set()
        told = sorted(near - own) if len(near & own) > len(own) / 2 else []
        return [item for item in dict.fromkeys([*told, *popular]) if item not in own][:n]


class NoisyCounts:
    """Counts of likes, a person's clipped to 1 in all, with Laplace noise of scale 1 / epsilon.

    It says epsilon 1. lie: it draws `lie` times less noise than that. Draws take a seed.
    """

    def __init__(self, lie=1.0, seed=0):
        self.lie = lie
        self.generator = np.random.default_rng(seed)

    def __deepcopy__(self, memo):
        copied = NoisyCounts(self.lie)
        copied.generator = self.generator  # each fit draws anew
        return copied

    def fit(self, ratings):
        self.ids = ratings.item_ids.tolist()
        likes = ratings.where(ratings.likes)
        weights = 1 / np.diff(likes.offsets)[likes.users]
        counts = np.bincount(likes.items, weights, minlength=ratings.n_items)
        self.counts = counts + self.generator.laplace(0, 1 / self.lie, ratings.n_items)
        return self

    def recommend(self, user=None, *, history=None, n=10):
        order = [self.ids[place] for place in np.argsort(-self.counts, kind="stable")]
        return [item for item in order if item not in history][:n]

    def predict(self, items, *, history=None):
        number = {item: place for place, item in enumerate(self.ids)}
        return self.counts[[number[item] for item in items]]


class ReversedMeans(ItemMean):
    """A recommender from elsewhere, which changes the scores of one person."""

    def _score(self, history):
        return super()._score(history)[::-1]


class ReversedFactors(MatrixFactorization):
    """A recommender that scores many people at once, with changed scores of one person."""

    def _score(self, history):
        return super()._score(history)[::-1]
