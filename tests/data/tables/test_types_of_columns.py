"""One person's cell may change the type of a column, but not how other rows are read.

A table of pandas, polars or Parquet has a type for each column. One cell such as 1.5, a missing
cell or a text changes the type, and with it how the other cells look as texts.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tacit
from tacit.data import RatingScale, on_catalogue, read_ratings
from tacit.data.ratings import Ratings
from tacit.data.tables.cells import Rules
from tacit.data.tables.import_plan import carry_out_plan, plan_import
from tacit.data.tables.written_format import read_format
from tacit.errors import ConfigError, DataError
from tacit.profile_sums.consent import likes_of_consenting
from tacit.profile_sums.guarantees import card_before_fit
from tacit.profile_sums.settings import Settings
from tacit.recommenders.public_facts import describe_condition

SCALE = RatingScale(1, 5, 1)
CODES = [3, 1, 3, 2, 1, 3, 7, 1]
"""Cells of a column that conditions are about, one for each person."""
CONDITIONS = ["code!=3", "code=3", "code in 1|2", "code!=3.0", "code>2"]


def columns_of(codes: list[Any]) -> dict[str, list[Any]]:
    """Make the columns of a table with a row for each code."""
    numbers = range(len(codes))
    return {
        "user": [f"p{number}" for number in numbers],
        "item": [f"i{number % 3}" for number in numbers],
        "rating": [1 + number % 5 for number in numbers],
        "code": codes,
    }


def people_of(ratings: Ratings) -> list[str]:
    """Return the people of the first rows, without the one who was added."""
    return [user for user in ratings.user_ids.tolist() if user != f"p{len(CODES)}"]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("odd", ["1.5", "", "x", "true"])
@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
def test_a_cell_does_not_decide_which_other_rows_a_condition_keeps(
    read: Any, odd: str, condition: str
) -> None:
    """A column of whole numbers becomes one of floats or of texts by one cell."""

    def read_people(codes: list[Any]) -> list[str]:
        """Return who is left in a frame that was read from a text file."""
        text = pl.DataFrame(columns_of([str(code) for code in codes])).write_csv()
        frame = read(io.StringIO(text))
        return people_of(tacit.ratings_from(frame, scale=SCALE, where=[condition]))

    assert read_people([*CODES, odd]) == read_people(CODES)


@pytest.mark.parametrize("odd", [1.5, None, "x"])
def test_a_list_of_values_is_read_alike(odd: Any) -> None:
    """Floats beside a text become the texts that whole numbers become."""
    floats = [float(code) for code in CODES]
    rows = tacit.ratings_from(columns_of([*floats, odd]), scale=SCALE, where=["code!=3"])
    assert people_of(rows) == ["p1", "p3", "p4", "p6", "p7"]
    items = {**columns_of(CODES), "item": [*map(float, range(len(CODES) - 1)), "x"]}
    assert tacit.ratings_from(items, scale=SCALE).item_ids[0] == "0"


def test_answers_are_compared_in_lower_case() -> None:
    """True beside a text becomes the text True."""
    answers = [True, False] * 4
    for odd in (None, "x"):
        rows = tacit.ratings_from(columns_of([*answers, odd]), scale=SCALE, where=["code=true"])
        assert rows.n_users == 4


def test_a_text_with_a_leading_zero_is_no_number() -> None:
    """So 007 is not 7, as among ids."""
    codes = ["007", "7", "7.0", "x"]
    rows = tacit.ratings_from(columns_of(codes), scale=SCALE, where=["code=7"])
    assert rows.user_ids.tolist() == ["p1", "p2"]
    rows = tacit.ratings_from(columns_of(codes), scale=SCALE, where=["code=007"])
    assert rows.user_ids.tolist() == ["p0"]


def test_a_text_file_is_compared_as_it_is_written(tmp_path: Path) -> None:
    """Its cells have no types, and 3.0 is another text than 3."""
    path = tmp_path / "in.csv"
    pl.DataFrame(columns_of(["3", "3.0", "1"])).write_csv(path)
    rows = read_ratings(path, scale=SCALE, where=["code!=3"])
    assert rows.user_ids.tolist() == ["p1", "p2"]


def test_large_numbers_are_compared_exactly_or_not_at_all() -> None:
    """Floats round them, so a condition on such a number is refused for floats."""
    large = 2**60
    whole = columns_of([large, large + 1, 5])
    rows = tacit.ratings_from(whole, scale=SCALE, where=[f"code={large}"])
    assert rows.user_ids.tolist() == ["p0"]
    with pytest.raises(DataError, match=r"2\^53 or more"):
        tacit.ratings_from(columns_of([1.5, 5.0]), scale=SCALE, where=[f"code!={large}"])


@pytest.mark.parametrize("kind", [pl.Float64, pl.String])
def test_a_written_format_of_parquet_keeps_the_same_rows(tmp_path: Path, kind: Any) -> None:
    """No row changes how another one is read there."""
    description = {
        "kind": "typed columns",
        "columns": {"user": "user", "item": "item", "rating": "rating"},
        "ids": {"user": "text", "item": "text"},
        "scale": "1:5:1",
        "decimal": None,
        "thousands": "",
        "times": "usual",
        "dates": "dayfirst",
        "least_plays": 1,
        "where": ["code!=3"],
    }
    (tmp_path / "f.json").write_text(json.dumps(description))
    people = []
    for type_of_codes in (pl.Int64, kind):
        frame = pl.DataFrame(columns_of(CODES)).with_columns(pl.col("code").cast(type_of_codes))
        frame.write_parquet(tmp_path / "in.parquet")
        rows = read_ratings(tmp_path / "in.parquet", written=tmp_path / "f.json")
        people.append(people_of(rows))
    assert people[0] == people[1]
    assert len(people[0]) == 5


def test_json_keeps_the_same_rows_in_a_written_format(tmp_path: Path) -> None:
    """True and 3.0 are compared as in an import."""
    rows = [{"user": f"p{n}", "item": f"i{n % 5}", "yes": n % 2 == 0, "n": 3.0} for n in range(60)]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    names: Any = dict.fromkeys(("user", "item", "rating", "plays", "time", "domain"))
    where = ["yes=true", "n=3"]
    plan = plan_import([path], names, events=True, where=where)
    reading = carry_out_plan(plan, Rules(on_bad="drop", guessing=True), events=True)
    assert reading.ratings.n_users == 30
    (tmp_path / "data.json").write_text(json.dumps(reading.written.to_json()))  # type: ignore[union-attr]
    assert read_format(tmp_path / "data.json").where == tuple(where)
    assert read_ratings(path, written=tmp_path / "data.json").n_users == 30


@pytest.mark.parametrize("on_bad", ["drop", "refuse"])
def test_rounded_ids_are_refused_also_if_bad_rows_are_dropped(on_bad: Any) -> None:
    """One missing id makes floats of all, so a row would decide whether the others are read."""
    large = 2**60
    users = [large, large + 1, 5]
    columns = {"user": users, "item": [1, 2, 3], "rating": [5, 4, 3]}
    assert tacit.ratings_from(pd.DataFrame(columns), scale=SCALE).n_users == 3
    columns["user"] = [*users[:2], float("nan")]  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"column 'user'.*stored as floats") as refused:
        tacit.ratings_from(pd.DataFrame(columns), scale=SCALE, on_bad=on_bad)
    assert "115292" not in str(refused.value)


def test_keys_by_which_tables_are_joined_may_be_floats(tmp_path: Path) -> None:
    """One order line without an order makes floats of their numbers; the others are joined."""
    orders = {"order_id": [*range(1, 61)], "customer_id": [f"c{n % 20}" for n in range(60)]}
    lines: dict[str, list[Any]] = {
        "order_id": [*range(1, 61), None],
        "product_id": [f"p{n % 7}" for n in range(61)],
    }
    pl.DataFrame(orders).write_csv(tmp_path / "orders.csv")
    frame = pl.DataFrame(lines).with_columns(pl.col("order_id").cast(pl.Float64))
    frame.write_parquet(tmp_path / "lines.parquet")
    names: Any = dict.fromkeys(("user", "item", "rating", "plays", "time", "domain"))
    plan = plan_import([tmp_path / "orders.csv", tmp_path / "lines.parquet"], names, events=True)
    ratings = carry_out_plan(plan, Rules(on_bad="drop", guessing=True), events=True).ratings
    assert ratings.n_users == 20
    assert "encoding" in ratings.guesses  # of the table of people


def frame_of(kind: str, *, with_odd: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Make a frame and options, in which one cell decides how other cells are read.

    Args:
        kind: What that cell decides.
        with_odd: Whether the cell is there.
    """
    people = range(60)
    columns: dict[str, list[Any]] = {
        "user": [f"p{n}" for n in people],
        "item": [f"i{n % 5}" for n in people],
    }
    options: dict[str, Any] = {"user": "user", "item": "item"}
    odd: dict[str, Any] = {"user": "u", "item": "i1"}
    if kind == "decimal":
        columns["plays"] = [1 + n % 3 for n in people]
        odd["plays"] = "1,000"
        options["plays"] = "plays"
    elif kind == "dates":
        columns["rating"] = [1 + n % 5 for n in people]
        columns["time"] = [f"2024-03-{1 + n % 9:02d}" for n in people]
        odd |= {"rating": 5, "time": "25/03/2024"}
        options |= {"rating": "rating", "time": "time", "scale": SCALE}
    else:
        columns["item"] = [f"i{n % 5},i{n % 3 + 5}" for n in people]
        odd["item"] = "no id at all"
        options["events"] = True
    if with_odd:
        columns = {name: [*cells, odd[name]] for name, cells in columns.items()}
    return pd.DataFrame(columns), options


