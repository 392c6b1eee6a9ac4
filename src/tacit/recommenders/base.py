"""The methods that a recommender has, and how scores become a list."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings
from tacit.engine.best_items import BestItems, best_of_scores, rank_best
from tacit.errors import ConfigError, NotFittedError
from tacit.privacy import Guarantee
from tacit.recommenders.inputs import (
    checked_history,
    checked_ids,
    checked_n,
    refuse_histories_as_users,
    refuse_history_as_user,
)
from tacit.recommenders.item_details import Details
from tacit.views import table

Floats = NDArray[np.float64]
History = Mapping[Any, float]
"""One person's own ratings: item id to stars."""
HistoryTimes = Mapping[Any, int]
"""When one person rated each item of a history: item id to seconds."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One item of a person's list."""

    user_id: Any
    """Id of the person; None for a single history, its number for one of many histories."""
    item_id: Any
    """Id of the item."""
    score: float
    """Predicted stars, or another number by which the list is ranked."""
    rank: int
    """Place in the list, from 1."""
    cold: bool = False
    """Whether nobody rated the item, so that its score comes from its public features alone."""


class Tabular:
    """Base class of results that can be turned into a data frame."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Make a polars data frame of the columns."""
        from tacit.data.frames import to_frame  # it needs polars

        return to_frame(self.to_dict(), "polars")

    def to_pandas(self) -> Any:
        """Make a pandas data frame of the columns; raise ConfigError if pandas is not installed."""
        from tacit.data.frames import to_frame  # it needs polars

        return to_frame(self.to_dict(), "pandas")


