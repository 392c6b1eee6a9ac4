"""Sums over people with Gaussian noise once: sparse tables, and all products of two items.

Tables, each person's clipped as a whole
Source       Dwork, Kenthapadi, McSherry, Mironov, Naor (2006), for sums with Gaussian noise;
             discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ALL THAT ONE PERSON CONTRIBUTES, added or removed,
             and about 1 / noise_multiplier-GDP if the noise spans many steps.
Sensitivity  none is asked for: a person's entries are scaled to an L2 norm here, all together. Each
             must be computed from that person's data and public or released values alone.
Sampler      exact discrete Gaussian on integers (`blocks`).

Products (GramRelease), each person's row clipped
Source       Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); discrete noise: Canonne,
             Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ONE PERSON'S WHOLE ROW, and about 1 /
             noise_multiplier-GDP if the noise spans many steps. Similarities, lists and predictions
             computed from the released matrix cost nothing more.
Sensitivity  none is asked for: rows are clipped to an L2 norm here. Anything done to a row
             before, such as centring, uses that person's row and public values alone.
Sampler      exact discrete Gaussian on integers (`blocks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import Event
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.noise import MARGIN, vector_event
from tacit.mechanisms.samplers import (
    check_multiplier,
    check_positive,
    check_scale,
    check_whole,
    finite,
)

_MOST_STEPS = 1 << 20  # so that 2**40 people still add up in 64 bits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """What some people add to a table: `values[j]` to row `places[j]`, on behalf of `people[j]`.

    people, places: (entries,) integers from 0 that 64 bits hold, sorted by person, then place, each
    pair once. values: (entries, width).
    """

    people: NDArray[np.integer]
    places: NDArray[np.integer]
    values: Floats


@dataclass(frozen=True)
class SumRelease:
    """The sum of everybody's table of `rows` x `width`, plus noise.

    noise_multiplier: sigma / norm, or 0 for the exact sum of the tables as they are. norm: the
    largest L2 norm of one person's table; longer ones are scaled down. resolution: entries are
    rounded towards zero to multiples of it.
    """

    noise_multiplier: float
    rows: int
    width: int = 1
    norm: float = 1.0
    resolution: float = 2.0**-12

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_whole("rows", self.rows, least=1)
        check_whole("width", self.width, least=1)
        check_positive("norm", self.norm)
        check_positive("resolution", self.resolution)
        if not 1 <= self.norm / self.resolution <= _MOST_STEPS:
            raise ConfigError(f"norm is from 1 to {_MOST_STEPS} times the resolution.")
        check_scale(self.sigma)

    @property
    def squared_norm(self) -> int:
        """The largest squared norm of one person's table, in squared steps."""
        return math.floor((Fraction(self.norm) / Fraction(self.resolution)) ** 2)

    @property
    def sigma(self) -> float:
        """Of the noise, in steps: the steps of a person are at most `squared_norm` squared."""
        return self.noise_multiplier * math.sqrt(self.squared_norm) * MARGIN

    @property
    def deviation(self) -> float:
        """Of the noise in each entry of the answer, in its own unit."""
        return self.sigma * self.resolution

    @property
    def event(self) -> Event:
        """What the whole sum costs."""
        return vector_event(self.noise_multiplier, sigma=self.sigma, entries=self.rows * self.width)

    def __call__(self, blocks: Iterable[Contributions]) -> Floats:
        """(rows, width). A person is in one block only, and people ascend from block to block."""
        return self.noisy(self.total(blocks))

    def empty(self) -> NDArray[Any]:
        """(rows, width) zeros to add to: whole steps in 64 bits, or floats without noise."""
        whole = np.int64 if self.noise_multiplier else np.float64
        return np.zeros((self.rows, self.width), dtype=whole)

    def noisy(self, total: NDArray[Any]) -> Floats:
        """(rows, width) release of an exact sum of people's tables as `steps` makes them: whole
        steps, or without noise the tables as they are. Twice is two events."""
        if total.shape != (self.rows, self.width):
            raise DataError("the sum has another shape", expected=f"({self.rows}, {self.width})")
        if self.noise_multiplier == 0:
            return total.astype(np.float64)
        steps = total.astype(np.int64, casting="same_kind")
        return samplers.discrete_gaussian(steps, self.sigma).astype(np.float64) * self.resolution

    def steps(self, table: Floats) -> Ints:
        """ONE person's whole table in whole steps, with a squared sum of `squared_norm` at most.

        Squares are added in the table's order, so that a compiled kernel can be equal to this.
        """
        values = finite(table)
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0:
            return np.zeros(values.shape, dtype=np.int64)
        units = values / largest  # no square overflows
        length = math.sqrt(np.add.accumulate((units * units).ravel())[-1])
        scale = min(largest, self.norm / max(length, 1.0))
        steps: Ints = np.trunc(units * scale / self.resolution).astype(np.int64)
        while (steps**2).sum() > self.squared_norm:  # floats left it a little too long
            steps -= np.sign(steps)
        return steps

    def total(self, blocks: Iterable[Contributions]) -> NDArray[Any]:
        """The exact sum over blocks, before noise: PRIVATE. In integers after clipping, or without
        noise in floats as they come."""
        total, last = self.empty(), -1
        for block in blocks:
            last = self._checked(block, last)
            if len(block.people):
                exact = total.dtype == np.float64
                values = finite(block.values) if exact else self.clipped(block)
                np.add.at(total, block.places, values)
        return total

    def clipped(self, block: Contributions) -> Ints:
        """The entries in whole steps; each person's have a squared sum of `squared_norm` at most.

        A person's scale depends on their own entries alone.
        """
        values = finite(block.values)
        owner = _ranks(_column(block.people))
        largest = np.zeros(owner[-1] + 1)
        np.maximum.at(largest, owner, np.abs(values).max(axis=1))
        units = values / np.where(largest > 0, largest, 1)[owner, None]  # no square overflows
        lengths = np.sqrt(np.bincount(owner, (units**2).sum(axis=1)))
        scale = np.minimum(largest, self.norm / np.maximum(lengths, 1))
        steps: Ints = np.trunc(units * scale[owner, None] / self.resolution).astype(np.int64)
        # Floats may have left a person a trifle too long; whether it is, integers say exactly.
        while (over := self._squares(steps, owner) > self.squared_norm).any():
            steps = np.where(over[owner, None], steps - np.sign(steps), steps)
        return steps

    def _squares(self, steps: Ints, owner: Ints) -> Ints:
        """Exact: floats hold integers below 2^53, and a person's sum is near 2^40 at most."""
        return np.bincount(owner, (steps**2).sum(axis=1)).astype(np.int64)

    def _checked(self, block: Contributions, last: int) -> int:
        """The last person so far. Twice the same row for one person would pass the clipping."""
        people, places = _column(block.people), _column(block.places)
        if np.shape(block.values) != (len(people), self.width) or places.shape != people.shape:
            raise DataError("the contributions have another shape", expected=f"width {self.width}")
        if not len(people):
            return last
        if places.min() < 0 or places.max() >= self.rows:
            raise DataError("a place is none of the table's rows", expected=f"0 to {self.rows - 1}")
        # Compared one after the other: one number made of both would wrap in 64 bits.
        next_row = (people[1:] == people[:-1]) & (places[1:] > places[:-1])
        if people[0] <= last or not (next_row | (people[1:] > people[:-1])).all():
            raise DataError("contributions are sorted by person, then place, each pair once")
        return int(people[-1])


