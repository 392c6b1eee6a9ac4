"""The chances of `taste.py` for many people at once, for fitting them and for experiments.

Runs at     a simulation: nobody's real release is made here.
Equals      `taste.by_taste`, decision by decision, when both see the same draws (tested).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.standard_scheme.refusing import FLOOR
from tacit.designs.standard_scheme.taste import (
    MILLI,
    MOST_EXCESS,
    START,
    kept,
    scaled,
    shown_fraction,
)
from tacit.designs.standard_scheme.taste_table import Taste

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TasteArrays:
    """The integers of a `Taste` as arrays."""

    levels: Ints
    basis: Ints
    stars: Ints
    base: Ints
    slope: Ints
    response: Ints

    def to_message(self) -> Taste:
        return Taste(**{field.name: _tuples(getattr(self, field.name)) for field in fields(self)})

    def by_name(self) -> dict[str, Ints]:
        """The arrays by names for a file."""
        return {f"taste.{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Ints]) -> TasteArrays | None:
        """Back from such names; None where there are none."""
        names = [field.name for field in fields(cls)]
        if f"taste.{names[0]}" not in arrays:
            return None
        return cls(**{name: arrays[f"taste.{name}"] for name in names})


@dataclass(frozen=True)
class Drawn:
    """What was drawn for each rating: (ratings,) dice, micro-levels to release, turns."""

    dice: Ints
    levels: Ints
    turns: Ints


def passed(
    pattern: sparse.csr_array,
    own: Ints,
    taste: TasteArrays,
    drawn: Drawn,
    now: Mask,
    before: Mask,
    states_of: Ints | None = None,
) -> tuple[Mask, Ints]:
    """(ratings,) which of the entries `now` are shown; and states before these decisions.

    own: (people,) 0 or 1. before: entries shown earlier, with their levels in `drawn`. states_of:
    (ratings,) the row of the second result in which to write an entry's state; -1: nowhere.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    people = _People(pattern, rows, taste, drawn, before)
    wanted = np.full(pattern.nnz, -1) if states_of is None else states_of
    states = np.zeros((int(wanted.max(initial=-1)) + 1, taste.response.shape[1]), dtype=np.int64)
    shown = np.zeros(pattern.nnz, dtype=bool)
    for entries in _turns(rows, pattern, drawn.turns, now):
        state = people.state(rows[entries])
        noted = wanted[entries] >= 0
        states[wanted[entries[noted]]] = state[noted]
        items = pattern.indices[entries]
        chance = _chances(taste, own[rows[entries]], items, drawn.levels[entries], state)
        taken = entries[drawn.dice[entries] < chance]
        shown[taken] = True
        people.add(taken)
    return shown, states


class _People:
    """What each person shows so far, summed up."""

    def __init__(
        self, pattern: sparse.csr_array, rows: Ints, taste: TasteArrays, drawn: Drawn, before: Mask
    ) -> None:
        self._rows, self._items, self._taste = rows, pattern.indices, taste
        self._above = drawn.levels // MILLI - taste.levels[pattern.indices]
        people = pattern.shape[0]
        self._counts = np.bincount(rows[before], minlength=people)
        self._basis = np.zeros((people, taste.basis.shape[1]), dtype=np.int64)
        self._stars = np.zeros((people, taste.stars.shape[1]), dtype=np.int64)
        earlier = np.flatnonzero(before)
        np.add.at(self._basis, rows[earlier], taste.basis[self._items[earlier]])
        above = self._above[earlier, None]
        np.add.at(self._stars, rows[earlier], above * taste.stars[self._items[earlier]])

    def add(self, entries: Ints) -> None:
        """At most one entry of each person."""
        rows, items = self._rows[entries], self._items[entries]
        self._counts[rows] += 1
        self._basis[rows] += self._taste.basis[items]
        self._stars[rows] += self._above[entries, None] * self._taste.stars[items]

    def state(self, rows: Ints) -> Ints:
        counts = self._counts[rows]
        root = np.sqrt(((counts + START) << 20).astype(np.float64)).astype(np.int64)[:, None]
        basis = scaled(self._basis[rows], root)
        stars = scaled(self._stars[rows] // MILLI, root)
        squares = self._taste.response.shape[1] - basis.shape[1] - stars.shape[1] - 1
        squared = basis[:, :squares] ** 2 // MILLI
        return np.concatenate([basis, stars, shown_fraction(counts)[:, None], squared], axis=1)


def _chances(taste: TasteArrays, own: Ints, items: Ints, levels: Ints, state: Ints) -> Ints:
    above = levels // MILLI - taste.levels[items]
    ratio = taste.base[items] + taste.slope[items] * above // MILLI
    ratio = ratio + np.einsum("ns,ns->n", taste.response[items], state) // MILLI
    excess = np.clip(np.where(own > 0, ratio, -ratio), 0, MOST_EXCESS)
    chances: Ints = np.maximum(FLOOR, kept(excess))
    return chances


def _turns(rows: Ints, pattern: sparse.csr_array, turns: Ints, now: Mask) -> list[Ints]:
    """Entries decided at the same time: each person's first, each person's second, and so on."""
    entries = np.flatnonzero(now)
    ordered = entries[np.lexsort((pattern.indices[entries], turns[entries], rows[entries]))]
    counts = np.bincount(rows[ordered], minlength=pattern.shape[0])
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(ordered)) - starts[rows[ordered]]
    by_rank = ordered[np.argsort(rank, kind="stable")]
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]) if len(rank) else []


def _tuples(array: Ints) -> tuple:  # type: ignore[type-arg]  # nested as deep as the array
    return tuple(map(_tuples, array)) if array.ndim > 1 else tuple(array.tolist())