@dataclass(frozen=True)
class Recommendations(Tabular):
    """A list for one person, best first."""

    rows: tuple[Recommendation, ...]
    """The items of the list, best first."""
    titles: Mapping[Any, str] = field(default_factory=dict, compare=False)
    """Item id to title; items without a title are left out."""

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> Recommendation:
        return self.rows[position]

    @property
    def item_ids(self) -> list[Any]:
        """Ids of the listed items, best first."""
        return [row.item_id for row in self.rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns user_id, item_id, score and rank.

        The column `cold` is added if an item is cold, and `title` if there are titles.
        """
        columns: dict[str, list[Any]] = {
            "user_id": [row.user_id for row in self.rows],
            "item_id": [row.item_id for row in self.rows],
            "score": [row.score for row in self.rows],
            "rank": [row.rank for row in self.rows],
        }
        if any(row.cold for row in self.rows):
            columns["cold"] = [row.cold for row in self.rows]
        if self.titles:
            columns["title"] = [self.titles.get(row.item_id) for row in self.rows]
        return columns

    def with_titles(self, titles: Mapping[Any, str]) -> Recommendations:
        """Return this list with the titles of its items; titles of other items are ignored."""
        listed_titles = {}
        for row in self.rows:
            if row.item_id in titles:
                listed_titles[row.item_id] = titles[row.item_id]
        return Recommendations(self.rows, listed_titles)

    def __repr__(self) -> str:
        lines = [f"{row.rank:>4}  {row.score:>8.3f}  {self._label(row)}" for row in self.rows]
        lines.insert(0, "rank     score  item")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = ((row.rank, self._label(row), row.score) for row in self.rows)
        return table("Recommendations", ("rank", "item", "score"), rows)

    def _label(self, row: Recommendation) -> str:
        """Format the title and the id of an item, or the id alone."""
        title = self.titles.get(row.item_id)
        return str(row.item_id) if title is None else f"{title} ({row.item_id})"


class Recommender(Protocol):
    """A recommender that is fitted to ratings and then answers for an id or for a history.

    An unknown person gets the list of a person without ratings; an unknown item's prediction is
    NaN. Items in a person's history are left out of their list. A saved model does not know people
    by their ids: after loading, it answers for histories only.
    """

    def fit(self, ratings: Ratings) -> Recommender:
        """Learn from the ratings of all people."""

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """Recommend the n best items for a history or, if there is none, for the person with an id.

        Args:
            user: Id of a person that the model was fitted to.
            history: Item id to stars; None: the ratings of `user` in the fit.
            n: Length of the list.
            exclude: Ids of other items to leave out.
            candidates: Ids of the items that may be listed; None: all.
        """

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """Return (len(items),) predicted stars or scores; the person is given as in `recommend`."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of the fit; an empty tuple if it promises no privacy."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""


class Parameters:
    """The parameters of an estimator, as in scikit-learn.

    Each argument of the constructor is an attribute of the same name. Only this class reads and
    sets them by their names.
    """

    people_parameters: ClassVar[frozenset[str]] = frozenset()
    """Names of parameters that hold ids of people, which no repr shows."""

    is_clone: bool = False
    """Whether scikit-learn's `clone` made this object. A clone does not know of earlier
    fits; private recommenders say so on their cards."""

    def __sklearn_clone__(self) -> Self:
        """Make an unfitted object with the same parameters, marked as a clone for its cards."""
        clone = type(self)(**self.get_params())
        clone.is_clone = True
        return clone

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the name and the default of each parameter."""
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the name and the value of each parameter; `deep` has no effect."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters for the next `fit`; raise ConfigError if there is no such parameter."""
        for name, value in parameters.items():
            if name not in self._defaults():
                names = ", ".join(self._defaults())
                raise ConfigError(
                    f"{type(self).__name__} has no parameter '{name}'. It has {names}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from the defaults; nothing that was learned."""
        defaults = self._defaults()
        arguments = []
        for name, text in self._parameter_texts().items():
            if text != repr(defaults[name]):
                arguments.append(f"{name}={text}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_html_(self) -> str:
        """Show the parameters and, of a fitted model, the cards; nothing about a person."""
        rows: list[tuple[object, object]] = list(self._parameter_texts().items())
        if hasattr(self, "item_ids_"):
            rows += [(card.first_line, card.sentence) for card in self.guarantees()]
        return table(type(self).__name__, (), rows)

    def _parameter_texts(self) -> dict[str, str]:
        """Return each parameter's repr by its name; ids of people are replaced by their number."""
        texts = {}
        for name, value in self.get_params().items():
            texts[name] = repr(value)
            if name in self.people_parameters and len(value):
                texts[name] = f"<{len(value)} people>"
        return texts

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of the fit; an empty tuple if it promises no privacy."""
        return ()


def without_people(model: Any) -> dict[str, Any]:
    """Return a model's state for a pickle or copy, without the people that it was fitted to.

    A class uses this function as its `__getstate__`.
    """
    state: Any = object.__getstate__(model)
    return {name: value for name, value in state.items() if name != "people_"}


class ItemRecommender(Parameters):
    """A recommender that gives every item a score, from one person's history.

    A subclass sets `item_ids_` in `fit`, may set `people_`, and implements `_score`. It may replace
    `_score_rows` by code that scores many people faster. A further subclass that replaces `_score`
    alone gets the slower code back.

    Attributes:
        item_ids_: (items,) ids of the items that can be listed.
        titles_: Item id to title; items without a title are left out.
        details_: Item id to categories, price and picture; items without any are left out.
        people_: Ratings of the people that the model was fitted to; None if they are not kept, as
            in a model from a file.
    """

    item_ids_: Column
    titles_: Mapping[Any, str] = MappingProxyType({})
    details_: Details = MappingProxyType({})
    people_: Ratings | None = None

    @property
    def history_ids_(self) -> Column:
        """Ids of the items whose ratings in a history are used; by default those of `item_ids_`."""
        return self.item_ids_

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
        keep_seen: bool = False,
    ) -> Recommendations:
        """Recommend the n best items, by default without those of the history.

        Args:
            user: Id of a person that the model was fitted to. A model from a file knows no ids.
            history: Item id to stars; None: the ratings of `user` in the fit, or no ratings if the
                id is unknown.
            n: Length of the list.
            exclude: Ids of other items to leave out.
            candidates: Ids of the items that may be listed; None: all.
            keep_seen: Whether items of the history may be listed.
        """
        known_ratings = self._history(user, history)
        seen = () if keep_seen else known_ratings
        best = top_n(
            self._score(known_ratings),
            self.item_ids_,
            n=n,
            user=user,
            left_out={*seen, *checked_ids(exclude, "exclude")},
            candidates=candidates,
        )
        return best.with_titles(self.titles_)

    def recommend_many(self, histories: Sequence[Any], *, n: int = 10) -> list[Recommendations]:
        """Make a list for each history, as `recommend` does.

        Args:
            histories: For each person, item id to stars.
            n: Length of a list.

        Returns:
            A list for each history; its `user_id` is the history's number, from 0.
        """
        self._require_fitted()
        # A list has no more items than the model. An array of the lists would have n columns.
        best = self.list_histories(histories, n=min(checked_n(n), len(self.item_ids_) or 1))
        return lists_with_ids(best, self.item_ids_, self.titles_)

    def list_histories(self, histories: Sequence[Any], *, n: int = 10) -> BestItems:
        """Make a list for each history, as `recommend` does, and return numbers in place of ids.

        Args:
            histories: For each person, item id to stars.
            n: Length of a list.

        Returns:
            The lists; their places are indices into `item_ids_`.
        """
        n = checked_n(n)
        checked_histories = [self._history(None, history) for history in histories]
        return self._best_of_rows(self._stars_of_histories(checked_histories), n, None)

    def list_users(
        self, users: Sequence[Any], *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> BestItems:
        """Make a list for each of many people, as `recommend` does.

        Args:
            users: Ids of people that the model was fitted to; others count as people without
                ratings.
            n: Length of a list.
            candidates: Ids of the items that may be listed; None: all.

        Returns:
            The lists; their places are indices into `item_ids_`.
        """
        n = checked_n(n)
        rows = self._stars_of_people(users)
        allowed = None
        if candidates is not None:
            allowed = places_of(checked_ids(candidates, "candidates"), self.item_ids_)
        return self._best_of_rows(rows, n, allowed)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """Return (len(items),) scores, NaN for an unknown item.

        Args:
            items: Ids of the items.
            user: As in `recommend`.
            history: As in `recommend`.
        """
        return scores_of_items(self._score(self._history(user, history)), self.item_ids_, items)

    def _score(self, history: History) -> Floats:
        """Return the score of each item of `item_ids_` for a person with this history."""
        raise NotImplementedError

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        """Return the scores that `_score` computes for each of many people.

        Args:
            rows: (people, items of `history_ids_`) CSR of stars; a stored 0 is a rating of 0.

        Returns:
            (people, items of `item_ids_`) scores.
        """
        ids = self.history_ids_.tolist()
        scores = np.empty((rows.shape[0], len(self.item_ids_)))
        for person in range(rows.shape[0]):
            entries = slice(rows.indptr[person], rows.indptr[person + 1])
            rated = [ids[place] for place in rows.indices[entries].tolist()]
            history = dict(zip(rated, rows.data[entries].tolist(), strict=True))
            scores[person] = self._score(history)
        return scores

    def _best_of_rows(
        self, rows: sparse.csr_array, n: int, allowed: NDArray[np.int64] | None
    ) -> BestItems:
        """Make for each person a list of the best items that they did not rate.

        Args:
            rows: (people, items of `history_ids_`) CSR of stars, as in `_score_rows`.
            n: Length of a list.
            allowed: Places in `item_ids_` of the items that may be listed, ascending; None: all.
        """
        rated = self._stars_of_listable_items(rows)
        if allowed is None:
            return best_of_scores(lambda people: self._score_many(rows[people]), rated, n)
        best = best_of_scores(
            lambda people: self._score_many(rows[people])[:, allowed], rated[:, allowed], n
        )
        return best.renumber(allowed)

    def _score_many(self, rows: sparse.csr_array) -> Floats:
        """Return the scores of many people, by `_score_rows` unless a subclass replaced `_score`.

        Args:
            rows: (people, items of `history_ids_`) CSR of stars, as in `_score_rows`.
        """
        for ancestor in type(self).__mro__:
            if "_score_rows" in vars(ancestor):
                break
            if "_score" in vars(ancestor):
                return ItemRecommender._score_rows(self, rows)
        return self._score_rows(rows)

    def _stars_of_histories(self, histories: Sequence[History]) -> sparse.csr_array:
        """Turn histories into a CSR matrix (histories, items of `history_ids_`) of stars.

        Ratings of other items are ignored.
        """
        places = {item: place for place, item in enumerate(self.history_ids_.tolist())}
        columns: list[int] = []
        stars: list[float] = []
        ends = [0]
        for history in histories:
            for item, value in history.items():
                if item in places:
                    columns.append(places[item])
                    stars.append(value)
            ends.append(len(columns))
        values = np.array(stars, dtype=float)
        indices = np.array(columns, dtype=np.int32)
        shape = (len(histories), len(places))
        rows = sparse.csr_array((values, indices, np.array(ends)), shape=shape)
        rows.sort_indices()
        return rows

    def _stars_of_people(self, users: Sequence[Any]) -> sparse.csr_array:
        """Return the stars of people in the fit: a CSR matrix (people, items of `history_ids_`).

        The row of an unknown id is empty.

        Args:
            users: Ids of the people.
        """
        self._require_fitted()
        refuse_histories_as_users(users)
        shape = (len(users), len(self.history_ids_))
        if self.people_ is None:
            return sparse.csr_array(shape)
        numbers = [self.people_.user_number(user) for user in users]
        known_rows = [row for row, number in enumerate(numbers) if number is not None]
        known_numbers = np.array([number for number in numbers if number is not None], np.int64)
        stars = self.people_.matrix[known_numbers]
        places = {item: place for place, item in enumerate(self.history_ids_.tolist())}
        item_places = [places.get(item, -1) for item in self.people_.item_ids.tolist()]
        columns = np.array(item_places)[stars.indices]
        rows = np.repeat(np.array(known_rows, np.int64), np.diff(stars.indptr))
        is_in_history = columns >= 0
        entries = (rows[is_in_history], columns[is_in_history])
        return sparse.csr_array((stars.data[is_in_history], entries), shape=shape)

    def _stars_of_listable_items(self, rows: sparse.csr_array) -> sparse.csr_array:
        """Return the columns of (people, items of `history_ids_`) that are items of `item_ids_`.

        They are in the order of `item_ids_`.
        """
        if self.history_ids_ is self.item_ids_:
            return rows
        places = {item: place for place, item in enumerate(self.history_ids_.tolist())}
        columns = [places[item] for item in self.item_ids_.tolist()]
        rated: sparse.csr_array = rows[:, columns]
        return rated

    def _require_fitted(self) -> None:
        """Raise NotFittedError before `fit`."""
        if not hasattr(self, "item_ids_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call fit(ratings) first.")

    def _history(self, user: Any, history: History | None) -> History:
        """Return the history after checks; without a history, the ratings of the user in the fit.

        An unknown user has no ratings.

        Raises:
            NotFittedError: The model is not fitted.
            DataError: The history is not valid, or `user` is a history.
        """
        self._require_fitted()
        if history is not None:
            return checked_history(history, self.item_ids_)
        refuse_history_as_user(user)
        return self.people_.history(user) if self.people_ is not None else {}


def top_n(
    scores: Floats,
    item_ids: Column,
    *,
    n: int,
    user: Any,
    left_out: Collection[Any],
    candidates: Collection[Any] | None,
) -> Recommendations:
    """Make the list of the items with the highest scores; equal scores keep the items' order.

    Args:
        scores: (items,) scores.
        item_ids: (items,) ids.
        n: Length of the list.
        user: Id of the person, which stands in the list; None: no id.
        left_out: Ids of items to leave out; unknown ids are ignored.
        candidates: Ids of items that may be listed, of which unknown ones are ignored; None: all.

    Raises:
        ConfigError: n is no whole number above 0, or the candidates are no collection of ids.
    """
    n = checked_n(n)
    excluded = set(left_out)
    allowed = None if candidates is None else set(checked_ids(candidates, "candidates"))
    # Only the best items are ranked. If too few of them may be listed, more are ranked.
    n_ranked = n + len(excluded)
    while True:
        places = rank_best(scores, n_ranked)
        listed = []
        for place, item in zip(places.tolist(), item_ids[places].tolist(), strict=True):
            if item not in excluded and (allowed is None or item in allowed):
                listed.append((place, item))
        if len(listed) >= n or n_ranked >= len(scores):
            break
        n_ranked *= 4
    rows = []
    for rank, (place, item) in enumerate(listed[:n], 1):
        rows.append(Recommendation(user, item, float(scores[place]), rank))
    return Recommendations(tuple(rows))


def lists_with_ids(
    best: BestItems, item_ids: Column, titles: Mapping[Any, str]
) -> list[Recommendations]:
    """Turn lists of places into lists of ids.

    Args:
        best: Lists of many people, whose places are indices into `item_ids`.
        item_ids: (items,) ids.
        titles: Item id to title.

    Returns:
        A list for each person; its `user_id` is the person's number, from 0.
    """
    lists = []
    items = item_ids[best.places].tolist()
    lengths = (best.places >= 0).sum(axis=1).tolist()
    scores = best.scores.tolist()
    for person, length in enumerate(lengths):
        entries = zip(items[person][:length], scores[person][:length], strict=True)
        rows = []
        for rank, (item, score) in enumerate(entries, 1):
            rows.append(Recommendation(person, item, score, rank))
        recommendations = Recommendations(tuple(rows))
        lists.append(recommendations.with_titles(titles) if titles else recommendations)
    return lists


def places_of(ids: Collection[Any], item_ids: Column) -> NDArray[np.int64]:
    """Return the ascending indices in `item_ids` of some ids; unknown ids are ignored."""
    chosen = set(ids)
    places = [place for place, item in enumerate(item_ids.tolist()) if item in chosen]
    return np.array(places, dtype=np.int64)


def scores_of_items(scores: Floats, item_ids: Column, items: Sequence[Any]) -> Floats:
    """Return the scores (len(items),) of some items; NaN for an unknown id.

    Args:
        scores: (all items,) scores.
        item_ids: (all items,) ids.
        items: Ids of the items whose scores are returned.
    """
    scores_by_id = dict(zip(item_ids.tolist(), scores.tolist(), strict=True))
    return np.array([scores_by_id.get(item, np.nan) for item in items], dtype=float)
