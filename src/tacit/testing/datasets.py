"""The conformance suite for data sets."""

from __future__ import annotations

from tacit.data.ratings import Ratings
from tacit.recommenders.baselines import Popularity


class DatasetConformance:
    """Tests of a data set. Subclass it, and write `make`."""

    def make(self) -> Ratings:
        """Return the ratings."""
        raise NotImplementedError

    def test_it_gives_ratings(self) -> None:
        """There are at least two people and two items."""
        ratings = self.make()
        assert isinstance(ratings, Ratings)
        assert min(ratings.n_users, ratings.n_items) >= 2

    def test_it_is_the_same_each_time(self) -> None:
        """Two calls return equal ratings, so that results can be reproduced."""
        assert self.make().digest == self.make().digest

    def test_popularity_fits_it(self) -> None:
        """The simplest recommender can be fitted to it, and makes a list."""
        assert len(Popularity().fit(self.make()).recommend(history={}, n=1)) == 1
