"""Ids of people that are written in several ways, in one file or in several."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tacit.data import RatingScale
from tacit.data.tables.cells import Rules
from tacit.data.tables.import_plan import carry_out_plan, plan_import
from tacit.data.tables.names import Role

NAMES: dict[Role, str | None] = dict.fromkeys(("user", "item", "rating", "plays", "time", "domain"))
"""The roles of an import, none of them named."""
RULES = Rules(scale=RatingScale(1, 5, 1))
COMPOSED, DECOMPOSED = "Am\u00e9lie", "Ame\u0301lie"


def joined_people_of(folder: Path, *files: list[str]) -> tuple[str, ...]:
    """Import one CSV file for each list of people; return the people written in several ways."""
    paths = []
    for number, people in enumerate(files):
        path = folder / f"{number}.csv"
        rows = [f"{person},i{row},5\n" for row, person in enumerate(people)]
        path.write_text("user,item,rating\n" + "".join(rows), "utf-8")
        paths.append(path)
    return carry_out_plan(plan_import(paths, NAMES), RULES).ratings.joined_people


@pytest.mark.parametrize(
    ("files", "joined"),
    [
        ([[COMPOSED, "zz"], [DECOMPOSED, "zz"]], (COMPOSED,)),
        ([[DECOMPOSED, "zz"], [COMPOSED, "zz"]], (COMPOSED,)),
        ([[DECOMPOSED, "zz"], [DECOMPOSED, "zz"]], ()),
        ([[COMPOSED, DECOMPOSED], ["17", "18"]], (COMPOSED,)),
        ([["17850", "2"], ["17850.0", "3"]], ("17850",)),
        ([["17850.0", "2.0"], ["17850.00", "3"]], ("17850",)),
        ([["17850.0", "2"], ["17850", "ann"]], ("17850",)),
        ([["17850.0", "2.0"], ["17850.0", "2.0"]], ()),
        ([["17850", "2", "17850.0"]], ("17850",)),
        ([["17850", "17850.0", "ann"]], ()),
        ([["17850", "2"], ["17850", "ann"]], ()),
    ],
)
def test_ids_are_compared_over_all_files(
    tmp_path: Path, files: list[list[str]], joined: tuple[str, ...]
) -> None:
    """Two files may each write a person in one way, and become one person when they are united."""
    assert joined_people_of(tmp_path, *files) == joined


def test_whole_numbers_of_a_typed_column_are_a_way_of_writing(tmp_path: Path) -> None:
    """A Parquet file has no texts, but the person is the one whom the CSV file writes otherwise."""
    text, typed = tmp_path / "a.csv", tmp_path / "b.parquet"
    text.write_text("user,item,rating\n17850.0,1,5\n2.0,2,5\n")
    pl.DataFrame({"user": [17850, 3], "item": [1, 2], "rating": [5, 5]}).write_parquet(typed)
    ratings = carry_out_plan(plan_import([text, typed], NAMES), RULES).ratings
    assert ratings.joined_people == ("17850",)


def test_blanks_around_an_id_of_a_text_file_are_no_part_of_it(tmp_path: Path) -> None:
    """The cells of a text file are stripped before they are ids."""
    assert joined_people_of(tmp_path, ["ann", " ann ", "zz"]) == ()


def test_a_row_that_is_left_out_writes_no_id(tmp_path: Path) -> None:
    """Only the rows that are kept become one person's."""
    path = tmp_path / "a.csv"
    path.write_text(f"user,item,rating\n{COMPOSED},1,5\n{DECOMPOSED},2,77\nzz,3,4\n", "utf-8")
    rules = Rules(on_bad="drop", scale=RatingScale(1, 5, 1))
    ratings = carry_out_plan(plan_import([path], NAMES), rules).ratings
    assert ratings.joined_people == ()
