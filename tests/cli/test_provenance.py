"""Nothing that a row says is in what a command writes: canaries in every column of every input.

Each cell of a person is a word that stands nowhere else, or a moment that is nobody else's. All
commands of all designs that read a file run on such files; what they write and print is searched.
Ids and titles of the public catalogue may be there: docs/provenance.md says where values come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit import design
from tacit.cli.app import main
from tacit.data.ratings import Ratings
from tacit.recommenders import headers
from tests.support.canary_files import (
    CANARY,
    assert_no_canary,
    unpacked,
    words_of,
    write_inputs,
)
from tests.support.evaluated_once import each_evaluated_once


def commands_with_files() -> list[tuple[str, str]]:
    """List the commands, design and part, that read a file of people's rows."""
    found = []
    for name in design.names():
        parts = design.design(name).parts
        read = [part for part in ("fit", "evaluate", "attack", "replay") if part in parts]
        found += [(name, part) for part in read]
    return found


@pytest.fixture(scope="module", autouse=True)
def _evaluated_once() -> Iterator[None]:
    """The inputs are the same in each test, and so are the figures of a fit."""
    with each_evaluated_once():
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run, with an input of each kind."""
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written_by(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> list[bytes]:
    """Run a command; all that it prints and writes."""
    before = set(folder.rglob("*"))
    assert main(words) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    contents = [printed.out.encode(), printed.err.encode()]
    for path in sorted(set(folder.rglob("*")) - before):
        if path.is_file():
            contents += unpacked(path)
    return contents


def test_designs_with_files_are_seen() -> None:
    """The commands that a reader would name are among those that are tried."""
    found = commands_with_files()
    for name in ("private", "standard-scheme", "xmap"):
        assert (name, "fit") in found
    assert ("prec", "replay") in found
    assert ("pdap", "replay") in found


def quick_and_long() -> list[Any]:
    """List the commands; those that try a design many times are long."""
    listed: list[Any] = []
    for name, part in commands_with_files():
        marks = [pytest.mark.long] if part in ("evaluate", "attack") else []
        listed.append(pytest.param(name, part, marks=marks))
    return listed


@pytest.mark.parametrize(("name", "part"), quick_and_long())
def test_no_row_is_in_what_a_command_writes(
    name: str, part: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Models, pages, printed lines and logs of every design hold no word and no moment of a row."""
    for extra in ([], ["--json"]):
        words = words_of(name, part)
        for path in folder.glob("*.tacit"):
            path.unlink()
        assert_no_canary(written_by([*words, *extra], folder, capsys))


@pytest.mark.parametrize("name", ["private", "standard-scheme", "xmap"])
def test_no_row_is_in_what_a_model_gives(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lists, cards and reprs of a fitted model hold nothing of the rows."""
    written_by(words_of(name, "fit"), folder, capsys)
    model = tacit.load_model("out.tacit")
    (folder / "own.csv").write_text("item_id,rating\nitem-1,5\nitem-2,4\n")
    commands = [["guarantee", "out.tacit"], ["guarantee", "out.tacit", "--json"]]
    for words in commands:
        assert_no_canary(written_by(words, folder, capsys))
    texts = [repr(model), str(model.guarantees())]
    assert_no_canary([text.encode() for text in texts])


def test_an_import_publishes_no_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder keeps the rows, in files that say so; what is printed and `data.json` do not."""
    words = ["data", "import", "ratings.csv", "-o", "shop", "--yes"]
    assert main(words) == 0
    printed = capsys.readouterr()
    note = (folder / "shop" / "data.json").read_bytes()
    assert_no_canary([printed.out.encode(), printed.err.encode(), note])


TITLED = "user_id,item_id,rating,title\n" + "".join(
    f"{person},{item},{1 + (person * item) % 5},canary-title-{item}\n"
    for person in range(1, 13)
    for item in range(1, 9)
)


@pytest.mark.parametrize("imported", [False, True])
def test_titles_of_rows_need_a_word(
    imported: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Titles beside the ratings are published on request alone, and the card then says it."""
    (folder / "titled.csv").write_text(TITLED)
    source = "titled.csv"
    if imported:
        assert main(["data", "import", source, "-o", "shop", "--yes"]) == 0
        source = "shop"
    fit = ["fit", "private", source, "--epsilon", "2", "--delta", "1e-5", "-o", "m.tacit"]
    capsys.readouterr()
    assert_no_canary(written_by(fit, folder, capsys))
    fit[-1] = "n.tacit"
    written = written_by([*fit, "--items-from-ratings"], folder, capsys)
    assert any(CANARY.search(content) for content in written)
    (card,) = tacit.load_model("n.tacit").guarantees()
    assert any("text that stood beside the ratings" in line for line in card.assumptions)


def test_a_planted_leak_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that takes titles off the rows is caught."""

    def leak(ratings: Ratings) -> dict[Any, str]:
        return dict(zip(ratings.item_ids.tolist(), ratings.item_metadata["title"], strict=True))

    (folder / "titled.csv").write_text(TITLED)
    monkeypatch.setattr("tacit.profile_sums.fitted_lists.titles_of", leak)
    assert headers.titles_of is not leak
    words = ["fit", "private", "titled.csv", "--epsilon", "2", "--delta", "1e-5", "-o", "m.tacit"]
    with pytest.raises(AssertionError, match="canary"):
        assert_no_canary(written_by(words, folder, capsys))


BAD_CELLS = [
    ("ratings.csv", 0, ["data", "describe", "ratings.csv"]),
    ("ratings.csv", 2, ["data", "describe", "ratings.csv"]),
    ("ratings.csv", 3, ["data", "describe", "ratings.csv"]),
    ("users.csv", 0, ["data", "describe", "ratings.csv", "--users", "users.csv"]),
    ("votes.csv", 0, ["replay", "prec", "votes.csv"]),
    ("votes.csv", 1, ["replay", "prec", "votes.csv"]),
    ("votes.csv", 2, ["replay", "prec", "votes.csv"]),
]


@pytest.mark.parametrize(("file", "column", "words"), BAD_CELLS)
@pytest.mark.parametrize("cell", ["canary-odd", "", '"canary-open', "canary,canary"])
def test_no_error_shows_a_cell(
    file: str,
    column: int,
    words: list[str],
    cell: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bad cell is named by its place; what stands in it is not repeated."""
    lines = (folder / file).read_text().splitlines()
    cells = lines[5].split(",")
    cells[column] = cell
    lines[5] = ",".join(cells)
    (folder / file).write_text("\n".join(lines) + "\n")
    main(words)
    printed = capsys.readouterr()
    assert CANARY.search(printed.err.encode()) is None, printed.err