@pytest.mark.parametrize("kind", ["decimal", "dates", "lists"])
def test_a_condition_is_named_whether_or_not_the_deciding_cell_is_there(kind: str) -> None:
    """Else one person's cell would decide what the card says, and the card of others be wrong."""
    guesses = []
    for with_odd in (False, True):
        frame, options = frame_of(kind, with_odd=with_odd)
        guesses.append(tacit.ratings_from(frame, **options).guesses)
    assert kind in guesses[0]
    assert kind in guesses[1]


@pytest.mark.parametrize(
    ("kind", "options"), [("decimal", {"decimal": "."}), ("dates", {"dates": "dayfirst"})]
)
def test_an_option_that_says_how_cells_are_read_removes_the_condition(
    kind: str, options: dict[str, Any]
) -> None:
    """The card names this option."""
    frame, others = frame_of(kind, with_odd=False)
    assert kind not in tacit.ratings_from(frame, **others, **options).guesses
    (option,) = options
    assert f"{option}=" in describe_condition([kind])


def test_items_that_are_numbers_are_no_lists() -> None:
    """The type of the column says so, and no cell."""
    frame = pd.DataFrame({"user": [1, 2, 2], "item": [1, 2, 3]})
    assert tacit.ratings_from(frame, events=True).guesses == ()


