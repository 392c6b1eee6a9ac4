"""The role of a recommender, and how scores become a list."""

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
    """One line of a list."""

    user_id: Any
    item_id: Any
    score: float
    """Predicted stars, or the number that the list is ranked by."""
    rank: int
    """From 1."""
    cold: bool = False
    """Whether no one rated the item, so that its public features alone were scored."""


class Tabular:
    """Something with columns, which become a data frame."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, for a data frame."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Make a polars data frame of the columns."""
        from tacit.data.tabular import to_frame  # it needs polars

        return to_frame(self.to_dict(), "polars")

    def to_pandas(self) -> Any:
        """Make a pandas data frame of the columns; ConfigError if pandas is not installed."""
        from tacit.data.tabular import to_frame  # it needs polars

        return to_frame(self.to_dict(), "pandas")


@dataclass(frozen=True)
class Recommendations(Tabular):
    """A list for one person, best first."""

    rows: tuple[Recommendation, ...]
    titles: Mapping[Any, str] = field(default_factory=dict, compare=False)
    """Title of an item by its id, where it is known."""

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
        """Columns user_id, item_id, score, rank; cold where asked for, title where known."""
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
        """Copy the list, with the titles of its items."""
        known = {row.item_id: titles[row.item_id] for row in self.rows if row.item_id in titles}
        return Recommendations(self.rows, known)

    def __repr__(self) -> str:
        lines = [f"{row.rank:>4}  {row.score:>8.3f}  {self._label(row)}" for row in self.rows]
        lines.insert(0, "rank     score  item")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = ((row.rank, self._label(row), row.score) for row in self.rows)
        return table("Recommendations", ("rank", "item", "score"), rows)

    def _label(self, row: Recommendation) -> str:
        title = self.titles.get(row.item_id)
        return str(row.item_id) if title is None else f"{title} ({row.item_id})"


class Recommender(Protocol):
    """Fit once on ratings, then serve people by id or by their own history.

    Unknown people get the list of a person without ratings; an unknown item's prediction is NaN.
    Items in the person's history are left out of their list. A saved model holds items, never
    people: after loading, give the history.
    """

    def fit(self, ratings: Ratings) -> Recommender:
        """Learn from everybody's ratings."""

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """Recommend the n best items, for a known `user` or for any `history`."""

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) predicted stars or scores."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the cards of the fit; none where no privacy is promised."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""


