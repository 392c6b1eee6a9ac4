"""Every recommender passes the shared suite, and the suite catches faults."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import ItemMean, MatrixFactorization, Popularity, StandardScheme, load_model
from tacit.errors import ConfigError
from tacit.recommenders.base import Recommendations
from tacit.testing import RecommenderConformance


class TestPopularity(RecommenderConformance):
    def make(self):
        return Popularity()


class TestItemMean(RecommenderConformance):
    def make(self):
        return ItemMean()


class TestMatrixFactorization(RecommenderConformance):
    def make(self):
        return MatrixFactorization(factors=3, sweeps=3)


class TestStandardScheme(RecommenderConformance):
    keeps_people = False

    def make(self):
        return StandardScheme(factors=3, service_sees_items=False)


class FromFarAway(StandardScheme):
    """Lists made from what a device sends; movie averages, because that release is not random."""

    def __init__(self):
        super().__init__(factors=3, release="movie-average", service_sees_items=False)

    def recommend(self, user=None, **arguments):
        return super().recommend(user, attributes={"gender": "F"}, **arguments)


class TestStandardSchemeFromFarAway(RecommenderConformance):
    keeps_people = False

    def make(self):
        return FromFarAway()

    def test_model_file_gives_the_same_lists(self, tmp_path):
        """Saved and loaded, the two halves exchange the same messages."""
        model, history = self.fitted_model(), self.history()
        model.save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        made = loaded.recommend(history=history, attributes={"gender": "F"})
        assert made == model.recommend(history=history)


class Stubborn(Popularity):
    """Recommends what was seen, and counts ranks from 0."""

    def recommend(self, user=None, *, history=None, n=10, exclude=(), candidates=None):
        made = super().recommend(user, history={}, n=n, exclude=exclude, candidates=candidates)
        return Recommendations(
            tuple(type(row)(row.user_id, row.item_id, row.score, row.rank - 1) for row in made)
        )


class Forgetful(Popularity):
    """Adds up over fits, and takes any n."""

    def fit(self, ratings):
        before = getattr(self, "counts_", 0)
        super().fit(ratings)
        self.counts_ = self.counts_ + before
        return self

    def recommend(self, user=None, *, n=10, **arguments):
        try:
            return super().recommend(user, n=n, **arguments)
        except ConfigError:
            return Recommendations(())


class Wandering(ItemMean):
    """Scores depend on the order of rows, and an unknown item gets one."""

    def fit(self, ratings):
        super().fit(ratings)
        self.means_ = self.means_ + np.random.default_rng().random(len(self.means_))
        return self

    def predict(self, items, user=None, *, history=None):
        return np.nan_to_num(super().predict(items, user, history=history))


@pytest.mark.parametrize(
    ("faulty", "test"),
    [
        (Stubborn, "test_seen_items_are_left_out"),
        (Stubborn, "test_ranks_count_from_one"),
        (Stubborn, "test_a_long_list_holds_each_unseen_item_once"),
        (Forgetful, "test_fit_starts_afresh"),
        (Forgetful, "test_empty_lists_are_refused"),
        (Wandering, "test_order_of_rows_says_nothing"),
        (Wandering, "test_unknown_item_has_no_prediction"),
    ],
)
def test_suite_catches_a_fault(faulty, test):
    """A recommender that breaks a rule fails that rule's test."""
    suite = RecommenderConformance()
    suite.make = faulty
    with pytest.raises(AssertionError):
        getattr(suite, test)()
