"""What was found in private rows stays a condition, whichever file of a folder is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.cli import app as cli
from tacit.data.ratings import RatingScale
from tacit.data.stored_ratings import PublicInputs
from tacit.data.tables.buckets import open_parquet
from tacit.data.tables.research_folders import write_research_folder
from tacit.errors import DataError

SCALE = RatingScale(1, 5, 1)
FOUND = {"encoding", "delimiter", "header", "rows"}
"""Some of what the import finds in the rows."""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder of `tacit data import`, with a public scale and a public list of items."""
    draws = np.random.default_rng(2)
    lines = ["user;item;stars;comment"]
    for person in range(60):
        items = draws.choice(12, 5, replace=False)
        stars = draws.integers(1, 6, 5)
        lines += [f"u{person};i{i};{s};Größe gut" for i, s in zip(items, stars, strict=True)]
    (tmp_path / "orders.csv").write_bytes("\n".join(lines).encode("cp1252") + b"\n")
    titles = "".join(f"i{item},Film {item}\n" for item in range(12))
    (tmp_path / "items.csv").write_text("item,title\n" + titles)
    run("import", tmp_path / "orders.csv", tmp_path / "shop", tmp_path)
    return tmp_path / "shop"


def run(command: str, file: Path, out: Path, folder: Path, *options: str) -> None:
    """Run `tacit data import` or `export`."""
    words = ["data", command, str(file), "-o", str(out), "--json", *options]
    if command == "import":
        words += ["--catalogue", str(folder / "items.csv"), "--scale", "1:5:1", "--yes"]
    assert cli.main(words) == 0


def guesses_in(folder: Path) -> set[str]:
    """The guesses that an imported folder lists."""
    return set(json.loads((folder / "data.json").read_text())["guesses"])


def conditions(ratings: object) -> tuple[str, ...]:
    """The assumptions of the card of a private fit."""
    card = tacit.Private(1.0).fit(ratings).guarantees()[0]
    assert card.basis == "conditional"
    return card.assumptions


def test_a_file_in_an_imported_folder_has_its_conditions(shop: Path, tmp_path: Path) -> None:
    """In memory, streamed, through a link, with and without a written format: as the folder."""
    folder = tacit.load(shop)
    assert set(folder.guesses) >= FOUND
    file = shop / "ratings.parquet"
    (tmp_path / "link.parquet").symlink_to(file)
    for path in (file, tmp_path / "link.parquet"):
        assert set(tacit.load(path, scale=SCALE).guesses) >= FOUND
        assert set(tacit.read_ratings(path, scale=SCALE).guesses) >= FOUND
    public = PublicInputs(scale=SCALE, catalogue=shop)
    with open_parquet(file, {}, public, 2**30, events=False) as streamed:
        assert set(streamed.catalogue.guesses) >= FOUND
        assert conditions(streamed) == conditions(folder)
    shutil.copy(file, tmp_path / "orders.parquet")
    assert not FOUND & set(tacit.load(tmp_path / "orders.parquet", scale=SCALE).guesses)


def test_an_imported_folder_can_be_streamed(shop: Path, tmp_path: Path) -> None:
    """Its scale, items and conditions are those in memory; what is not public is read again."""
    folder = tacit.load(shop)
    with open_parquet(shop, {}, PublicInputs(), 2**30, events=False) as streamed:
        assert streamed.catalogue.scale == folder.scale
        assert streamed.catalogue.item_ids.tolist() == folder.item_ids.tolist()
        assert streamed.catalogue.item_metadata["title"].tolist()[:2] == ["Film 0", "Film 1"]
        assert conditions(streamed) == conditions(folder)
        assert streamed.total(lambda block: np.array([len(block)])) == [len(folder)]
    command = ["data", "import", str(tmp_path / "orders.csv"), "--per-item", "2", "--yes", "--json"]
    assert cli.main([*command, "-o", str(tmp_path / "private")]) == 0
    folder = tacit.load(tmp_path / "private")
    with open_parquet(tmp_path / "private", {}, PublicInputs(), 2**30, events=False) as streamed:
        assert conditions(streamed) == conditions(folder)
    asked = ["fit", "private", str(shop), "--epsilon", "1", "--memory", "1GiB", "--json"]
    assert cli.main([*asked, "-o", str(tmp_path / "m.tacit")]) == 0


@pytest.mark.parametrize("kind", ["lenskit", "recbole", "file"])
def test_conversions_keep_what_was_found(kind: str, shop: Path, tmp_path: Path) -> None:
    """Exported and imported again, or a file of the folder imported again."""
    found = guesses_in(shop)
    assert found >= FOUND
    source = shop / "ratings.parquet"
    if kind != "file":
        source = tmp_path / "out"
        run("export", shop, source, tmp_path, "--to", kind)
    run("import", source, tmp_path / "back", tmp_path)
    assert guesses_in(tmp_path / "back") >= found
    conditions(tacit.load(tmp_path / "back"))


def test_exports_of_what_rests_on_nothing_have_no_further_file(tmp_path: Path) -> None:
    """Only conditions make a data.json."""
    people, items = np.repeat(np.arange(6), 2), np.tile(np.arange(4), 3)
    ratings = tacit.Ratings.from_arrays(people, items, people % 5 + 1.0, scale=SCALE)
    assert "data.json" not in write_research_folder(ratings, "lenskit", tmp_path / "lk")
    assert "data.json" in write_research_folder(
        ratings.with_guess("rows"), "recbole", tmp_path / "rb"
    )


def test_a_damaged_description_is_refused(shop: Path) -> None:
    """A file in a folder whose data.json lacks its facts is not taken for one without."""
    description = json.loads((shop / "data.json").read_text())
    del description["guesses"]
    (shop / "data.json").write_text(json.dumps(description))
    with pytest.raises(DataError, match="incomplete"):
        tacit.load(shop / "ratings.parquet", scale=SCALE)