class Parameters:
    """The constructor's arguments as scikit-learn has them: each is an attribute of that name.

    So they are read and set by name here, and nowhere else.
    """

    people_parameters: ClassVar[frozenset[str]] = frozenset()
    """Names of the arguments that hold ids of people: no repr shows them."""

    is_clone: bool = False
    """Whether scikit-learn's `clone` made this object: then nobody knows of fits before it."""

    def __sklearn_clone__(self) -> Self:
        """Make an object of the same parameters, not fitted, whose cards say that it is a clone."""
        clone = type(self)(**self.get_params())
        clone.is_clone = True
        return clone

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {each.name: each.default for each in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name and value of each argument; deep has no effect."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change some arguments for the next `fit`; ConfigError for another name."""
        for name, value in parameters.items():
            if name not in self._defaults():
                own = type(self).__name__
                known = ", ".join(self._defaults())
                raise ConfigError(f"{own} has no parameter '{name}'. It has {known}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Arguments that differ from the defaults; nothing that was learned."""
        defaults = self._defaults()
        arguments = []
        for name, shown in self._shown_parameters().items():
            if shown != repr(defaults[name]):
                arguments.append(f"{name}={shown}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_html_(self) -> str:
        """Parameters, and the cards of a fitted model; nothing that was learned of a person."""
        rows: list[tuple[object, object]] = list(self._shown_parameters().items())
        if hasattr(self, "item_ids_"):
            rows += [(card.first_line, card.sentence) for card in self.guarantees()]
        return table(type(self).__name__, (), rows)

    def _shown_parameters(self) -> dict[str, str]:
        """Name and text of each argument; of ids of people only their number."""
        shown = {}
        for name, value in self.get_params().items():
            shown[name] = repr(value)
            if name in self.people_parameters and len(value):
                shown[name] = f"<{len(value)} people>"
        return shown

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The cards of the fit; none where no privacy is promised."""
        return ()


def without_people(model: Any) -> dict[str, Any]:
    """State of a pickle or a copy that holds no person, as files do: a class's `__getstate__`."""
    state: Any = object.__getstate__(model)
    return {name: value for name, value in state.items() if name != "people_"}


class ItemRecommender(Parameters):
    """A recommender that scores all items for one history at a time.

    A subclass sets `item_ids_` in `fit`, may set `people_`, and implements `_score`. It may score
    blocks of people faster in `_score_rows`.

    Attributes:
        item_ids_: Ids that lists are made of.
        titles_: Title of an item by its id, where it is known.
        details_: Categories, price and picture of an item by its id, where they are known.
        people_: Ratings of known people; None for a model from a file.
    """

    item_ids_: Column
    titles_: Mapping[Any, str] = MappingProxyType({})
    details_: Details = MappingProxyType({})
    people_: Ratings | None = None

    @property
    def history_ids_(self) -> Column:
        """Ids that a history may hold: those it recommends, unless it learns from others too."""
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
        """Recommend the n best items that are not in the history.

        Args:
            user: One of those fitted to, who is known until the model is saved.
            history: Item id to stars; None: what is known of `user`.
            n: Length of the list.
            exclude: Ids to leave out, too.
            candidates: Ids to choose from; None: all.
            keep_seen: Whether items of the history may be listed.
        """
        own = self._history(user, history)
        seen = () if keep_seen else own
        best = top_n(
            self._score(own),
            self.item_ids_,
            n=n,
            user=user,
            left_out={*seen, *checked_ids(exclude, "exclude")},
            candidates=candidates,
        )
        return best.with_titles(self.titles_)

    def recommend_many(self, histories: Sequence[Any], *, n: int = 10) -> list[Recommendations]:
        """Make a list for each history, as `recommend` does; `user_id` is its place."""
        n = checked_n(n)
        read = [self._history(None, history) for history in histories]
        best = self._best_of_rows(self._rows_of(read), n, None)
        return read_lists(best, self.item_ids_, self.titles_)

    def list_users(
        self, users: Sequence[Any], *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> BestItems:
        """Make the lists of people fitted to, as `recommend` does; places are in `item_ids_`."""
        n = checked_n(n)
        read = [self._history(user, None) for user in users]
        allowed = None
        if candidates is not None:
            allowed = places_of(checked_ids(candidates, "candidates"), self.item_ids_)
        return self._best_of_rows(self._rows_of(read), n, allowed)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) scores; NaN for an item that was not in training."""
        return pick(self._score(self._history(user, history)), self.item_ids_, items)

    def _score(self, history: History) -> Floats:
        """(n_items,) score of every item for a person with this history."""
        raise NotImplementedError

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        """Score every item for many people.

        Args:
            rows: (people, items of `history_ids_`) their stars; a stored 0 is a rating of 0.

        Returns:
            (people, items of `item_ids_`) what `_score` gives for each of them.
        """
        ids = self.history_ids_.tolist()
        scores = np.empty((rows.shape[0], len(self.item_ids_)))
        for person in range(rows.shape[0]):
            own = slice(rows.indptr[person], rows.indptr[person + 1])
            rated = [ids[place] for place in rows.indices[own].tolist()]
            scores[person] = self._score(dict(zip(rated, rows.data[own].tolist(), strict=True)))
        return scores

    def _best_of_rows(
        self, rows: sparse.csr_array, n: int, allowed: NDArray[np.int64] | None
    ) -> BestItems:
        """Make a list for each row of stars, of unrated items.

        Args:
            rows: As `_score_rows` reads them.
            n: Length of a list.
            allowed: Places that may be listed, ascending; None: all.
        """
        rated = self._rated_items(rows)
        if allowed is None:
            return best_of_scores(lambda people: self._score_rows(rows[people]), rated, n)
        best = best_of_scores(
            lambda people: self._score_rows(rows[people])[:, allowed], rated[:, allowed], n
        )
        return best.renumber(allowed)

    def _rows_of(self, histories: Sequence[History]) -> sparse.csr_array:
        """(people, items of `history_ids_`) stars; ratings of unknown items have no say."""
        place_of = {item: place for place, item in enumerate(self.history_ids_.tolist())}
        places: list[int] = []
        stars: list[float] = []
        ends = [0]
        for history in histories:
            for item, value in history.items():
                place = place_of.get(item)
                if place is not None:
                    places.append(place)
                    stars.append(value)
            ends.append(len(places))
        arrays = np.array(stars, dtype=float), np.array(places, dtype=np.int32), np.array(ends)
        rows = sparse.csr_array(arrays, shape=(len(histories), len(place_of)))
        rows.sort_indices()
        return rows

    def _rated_items(self, rows: sparse.csr_array) -> sparse.csr_array:
        """(people, items of `item_ids_`) with an entry for each rated one."""
        if self.history_ids_ is self.item_ids_:
            return rows
        place_in_history = {item: place for place, item in enumerate(self.history_ids_.tolist())}
        columns = [place_in_history[item] for item in self.item_ids_.tolist()]
        rated: sparse.csr_array = rows[:, columns]
        return rated

    def _require_fitted(self) -> None:
        """Raise NotFittedError before `fit`."""
        if not hasattr(self, "item_ids_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call fit(ratings) first.")

    def _history(self, user: Any, history: History | None) -> History:
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
    """Rank items by score, ties by item order.

    Args:
        scores: (items,)
        item_ids: (items,)
        n: Length of the list.
        user: Id of the person, for the lines of the list.
        left_out: Ids that are not listed; unknown ones are ignored.
        candidates: Ids that may be listed; None: all; unknown ones are ignored.
    """
    n = checked_n(n)
    unwanted = set(left_out)
    allowed = None if candidates is None else set(checked_ids(candidates, "candidates"))
    ranked = n + len(unwanted)
    while True:
        places = rank_best(scores, ranked)
        listed = []
        for place, item in zip(places.tolist(), item_ids[places].tolist(), strict=True):
            if item not in unwanted and (allowed is None or item in allowed):
                listed.append((place, item))
        if len(listed) >= n or ranked >= len(scores):
            break
        ranked *= 4
    rows = []
    for rank, (place, item) in enumerate(listed[:n], 1):
        rows.append(Recommendation(user, item, float(scores[place]), rank))
    return Recommendations(tuple(rows))


def read_lists(
    best: BestItems, item_ids: Column, titles: Mapping[Any, str]
) -> list[Recommendations]:
    """Write the lists of many people with ids; `user_id` is a person's place.

    Args:
        best: The lists.
        item_ids: (items,)
        titles: Title of an item by its id.
    """
    lists = []
    items = item_ids[best.places].tolist()
    lengths = (best.places >= 0).sum(axis=1).tolist()
    scores = best.scores.tolist()
    for person, length in enumerate(lengths):
        entries = zip(items[person][:length], scores[person][:length], strict=True)
        rows = [
            Recommendation(person, item, score, rank)
            for rank, (item, score) in enumerate(entries, 1)
        ]
        made = Recommendations(tuple(rows))
        lists.append(made.with_titles(titles) if titles else made)
    return lists


def places_of(ids: Collection[Any], item_ids: Column) -> NDArray[np.int64]:
    """Give the places of some ids, ascending; unknown ones have none."""
    chosen = set(ids)
    places = [place for place, item in enumerate(item_ids.tolist()) if item in chosen]
    return np.array(places, dtype=np.int64)


def pick(scores: Floats, item_ids: Column, items: Sequence[Any]) -> Floats:
    """(len(items),) scores of some items by id, NaN where unknown."""
    score_of = dict(zip(item_ids.tolist(), scores.tolist(), strict=True))
    return np.array([score_of.get(item, np.nan) for item in items], dtype=float)
