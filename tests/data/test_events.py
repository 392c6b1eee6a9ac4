"""Events and numbers of plays: files without stars, in text, Parquet, frames and arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from tacit.cli.app import main
from tacit.data import (
    Ratings,
    RatingScale,
    generate,
    load,
    ratings_from,
    read_history,
    read_ratings,
    write_ratings,
)
from tacit.data.columns import EVENTS
from tacit.errors import ConfigError, DataError

ROWS = "user,item,timestamp\n1,a,5\n1,b,6\n2,a,7\n1,a,9\n"
PLAYS = "user,item,plays\n1,a,3\n1,b,1\n2,a,0\n2,b,12\n"
STARS = "user,item,rating\n1,a,2\n2,a,5\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file with this text; Parquet if its name says so."""

    def writer(text: str, name: str = "r.csv") -> Path:
        path = tmp_path / name
        if name.endswith("parquet"):
            pl.read_csv(text.encode()).write_parquet(path)
        else:
            path.write_text(text)
        return path

    return writer


@pytest.fixture(params=["r.csv", "r.parquet"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_without_stars_rows_are_events(write: Write, name: str) -> None:
    """Every row is a like, repeated rows are one, and the later time is kept."""
    made = read_ratings(write(ROWS, name))
    assert made.scale == EVENTS
    assert made.likes.all()
    assert made.history(1) == {"a": 1.0, "b": 1.0}
    assert made.timestamps is not None
    assert made.timestamps.tolist() == [9, 6, 7]


def test_nothing_is_read_off_events(write: Write) -> None:
    """That there are no stars stands in the header, so the scale counts as given."""
    assert read_ratings(write(ROWS)).scale_given
    assert not read_ratings(write(STARS, "s.csv")).scale_given


def test_plays_are_likes_from_a_number_on(write: Write, name: str) -> None:
    """Fewer plays are seen and not liked; no play is no event."""
    made = read_ratings(write(PLAYS, name), least_plays=2)
    assert made.history(1) == {"a": 1.0, "b": 0.0}
    assert made.history(2) == {"b": 1.0}
    assert made.scale == EVENTS
    assert made.scale_given


def test_one_play_is_a_like(write: Write, name: str) -> None:
    """By default every play counts."""
    assert read_ratings(write(PLAYS, name)).likes.all()


def test_stars_come_before_plays(write: Write, name: str) -> None:
    """A file with both is one of stars, unless plays are asked for by name."""
    path = write("user,item,rating,plays\n1,a,2,7\n2,a,5,1\n", name)
    assert read_ratings(path).history(1) == {"a": 2.0}
    made = read_ratings(path, plays="plays", least_plays=5)
    assert (made.history(1), made.history(2)) == ({"a": 1.0}, {"a": 0.0})


def test_events_are_forced(write: Write, name: str) -> None:
    """With `events` stars and plays are not even read."""
    assert read_ratings(write("user,item,rating,plays\n1,a,x,y\n", name), events=True).likes.all()


@pytest.mark.parametrize("plays", ["-1", "x", "nan", ""])
def test_odd_plays_are_refused(write: Write, plays: str) -> None:
    """With file, row and column, and what was expected."""
    path = write(f"user,item,plays\n1,a,3\n1,b,{plays}\n")
    with pytest.raises(DataError, match=r"row 3, column 'plays'.*a number of 0 or more|missing"):
        read_ratings(path)


def test_no_play_at_all_is_refused(write: Write) -> None:
    """A file of zeros holds no event."""
    with pytest.raises(DataError, match="no event"):
        read_ratings(write("user,item,plays\n1,a,0\n"))


def test_a_scale_asks_for_stars(write: Write, name: str) -> None:
    """With a scale, or the name of a rating column, a file without one is refused as before."""
    with pytest.raises(DataError, match="no rating column"):
        read_ratings(write(ROWS, name), scale=RatingScale(1, 5, 1))
    with pytest.raises(DataError, match="no rating column"):
        read_ratings(write(ROWS, name), rating="stars")
    with pytest.raises(ConfigError, match="no stars"):
        read_ratings(write(ROWS, name), scale=RatingScale(1, 5, 1), events=True)


def test_a_history_of_stars_needs_them(write: Write, name: str) -> None:
    """Items alone are no history for a model of stars; for one of events they are."""
    path = write("item\na\nb\n", name)
    with pytest.raises(DataError, match="no rating column"):
        read_history(path)
    assert read_history(path, events=True) == {"a": 1.0, "b": 1.0}


def test_frames_and_arrays() -> None:
    """Both take events and plays as files do."""
    frame = pd.DataFrame({"user": [1, 1], "item": ["a", "b"], "plays": [1, 4]})
    assert ratings_from(frame, least_plays=2).history(1) == {"a": 0.0, "b": 1.0}
    assert ratings_from(frame, events=True).history(1) == {"a": 1.0, "b": 1.0}
    made = Ratings.from_arrays([1, 1, 1], ["a", "b", "a"])
    assert (made.scale, made.scale_given) == (EVENTS, True)
    assert made.history(1) == {"a": 1.0, "b": 1.0}


def test_stars_become_events(write: Write) -> None:
    """`as_events` keeps the rows and drops the stars."""
    made = read_ratings(write(STARS)).as_events()
    assert made.likes.all()
    assert made.scale == EVENTS
    assert len(made) == 2


def test_what_is_written_is_read_alike(write: Write, tmp_path: Path) -> None:
    """Events are written without a rating column, and come back as events."""
    made = read_ratings(write(ROWS))
    write_ratings(made, tmp_path / "again.csv")
    assert load(tmp_path / "again.csv").digest == made.digest


@pytest.mark.parametrize("least", [0, -1, float("inf")])
def test_impossible_numbers_of_plays_are_refused(write: Write, least: float) -> None:
    """The fewest plays of a like are above 0."""
    with pytest.raises(ConfigError):
        read_ratings(write(PLAYS), least_plays=least)


def test_on_the_command_line(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """--events, --plays and --least-plays mean what they mean from Python."""

    def stars(*words: object) -> Any:
        assert main(["data", "describe", *map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["stars"]

    path = write("user,item,rating,plays\n1,a,2,7\n2,a,5,1\n")
    assert stars(path) == {"2": 1, "5": 1}
    assert stars(path, "--events") == {"1": 2}
    assert stars(path, "--plays", "plays", "--least-plays", 2) == {"0": 1, "1": 1}


@pytest.mark.parametrize("words", [("ease",), ("private", "--epsilon", "inf")])
def test_a_model_of_events_takes_items_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Fitted to a file without stars, a model lists for a history that has none either."""
    generated = generate(users=60, items=25, ratings=1500, seed=3).as_events()
    write_ratings(generated, tmp_path / "r.csv")
    (tmp_path / "h.csv").write_text("item\n3\n7\n")
    model = str(tmp_path / "m.tacit")
    assert main(["fit", *words, str(tmp_path / "r.csv"), "-o", model, "--json"]) == 0
    capsys.readouterr()
    history = ("--history", str(tmp_path / "h.csv"))
    assert main(["recommend", model, *history, "-n", "4", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["rated"] == 2
    assert len({row["item_id"] for row in made["items"]} - {3, 7}) == 4


def test_events_of_a_movielens_folder(tmp_path: Path) -> None:
    """--events drops the stars of a folder too."""
    (tmp_path / "u.data").write_text("1\t7\t3\t5\n1\t8\t1\t6\n")
    assert load(tmp_path, events=True).history(1) == {7: 1.0, 8: 1.0}
