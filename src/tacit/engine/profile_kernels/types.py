"""Arrays that the kernels of profile sums read: profiles, features, released maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Profiles(NamedTuple):
    """People's rows among context items, and their likes among target items."""

    offsets: Any
    """(people + 1,) int64: where each person's rows begin in `items` and `liked`."""
    items: Any
    """(rows,) int32 context items."""
    liked: Any
    """(rows,) bool: whether the row is a like."""
    like_offsets: Any
    """(people + 1,) int64: where each person's likes begin in `likes`."""
    likes: Any
    """(likes,) int32 liked target items."""
    other_weight: float
    """Weight of a context item that is not liked; a liked one has 1."""
    one_domain: bool
    """Whether context and target items are the same."""

    def total(self, add: Callable[[Profiles], Any]) -> Any:
        """Sum of `add(profiles)` over these people; stored people add up their blocks."""
        return add(self)


class SparseRows(NamedTuple):
    """Rows of a CSR matrix."""

    offsets: Any
    """(rows + 1,) int64: where each row begins."""
    columns: Any
    """(entries,) int32"""
    values: Any
    """(entries,) float64"""
    width: int
    """Number of columns."""


class ProfileCentre(NamedTuple):
    """Released arrays from which profiles are measured."""

    damping: Any
    """(context items,) weight of an item by its frequency."""
    mean: Any
    """(f,) features of an average profile."""


class TasteMap(NamedTuple):
    """A released linear map of tastes, and its images."""

    matrix: Any
    """(f, d)"""
    mean: Any
    """(d,) image of the average profile."""
    targets: Any
    """(target items, d) images of the target items' features."""


class ClipRule(NamedTuple):
    """How one person's whole table is clipped and rounded."""

    norm: float
    """Largest L2 norm."""
    resolution: float
    """Size of a step."""
    largest_square: int
    """Largest squared norm in steps; below 0: no clipping and no rounding."""


class StarRows(NamedTuple):
    """People's ratings around released means."""

    offsets: Any
    """(people + 1,) where each person's ratings begin."""
    places: Any
    """(ratings,) place of the item in the tables; -1: in none."""
    rest: Any
    """(ratings,) stars above what is expected of the mean person."""


class StarTable(NamedTuple):
    """Released arrays that make people's tastes."""

    loadings: Any
    """(items, k) stars for a unit of taste; k is at most `MOST_TASTES`."""
    variances: Any
    """(items,) variance of a rating around its loadings."""
    level: float
    """1 / variance of people's levels."""
    moment: float
    """Weight of second moments."""
