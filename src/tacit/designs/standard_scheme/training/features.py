"""Explicit item features, as the patent names them: genres and other descriptors of a film.

They come from the public catalogue, never from ratings, so that profiles made of them tell nothing
about the consenting people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import split_list
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Floats = NDArray[np.float64]


def item_features(ratings: Ratings) -> Floats:
    """(items, 1 + genres + years) float64: a constant 1, 0 or 1 for each genre, the year.

    The constant carries a person's level. Years are standardised over the catalogue, and an unknown
    one counts as the mean. Neither genres nor years are needed, but one of them.

    Raises:
        DataError: No item has a genre or a year.
    """
    columns = [np.ones((ratings.n_items, 1))]
    if "genres" in ratings.public_metadata:
        columns.append(item_genres(ratings))
    years = item_years(ratings)
    if np.isfinite(years).any():
        columns.append(standardise(years)[:, None])
    features = np.hstack(columns)
    if features.shape[1] == 1:
        raise DataError(
            "the items have no features to make profiles of",
            found=", ".join(ratings.public_metadata) or "no item metadata at all",
            expected="item metadata 'genres' or 'year'",
            fix="Name a file of items with --items, or use --profiles latent.",
        )
    return features


def item_genres(ratings: Ratings) -> Floats:
    """(items, genres) 0 or 1, in the order of the genres' names; no column if none is known."""
    if "genres" not in ratings.public_metadata:
        return np.zeros((ratings.n_items, 0))
    genres_of_items = split_list(ratings, "genres")
    names = sorted(set().union(*genres_of_items))
    known = np.zeros((ratings.n_items, len(names)))
    for item, genres in enumerate(genres_of_items):
        for genre in genres:
            known[item, names.index(genre)] = 1.0
    return known


def item_years(ratings: Ratings) -> Floats:
    """(items,) years of the items, NaN where unknown.

    Raises:
        DataError: a year is not a number.
    """
    years = np.full(ratings.n_items, np.nan)
    for number, year in enumerate(ratings.public_metadata.get("year", ())):
        try:
            years[number] = np.nan if year is None else float(str(year))
        except ValueError:
            problem = "the year of an item is not a number"
            raise DataError(problem, column="year", found=year) from None
    return years


def standardise(years: Floats) -> Floats:
    """(items,) distances from the mean in standard deviations, 0 where unknown."""
    known = years[np.isfinite(years)]
    spread = known.std()
    distances = (years - known.mean()) / (spread if spread > 0 else 1.0)
    return np.where(np.isfinite(years), distances, 0.0)