def test_a_file_needs_one_remedy_for_all_that_was_guessed() -> None:
    """A written description settles all; the options for some of it are not named beside it."""
    sentence = describe_condition(["encoding", "decimal", "dates"])
    assert sentence.count("--format FILE") == 1
    assert "decimal=" not in sentence


def test_card_names_the_unit_and_refusals() -> None:
    """One id is one person's, types of columns are public, and a refused fit is seen."""
    card = card_before_fit(Settings(1.0))
    assert any("an id is one person's" in line for line in card.assumptions)
    assert any("these types do not depend" in line for line in card.assumptions)
    assert any("whether a fit could be made" in line for line in card.not_covered)


def test_consent_does_not_reach_a_person_whose_id_is_written_otherwise() -> None:
    """Two forms of Unicode are one id, so the likes of one who never agreed would be used."""
    columns = {
        "user": ["Am\u00e9lie", "Ame\u0301lie", "zz"],
        "item": [1, 2, 3],
        "rating": [5, 5, 5],
    }
    ratings = tacit.ratings_from(columns, scale=SCALE)
    assert ratings.n_users == 2
    with pytest.raises(DataError, match="never agreed"):
        likes_of_consenting(ratings, ["Am\u00e9lie"], 4.0)
    assert likes_of_consenting(ratings, ["zz"], 4.0).shape[0] == 1
    catalogue = on_catalogue(ratings, dict.fromkeys(range(5)))
    with pytest.raises(DataError, match="never agreed"):
        likes_of_consenting(catalogue, ["Am\u00e9lie"], 4.0)


