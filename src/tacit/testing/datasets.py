"""The conformance suite for data sets."""

from __future__ import annotations

from tacit.data.ratings import Ratings
from tacit.recommenders.baselines import Popularity


class DatasetConformance:
    """Tests of a data set. Subclass this class, and write `make`."""

    def make(self) -> Ratings:
        """Return the ratings."""
        raise NotImplementedError

    def test_make_returns_ratings(self) -> None:
        """`make` returns `Ratings` of at least two people and two items."""
        ratings = self.make()
        assert isinstance(ratings, Ratings)
        assert min(ratings.n_users, ratings.n_items) >= 2

    def test_two_calls_return_equal_ratings(self) -> None:
        """Two calls of `make` return equal ratings, so that results can be reproduced."""
        assert self.make().digest == self.make().digest

    def test_popularity_can_be_fitted(self) -> None:
        """`Popularity`, the simplest recommender, can be fitted to the ratings and makes a list."""
        assert len(Popularity().fit(self.make()).recommend(history={}, n=1)) == 1
