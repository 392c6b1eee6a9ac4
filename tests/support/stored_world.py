"""A small world in files, and the same in memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tacit
from tacit.data import on_catalogue, read_catalogue
from tacit.data.domains import DOMAIN
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.stored_ratings import PublicInputs
from tacit.errors import DataError

SCALE = RatingScale(1, 5, 1)
PEOPLE, ITEMS = 700, 90


def write_world(folder: Path) -> tuple[Path, Path]:
    """Ids of text; item 7 in half of all profiles; one person with 30,000 events; rated again."""
    draws = np.random.default_rng(3)
    people = draws.integers(0, PEOPLE, 14_000)
    items = (draws.random(14_000) ** 2 * ITEMS).astype(int)
    half = np.arange(0, PEOPLE, 2)
    users = np.concatenate([people, half, np.full(30_000, 5)])
    items = np.concatenate([items, np.full(len(half), 7), draws.integers(0, ITEMS, 30_000)])
    order = draws.permutation(len(users))
    table = pl.DataFrame(
        {
            "user_id": [f"u{person}" for person in users[order]],
            "item_id": items[order],
            "rating": draws.integers(1, 6, len(users)).astype(float),
            "timestamp": pl.from_epoch(draws.permutation(len(users)) + 1_600_000_000),
        }
    )
    about = pl.DataFrame(
        {
            "item_id": np.arange(ITEMS),
            "genres": [f"g{item % 5}|h{item % 3}" for item in range(ITEMS)],
            "domain": ["s" if item % 2 else "t" for item in range(ITEMS)],
        }
    )
    table.write_parquet(folder / "ratings.parquet", row_group_size=5000)
    about.write_csv(folder / "items.csv")
    return folder / "ratings.parquet", folder / "items.csv"


def public(items: Path) -> PublicInputs:
    return PublicInputs(scale=SCALE, catalogue=items, item="item_id", domain="domain")


def local(files) -> Ratings:
    known = read_catalogue(files[1], item="item_id", domain="domain")
    ratings = tacit.load(files[0], scale=SCALE)
    return on_catalogue(ratings, known[DOMAIN], metadata=known)


def facts(block: Ratings) -> np.ndarray:
    """How many people, how many of them have so many ratings, and each item so many stars."""
    each = np.bincount(np.bincount(block.users, minlength=block.n_users), minlength=9)
    stars = np.bincount(block.items * 9 + block.values.astype(int), minlength=900)
    return np.array([block.n_users, *each[1:], *stars])


USERS, TIMES = ["a", " a", "a ", "b\u2003"], [1600000000.9, 1600000000.1, 3.0, 4.0]
PARTS = [dt.datetime(2020, 1, 1, 0, 0, 0, part) for part in (9, 1, 2, 3)]
ODD = {
    "padded": {"user": USERS, "item": ["1", " 1", "2", "2 "]},
    "words": {"user": ["a", "NULL", "nan", "b"]},
    "empty": {"item": ["1", "", "2", "1"]},
    "large": {"item": pl.Series([2**64 - 1, 1, 2, 1], dtype=pl.UInt64)},
    "seconds": {"user": [1, 1, 2, 3], "item": [1, 1, 2, 3], "time": TIMES},
    "no time": {"time": [float("nan"), 1.0, 2.0, 3.0]},
    "times of text": {"user": USERS, "time": ["2020-01-02", "2020-01-03", "5", "2020-01-01 10:00"]},
    "dates": {"time": [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]},
    "decimal times": {"time": [Decimal(day) for day in (1, 2, 3, 4)]},
    "date for stars": {"rating": [dt.date(1970, 1, 3)] * 4},
    "stars of text": {"rating": ["4", "5 stars", "3/5", "1"]},
    "answers": {"rating": [True, True, True, True]},
    "no stars": {"rating": [5.0, float("nan"), 4.0, 4.0]},
    "categories": {"user": pl.Series(USERS, dtype=pl.Categorical)},
    "whole floats": {"user": [1.0, 2.0, 1.0, 2.0], "item": [1.0, 2.0, 3.0, 77.0]},
    "no zone": {"user": [1, 1, 2, 3], "item": [1, 1, 2, 3], "time": PARTS},
    "zeros": {"user": ["007", "7", " 7", "07"], "item": ["1", "01", "2", "3"]},
    "repeated at one time": {"user": [1, 1, 2, 2], "item": [1, 1, 2, 2], "time": [9, 9, 5, 7]},
    "repeated without times": {"user": [1, 1, 2, 2], "item": [1, 1, 3, 3]},
    "none rated": {"item": [11, 12, 13, 14]},
}


def write_odd(file: Path, columns: Mapping[str, Any]) -> tuple[Path, Path]:
    """Four rows with these columns, and a catalogue of items 1 to 3."""
    rows = {"user": [1, 2, 3, 1], "item": [1, 2, 3, 3], "rating": [1.0, 5.0, 3.0, 2.0]}
    frame = pl.DataFrame(rows | columns)
    frame.write_parquet(file) if file.suffix == ".parquet" else frame.write_csv(file)
    pl.DataFrame({"item": [1, 2, 3]}).write_csv(file.with_name("items.csv"))
    return file, file.with_name("items.csv")


def same_as_in_memory(
    stored: Callable[[], np.ndarray], file: Path, items: Path, columns: Mapping[str, Any]
) -> None:
    """The same sums, or refused as well, and without a value."""
    known = read_catalogue(items, domains=False)
    try:
        expected = facts(on_catalogue(tacit.load(file, scale=SCALE), known[DOMAIN]))
    except DataError:
        with pytest.raises(DataError) as caught:
            stored()
        values = [str(value) for column in columns.values() for value in column]
        assert not any(len(value) > 2 and value in str(caught.value) for value in values)
    else:
        np.testing.assert_array_equal(stored(), expected)


def blocks_of(rows: Any, ids: np.ndarray) -> list[Any]:
    """A worker's blocks of a task with these rows: user, item, rating."""
    from tacit.engine.spark import workers

    headers = {role: role for role in ("user", "item", "rating")}
    packed = workers.pack_rows([rows], headers=headers, scale=None, ids=ids, buckets=8)
    return [*workers.prepare_blocks(packed, width=len(ids), headers=headers)]
