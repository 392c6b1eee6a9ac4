"""What every recommender offers, and how scores become a list."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings
from tacit.errors import ConfigError, NotFittedError
from tacit.privacy import Guarantee
from tacit.recommenders.inputs import checked_history, checked_ids, checked_n
from tacit.views import table

Floats = NDArray[np.float64]
History = Mapping[Any, float]
"""One person's own ratings: item id to stars."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One line of a list. rank: from 1; score: predicted stars, or what the list is ranked by."""

    user_id: Any
    item_id: Any
    score: float
    rank: int


@dataclass(frozen=True)
class Recommendations:
    """A list for one person, best first. titles: of its items, by id, where they are known."""

    rows: tuple[Recommendation, ...]
    titles: Mapping[Any, str] = field(default_factory=dict, compare=False)

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> Recommendation:
        return self.rows[position]

    @property
    def item_ids(self) -> list[Any]:
        return [row.item_id for row in self.rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns user_id, item_id, score, rank, and title where known, for a data frame."""
        names = ("user_id", "item_id", "score", "rank")
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        titles = {"title": [self.titles.get(row.item_id) for row in self.rows]}
        return columns | (titles if self.titles else {})

    def named(self, titles: Mapping[Any, str]) -> Recommendations:
        """The same list with the titles of its items."""
        known = {row.item_id: titles[row.item_id] for row in self.rows if row.item_id in titles}
        return Recommendations(self.rows, known)

    def __repr__(self) -> str:
        lines = (f"{row.rank:>4}  {row.score:>8.3f}  {self._shown(row)}" for row in self.rows)
        return "\n".join(["rank     score  item", *lines])

    def _repr_html_(self) -> str:
        rows = ((row.rank, self._shown(row), row.score) for row in self.rows)
        return table("Recommendations", ("rank", "item", "score"), rows)

    def _shown(self, row: Recommendation) -> str:
        title = self.titles.get(row.item_id)
        return str(row.item_id) if title is None else f"{title} ({row.item_id})"


class Recommender(Protocol):
    """Fit once on ratings, then serve people by id or by their own history.

    Unknown people get the list of a person without ratings; an unknown item's prediction is NaN.
    Items in the person's history are left out of their list. A saved model holds items, never
    people: after loading, give the history.
    """

    def fit(self, ratings: Ratings) -> Recommender: ...

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations: ...

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) predicted stars or scores."""

    def guarantees(self) -> tuple[Guarantee, ...]: ...

    def save(self, path: str | Path) -> None: ...


class Parameters:
    """The constructor's arguments as scikit-learn has them. Each is an attribute of that name."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {each.name: each.default for each in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name and value of each; deep has no effect."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change some of them for the next `fit`; ConfigError for another name."""
        for name, value in parameters.items():
            if name not in self._defaults():
                own, known = type(self).__name__, ", ".join(self._defaults())
                raise ConfigError(f"{own} has no parameter '{name}'. It has {known}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """What differs from the defaults; nothing that was learned."""
        usual = self._defaults()
        given = {name: value for name, value in self.get_params().items() if value != usual[name]}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in given.items())})"

    def _repr_html_(self) -> str:
        """Parameters, and what a fitted model guarantees; nothing that was learned of a person."""
        rows: list[tuple[object, object]] = list(self.get_params().items())
        cards = self.guarantees() if hasattr(self, "item_ids_") else ()
        rows += [(card.first_line, card.sentence) for card in cards]
        return table(type(self).__name__, (), rows)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The cards of the fit; none where no privacy is promised."""
        return ()


def without_people(model: Any) -> dict[str, Any]:
    """State of a pickle or a copy that holds no person, as files do: a class's `__getstate__`."""
    return {name: what for name, what in vars(model).items() if name != "people_"}


class ItemRecommender(Parameters):
    """Scores all items for one history at a time. A subclass sets `item_ids_` in `fit`, may set
    `people_` (ratings of known people), and implements `_score`."""

    item_ids_: Column
    titles_: Mapping[Any, str] = MappingProxyType({})
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
        """The n best items not in the history or `exclude`, among `candidates` if given."""
        own = self._history(user, history)
        scores, left_out = self._score(own), {*own, *checked_ids(exclude, "exclude")}
        chosen = top_n(
            scores, self.item_ids_, n=n, user=user, left_out=left_out, candidates=candidates
        )
        return chosen.named(self.titles_)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) scores; NaN for an item that was not in training."""
        return pick(self._score(self._history(user, history)), self.item_ids_, items)

    def _score(self, history: History) -> Floats:
        """(n_items,) score of every item for a person with this history."""
        raise NotImplementedError

    def _fitted(self) -> None:
        if not hasattr(self, "item_ids_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call fit(ratings) first.")

    def _history(self, user: Any, history: History | None) -> History:
        self._fitted()
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
    """Rank by score, ties by item order; unknown ids in `left_out`, `candidates` are ignored."""
    ids, n, unwanted = item_ids.tolist(), checked_n(n), set(left_out)
    wanted = None if candidates is None else set(checked_ids(candidates, "candidates"))
    allowed = (
        number
        for number in np.argsort(-scores, kind="stable").tolist()
        if ids[number] not in unwanted and (wanted is None or ids[number] in wanted)
    )
    best = enumerate(islice(allowed, n), 1)
    rows = (Recommendation(user, ids[at], float(scores[at]), rank) for rank, at in best)
    return Recommendations(tuple(rows))


def pick(scores: Floats, item_ids: Column, items: Sequence[Any]) -> Floats:
    """(len(items),) scores of some items by id, NaN where unknown."""
    known = dict(zip(item_ids.tolist(), scores.tolist(), strict=True))
    return np.array([known.get(item, np.nan) for item in items], dtype=float)