def _column(numbers: NDArray[np.integer]) -> Ints:
    """People or places as 64-bit integers; a cast that changed one could merge two, or part one."""
    given = np.asarray(numbers)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise DataError("people and places are no columns of integers", expected="64 bits, signed")
    return given.astype(np.int64)


def _ranks(people: Ints) -> Ints:
    """0, 1, ... for the people of a sorted column."""
    starts = np.concatenate([[False], people[1:] != people[:-1]])
    return np.cumsum(starts).astype(np.int64)


_MOST_GRAM_STEPS = 1 << 14  # so that 2**35 people still add up in 64 bits
_BLOCK = 4096  # people at once: products of so many are exact in floats


@dataclass(frozen=True)
class GramRelease:
    """The sum over people of v v^T, for rows v over `items` items.

    noise_multiplier: sigma / sensitivity, or 0 for the exact matrix of the rows as they are. norm:
    the largest L2 norm of a row; longer ones are scaled down. resolution: rows are rounded towards
    zero to multiples of it. Neighbours differ in one person's presence.
    """

    noise_multiplier: float
    items: int
    norm: float = 1.0
    resolution: float = 2.0**-10

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_whole("items", self.items, least=1)
        check_positive("norm", self.norm)
        check_positive("resolution", self.resolution)
        if not 1 <= self.norm / self.resolution <= _MOST_GRAM_STEPS:
            raise ConfigError(f"norm is from 1 to {_MOST_GRAM_STEPS} times the resolution.")
        check_scale(self.sigma)

    @property
    def squared_norm(self) -> int:
        """The largest squared norm of a row, in squared steps."""
        return math.floor((Fraction(self.norm) / Fraction(self.resolution)) ** 2)

    @property
    def sigma(self) -> float:
        """Of the noise on the diagonal, in squared steps."""
        return self.noise_multiplier * self.squared_norm * MARGIN

    @property
    def sigma_beside(self) -> float:
        """Of the noise off the diagonal, where each entry stands twice; in squared steps."""
        return self.sigma / math.sqrt(2)

    @property
    def event(self) -> Event:
        """What the whole matrix costs."""
        entries = self.items * (self.items + 1) // 2
        sigma = self.sigma if self.items == 1 else self.sigma_beside
        return vector_event(self.noise_multiplier, sigma=sigma, entries=entries)

    def __call__(self, rows: ArrayLike) -> NDArray[np.float64]:
        """`rows` (people, items), zero where there is nothing; gives (items, items), symmetric."""
        return self.noisy(self.total([rows]))

    def total(self, blocks: Iterable[ArrayLike]) -> NDArray[Any]:
        """The exact sum over blocks of rows, before noise: PRIVATE. In whole squared steps, so
        that no cut into blocks changes it; without noise, of the rows as they are."""
        exact = np.zeros((self.items, self.items))
        steps = exact.astype(np.int64)
        for block in blocks:
            people = finite(block)
            if people.ndim != 2 or people.shape[1] != self.items:
                raise DataError("the rows have another shape", expected=f"(people, {self.items})")
            if self.noise_multiplier == 0:
                exact += people.T @ people
            else:
                self._add(people, steps)
        return exact if self.noise_multiplier == 0 else steps

    def noisy(self, total: NDArray[Any]) -> NDArray[np.float64]:
        """One release of what `total` gave, each pair of items drawn once. Twice is two events."""
        if self.noise_multiplier == 0:
            return total.astype(np.float64)
        return self._noisy(total.astype(np.int64, casting="same_kind")) * self.resolution**2

    def _add(self, people: NDArray[np.float64], total: NDArray[np.int64]) -> None:
        for start in range(0, len(people), _BLOCK):
            steps = self.clipped(people[start : start + _BLOCK]).astype(np.float64)
            total += (steps.T @ steps).astype(np.int64)

    def clipped(self, people: NDArray[np.float64]) -> NDArray[np.int64]:
        """Rows in whole steps, each with a squared norm of at most `squared_norm`."""
        largest = np.abs(people).max(axis=1, keepdims=True)
        units = people / np.where(largest > 0, largest, 1)  # so that no square overflows
        lengths = np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1)
        scaled = units * np.minimum(largest, self.norm / lengths)
        steps: NDArray[np.int64] = np.trunc(scaled / self.resolution).astype(np.int64)
        # Floats may have left a row a trifle too long; whether it is, integers say exactly.
        while (over := (steps**2).sum(axis=1) > self.squared_norm).any():
            steps[over] -= np.sign(steps[over])
        return steps

    def _noisy(self, gram: NDArray[np.int64]) -> NDArray[np.float64]:
        noisy = np.zeros(gram.shape, dtype=np.int64)
        upper = np.triu_indices(self.items, 1)
        if upper[0].size:
            noisy[upper] = samplers.discrete_gaussian(gram[upper], self.sigma_beside)
        noisy += noisy.T
        np.fill_diagonal(noisy, samplers.discrete_gaussian(gram.diagonal(), self.sigma))
        return noisy.astype(np.float64)
