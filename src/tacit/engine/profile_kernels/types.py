"""Arrays that the kernels of profile sums read: profiles, features, and released numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Profiles(NamedTuple):
    """People's rows among context items, and their likes among target items.

    Profiles are made from context items, and lists from target items.
    """

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
        """Return `add(profiles)` for these people.

        Profiles that are not in memory have a method of this name, too, which sums over blocks.
        """
        return add(self)


class SparseRows(NamedTuple):
    """Rows of a CSR matrix."""

    offsets: Any
    """(rows + 1,) int64: where each row begins."""
    columns: Any
    """(entries,) int32 column of each entry."""
    values: Any
    """(entries,) float64 value of each entry."""
    width: int
    """Number of columns."""


class ProfileCentre(NamedTuple):
    """Released weights of items, and the mean that is subtracted from each profile."""

    damping: Any
    """(context items,) weight of each item, by how often it is used."""
    mean: Any
    """(f,) features of the average profile."""


class TasteMap(NamedTuple):
    """A released linear map from features (f) to d dimensions, and some of its images."""

    matrix: Any
    """(f, d) the map."""
    mean: Any
    """(d,) image of the average profile."""
    targets: Any
    """(target items, d) images of the target items' features."""


class ClipRule(NamedTuple):
    """How one person's whole table is clipped and rounded."""

    norm: float
    """Largest L2 norm of the table."""
    resolution: float
    """Size of a step; values are rounded towards 0 to multiples of it."""
    largest_square: int
    """Largest squared L2 norm in steps; below 0: no clipping and no rounding."""


class StarRows(NamedTuple):
    """People's ratings around released means."""

    offsets: Any
    """(people + 1,) where each person's ratings begin."""
    places: Any
    """(ratings,) row of the rated item in `StarTable`; -1 for an item that is not in it."""
    deviations: Any
    """(ratings,) the rating less the rating that is expected of an average person, in stars of a
    five-star scale."""


class StarTable(NamedTuple):
    """Released numbers from which people's tastes are computed."""

    loadings: Any
    """(items, k) change of a rating per unit of each taste; k is at most `MOST_TASTES`."""
    variances: Any
    """(items,) variance of a rating around what its loadings explain."""
    level_precision: float
    """1 divided by the variance of people's levels; a level says how mildly a person rates."""
    moment_weight: float
    """Factor of the rows of second moments in a person's table."""
