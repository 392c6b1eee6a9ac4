"""Whole numbers in columns of floats and decimals keep their names, or are refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tacit
from tacit.data import RatingScale
from tacit.data.tables.joins import join_people_to_items
from tacit.data.tables.table import Table
from tacit.data.visits import read_visits
from tacit.data.votes import read_votes
from tacit.errors import DataError

SCALE = RatingScale(1, 5, 1)


def decimals(*texts: str) -> pl.Series:
    """Make a column of decimals with two places."""
    return pl.Series([Decimal(text) for text in texts], dtype=pl.Decimal(38, 2))


def ids_of(users: pl.Series) -> list[Any]:
    """Read a data frame with these people, and return their ids."""
    frame = pl.DataFrame({"user": users, "item": [1, 2], "rating": [5, 4]})
    return sorted(tacit.ratings_from(frame, scale=SCALE).user_ids.tolist())


def test_decimals_that_are_whole_numbers_are_exact() -> None:
    """They are no floats, so a large one is not rounded and not refused."""
    assert ids_of(decimals("17850.00", "-3.00")) == [-3, 17850]
    assert ids_of(decimals(f"{2**53 + 1}.00", f"{2**53}.00")) == [2**53, 2**53 + 1]
    assert ids_of(decimals(f"{2**70}.00", "10.00")) == ["10", str(2**70)]


def test_a_decimal_with_decimals_is_no_id() -> None:
    """As a float with decimals is none."""
    with pytest.raises(DataError, match="not a valid user"):
        ids_of(decimals("17850.00", "1.50"))


def test_a_voter_with_decimals_does_not_rename_the_others(tmp_path: Path) -> None:
    """One null makes floats of a column of whole numbers; all ids are texts if one has decimals."""
    path = tmp_path / "votes.parquet"
    columns = {"round": [1, 1, 1], "voter": [None, 17.0, 1.5], "candidate": ["a", "a", "a"]}
    pl.DataFrame(columns).write_parquet(path)
    assert read_votes(path).rounds[0].voters.tolist() == ["17", "1.5"]


def test_arms_that_are_whole_floats_are_named_as_integers(tmp_path: Path) -> None:
    """The name of an arm does not depend on the type of its column."""
    path = tmp_path / "visits.parquet"
    columns = {"arm": [17.0, 8.0], "click": [0, 1], "age": [0.5, 0.25]}
    pl.DataFrame(columns).write_parquet(path)
    assert read_visits(path).names == ("17", "8")


def joined_people(people_keys: pl.Series, item_keys: list[Any]) -> list[Any]:
    """Join a table of people with one of items, and return the people of its rows."""
    people = pl.DataFrame({"order_id": people_keys, "user": ["ann", "bob"]})
    items = pl.DataFrame({"order_id": item_keys, "item": ["x"] * len(item_keys)})
    tables = [Table(None, people), Table(None, items)]
    joined = join_people_to_items(tables, [{"user"}, {"item"}])
    assert joined is not None
    return joined.tables[0].frame["user"].to_list()


def test_keys_are_joined_whatever_type_their_whole_numbers_have() -> None:
    """A decimal 17.00 is the key 17, and an infinite key is not a rounded one."""
    assert joined_people(decimals("17.00", "8.00"), [8, 17]) == ["bob", "ann"]
    assert joined_people(pl.Series([17.0, float("inf")]), [17, 8]) == ["ann", None]


def test_keys_that_floats_round_are_refused_with_advice() -> None:
    """The message says how to read them exactly, as for ids."""
    with pytest.raises(DataError, match=r"(?s)keys of 2\^53 or more.*Int64") as refused:
        joined_people(pl.Series([2.0**53, 8.0]), [8])
    assert "order_id" in str(refused.value)
