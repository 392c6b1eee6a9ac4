"""Explicit features of items: genres and years of the public catalogue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme.training.features import item_features
from tacit.errors import DataError


def catalogue(**columns):
    """Three items with these metadata."""
    made = Ratings.from_arrays([1, 1, 1], ["a", "b", "c"], [1, 2, 3])
    metadata = {name: np.array(values, dtype=object) for name, values in columns.items()}
    return replace(made, item_metadata=metadata)


def test_columns():
    """A constant, genres by name, and years standardised; an unknown year counts as the mean."""
    found = item_features(catalogue(genres=["War|Drama", "Drama", None], year=[1990, 2000, None]))
    expected = [[1, 1, 1, -1], [1, 1, 0, 1], [1, 0, 0, 0]]
    np.testing.assert_allclose(found, expected)


def test_equal_years_are_no_division_by_zero():
    """Where all years are one, nothing is known from them."""
    np.testing.assert_array_equal(item_features(catalogue(year=[1990] * 3))[:, 1], np.zeros(3))


@pytest.mark.parametrize("columns", [{}, {"title": ["x", "y", "z"]}, {"year": [None] * 3}])
def test_no_features(columns):
    """Items without genres and years are refused, with what to do."""
    with pytest.raises(DataError, match=r"no features.*--profiles latent"):
        item_features(catalogue(**columns))


def test_years_that_are_no_numbers():
    """A year that is a word is refused as data."""
    with pytest.raises(DataError, match="year of an item is not a number"):
        item_features(catalogue(year=["soon", 1990, 1991]))