def test_an_imported_folder_keeps_which_ids_were_joined(tmp_path: Path) -> None:
    """The folder holds the ids in one form alone."""
    from tacit.data.tables.folder import read_folder, write_folder

    columns = {"user": ["ann", "ann ", "zz"], "item": [1, 2, 3], "rating": [5, 5, 5]}
    write_folder(tacit.ratings_from(columns, scale=SCALE), tmp_path / "joined")
    assert read_folder(tmp_path / "joined").joined_people == ("ann",)
    columns["user"] = ["ann", "bob", "zz"]
    write_folder(tacit.ratings_from(columns, scale=SCALE), tmp_path / "apart")
    assert read_folder(tmp_path / "apart").joined_people == ()
    assert "joined_people" not in (tmp_path / "apart" / "data.json").read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"users": [1, 4.25]},
        {"values": [5, 6]},
        {"values": [5, np.nan]},
        {"values": [5, "secret"]},
        {"timestamps": [1, 10**15]},
        {"timestamps": [1.0, np.nan]},
    ],
)
def test_refusals_of_arrays_do_not_show_a_cell(change: dict[str, Any]) -> None:
    """A cell is one person's; the number of its row says where to look."""
    arrays: dict[str, Any] = {"users": [1, 2], "items": [1, 2], "values": [5, 5]}
    arrays |= {"timestamps": [1, 2], "scale": SCALE}
    with pytest.raises(DataError) as refused:
        Ratings.from_arrays(**{**arrays, **change})
    message = str(refused.value)
    assert "'nan'" not in message.lower()
    assert refused.value.found in (None, "a value of type float")
    assert not any(shown in message for shown in ("4.25", "6.0", "secret", "1000000000000000"))


def test_conditions_are_still_refused_if_they_are_none() -> None:
    """The option is to blame, and no cell."""
    with pytest.raises(ConfigError, match="COLUMN=VALUE"):
        tacit.ratings_from(columns_of(CODES), scale=SCALE, where=["code"])


def rated_pairs() -> dict[str, list[Any]]:
    """Make the columns of ratings, with usual names."""
    return {
        "user_id": [f"p{n % 12}" for n in range(60)],
        "item_id": [f"i{n % 7}" for n in range(60)],
        "rating": [1 + n % 5 for n in range(60)],
    }


def guesses_of_import(*files: Path) -> tuple[str, ...]:
    """Import files and return what was guessed."""
    names: Any = dict.fromkeys(("user", "item", "rating", "plays", "time", "domain"))
    reading = carry_out_plan(plan_import(files, names), Rules(on_bad="drop", guessing=True))
    return reading.ratings.guesses


def test_the_role_of_a_table_that_its_ids_show_is_a_condition(tmp_path: Path) -> None:
    """The ids of the ratings say whether it holds people or items."""
    pl.DataFrame(rated_pairs()).write_parquet(tmp_path / "ratings.parquet")
    assert guesses_of_import(tmp_path / "ratings.parquet") == ()
    other = {"a": [f"i{n}" for n in range(7)], "b": [f"word {n}" for n in range(7)]}
    pl.DataFrame(other).write_parquet(tmp_path / "other.parquet")
    files = (tmp_path / "ratings.parquet", tmp_path / "other.parquet")
    assert "columns" in guesses_of_import(*files)


def test_which_tables_have_stars_is_a_condition(tmp_path: Path) -> None:
    """Cells may make a column one of stars, and so decide whether its table is read."""
    pairs = rated_pairs()
    pl.DataFrame(pairs).write_parquet(tmp_path / "ratings.parquet")
    del pairs["rating"]
    pl.DataFrame({**pairs, "seen_on": ["page", "mail"] * 30}).write_parquet(
        tmp_path / "clicks.parquet"
    )
    files = (tmp_path / "ratings.parquet", tmp_path / "clicks.parquet")
    assert "columns" in guesses_of_import(*files)
