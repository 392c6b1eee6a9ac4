"""Folders of plain tables: each file is ratings, people, items, or left out with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.cli.app import main

Import = Callable[..., dict[str, Any]]
PAIRS = [(person, 1 + (7 * person + step) % 30) for person in range(1, 41) for step in range(10)]
RATINGS = "user_id,item_id,rating,timestamp\n" + "".join(
    f"{person},{item},{5 - (person * item) % 5},{1_500_000_000 + person * item}\n"
    for person, item in PAIRS
)
USERS = "user_id,age\n" + "".join(f"{person},{20 + person}\n" for person in range(1, 41))
ITEMS = "item_id,title\n" + "".join(f"{item},Title {item}\n" for item in range(1, 31))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """What an import of a folder of these files answers; refusals have `error`."""

    def runner(files: dict[str, str], *words: str) -> dict[str, Any]:
        folder = tmp_path / "shop"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        out = str(tmp_path / "out")
        code = main(["data", "import", str(folder), "-o", out, "--yes", "--json", *words])
        printed = capsys.readouterr()
        return json.loads(printed.out if code == 0 else printed.err)

    return runner


@pytest.mark.parametrize(
    "names",
    [
        ("users.csv", "items.csv", "ratings.csv"),
        ("a.csv", "b.csv", "c.csv"),
        ("z.tsv", "y.dat", "x.txt"),
    ],
)
def test_people_items_and_ratings(names: tuple[str, str, str], run: Import, tmp_path: Path) -> None:
    """Whatever the files are called, their columns say what they are."""
    answer = run(dict(zip(names, (USERS, ITEMS, RATINGS), strict=True)))
    assert (answer["kept"], answer["people"], answer["items"]) == (400, 40, 30)
    ratings = tacit.load(tmp_path / "out")
    assert "title" in ratings.item_metadata
    assert "age" in ratings.user_attributes


def test_columns_in_another_language(run: Import) -> None:
    """A German shop's export."""
    answer = run(
        {
            "kunden.csv": USERS.replace("user_id", "Kundennummer").replace(",", ";"),
            "artikel.csv": ITEMS.replace("item_id", "Artikel").replace(",", ";"),
            "bewertungen.csv": RATINGS.replace(
                "user_id,item_id,rating,timestamp", "Kundennummer,Artikel,Bewertung,Datum"
            ).replace(",", ";"),
        }
    )
    assert answer["columns"]["rating"] == "Bewertung"
    assert answer["kept"] == 400


def test_files_without_headers(run: Import, tmp_path: Path) -> None:
    """Ids say what belongs to what."""
    answer = run(
        {
            "users.csv": USERS.partition("\n")[2],
            "items.csv": ITEMS.partition("\n")[2],
            "ratings.csv": RATINGS.partition("\n")[2],
        }
    )
    assert answer["kept"] == 400
    assert "title" in tacit.load(tmp_path / "out").item_metadata


@pytest.mark.parametrize(
    ("people", "items", "are_told_apart"),
    [("Kunden.csv", "Produkte.csv", True), ("users.csv", "items.csv", True), ("a.csv", "b.csv", 0)],
)
def test_ids_of_people_and_of_items_are_told_apart_by_names(
    people: str, items: str, are_told_apart: bool, run: Import, tmp_path: Path
) -> None:
    """Two tables of ids 1 to 40: the files' names decide, and none is guessed without them."""
    titles = "id,title\n" + "".join(f"{item},Title {item}\n" for item in range(1, 41))
    rows = [f"{person},{1 + (item + person) % 40},{1 + item % 5}\n" for person, item in PAIRS]
    answer = run(
        {
            people: USERS.replace("user_id", "id"),
            items: titles,
            "ratings.csv": "user_id,item_id,rating\n" + "".join(rows),
        }
    )
    left_out = [line for line in answer["warnings"] if "people and of items" in line]
    assert len(left_out) == (0 if are_told_apart else 2)
    ratings = tacit.load(tmp_path / "out")
    assert ("title" in ratings.item_metadata) == bool(are_told_apart)
    assert ("age" in ratings.user_attributes) == bool(are_told_apart)


def test_parts_of_one_table_are_read_as_one(run: Import) -> None:
    """Files with the same columns."""
    header, *rows = RATINGS.splitlines(keepends=True)
    parts = {f"part-{k}.csv": header + "".join(rows[k::4]) for k in range(4)}
    assert run(parts)["kept"] == 400


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("README.md", "# Data", "not that of a table"),
        ("LICENSE.txt", "Use it, and so on\nas you like, and so on\n", "not that of a table"),
        ("notes.txt", "Some prose, here.\nMore prose, there.\n", "neither the people nor"),
        ("tags.csv", "user_id,item_id,tag\n1,2,x\n2,3,y\n", "neither stars nor plays"),
        ("properties.csv", "item_id,property\n1,x\n1,y\n2,x\n", "several rows of one item"),
        ("empty.csv", "", "empty"),
    ],
)
def test_what_is_not_read_is_named(name: str, text: str, why: str, run: Import) -> None:
    """Other files of the folder are left out, with the reason."""
    answer = run({"ratings.csv": RATINGS, "items.csv": ITEMS, name: text})
    assert answer["kept"] == 400
    (said,) = answer["warnings"]
    assert name in said
    assert why in said


def test_a_damaged_table_is_no_other_file(run: Import) -> None:
    """A table that cannot be read is refused, and not left out of the ratings."""
    answer = run({"train.csv": RATINGS, "test.csv": RATINGS + '"open'})
    assert "test.csv" in answer["error"]["message"]


def test_ratings_dat_of_another_form(run: Import) -> None:
    """A name of MovieLens does not make a folder of MovieLens."""
    rows = RATINGS.partition("\n")[2].replace(",", "\t")
    assert run({"ratings.dat": rows, "items.dat": ITEMS.replace(",", "\t")})["kept"] == 400


def test_a_folder_without_tables_names_folders_inside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says where to look."""
    inner = tmp_path / "shop" / "data"
    inner.mkdir(parents=True)
    code = main(["data", "import", str(tmp_path / "shop"), "-o", str(tmp_path / "out"), "--yes"])
    assert code == 3
    assert "folders data" in capsys.readouterr().err
