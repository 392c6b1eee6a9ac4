"""What stored rows may hold: read as in memory, or refused before anything could be charged."""

from __future__ import annotations

import datetime as dt
import os
import signal
from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from stored_world import SCALE

import tacit
from tacit.cli.stored import bytes_in, ending
from tacit.data import on_catalogue, read_catalogue
from tacit.data.domains import DOMAIN
from tacit.data.ratings import Ratings
from tacit.data.stored import Public
from tacit.data.tables import buckets
from tacit.data.tables.buckets import open_parquet
from tacit.errors import ConfigError, DataError, OutputError


def as_read(ratings):
    """Each person's items and stars, as the sums see them."""
    found = []

    def add(block):
        bounds = np.searchsorted(block.users, np.arange(block.n_users + 1)).tolist()
        for start, stop in pairwise(bounds):
            found.append([*zip(block.items[start:stop], block.values[start:stop], strict=True)])
        return np.zeros(1, np.int64)

    if isinstance(ratings, Ratings):
        add(ratings)
    else:
        ratings.total(add)
    return sorted(found)


USERS, TIMES = ["a", " a", "a ", "b\u2003"], [1600000000.9, 1600000000.1, 3.0, 4.0]
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
    "none rated": {"item": [11, 12, 13, 14]},
}


@pytest.mark.parametrize("odd", [*ODD])
def test_odd_rows_are_read_or_refused_as_in_memory(odd, tmp_path):
    """Ids with blanks are one person's, words for nothing are no id, times are cut to seconds, and
    so on. What is refused names the column and no value, and nothing is opened that could be
    charged."""
    rows = {"user": [1, 2, 3, 1], "item": [1, 2, 3, 3], "rating": [5.0, 1.0, 3.0, 2.0]}
    file, items = tmp_path / "r[1].parquet", tmp_path / "items.csv"
    pl.DataFrame(rows | ODD[odd]).write_parquet(file)
    pl.DataFrame({"item": [1, 2, 3]}).write_csv(items)
    given = Public(scale=SCALE, catalogue=items)

    def read_here():
        known = read_catalogue(items, domains=False)
        return as_read(on_catalogue(tacit.load(file, scale=SCALE), known[DOMAIN]))

    def streamed():
        with open_parquet(file, {}, given, 2**30, events=False) as ratings:
            return as_read(ratings)

    try:
        expected = read_here()
    except DataError:
        with pytest.raises(DataError) as caught:
            streamed()
        assert not any(str(value) in str(caught.value) for value in ODD[odd].values())
        assert "18446744073709551615" not in str(caught.value)
    else:
        assert streamed() == expected


def part(**columns):
    return pl.DataFrame({"user": [1], "item": [1], "rating": [5.0]} | columns)


BARE = part().drop("rating")
FOLDERS = {
    "integers and text": ("integers, and of others text", {"b.parquet": part(user=["1"])}),
    "no stars in some": ("the same columns", {"a.parquet": BARE, "b.parquet": part()}),
    "other headers": ("the same columns", {"b.parquet": part().rename({"item": "item_id"})}),
    "another file": ("another file", {"part-0000": part()}),
    "cut off": ("cannot be read", {"b.parquet": b"PAR1xxxx"}),
    "dates": ("day and month", {"b.parquet": part(time=["3/4/2020"]),
                                "a.parquet": part(time=["3/4/2020"])}),
}  # fmt: skip


@pytest.mark.parametrize("odd", [*FOLDERS])
def test_a_folder_of_unlike_files_is_refused(odd, tmp_path):
    """In a sentence, before anything is summed or charged."""
    says, files = FOLDERS[odd]
    for name, rows in ({"a.parquet": part()} | files).items():
        if isinstance(rows, bytes):
            (tmp_path / name).write_bytes(rows)
        else:
            rows.write_parquet(tmp_path / name)
    with pytest.raises(DataError, match=says):
        open_parquet(tmp_path, {}, Public(), 2**30, events=False)


def test_hidden_files_are_left_out_and_integers_are_one_type(tmp_path, monkeypatch):
    """What a job has not committed is not read; a person is one in files of other integer types,
    also where there are several buckets. A bucket that disappears is no smaller sum."""
    monkeypatch.setattr(buckets, "_OF_ROW", 500_000_000)
    small = pl.Series([-5], dtype=pl.Int32)
    files = {
        "a.parquet": part(user=small),
        "x/B.PARQUET": part(user=[-5], item=[2]),
        "_temporary/0/p.parquet": part(user=[7]),
        ".hidden.parquet": part(user=[8]),
    }
    for name, rows in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    with open_parquet(tmp_path, {}, Public(scale=SCALE), 2**30, events=False) as ratings:
        assert as_read(ratings) == [[(0, 5.0), (1, 5.0)]]
        ratings._sorted[0].unlink()
        with pytest.raises(FileNotFoundError):
            as_read(ratings)


def test_a_scale_that_is_not_found_names_no_row(tmp_path):
    """There is none to name: only different stars are known."""
    part(user=[1, 2], item=[1, 2], rating=[3.0, 3.7]).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match="none of the common scales") as caught:
        open_parquet(tmp_path, {}, Public(), 2**30, events=False)
    assert "row" not in str(caught.value).replace("row,", "")


def test_a_disk_that_is_full_or_absent_is_said(tmp_path, monkeypatch):
    """TMPDIR that is not there is not passed over; no space is said in a sentence."""
    part().write_parquet(tmp_path / "r.parquet")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_parquet(tmp_path, {}, Public(), 2**30, events=False)
    monkeypatch.delenv("TMPDIR")
    full = lambda self, _: pl.DataFrame({"a": range(100_000)}).write_ipc("/dev/full")  # noqa: E731
    monkeypatch.setattr(buckets.Buckets, "part", full)
    with pytest.raises(OutputError, match="No space left"):
        open_parquet(tmp_path, {}, Public(), 2**30, events=False)


def test_long_ids_make_smaller_buckets(tmp_path, monkeypatch):
    """Rows with ids of text take more memory, so fewer of them are taken at once."""
    counts = []
    monkeypatch.setattr(buckets, "_COPIES", 50_000)
    for length in (1, 4000):
        folder = tmp_path / str(length)
        folder.mkdir()
        rows = {"user": [f"{n:0{length}}" for n in range(40)], "item": [1] * 40}
        pl.DataFrame(rows).write_parquet(folder / "r.parquet")
        with open_parquet(folder, {}, Public(), 2**30, events=True) as ratings:
            counts.append(len(ratings._sorted))
    assert counts[0] == 1
    assert counts[1] > 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_ended_removes_its_folder(number, tmp_path, monkeypatch):
    """SIGTERM and SIGHUP end the work like an error; afterwards they are what they were."""
    part().write_parquet(tmp_path / "r.parquet")
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    before = signal.getsignal(number)

    def ended():
        with ending(), open_parquet(tmp_path / "r.parquet", {}, Public(), 2**30, events=False):
            assert list(home.iterdir())
            os.kill(os.getpid(), number)

    with pytest.raises(SystemExit) as caught:
        ended()
    assert caught.value.code == 128 + number
    assert not list(home.iterdir())
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("text", [".", "1.2.3GB", "4 apples"])
def test_a_size_that_is_none_is_refused(text):
    """In a sentence, not as a fault of the program."""
    with pytest.raises(ConfigError, match="4GiB"):
        bytes_in(text)
