"""Descriptions of folders that tacit wrote, and files of other programs with their name."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.data.ratings import RatingScale
from tacit.data.stored_ratings import PublicInputs
from tacit.data.tables.buckets import open_parquet
from tacit.data.tables.folder import find_public_list, read_folder, write_folder
from tacit.data.tables.imported_files import find_guesses
from tacit.data.tables.research_folders import write_research_folder
from tacit.data.tables.sources import open_table
from tacit.errors import DataError
from tacit.recommenders.public_facts import PUBLIC_FACTS

SCALE = RatingScale(1, 5, 1)


def some_ratings(*guesses: str) -> tacit.Ratings:
    """Ratings that rest on some guesses."""
    people, items = np.repeat(np.arange(6), 2), np.tile(np.arange(4), 3)
    ratings = tacit.Ratings.from_arrays(people, items, people % 5 + 1.0, scale=SCALE)
    for name in guesses:
        ratings = ratings.with_guess(name)
    return ratings


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An imported folder that rests on guesses."""
    write_folder(some_ratings("rows", "titles"), tmp_path / "shop")
    return tmp_path / "shop"


def change(folder: Path, **values: Any) -> None:
    """Change values of the description of a folder."""
    file = folder / "data.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}, indent=2))


def read_in_every_way(folder: Path) -> list[Any]:
    """The ways to read an imported folder, or a file in it."""
    return [
        lambda: read_folder(folder),
        lambda: find_public_list(folder),
        lambda: open_table(folder / "ratings.parquet"),
        lambda: open_parquet(folder, {}, PublicInputs(), 2**30, events=False).__enter__(),
    ]


@pytest.mark.parametrize("damage", ["cut off", "empty", "not UTF-8", "nested", "no file"])
def test_a_description_that_cannot_be_read_is_refused(damage: str, shop: Path) -> None:
    """It is not taken for a folder without conditions."""
    file = shop / "data.json"
    content = file.read_bytes()
    if damage == "no file":
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(
            {
                "cut off": content[:-30],
                "empty": b"",
                "not UTF-8": content.decode().encode("utf-16"),
                "nested": b'{"kind": "tacit data", "x": ' + b"[" * 200_000,
            }[damage]
        )
    for read in read_in_every_way(shop):
        with pytest.raises(DataError, match=r"data\.json: the description of the folder cannot be"):
            read()


def test_a_description_that_may_not_be_read_is_refused(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows can be read, and what they rest on cannot."""
    open_path = Path.open

    def deny(path: Path, *options: Any, **named_options: Any) -> Any:
        if path.name == "data.json":
            raise PermissionError("denied")
        return open_path(path, *options, **named_options)

    monkeypatch.setattr(Path, "open", deny)
    monkeypatch.setattr(Path, "read_text", lambda path, *_: deny(path).read())
    with pytest.raises(DataError, match="cannot be read"):
        open_table(shop / "ratings.parquet")


def test_a_damaged_description_of_an_export_is_refused(tmp_path: Path) -> None:
    """Its first bytes say what it is."""
    write_research_folder(some_ratings("rows"), "recbole", tmp_path / "out")
    file = next((tmp_path / "out").glob("*.inter"))
    assert find_guesses(file) == ("rows",)
    description = tmp_path / "out" / "data.json"
    description.write_bytes(description.read_bytes()[:-4])
    with pytest.raises(DataError, match="cannot be read"):
        find_guesses(file)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"guesses": None}, "wrong value of 'guesses'"),
        ({"guesses": [1]}, "wrong value of 'guesses'"),
        ({"guesses": ["weather"]}, "unknown fact; found 'weather'"),
        ({"public": True}, "wrong value of 'public'"),
        ({"public": {"catalogue": True}}, "the key 'scale'"),
        ({"public": {"catalogue": True, "scale": 1}}, "wrong value of 'scale'"),
        ({"scale": 5}, "wrong value of 'scale'"),
        ({"table": "../other"}, "wrong value of 'table'"),
        ({"joined_people": 5}, "wrong value of 'joined_people'"),
        ({"format": 2}, "another format"),
    ],
)
def test_wrong_values_of_a_description_are_refused(
    values: dict[str, Any], message: str, shop: Path
) -> None:
    """However the folder is read, in a sentence."""
    change(shop, **values)
    for read in read_in_every_way(shop):
        with pytest.raises(DataError, match=message):
            read()


@pytest.mark.parametrize("values", [{}, {"guesses": None}, {"guesses": ["weather"]}])
def test_wrong_values_of_an_export_are_refused(values: dict[str, Any], tmp_path: Path) -> None:
    """An export has guesses alone."""
    (tmp_path / "r.csv").write_text("user,item\n1,2\n")
    (tmp_path / "data.json").write_text(json.dumps({"kind": "tacit export", **values}))
    with pytest.raises(DataError, match="the description of the folder"):
        open_table(tmp_path / "r.csv")


def test_a_description_may_name_every_public_fact(tmp_path: Path) -> None:
    """None of them is unknown."""
    assert PUBLIC_FACTS
    write_folder(some_ratings(*PUBLIC_FACTS), tmp_path / "all")
    assert set(find_guesses(tmp_path / "all" / "ratings.parquet")) == set(PUBLIC_FACTS)


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'[{"user": 1}]' + b" " * 2**21, b"\xff\xfe", b'{"kind": "a table"}', b""],
)
def test_a_neighbour_of_another_program_is_ignored(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in it; a large one is not even parsed."""
    (tmp_path / "r.csv").write_text("user,item\n1,2\n")
    (tmp_path / "data.json").write_bytes(content)
    if len(content) > 2**20:
        monkeypatch.setattr(json, "loads", lambda _: pytest.fail("the neighbour is parsed"))
    assert "rows" not in find_guesses(tmp_path / "r.csv")


def test_a_table_may_have_the_name_of_a_description(tmp_path: Path) -> None:
    """It is not its own description."""
    (tmp_path / "data.json").write_text("[" * 100_000)
    (tmp_path / "catalogue.parquet").write_bytes(b"")
    assert find_guesses(tmp_path / "data.json") == ()


def test_a_pipe_with_the_name_of_a_description_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    (tmp_path / "r.csv").write_text("user,item\n1,2\n")
    os.mkfifo(tmp_path / "data.json")
    found: list[tuple[str, ...]] = []
    reader = threading.Thread(target=lambda: found.append(find_guesses(tmp_path / "r.csv")))
    reader.daemon = True
    reader.start()
    reader.join(20)
    assert found == [()]


def test_a_pipe_has_no_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description beside the temporary copy of its bytes is not one of them."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / "data.json").write_text(
        '{"kind": "tacit export", "guesses": ["values"]}'
    )
    os.mkfifo(tmp_path / "pipe")
    content = b"user,item\n1,2\n2,3\n"
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(content))
    writer.start()
    table = open_table(tmp_path / "pipe")
    writer.join()
    assert len(table.frame) == 2
    assert "values" not in table.guesses


def test_a_folder_of_files_has_the_guesses_of_its_description(shop: Path) -> None:
    """The folder itself may be named, as to a cluster."""
    assert find_guesses(shop) == ("rows", "titles")


def test_streaming_drops_guesses_about_items_of_another_catalogue(
    shop: Path, tmp_path: Path
) -> None:
    """As in memory: the caller's list replaces the items and their titles."""
    items = tmp_path / "items.csv"
    items.write_text("item\n" + "".join(f"{item}\n" for item in range(4)))
    with open_parquet(shop, {}, PublicInputs(catalogue=items), 2**30, events=False) as streamed:
        assert streamed.catalogue.guesses == ("rows",)
