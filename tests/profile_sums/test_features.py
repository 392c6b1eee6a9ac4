"""Public metadata as columns of features."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import Ratings
from tacit.errors import DataError
from tacit.profile_sums.features import feature_columns, rows_of_facts


def listing(items, **columns):
    """Ratings of all items by one person, with item metadata in columns."""
    metadata = {name: dict(enumerate(values)) for name, values in columns.items()}
    return Ratings.from_arrays([1] * items, range(items), [5] * items, item_metadata=metadata)


def test_features_have_unit_rows_and_keep_the_frequent():
    """At most 64 columns, those of most items; an item left without one is 'unknown'."""
    names, table = feature_columns(listing(103, genres=["a|b", "a", None, *map(str, "x" * 100)]))
    assert names == ("genres=x", "genres=a", "genres=b", "unknown")
    many = [f"g{item}" for item in range(103)]
    names, table = feature_columns(listing(103, genres=["g0|g1", "g0|g1", *many[2:]]))
    assert table.shape == (103, 64)
    assert names[:2] == ("genres=g0", "genres=g1")
    assert names[-1] == "unknown"
    np.testing.assert_allclose((table * table).sum(axis=1), 1)
    np.testing.assert_allclose(table[[0]].data, [0.5**0.5] * 2)


def test_years_fall_into_public_bands_and_unknown_is_no_column():
    """1990 where there is no year, so that no item is without a feature."""
    names, table = feature_columns(listing(4, year=["1929", "1990", None, "2001"], title=[*"abcd"]))
    assert set(names) == {"year=0", "year=8", "year=14"}
    assert table.shape == (4, 3)


def test_numbers_fall_into_equal_shares_of_the_catalogue():
    """Prices, by name alone."""
    names, table = feature_columns(listing(16, price=[*map(str, range(16))]))
    assert len(names) == 8
    assert (np.bincount(table.indices) == 2).all()


def test_numbers_of_one_item_in_one_band_are_one_feature():
    """An item with two prices in one band has that band once, in a row of norm 1."""
    prices = ["0|1", *map(str, range(2, 40))]
    names, table = feature_columns(listing(len(prices), price=prices))
    row = table[[0]]
    assert [names[column] for column in row.indices] == ["price=0"]
    np.testing.assert_allclose(row.data, 1)
    np.testing.assert_allclose(np.square(table.toarray()).sum(axis=1), 1)


def test_facts_with_equal_features_give_a_row_of_norm_1():
    """Two facts that spell the same NAME=VALUE are one feature."""
    rows = rows_of_facts([{"a": "b=c", "a=b": "c"}], ["a=b=c", "a=d"])
    np.testing.assert_allclose(rows.toarray(), [[1, 0]])


def test_not_a_number_is_refused():
    """NaN in metadata, before anything is read of people."""
    with pytest.raises(DataError):
        feature_columns(listing(2, price=[1.0, math.nan]))


def test_no_metadata_is_a_normal_case():
    """No columns at all, unless a name was given."""
    names, table = feature_columns(listing(2, title=["a", "b"]))
    assert names == ()
    assert table.shape == (2, 0)
    with pytest.raises(DataError):
        feature_columns(listing(2), ["genres"])
