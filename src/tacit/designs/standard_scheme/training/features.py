"""Explicit features of items, which the patent names: here genres and the year.

They come from the public catalogue and not from ratings, so they reveal nothing about the
consenting people. The item means that profiles hold beside them are made of ratings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import split_list
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Floats = NDArray[np.float64]


def item_features(ratings: Ratings) -> Floats:
    """Make a float64 feature matrix of all items from their genres and years.

    The columns are a constant 1, whose weight is a person's general level; 0 or 1 for each genre;
    and the standardised year, where an unknown year counts as the mean.

    Returns:
        (items, 1 + genres + years) features, where years is 1, or 0 if no year is known.

    Raises:
        DataError: No item has a genre or a year, or a year is not a number.
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
    """Return (items, genres) 1 where an item has a genre and 0 elsewhere.

    Columns are in the order of the genres' names. There are none if the catalogue has no genres.
    """
    if "genres" not in ratings.public_metadata:
        return np.zeros((ratings.n_items, 0))
    genres_of_items = split_list(ratings, "genres")
    names = sorted(set().union(*genres_of_items))
    has_genre = np.zeros((ratings.n_items, len(names)))
    for item, genres in enumerate(genres_of_items):
        for genre in genres:
            has_genre[item, names.index(genre)] = 1.0
    return has_genre


def item_years(ratings: Ratings) -> Floats:
    """Return (items,) the years of the items; NaN if a year is unknown.

    Raises:
        DataError: A year is not a number.
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
    """Return (items,) years minus their mean, in standard deviations; 0 where a year is NaN."""
    known_years = years[np.isfinite(years)]
    spread = known_years.std()
    distances = (years - known_years.mean()) / (spread if spread > 0 else 1.0)
    return np.where(np.isfinite(years), distances, 0.0)
