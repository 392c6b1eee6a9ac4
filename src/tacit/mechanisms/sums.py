"""Sums over people of sparse tables, each person's clipped as a whole, with Gaussian noise once.

Source       Dwork, Kenthapadi, McSherry, Mironov, Naor (2006), for sums with Gaussian noise;
             discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ALL THAT ONE PERSON CONTRIBUTES, added or removed,
             and about 1 / noise_multiplier-GDP if the noise spans many steps.
Sensitivity  none is asked for: a person's entries are scaled to an L2 norm here, all together. Each
             must be computed from that person's data and public or released values alone.
Sampler      exact discrete Gaussian on integers (`blocks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Event
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import (
    check_multiplier,
    check_positive,
    check_scale,
    check_whole,
    finite_floats,
)
from tacit.mechanisms.gaussian import MARGIN, vector_event

_MOST_STEPS = 1 << 20
"""Steps of a norm, so that 2**40 people still add up in 64 bits."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Entries that some people add to a table: `values[j]` to row `places[j]`, by `people[j]`.

    Entries are sorted by person, then place, each pair once.
    """

    people: NDArray[np.integer]
    """(entries,) numbers of people, from 0, that 64 bits hold."""
    places: NDArray[np.integer]
    """(entries,) rows of the table, from 0, that 64 bits hold."""
    values: Floats
    """(entries, width) numbers to add."""


@dataclass(frozen=True)
class SumRelease:
    """The sum of all people's tables of `rows` x `width`, plus noise."""

    noise_multiplier: float
    """sigma / norm; 0 gives the exact sum of the tables as they are."""
    rows: int
    """Number of rows of the table."""
    width: int = 1
    """Number of columns of the table."""
    norm: float = 1.0
    """Largest L2 norm of one person's table; a longer one is scaled down."""
    resolution: float = 2.0**-12
    """Step to whose multiples entries are rounded towards zero."""

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
        """Parameter of the noise, in steps: the norm of a person's steps is at most its root."""
        return self.noise_multiplier * math.sqrt(self.squared_norm) * MARGIN

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in each entry of the answer, in the answer's unit."""
        return self.sigma * self.resolution

    @property
    def event(self) -> Event:
        """The cost of the whole sum."""
        return vector_event(self.noise_multiplier, sigma=self.sigma, entries=self.rows * self.width)

    def __call__(self, blocks: Iterable[Contributions]) -> Floats:
        """Release the noisy sum (rows, width).

        A person is in one block only, and people ascend from block to block.

        Raises:
            DataError: Contributions have another shape or order, or a value is not finite.
        """
        return self.add_noise(self.total(blocks))

    def zero_table(self) -> NDArray[Any]:
        """Return (rows, width) zeros to add to: whole steps in 64 bits, or floats without noise."""
        whole = np.int64 if self.noise_multiplier else np.float64
        return np.zeros((self.rows, self.width), dtype=whole)

    def add_noise(self, total: NDArray[Any]) -> Floats:
        """Release an exact sum of people's tables as `clip_table` makes them. Twice is two events.

        Args:
            total: (rows, width) whole steps, or without noise the sum of the tables as they are.

        Returns:
            (rows, width) noisy numbers in the unit of the tables.

        Raises:
            DataError: The sum has another shape.
        """
        if total.shape != (self.rows, self.width):
            raise DataError("the sum has another shape", expected=f"({self.rows}, {self.width})")
        if self.noise_multiplier == 0:
            return total.astype(np.float64)
        steps = total.astype(np.int64, casting="same_kind")
        return samplers.discrete_gaussian(steps, self.sigma).astype(np.float64) * self.resolution

    def clip_table(self, table: Floats) -> Ints:
        """Clip ONE person's whole table to whole steps of squared norm `squared_norm` at most.

        steps = trunc(table * min(1, norm / length) / resolution), with every number divided by the
        largest first. Squares are added in the table's order, so that a compiled kernel can be
        equal to this.
        """
        values = finite_floats(table)
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
        """Add up blocks exactly, before noise: PRIVATE.

        Returns:
            (rows, width) whole steps of clipped tables, or without noise floats as they come.
        """
        total = self.zero_table()
        last_person = -1
        for block in blocks:
            last_person = self._check_block(block, last_person)
            if len(block.people):
                exact = total.dtype == np.float64
                values = finite_floats(block.values) if exact else self.clip_block(block)
                np.add.at(total, block.places, values)
        return total

    def clip_block(self, block: Contributions) -> Ints:
        """Clip each person's entries to whole steps, whose squares sum to `squared_norm` at most.

        The formula is that of `clip_table`. A person's scale depends on their own entries alone.

        Returns:
            (entries, width) whole steps.
        """
        values = finite_floats(block.values)
        owner = _ranks(_column(block.people))
        largest = np.zeros(owner[-1] + 1)
        np.maximum.at(largest, owner, np.abs(values).max(axis=1))
        units = values / np.where(largest > 0, largest, 1)[owner, None]  # no square overflows
        lengths = np.sqrt(np.bincount(owner, (units**2).sum(axis=1)))
        scale = np.minimum(largest, self.norm / np.maximum(lengths, 1))
        steps: Ints = np.trunc(units * scale[owner, None] / self.resolution).astype(np.int64)
        # Floats may have left a person a trifle too long; whether it is, integers say exactly.
        too_long = self._squares(steps, owner) > self.squared_norm
        while too_long.any():
            steps = np.where(too_long[owner, None], steps - np.sign(steps), steps)
            too_long = self._squares(steps, owner) > self.squared_norm
        return steps

    def _squares(self, steps: Ints, owner: Ints) -> Ints:
        """Return each person's sum of squares, exact.

        Floats hold integers below 2^53, and a person's sum is near 2^40 at most.
        """
        return np.bincount(owner, (steps**2).sum(axis=1)).astype(np.int64)

    def _check_block(self, block: Contributions, last_person: int) -> int:
        """Refuse a block out of shape or order; return the last person so far.

        A row that one person has twice would be clipped twice, and exceed the bound.
        """
        people = _column(block.people)
        places = _column(block.places)
        if np.shape(block.values) != (len(people), self.width) or places.shape != people.shape:
            raise DataError("the contributions have another shape", expected=f"width {self.width}")
        if not len(people):
            return last_person
        if places.min() < 0 or places.max() >= self.rows:
            raise DataError("a place is none of the table's rows", expected=f"0 to {self.rows - 1}")
        # Compared one after the other: one number made of both would wrap in 64 bits.
        next_row = (people[1:] == people[:-1]) & (places[1:] > places[:-1])
        if people[0] <= last_person or not (next_row | (people[1:] > people[:-1])).all():
            raise DataError("contributions are sorted by person, then place, each pair once")
        return int(people[-1])


def _column(numbers: NDArray[np.integer]) -> Ints:
    """Return people or places as 64-bit integers.

    A cast that changed a number could merge two people, or part one.
    """
    given = np.asarray(numbers)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise DataError("people and places are no columns of integers", expected="64 bits, signed")
    return given.astype(np.int64)


def _ranks(people: Ints) -> Ints:
    """Number the people of a sorted column 0, 1, ...; same shape."""
    starts = np.concatenate([[False], people[1:] != people[:-1]])
    return np.cumsum(starts).astype(np.int64)
