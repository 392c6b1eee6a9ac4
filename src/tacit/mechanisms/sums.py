"""Sums of people's sparse tables plus Gaussian noise; the whole table of each person is clipped.

Source       Dwork, Kenthapadi, McSherry, Mironov, Naor (2006), for sums with Gaussian noise;
             discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Guarantee    1 / (2 noise_multiplier^2)-zCDP for ALL THAT ONE PERSON CONTRIBUTES, added or removed,
             and about 1 / noise_multiplier-GDP if the noise spans many steps.
Sensitivity  no assumption: all entries of a person together are clipped to an L2 norm here. Each
             entry must be computed from that person's data and public or released values only.
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
from tacit.mechanisms.checks import check_multiplier, check_positive, check_scale, check_whole
from tacit.mechanisms.gaussian import MARGIN, vector_event
from tacit.mechanisms.sensitive_values import finite_floats

_MAX_NORM_STEPS = 1 << 20
"""Largest norm in steps: with it, the entries of 2**40 people add up in 64 bits."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Entries of some people: person `people[j]` adds `values[j]` to row `places[j]` of a table.

    Entries are sorted by person and then by place. No pair of person and place comes twice.
    """

    people: NDArray[np.integer]
    """(entries,) numbers of people, from 0; a type of at most 64 bits."""
    places: NDArray[np.integer]
    """(entries,) rows of the table, from 0; a type of at most 64 bits."""
    values: Floats
    """(entries, width) numbers that are added to the row."""


@dataclass(frozen=True)
class SumRelease:
    """Release of the sum of all people's tables of `rows` x `width`, plus Gaussian noise."""

    noise_multiplier: float
    """sigma / norm; 0 gives the exact sum of the tables as they are."""
    rows: int
    """Number of rows of the table."""
    width: int = 1
    """Number of columns of the table."""
    norm: float = 1.0
    """Largest L2 norm of one person's table; a longer one is scaled down."""
    resolution: float = 2.0**-12
    """Step; entries are rounded towards zero to its multiples."""

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_whole("rows", self.rows, least=1)
        check_whole("width", self.width, least=1)
        check_positive("norm", self.norm)
        check_positive("resolution", self.resolution)
        if not 1 <= self.norm / self.resolution <= _MAX_NORM_STEPS:
            raise ConfigError(f"norm is from 1 to {_MAX_NORM_STEPS} times the resolution.")
        check_scale(self.sigma)

    @property
    def squared_norm(self) -> int:
        """The largest squared norm of one person's table, in squared steps."""
        return math.floor((Fraction(self.norm) / Fraction(self.resolution)) ** 2)

    @property
    def sigma(self) -> float:
        """Parameter of the noise, in steps: noise multiplier * root of `squared_norm`."""
        return self.noise_multiplier * math.sqrt(self.squared_norm) * MARGIN

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each entry, in the unit of the tables."""
        return self.sigma * self.resolution

    @property
    def event(self) -> Event:
        """The cost of the whole sum."""
        return vector_event(self.noise_multiplier, sigma=self.sigma, entries=self.rows * self.width)

    def __call__(self, blocks: Iterable[Contributions]) -> Floats:
        """Release the noisy sum (rows, width).

        Args:
            blocks: Contributions of disjoint groups of people. All numbers of people in a block are
                above those of the blocks before.

        Raises:
            DataError: Contributions have another shape or order, or a value is not finite.
        """
        return self.add_noise(self.total(blocks))

    def zero_table(self) -> NDArray[Any]:
        """Return (rows, width) zeros: integers that count steps, or floats if there is no noise."""
        dtype = np.int64 if self.noise_multiplier else np.float64
        return np.zeros((self.rows, self.width), dtype=dtype)

    def add_noise(self, total: NDArray[Any]) -> Floats:
        """Release a sum of clipped tables with noise. Each call costs another `event`.

        Args:
            total: (rows, width) sum of tables that `clip_table` clipped, in whole steps; if the
                noise multiplier is 0, the sum of the unclipped tables.

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

        steps = trunc(table * min(1, norm / length) / resolution), where length is the table's L2
        norm. The table is first divided by the largest absolute value in it, so that no square
        overflows. Squares are added in the table's order, as the compiled kernel adds them, so that
        both give equal results.

        Returns:
            Whole steps; shape of `table`.
        """
        values = finite_floats(table)
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0:
            return np.zeros(values.shape, dtype=np.int64)
        units = values / largest
        length = math.sqrt(np.add.accumulate((units * units).ravel())[-1])
        scale = min(largest, self.norm / max(length, 1.0))
        steps: Ints = np.trunc(units * scale / self.resolution).astype(np.int64)
        # Rounding errors may leave the table slightly too long. Then each entry moves one step
        # towards zero.
        while (steps**2).sum() > self.squared_norm:
            steps -= np.sign(steps)
        return steps

    def total(self, blocks: Iterable[Contributions]) -> NDArray[Any]:
        """Add up contributions exactly, without noise. Not protected: never release it.

        Args:
            blocks: As in `__call__`.

        Returns:
            (rows, width) sum of the clipped tables in whole steps; if the noise multiplier is 0,
            floats from the unclipped tables.

        Raises:
            DataError: Contributions have another shape or order, or a value is not finite.
        """
        total = self.zero_table()
        last_person = -1
        for block in blocks:
            last_person = self._check_block(block, last_person)
            if len(block.people):
                is_non_private = self.noise_multiplier == 0
                values = finite_floats(block.values) if is_non_private else self.clip_block(block)
                np.add.at(total, block.places, values)
        return total

    def clip_block(self, block: Contributions) -> Ints:
        """Clip each person's entries to whole steps of squared norm `squared_norm` at most.

        The formula is that of `clip_table`, applied to each person's own entries.

        Args:
            block: Contributions, with one entry or more.

        Returns:
            (entries, width) whole steps.
        """
        values = finite_floats(block.values)
        # (entries,) number of the entry's person among the people of this block
        owner = _renumber_people(_check_column(block.people))
        # Each person's largest absolute value, length in that unit, and scale have shape (people,).
        largest = np.zeros(owner[-1] + 1)
        np.maximum.at(largest, owner, np.abs(values).max(axis=1))
        units = values / np.where(largest > 0, largest, 1)[owner, None]
        lengths = np.sqrt(np.bincount(owner, (units**2).sum(axis=1)))
        scale = np.minimum(largest, self.norm / np.maximum(lengths, 1))
        steps: Ints = np.trunc(units * scale[owner, None] / self.resolution).astype(np.int64)
        # Rounding errors may leave a person slightly too long, which integers decide exactly. Then
        # each of their entries moves one step towards zero.
        is_too_long = self._squared_lengths(steps, owner) > self.squared_norm
        while is_too_long.any():
            steps = np.where(is_too_long[owner, None], steps - np.sign(steps), steps)
            is_too_long = self._squared_lengths(steps, owner) > self.squared_norm
        return steps

    def _squared_lengths(self, steps: Ints, owner: Ints) -> Ints:
        """Return each person's sum of squares (people,).

        `bincount` adds floats, which are exact for integers below 2^53. A clipped person's sum is
        at most about 2^40.

        Args:
            steps: (entries, width) whole steps.
            owner: (entries,) number of each entry's person.
        """
        return np.bincount(owner, (steps**2).sum(axis=1)).astype(np.int64)

    def _check_block(self, block: Contributions, last_person: int) -> int:
        """Check shape and order of a block; return its last person, or `last_person` if none.

        The order is checked because a person in two blocks would be clipped twice, and a place that
        comes twice would add up after clipping: both would exceed the bound.

        Args:
            block: Contributions.
            last_person: The last person of the earlier blocks; -1 if there are none.

        Raises:
            DataError: The shape or the order is wrong.
        """
        people = _check_column(block.people)
        places = _check_column(block.places)
        if np.shape(block.values) != (len(people), self.width) or places.shape != people.shape:
            raise DataError(
                "the contributions have another shape",
                expected=f"people and places (entries,), values (entries, {self.width})",
            )
        if not len(people):
            return last_person
        if places.min() < 0 or places.max() >= self.rows:
            raise DataError("a place is not a row of the table", expected=f"0 to {self.rows - 1}")
        # Person and place are compared separately, because one number of both could overflow.
        is_next_person = people[1:] > people[:-1]
        is_next_place = (people[1:] == people[:-1]) & (places[1:] > places[:-1])
        is_sorted = (is_next_person | is_next_place).all()
        if people[0] <= last_person or not is_sorted:
            raise DataError("contributions are sorted by person, then place, each pair once")
        return int(people[-1])


def _check_column(numbers: NDArray[np.integer]) -> Ints:
    """Return people or places (entries,) as signed integers of 64 bits.

    Raises:
        DataError: They have another shape, or a type with numbers that 64 signed bits do not hold:
            a cast could make two different numbers equal.
    """
    column = np.asarray(numbers)
    if column.ndim != 1 or column.dtype.kind not in "iu" or not np.can_cast(column.dtype, np.int64):
        raise DataError("people and places are not columns of integers", expected="64 bits, signed")
    return column.astype(np.int64)


def _renumber_people(people: Ints) -> Ints:
    """Renumber the people of a sorted column as 0, 1, 2, ... without gaps; same shape."""
    starts = np.concatenate([[False], people[1:] != people[:-1]])
    return np.cumsum(starts).astype(np.int64)
