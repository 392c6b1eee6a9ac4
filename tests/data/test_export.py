"""`tacit data export`: folders of RecBole and LensKit, which `tacit data import` reads back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.cli.app import main
from tacit.data import Ratings, RatingScale, load
from tacit.data.columns import EVENTS
from tacit.data.tables.research_folders import write_research_folder
from tacit.errors import ConfigError, DataError, OutputError

RoundTrip = Callable[[Ratings, str], Ratings]
SCALE = RatingScale(1, 5, 1)


@pytest.fixture
def rated() -> Ratings:
    """Ratings with times and texts that a careless writer would spoil."""
    return Ratings.from_arrays(
        ["01", "01", "b", "c"],
        [7, 8, 8, 9],
        np.array([1.0, 5.0, 3.0, 4.0]),
        np.array([978300760, 978300761, 978300762, 978300763]),
        scale=SCALE,
        user_attributes={"gender": {"01": "F", "b": "M", "c": None}},
        item_metadata={
            "title": {7: '"Great Performances" Cats (1998)', 8: "Süß, sauer", 9: None},
            "year": {7: 1998, 8: 2001, 9: 1977},
        },
    )


@pytest.fixture
def round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> RoundTrip:
    """Write a folder, import it with the command, and read what it wrote."""

    def run(ratings: Ratings, kind: str) -> Ratings:
        folder, back = tmp_path / "made", tmp_path / "back"
        write_research_folder(ratings, kind, folder)
        words = ["data", "import", str(folder), "-o", str(back), "--ids", "text", "--yes"]
        if ratings.scale == EVENTS:
            words.append("--events")
        assert main(words) == 0, capsys.readouterr().err
        return load(back)

    return run


def rows_of(ratings: Ratings) -> dict[tuple[str, str], tuple[float, int]]:
    """Map each person and item, as texts, to the stars and the time."""
    assert ratings.timestamps is not None
    users = map(str, ratings.user_ids[ratings.users].tolist())
    items = map(str, ratings.item_ids[ratings.items].tolist())
    values = zip(ratings.values.tolist(), ratings.timestamps.tolist(), strict=True)
    return dict(zip(zip(users, items, strict=True), values, strict=True))


@pytest.mark.parametrize("kind", ["recbole", "lenskit"])
def test_every_rating_comes_back(rated: Ratings, round_trip: RoundTrip, kind: str) -> None:
    """People, items, stars and times are those that were written."""
    assert rows_of(round_trip(rated, kind)) == rows_of(rated)


@pytest.mark.parametrize("kind", ["recbole", "lenskit"])
def test_attributes_and_titles_come_back(rated: Ratings, round_trip: RoundTrip, kind: str) -> None:
    """Also quotes, commas, letters beyond ASCII, and what is unknown."""
    read = round_trip(rated, kind)
    titles = dict(zip(map(str, read.item_ids.tolist()), read.item_metadata["title"], strict=True))
    assert titles == {"7": '"Great Performances" Cats (1998)', "8": "Süß, sauer", "9": None}
    assert [str(year) for year in read.item_metadata["year"]] == ["1998", "2001", "1977"]
    genders = dict(zip(read.user_ids.tolist(), read.user_attributes["gender"], strict=True))
    assert genders == {"01": "F", "b": "M", "c": None}


@pytest.mark.parametrize("kind", ["recbole", "lenskit"])
def test_events_come_back_as_events(round_trip: RoundTrip, kind: str) -> None:
    """No column of stars is written for them."""
    events = Ratings.from_arrays([1, 1, 2], ["a", "b", "a"], None, np.array([100, 200, 300]))
    read = round_trip(events, kind)
    assert read.scale == EVENTS
    assert rows_of(read) == rows_of(events)


def test_recboles_columns_say_their_types(rated: Ratings, tmp_path: Path) -> None:
    """Files are named after the folder; several genres are a sequence."""
    genres = {7: "Sci-Fi|Film Noir", 8: "Drama", 9: None}
    films = Ratings.from_arrays(
        [1, 2, 2], [7, 8, 9], np.array([1.0, 2.0, 5.0]), item_metadata={"genres": genres}
    )
    write_research_folder(films, "recbole", tmp_path / "toy")
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == ["toy.inter", "toy.item"]
    assert (tmp_path / "toy" / "toy.inter").read_text().splitlines()[:2] == [
        "user_id:token\titem_id:token\trating:float",
        "1\t7\t1.0",
    ]
    assert (tmp_path / "toy" / "toy.item").read_text().splitlines() == [
        "item_id:token\tgenres:token_seq",
        "7\tSci-Fi Film_Noir",
        "8\tDrama",
        "9\t",
    ]


def test_lenskits_tables_hold_places(rated: Ratings, tmp_path: Path) -> None:
    """Numbers in the table of ratings are places in those of people and items."""
    write_research_folder(rated, "lenskit", tmp_path / "lk")
    schema = json.loads((tmp_path / "lk" / "schema.json").read_text())
    assert schema["default_interaction"] == "rating"
    assert [*schema["entities"]["item"]["attributes"]] == ["title", "year"]
    between = pl.read_parquet(tmp_path / "lk" / "rating.parquet")
    people = pl.read_parquet(tmp_path / "lk" / "user.parquet")["user_id"]
    assert people.gather(between["user_num"]).to_list() == ["01", "01", "b", "c"]


def test_a_text_that_ends_a_cell_is_refused_by_recbole(tmp_path: Path) -> None:
    """A tab in an id would move every later cell; LensKit's files take it."""
    odd = Ratings.from_arrays(["a\tb", "c"], [1, 2], np.array([1.0, 2.0]))
    with pytest.raises(DataError, match="a tab or the end of a line"):
        write_research_folder(odd, "recbole", tmp_path / "made")
    assert not list(tmp_path.iterdir())
    write_research_folder(odd, "lenskit", tmp_path / "made")


def test_a_folder_that_holds_something_is_left_alone(rated: Ratings, tmp_path: Path) -> None:
    """Nothing is replaced."""
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds something"):
        write_research_folder(rated, "recbole", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_an_unknown_form_is_named(rated: Ratings, tmp_path: Path) -> None:
    """The error lists those that there are."""
    with pytest.raises(ConfigError, match="Known: recbole, lenskit"):
        write_research_folder(rated, "surprise", tmp_path / "made")


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the file, where no folder is named; with what was found in the rows of a CSV."""
    orders = tmp_path / "orders.csv"
    orders.write_text("user,item,rating\n1,a,4\n2,b,5\n1,b,3\n")
    assert main(["data", "export", str(orders), "--to", "recbole", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["folder"] == str(tmp_path / "orders-recbole")
    assert answer["files"] == ["data.json", "orders-recbole.inter"]
