"""Nothing that a row says is in what a command writes: canaries in every column of every input.

Each cell of a person is a word that stands nowhere else, or a moment that is nobody else's. All
commands of all designs that read a file run on such files; what they write and print is searched.
Ids and titles of the public catalogue may be there: docs/provenance.md says where values come from.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import container, design
from tacit.cli.app import main
from tacit.data.ratings import Ratings
from tacit.design import Command
from tacit.design.options import options_of
from tacit.errors import TacitError
from tacit.recommenders import headers

PEOPLE, ITEMS = 60, 24
FIRST_SECOND = 1_337_200_000
CANARY = re.compile(rb"canary|13372\d{5}")
COLUMNS = ("title", "name", "description", "review", "comment", "price_note")
ANSWERS = {
    "epsilon": "2",
    "delta": "1e-5",
    "from_domain": "books",
    "to_domain": "films",
    "attribute": "gender",
    "service_sees_items": "no",
    "voters": "60",
    "rated": "10",
}
"""Values of options that commands need, by name."""
ALWAYS = {"epsilon", "delta", "service_sees_items", "rated"}
"""Options that are typed where a command has them."""
FLAGS_OF_RATINGS = {
    "private": [],
    "standard-scheme": ["--users", "users.csv"],
    "xmap": ["--domain-column", "domain", "--items", "items.csv"],
    "sketches": [],
}


def commands_with_files() -> list[tuple[str, str]]:
    """List the commands, design and part, that read a file of people's rows."""
    found = []
    for name in design.names():
        parts = design.design(name).parts
        read = [part for part in ("fit", "evaluate", "attack", "replay") if part in parts]
        found += [(name, part) for part in read]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run, with an input of each kind."""
    generator = random.Random(5)  # noqa: S311
    ratings = ["user_id,item_id,rating,timestamp," + ",".join(COLUMNS)]
    row = 0
    for person in range(PEOPLE):
        for item in generator.sample(range(ITEMS), 10):
            words = ",".join(f"canary-{column}-{row}" for column in COLUMNS)
            moment = FIRST_SECOND + row
            stars = generator.choice([1, 2, 3, 4, 5, 5])
            ratings.append(f"canary-person-{person},item-{item},{stars},{moment},{words}")
            row += 1
    users = ["user_id,gender,street"]
    users += [f"canary-person-{n},{'FM'[n % 2]},canary-street-{n}" for n in range(PEOPLE)]
    items = ["item_id,title,genres,domain"]
    for item in range(ITEMS):
        domain = "books" if item % 2 else "films"
        items.append(f"item-{item},catalogue title {item},genre-{item % 3},{domain}")
    votes = ["round,voter,candidate,note"]
    for number in range(3):
        for voter in range(60):
            candidate = f"candidate-{generator.randrange(4)}"
            votes.append(f"{number},canary-voter-{voter},{candidate},canary-note-{voter}")
    likes = ["client,round,candidate,note"]
    likes += [f"ann,{number},candidate-1,canary-note" for number in range(3)]
    log = ["age,article,click,note"]
    for visit in range(80):
        clicked = generator.randrange(2)
        log.append(f"0.{visit},article-{generator.randrange(3)},{clicked},canary-note-{visit}")
    files = {
        "ratings.csv": ratings,
        "users.csv": users,
        "items.csv": items,
        "votes.csv": votes,
        "likes.csv": likes,
        "log.csv": log,
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(name: str, part: str) -> list[str]:
    """Write a command with all that it needs."""
    command: Command = design.design(name).part(part)
    words = [part, name]
    if command.ratings:
        words += ["ratings.csv", *FLAGS_OF_RATINGS[name]]
    for option, field in options_of(command.settings).items():
        flag = field.metadata["flag"].split()[-1] if field.metadata["flag"] else ""
        flag = flag or "--" + option.replace("_", "-")
        if option == "votes":
            words.append("votes.csv")
        elif option == "log":
            words += ["log.csv", "--contexts", "age"]
        elif option == "likes":
            words += ["--likes", "likes.csv"]
        elif option == "catalogue":
            words += ["--catalogue", "items.csv"]
        elif option == "report":
            words += ["--report", "report.html"]
        elif field.metadata["writes"]:
            words += [flag, f"{option}.tacit"]
        elif field.default is MISSING or option in ALWAYS:
            words += [flag, ANSWERS[option]]
    return words


def unpacked(path: Path) -> list[bytes]:
    """Read a file as it is, and what a model or device file holds."""
    contents = [path.read_bytes()]
    try:
        header, arrays = container.read(path)
    except TacitError:
        return contents
    contents.append(json.dumps(header).encode())
    for array in arrays.values():
        whole = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        contents.append(" ".join(map(str, whole.ravel().tolist())).encode())
    return contents


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


def assert_no_canary(contents: list[bytes]) -> None:
    """Search all contents."""
    assert sum(map(len, contents)) > 100
    for content in contents:
        found = CANARY.search(content)
        assert found is None, content[max(0, found.start() - 80) : found.end() + 40]


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
