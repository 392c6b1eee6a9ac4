"""Items described by what is public about them: the patent's explicit profiles.

Source      US patent application "Privacy protection against curious recommenders", where an item's
            profile is either a vector of known features or comes from a factorisation.
Runs at     the recommender.
Sees        the catalogue; no rating.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.metadata import listed
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Floats = NDArray[np.float64]


def item_features(ratings: Ratings) -> Floats:
    """(items, 1 + genres + 1) float64: 1, 1 for each genre of the item, the year standardised.

    From the item metadata `genres` (joined by '|') and `year`; an unknown one counts as 0.
    """
    columns = [np.ones((ratings.n_items, 1))]
    if "genres" in ratings.item_metadata:
        known = listed(ratings, "genres")
        names = sorted({name for genres in known for name in genres})
        columns.append(np.array([[name in genres for name in names] for genres in known], float))
    if "year" in ratings.item_metadata:
        columns.append(_standardised(ratings.item_metadata["year"].tolist())[:, None])
    if len(columns) == 1:
        raise DataError(
            "the items have no features to make profiles of",
            found=", ".join(ratings.item_metadata) or "no item metadata at all",
            expected="item metadata 'genres' or 'year'",
            fix="Name a file of items with --items, read a MovieLens folder, or use "
            "--profiles latent.",
        )
    return np.hstack(columns)


def _standardised(values: list[object]) -> Floats:
    """Mean 0 and standard deviation 1 over the known values; 0 where unknown."""
    numbers = np.array([_year(value) for value in values])
    known = np.isfinite(numbers)
    spread = numbers[known].std() if known.any() else 0.0
    if not spread:
        return np.zeros(len(numbers))
    found: Floats = np.where(known, (numbers - numbers[known].mean()) / spread, 0.0)
    return found


def _year(value: object) -> float:
    try:
        return np.nan if value is None else float(str(value))
    except ValueError:
        raise DataError("the year of an item is not a number", column="year", found=value) from None
