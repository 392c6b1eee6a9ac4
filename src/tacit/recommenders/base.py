"""The role of a recommender, and how scores become a list."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings
from tacit.errors import ConfigError, NotFittedError
from tacit.privacy import Guarantee
from tacit.recommenders.inputs import checked_history, checked_ids, checked_n
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
        """Columns user_id, item_id, score, rank, and title where known, for a data frame."""
        columns: dict[str, list[Any]] = {
            "user_id": [row.user_id for row in self.rows],
            "item_id": [row.item_id for row in self.rows],
            "score": [row.score for row in self.rows],
            "rank": [row.rank for row in self.rows],
        }
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
        """Cards of what the fit promises; none where no privacy is promised."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""


class Parameters:
    """The constructor's arguments as scikit-learn has them: each is an attribute of that name.

    So they are read and set by name here, and nowhere else.
    """

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
                own, known = type(self).__name__, ", ".join(self._defaults())
                raise ConfigError(f"{own} has no parameter '{name}'. It has {known}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Arguments that differ from the defaults; nothing that was learned."""
        defaults = self._defaults()
        arguments = []
        for name, value in self.get_params().items():
            if value != defaults[name]:
                arguments.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_html_(self) -> str:
        """Parameters, and the cards of a fitted model; nothing that was learned of a person."""
        rows: list[tuple[object, object]] = list(self.get_params().items())
        if hasattr(self, "item_ids_"):
            rows += [(card.first_line, card.sentence) for card in self.guarantees()]
        return table(type(self).__name__, (), rows)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The cards of the fit; none where no privacy is promised."""
        return ()


def without_people(model: Any) -> dict[str, Any]:
    """State of a pickle or a copy that holds no person, as files do: a class's `__getstate__`."""
    state: Any = object.__getstate__(model)
    return {name: value for name, value in state.items() if name != "people_"}


class ItemRecommender(Parameters):
    """A recommender that scores all items for one history at a time.

    A subclass sets `item_ids_` in `fit`, may set `people_`, and implements `_score`.

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
    ) -> Recommendations:
        """Recommend the n best items that are not in the history.

        Args:
            user: One of those fitted to, who is known until the model is saved.
            history: Item id to stars; None: what is known of `user`.
            n: Length of the list.
            exclude: Ids to leave out, too.
            candidates: Ids to choose from; None: all.
        """
        own = self._history(user, history)
        best = top_n(
            self._score(own),
            self.item_ids_,
            n=n,
            user=user,
            left_out={*own, *checked_ids(exclude, "exclude")},
            candidates=candidates,
        )
        return best.with_titles(self.titles_)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) scores; NaN for an item that was not in training."""
        return pick(self._score(self._history(user, history)), self.item_ids_, items)

    def _score(self, history: History) -> Floats:
        """(n_items,) score of every item for a person with this history."""
        raise NotImplementedError

    def _require_fitted(self) -> None:
        """Raise NotFittedError before `fit`."""
        if not hasattr(self, "item_ids_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call fit(ratings) first.")

    def _history(self, user: Any, history: History | None) -> History:
        self._require_fitted()
        if history is not None:
            return checked_history(history, self.item_ids_)
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
    ids, n, unwanted = item_ids.tolist(), checked_n(n), set(left_out)
    allowed = None if candidates is None else set(checked_ids(candidates, "candidates"))
    rows: list[Recommendation] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        if len(rows) == n:
            break
        item = ids[place]
        if item not in unwanted and (allowed is None or item in allowed):
            rows.append(Recommendation(user, item, float(scores[place]), len(rows) + 1))
    return Recommendations(tuple(rows))


def pick(scores: Floats, item_ids: Column, items: Sequence[Any]) -> Floats:
    """(len(items),) scores of some items by id, NaN where unknown."""
    score_of = dict(zip(item_ids.tolist(), scores.tolist(), strict=True))
    return np.array([score_of.get(item, np.nan) for item in items], dtype=float)
