"""The conformance suite for recommenders."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.errors import ConfigError, DataError, NotFittedError, TacitError
from tacit.privacy import Guarantee
from tacit.recommenders.base import Recommendations
from tacit.recommenders.model_files import load_model

UNKNOWN = 10**9
"""An id that no generated person or item has; also a length that no list reaches."""


class RecommenderConformance:
    """Tests of a recommender. Subclass this class, and write `make`."""

    keeps_people: ClassVar[bool] = True
    """Whether a fitted model makes a training person's own list when it is given their id."""

    def make(self) -> Any:
        """Return a recommender with its settings, not fitted yet."""
        raise NotImplementedError

    def data(self, seed: int = 1) -> Ratings:
        """Return ratings to fit to, with integer ids and at least 20 ratings of each person."""
        return _make_ratings(seed)

    def catalogue(self) -> list[Any]:
        """Return the ids of all items that a fitted recommender can list."""
        items: list[Any] = self.data().item_ids.tolist()
        return items

    def fitted_model(self) -> Any:
        """Fit the recommender to the data."""
        return self.make().fit(self.data())

    def history(self) -> dict[Any, float]:
        """Return eight ratings of the first person in the data: item id to stars."""
        ratings = self.data()
        return dict(list(ratings.history(ratings.user_ids[0].item()).items())[:8])

    def test_fit_returns_the_recommender(self) -> None:
        """`fit` returns the object that it was called on, so that calls can be chained."""
        model = self.make()
        assert model.fit(self.data()) is model, "fit has to return self"

    def test_fit_starts_afresh(self) -> None:
        """An earlier fit of the same object, to other data, does not change the answers."""
        fitted_twice = self.make().fit(self.data(seed=2)).fit(self.data())
        self._check_same_answers(fitted_twice, self.fitted_model())

    def test_order_of_rows_says_nothing(self) -> None:
        """Answers do not depend on the order of the ratings' rows."""
        ratings = self.data()
        order = np.random.default_rng(3).permutation(len(ratings))
        shuffled = Ratings.from_arrays(
            ratings.user_ids[ratings.users[order]],
            ratings.item_ids[ratings.items[order]],
            ratings.values[order],
            timestamps=None if ratings.timestamps is None else ratings.timestamps[order],
            scale=ratings.scale,
            user_attributes={
                name: dict(zip(ratings.user_ids.tolist(), column.tolist(), strict=True))
                for name, column in ratings.user_attributes.items()
            },
            item_metadata={
                name: dict(zip(ratings.item_ids.tolist(), column.tolist(), strict=True))
                for name, column in ratings.item_metadata.items()
            },
        )
        self._check_same_answers(self.make().fit(shuffled), self.fitted_model())

    def test_seen_items_are_left_out(self) -> None:
        """A list holds no item of the history."""
        history = self.history()
        recommended_ids = self.fitted_model().recommend(history=history, n=UNKNOWN).item_ids
        assert not set(history) & set(recommended_ids), "an item from the history was recommended"

    def test_list_has_n_entries(self) -> None:
        """A list has n entries, if there are that many items to choose from."""
        model = self.fitted_model()
        lengths = [len(model.recommend(history=self.history(), n=n)) for n in (1, 2, 7)]
        assert lengths == [1, 2, 7], f"lists of 1, 2 and 7 have {lengths} entries"

    def test_a_long_list_holds_each_unseen_item_once(self) -> None:
        """A list for a very large n holds every unseen item once."""
        history = self.history()
        recommended_ids = self.fitted_model().recommend(history=history, n=UNKNOWN).item_ids
        unseen_ids = set(self.catalogue()) - set(history)
        assert sorted(recommended_ids) == sorted(unseen_ids), (
            "the list is not every unseen item, once"
        )

    def test_ranks_count_from_one(self) -> None:
        """Ranks are 1, 2, 3, ... in the order of the list."""
        rows = self.fitted_model().recommend(history=self.history(), n=9)
        assert [row.rank for row in rows] == list(range(1, 10)), "ranks do not count from 1"

    def test_scores_never_rise(self) -> None:
        """Scores are finite, and do not increase from one rank to the next."""
        scores = [row.score for row in self.fitted_model().recommend(history=self.history(), n=20)]
        assert all(np.isfinite(scores)), "a score is not a finite number"
        assert scores == sorted(scores, reverse=True), "a later entry has a higher score"

    def test_excluded_items_are_left_out(self) -> None:
        """`exclude` removes its items from the list, and keeps all other items in their order."""
        model = self.fitted_model()
        full_list = model.recommend(history=self.history(), n=UNKNOWN).item_ids
        excluded = full_list[:3]
        shorter = model.recommend(history=self.history(), n=UNKNOWN, exclude=excluded).item_ids
        assert shorter == full_list[3:], "exclude changed more than the items it names"

    def test_candidates_are_all_there_is(self) -> None:
        """`candidates` removes all other items from the list; those that stay keep their order."""
        model = self.fitted_model()
        full_list = model.recommend(history=self.history(), n=UNKNOWN).item_ids
        candidates = full_list[1:8:2]
        shorter = model.recommend(history=self.history(), candidates=candidates).item_ids
        assert shorter == candidates, "the list is not the candidates in their order"

    def test_unknown_ids_are_ignored(self) -> None:
        """Unknown items in the history, `exclude` or `candidates` change nothing."""
        model = self.fitted_model()
        history = self.history()
        items = self.catalogue()
        expected_list = model.recommend(history=history)
        _check_same_lists(model.recommend(history={**history, UNKNOWN: 3.0}), expected_list)
        _check_same_lists(model.recommend(history=history, exclude=[UNKNOWN]), expected_list)
        _check_same_lists(
            model.recommend(history=history, candidates=[UNKNOWN, *items]), expected_list
        )

    def test_unknown_person_gets_the_list_of_a_newcomer(self) -> None:
        """A person with an unknown id gets the list of an empty history, and no error."""
        model = self.fitted_model()
        recommendations = model.recommend(UNKNOWN)
        assert len(recommendations) == 10, "an unknown person gets no full list"
        _check_same_lists(recommendations, model.recommend(history={}))

    def test_unknown_item_has_no_prediction(self) -> None:
        """`predict` returns NaN for an unknown item, and a number for a known one."""
        known_item = self.catalogue()[0]
        predictions = self.fitted_model().predict([UNKNOWN, known_item], history=self.history())
        assert math.isnan(predictions[0]), "an unknown item has a prediction"
        assert math.isfinite(predictions[1]), "the prediction of a known item is no finite number"

    def test_person_is_their_history(self) -> None:
        """The list for a person's id equals the list for their ratings as a history.

        If `keeps_people` is False, it equals the list for an empty history.
        """
        model = self.fitted_model()
        ratings = self.data()
        user = ratings.user_ids[0].item()
        history = ratings.history(user) if self.keeps_people else {}
        _check_same_lists(model.recommend(user), model.recommend(history=history))

    def test_list_names_the_person(self) -> None:
        """Each row of a list has the id of the person for whom the list was made."""
        rows = self.fitted_model().recommend(UNKNOWN)
        assert {row.user_id for row in rows} == {UNKNOWN}, "a row names another person"

    def test_model_file_gives_the_same_lists(self, tmp_path: Path) -> None:
        """A model that was saved and loaded gives exactly the same answers."""
        model = self.fitted_model()
        model.save(tmp_path / "model")
        self._check_same_answers(load_model(tmp_path / "model"), model)

    def test_not_fitted(self, tmp_path: Path) -> None:
        """A model that is not fitted refuses to recommend, predict or save: NotFittedError."""
        uses: list[Callable[[Any], Any]] = [
            lambda model: model.recommend(history={}),
            lambda model: model.recommend(UNKNOWN),
            lambda model: model.predict([1], history={}),
            lambda model: model.save(tmp_path / "model"),
        ]
        for use in uses:
            with _raises(NotFittedError):
                use(self.make())

    def test_stars_that_are_not_finite_are_refused(self) -> None:
        """A history with a rating that is not a finite number raises DataError."""
        model = self.fitted_model()
        item = self.catalogue()[0]
        for stars in (math.nan, math.inf, "4"):
            with _raises(DataError):
                model.recommend(history={item: stars})

    def test_empty_lists_are_refused(self) -> None:
        """A list of 0 or -1 entries raises ConfigError."""
        model = self.fitted_model()
        for n in (0, -1):
            with _raises(ConfigError):
                model.recommend(history={}, n=n)

    def test_guarantees_are_cards(self) -> None:
        """`guarantees` returns a tuple of cards that can be written as JSON."""
        cards = self.fitted_model().guarantees()
        assert isinstance(cards, tuple), "cards are a tuple, empty where nothing is promised"
        for card in cards:
            assert isinstance(card, Guarantee), "a guarantee is a tacit.privacy.Guarantee"
            json.dumps(card.to_dict(), allow_nan=False)

    def _check_same_answers(self, first: Any, second: Any) -> None:
        """Check that two models give equal lists and predictions, also for an empty history."""
        items = self.catalogue()
        for history in (self.history(), {}):
            _check_same_lists(
                first.recommend(history=history, n=20), second.recommend(history=history, n=20)
            )
            np.testing.assert_array_equal(
                first.predict(items, history=history), second.predict(items, history=history)
            )


@cache
def _make_ratings(seed: int) -> Ratings:
    """Make 1600 ratings of 70 people and 50 items."""
    return generate(users=70, items=50, ratings=1600, seed=seed)


def _check_same_lists(first: Recommendations, second: Recommendations) -> None:
    """Check that two lists have equal items, scores and ranks."""
    assert _rows(first) == _rows(second), f"two lists differ:\n{first}\n{second}"


def _rows(recommendations: Recommendations) -> list[tuple[int | str, float, int]]:
    """Return (item id, score, rank) of each entry of a list."""
    return [(row.item_id, row.score, row.rank) for row in recommendations]


@contextmanager
def _raises(error: type[TacitError]) -> Iterator[None]:
    """Check that the `with` block raises this error, with a message."""
    try:
        yield
    except error as raised:
        if not str(raised):
            raise AssertionError(f"the {error.__name__} says nothing") from None
    else:
        raise AssertionError(f"{error.__name__} was expected and nothing was raised")
