"""The suite for recommenders."""

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
"""An id that no generated person or item has."""


class RecommenderConformance:
    """Subclass it and write `make`."""

    keeps_people: ClassVar[bool] = True
    """Whether a fitted model knows the people it was fitted to by their ids."""

    def make(self) -> Any:
        """A recommender with its settings, not fitted yet."""
        raise NotImplementedError

    def data(self, seed: int = 1) -> Ratings:
        """Ratings that suit the recommender: integer ids, and at least 20 ratings a person."""
        return _make_ratings(seed)

    def catalogue(self) -> list[Any]:
        """Ids of the items it recommends; those of one domain, where it serves one."""
        items: list[Any] = self.data().item_ids.tolist()
        return items

    def fitted_model(self) -> Any:
        """Fit the recommender to the data."""
        return self.make().fit(self.data())

    def history(self) -> dict[Any, float]:
        """A few stars of a person in the data."""
        ratings = self.data()
        return dict(list(ratings.history(ratings.user_ids[0].item()).items())[:8])

    def test_fit_returns_the_recommender(self) -> None:
        """`fit` returns the object it was called on, so that calls can be chained."""
        model = self.make()
        assert model.fit(self.data()) is model, "fit has to return self"

    def test_fit_starts_afresh(self) -> None:
        """Fitting to other data first leaves no trace."""
        again = self.make().fit(self.data(seed=2)).fit(self.data())
        self._agree(again, self.fitted_model())

    def test_order_of_rows_says_nothing(self) -> None:
        """Lists do not depend on the order of rows."""
        ratings = self.data()
        order = np.random.default_rng(3).permutation(len(ratings))
        shuffled = Ratings.from_arrays(
            ratings.user_ids[ratings.users[order]],
            ratings.item_ids[ratings.items[order]],
            ratings.values[order],
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
        self._agree(self.make().fit(shuffled), self.fitted_model())

    def test_seen_items_are_left_out(self) -> None:
        """Nothing from the history comes back."""
        history = self.history()
        made = self.fitted_model().recommend(history=history, n=UNKNOWN)
        assert not set(history) & set(made.item_ids), "an item from the history was recommended"

    def test_list_has_n_entries(self) -> None:
        """A list has n entries where there are as many items to choose from."""
        model = self.fitted_model()
        lengths = [len(model.recommend(history=self.history(), n=n)) for n in (1, 2, 7)]
        assert lengths == [1, 2, 7], f"lists of 1, 2 and 7 have {lengths} entries"

    def test_list_ends_with_the_catalogue(self) -> None:
        """Asked for more than there is, the list holds every unseen item once."""
        history = self.history()
        made = self.fitted_model().recommend(history=history, n=UNKNOWN)
        unseen = set(self.catalogue()) - set(history)
        assert sorted(made.item_ids) == sorted(unseen), "the list is not every unseen item, once"

    def test_ranks_count_from_one(self) -> None:
        """Ranks are 1, 2, 3, ... in the order of the list."""
        made = self.fitted_model().recommend(history=self.history(), n=9)
        assert [row.rank for row in made] == list(range(1, 10)), "ranks do not count from 1"

    def test_scores_never_rise(self) -> None:
        """A better rank never has a lower score."""
        scores = [row.score for row in self.fitted_model().recommend(history=self.history(), n=20)]
        assert all(np.isfinite(scores)), "a score is not a finite number"
        assert scores == sorted(scores, reverse=True), "a lower rank has a higher score"

    def test_excluded_items_are_left_out(self) -> None:
        """`exclude` drops those items alone, and the rest keeps its order."""
        model = self.fitted_model()
        plain = model.recommend(history=self.history(), n=UNKNOWN).item_ids
        made = model.recommend(history=self.history(), n=UNKNOWN, exclude=plain[:3]).item_ids
        assert made == plain[3:], "exclude changed more than the items it names"

    def test_candidates_are_all_there_is(self) -> None:
        """`candidates` keeps those items alone, in the order of the plain list."""
        model = self.fitted_model()
        plain = model.recommend(history=self.history(), n=UNKNOWN).item_ids
        chosen = plain[1:8:2]
        made = model.recommend(history=self.history(), candidates=chosen).item_ids
        assert made == chosen, "candidates changed more than the items left"

    def test_unknown_ids_are_ignored(self) -> None:
        """Unknown items in the history, `exclude` or `candidates` change nothing."""
        model, history = self.fitted_model(), self.history()
        items = self.catalogue()
        plain = model.recommend(history=history)
        _same_lists(model.recommend(history={**history, UNKNOWN: 3.0}), plain)
        _same_lists(model.recommend(history=history, exclude=[UNKNOWN]), plain)
        _same_lists(model.recommend(history=history, candidates=[UNKNOWN, *items]), plain)

    def test_unknown_person_gets_the_list_of_a_newcomer(self) -> None:
        """An unknown id is no error: the list is that of an empty history."""
        model = self.fitted_model()
        made = model.recommend(UNKNOWN)
        assert len(made) == 10, "an unknown person gets no full list"
        _same_lists(made, model.recommend(history={}))

    def test_unknown_item_has_no_prediction(self) -> None:
        """`predict` says NaN for an unknown item, and a number for a known one."""
        known = self.catalogue()[0]
        predicted = self.fitted_model().predict([UNKNOWN, known], history=self.history())
        assert math.isnan(predicted[0]), "an unknown item has a prediction"
        assert math.isfinite(predicted[1]), "a known item has none"

    def test_person_is_their_history(self) -> None:
        """A known person's list is that of their ratings.

        Where the model does not know people, it is a newcomer's.
        """
        model, ratings = self.fitted_model(), self.data()
        user = ratings.user_ids[0].item()
        history = ratings.history(user) if self.keeps_people else {}
        _same_lists(model.recommend(user), model.recommend(history=history))

    def test_list_names_the_person(self) -> None:
        """Every row carries the id that was asked for."""
        made = self.fitted_model().recommend(UNKNOWN)
        assert {row.user_id for row in made} == {UNKNOWN}, "a row names another person"

    def test_model_file_gives_the_same_lists(self, tmp_path: Path) -> None:
        """Saved and loaded, the model answers a history with the same scores to the last bit."""
        model = self.fitted_model()
        model.save(tmp_path / "model")
        self._agree(load_model(tmp_path / "model"), model)

    def test_not_fitted(self, tmp_path: Path) -> None:
        """Every use before `fit` is refused in words."""
        uses: list[Callable[[Any], Any]] = [
            lambda model: model.recommend(history={}),
            lambda model: model.recommend(UNKNOWN),
            lambda model: model.predict([1], history={}),
            lambda model: model.save(tmp_path / "model"),
        ]
        for use in uses:
            with _raises(NotFittedError):
                use(self.make())

    def test_odd_stars_are_refused(self) -> None:
        """A history with a star that is no finite number is refused."""
        model = self.fitted_model()
        item = self.catalogue()[0]
        for stars in (math.nan, math.inf, "4"):
            with _raises(DataError):
                model.recommend(history={item: stars})

    def test_empty_lists_are_refused(self) -> None:
        """A list of no or fewer entries is a mistake."""
        model = self.fitted_model()
        for n in (0, -1):
            with _raises(ConfigError):
                model.recommend(history={}, n=n)

    def test_guarantees_are_cards(self) -> None:
        """`guarantees` gives cards that are plain values, ready for JSON."""
        cards = self.fitted_model().guarantees()
        assert isinstance(cards, tuple), "cards are a tuple, empty where nothing is promised"
        for card in cards:
            assert isinstance(card, Guarantee), "a guarantee is a tacit.privacy.Guarantee"
            json.dumps(card.to_dict(), allow_nan=False)

    def _agree(self, first: Any, second: Any) -> None:
        """Compare lists and predictions of two models for a history and for a newcomer."""
        items = self.catalogue()
        for history in (self.history(), {}):
            one, other = (model.recommend(history=history, n=20) for model in (first, second))
            _same_lists(one, other)
            np.testing.assert_array_equal(
                first.predict(items, history=history), second.predict(items, history=history)
            )


@cache
def _make_ratings(seed: int) -> Ratings:
    return generate(users=70, items=50, ratings=1600, seed=seed)


def _same_lists(first: Recommendations, second: Recommendations) -> None:
    assert _rows(first) == _rows(second), f"two lists differ:\n{first}\n{second}"


def _rows(made: Recommendations) -> list[tuple[int | str, float, int]]:
    return [(row.item_id, row.score, row.rank) for row in made]


@contextmanager
def _raises(error: type[TacitError]) -> Iterator[None]:
    """Expect an error with a sentence."""
    try:
        yield
    except error as raised:
        if not str(raised):
            raise AssertionError(f"the {error.__name__} says nothing") from None
    else:
        raise AssertionError(f"{error.__name__} was expected and nothing was raised")
