"""Every baseline passes the shared suite, in one domain and across two."""

from __future__ import annotations

import math

from tacit.data import generate, with_domains
from tacit.recommenders.baselines import (
    EASE,
    ItemItem,
    ItemKNN,
    Popularity,
    PrivatePopularity,
    RemoteUser,
    Ridge,
    UserAverage,
    UserItemMean,
)
from tacit.testing import RecommenderConformance


class TwoDomains(RecommenderConformance):
    """Items of even number are books, the others films; a model recommends films."""

    def data(self, seed=1):
        ratings = super().data(seed)
        named = {item: ("books", "films")[item % 2] for item in ratings.item_ids.tolist()}
        return with_domains(ratings, named)

    def catalogue(self):
        return [item for item in super().catalogue() if item % 2]


class TestUserAverage(RecommenderConformance):
    def make(self):
        return UserAverage()


class TestUserItemMean(RecommenderConformance):
    def make(self):
        return UserItemMean()


class TestItemKNN(RecommenderConformance):
    def make(self):
        return ItemKNN(k=5, significance=10)


class TestItemKNNInOneDomain(TwoDomains):
    def make(self):
        return ItemKNN(k=5, domain="films")


class TestPopularityOfLikes(RecommenderConformance):
    def make(self):
        return Popularity(likes=True)


class TestEASE(RecommenderConformance):
    def make(self):
        return EASE(penalty=20.0)


class TestItemItem(RecommenderConformance):
    def make(self):
        return ItemItem(k=5)


class TestItemItemByBM25(RecommenderConformance):
    def make(self):
        return ItemItem(weighting="bm25")


class TestPrivatePopularity(RecommenderConformance):
    """Without noise: two noisy fits differ, as they have to."""

    def make(self):
        return PrivatePopularity(epsilon=math.inf)


class TestRidge(TwoDomains):
    def catalogue(self):
        return RecommenderConformance.catalogue(self)

    def make(self):
        return Ridge(source="books", target="films", penalty=20.0)


class TestRemoteUser(TwoDomains):
    def make(self):
        return RemoteUser(source="books", target="films", k=5)


def test_the_generated_people_use_both_domains():
    """The suite's history has items of both domains, so that neither half is idle."""
    ratings = generate(users=70, items=50, ratings=1600, seed=1)
    kinds = {item % 2 for item in list(ratings.history(ratings.user_ids[0].item()))[:8]}
    assert kinds == {0, 1}
