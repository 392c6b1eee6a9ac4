"""Ratings from which no list can be learned: one person, one item, no like."""

from __future__ import annotations

import numpy as np

from tacit.data.ratings import Ratings
from tacit.errors import DataError

FEW = 50
"""Number of rows below which a table is taken for an example, which is never refused."""


def refuse_unlearnable_ratings(
    ratings: Ratings, path: object, *, liked_from: float | None = None
) -> None:
    """Raise DataError for ratings from which no list can be learned.

    Args:
        ratings: The ratings; fewer than `FEW` are never refused.
        path: The file they are from, for messages.
        liked_from: Lowest rating that is a like; None: the one of the ratings' scale.
    """
    if len(ratings) < FEW:
        return
    fix = "Check which column holds what (--user, --item, --rating, --plays, --events)."
    people = int(np.count_nonzero(np.bincount(ratings.users)))
    items = int(np.count_nonzero(np.bincount(ratings.items)))
    for name, number in (("person", people), ("item", items)):
        if number < 2:
            raise DataError(
                f"there is only one {name}, so no list can be learned", path=path, fix=fix
            )
    least = ratings.scale.liked_from if liked_from is None else liked_from
    if not (ratings.values >= least).any():
        raise DataError(
            f"no rating is a like, so no list can be learned: none is from {least:g} up on the "
            f"scale {ratings.scale}",
            path=path,
            fix=fix + " Or name the scale with --scale.",
        )
