"""What stored rows may hold: read as in memory, or refused before anything could be charged."""

from __future__ import annotations

import os
import signal

import polars as pl
import pytest

from tacit.cli.source import exit_on_signals, parse_bytes
from tacit.data.stored_ratings import PublicInputs
from tacit.data.synthetic import generate
from tacit.data.tables import buckets
from tacit.data.tables.buckets import open_parquet
from tacit.engine.spark.sums import SparkRatings
from tacit.errors import ClusterError, ConfigError, DataError, OutputError, PrivacyError
from tests.support.stored_world import ODD, SCALE, facts, same_as_in_memory, write_odd


@pytest.mark.parametrize("odd", sorted(ODD.keys() - {"large"}))
def test_odd_rows_are_read_or_refused_as_in_memory(odd, tmp_path):
    """Ids with blanks are one person's, words for nothing are no id, times are cut to seconds, and
    so on. What is refused names the column and no value, and nothing is opened that could be
    charged."""
    file, items = write_odd(tmp_path / "r.parquet", ODD[odd])
    given = PublicInputs(scale=SCALE, catalogue=items)

    def streamed():
        with open_parquet(file, {}, given, 2**30, events=False) as ratings:
            return ratings.total(facts)

    same_as_in_memory(streamed, file, items, ODD[odd])


def part(**columns):
    return pl.DataFrame({"user": [1], "item": [1], "rating": [5.0]} | columns)


def refused(path, given):
    with open_parquet(path, {}, given, 2**30, events=False):
        pytest.fail("it was opened")


BARE = part().drop("rating")
FOLDERS = {
    "integers and text": ("integers, and of others text", {"b.parquet": part(user=["1"])}),
    "no stars in some": ("the same columns", {"a.parquet": BARE, "b.parquet": part()}),
    "other headers": ("the same columns", {"b.parquet": part().rename({"item": "item_id"})}),
    "another file": ("another file", {"part-0000": part()}),
    "cut off": ("cannot be read", {"b.parquet": b"PAR1xxxx"}),
    "large": (
        "fit a signed 64-bit integer",
        {"b.parquet": part(item=pl.Series([2**64 - 1], dtype=pl.UInt64))},
    ),
    "dates": (
        "day or the month",
        {"b.parquet": part(time=["3/4/2020"]), "a.parquet": part(time=["3/4/2020"])},
    ),
}


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
        refused(tmp_path, PublicInputs())


def test_hidden_files_are_left_out_and_integers_are_one_type(tmp_path, monkeypatch):
    """What a job has not committed is not read; a person is one in files of other integer types,
    also where there are several buckets. A sign in a name is that sign. A bucket that disappears
    is no smaller sum."""
    monkeypatch.setattr(buckets, "BYTES_PER_ROW", 500_000_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "_temporary"))
    small = pl.Series([-5], dtype=pl.Int32)
    files = {
        "a[1].parquet": part(user=small),
        "x/B.PARQUET": part(user=[-5], item=[2]),
        "_temporary/0/p.parquet": part(user=[7]),
        ".hidden.parquet": part(user=[8]),
    }
    for name, rows in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    with open_parquet(tmp_path, {}, PublicInputs(scale=SCALE), 2**30, events=False) as ratings:
        assert ratings.total(facts)[:3].tolist() == [1, 0, 1]  # one person with two ratings
        next((tmp_path / "_temporary").glob("tacit-*/*.npz")).unlink()
        with pytest.raises(FileNotFoundError):
            ratings.total(facts)


def test_a_scale_that_is_not_found_names_no_row(tmp_path):
    """There is none to name: only different stars are known."""
    part(user=[1, 2], item=[1, 2], rating=[3.0, 3.7]).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match="none of the common scales") as caught:
        refused(tmp_path, PublicInputs())
    assert "row" not in str(caught.value).replace("row,", "")


def test_a_disk_that_is_full_or_absent_is_said(tmp_path, monkeypatch):
    """TMPDIR that is not there is not passed over; no space is said in a sentence."""
    part().write_parquet(tmp_path / "r.parquet")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        refused(tmp_path, PublicInputs())
    monkeypatch.delenv("TMPDIR")
    write = pl.DataFrame.write_ipc
    large = pl.DataFrame({"a": range(100_000)})
    monkeypatch.setattr(pl.DataFrame, "write_ipc", lambda *_: write(large, "/dev/full"))
    with pytest.raises(OutputError, match="No space left"):
        refused(tmp_path, PublicInputs())


def test_long_ids_make_smaller_buckets(tmp_path, monkeypatch):
    """Rows with ids of text take more memory, so fewer of them are taken at once."""
    counts = []
    monkeypatch.setattr(buckets, "ID_COPIES", 1_000_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for length in (1, 200):
        folder = tmp_path / str(length)
        folder.mkdir()
        rows = {"user": [f"{n:0{length}}" for n in range(40)], "item": [1] * 40}
        pl.DataFrame(rows).write_parquet(folder / "r.parquet")
        with open_parquet(folder, {}, PublicInputs(), 2**30, events=True):
            counts.append(len([*tmp_path.glob("tacit-*/*.npz")]))
    assert counts[0] == 1
    assert counts[1] > 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_ended_removes_its_folder(number, tmp_path, monkeypatch):
    """SIGTERM and SIGHUP end the work like an error; afterwards they are what they were."""
    part().write_parquet(tmp_path / "r.parquet")
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    began = signal.signal(number, before := signal.default_int_handler)  # nohup ignores SIGHUP

    def ended():
        with (
            exit_on_signals(),
            open_parquet(tmp_path / "r.parquet", {}, PublicInputs(), 2**30, events=False),
        ):
            assert list(home.iterdir())
            os.kill(os.getpid(), number)

    try:
        with pytest.raises(SystemExit) as caught:
            ended()
        assert signal.getsignal(number) is before
    finally:
        signal.signal(number, began)
    assert caught.value.code == 128 + number
    assert not list(home.iterdir())


def test_a_cluster_that_is_gone_does_not_hide_what_failed():
    """Such as that a charge stays: closing is tried, and its own error is not heard."""

    class Gone:
        def stop(self):
            raise ClusterError("gone")

        unpersist = stop

    def failing():
        with SparkRatings(Gone(), Gone(), generate(users=5, items=5, ratings=10, seed=0), 1):
            raise PrivacyError("it stays charged")

    with pytest.raises(PrivacyError, match="stays charged"):
        failing()


@pytest.mark.parametrize("text", [".", "1.2.3GB", "4 apples"])
def test_a_size_that_is_none_is_refused(text):
    """In a sentence, not as a fault of the program."""
    with pytest.raises(ConfigError, match="4GiB"):
        parse_bytes(text)
