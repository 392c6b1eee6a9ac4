"""Reading by a written format: one person's bytes never change how others' rows are read."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tacit
from tacit.cli.app import main
from tacit.data import Ratings, RatingScale, read_ratings
from tacit.data.tables.cells import Rules
from tacit.data.tables.folder import write_folder
from tacit.data.tables.import_plan import carry_out_plan, plan_import
from tacit.data.tables.names import Role
from tacit.errors import ConfigError, DataError

PEOPLE, ITEMS = 9, 8
Rows = list[list[str]]


def draw_rows(write: Callable[[int, int, int, int], list[str]]) -> Rows:
    """Draw 50 rows of nine people, written by `write(person, item, stars, number)`."""
    generator = random.Random(3)  # noqa: S311
    pairs = [(person, item) for person in range(1, PEOPLE + 1) for item in range(1, ITEMS + 1)]
    chosen = generator.sample(pairs, 50)
    stars = [generator.choice([1, 2, 3, 4, 5]) for _ in chosen]
    rows = []
    for number, (pair, given_stars) in enumerate(zip(chosen, stars, strict=True)):
        rows.append(write(*pair, given_stars, number))
    return rows


def plain(person: int, item: int, stars: int, number: int) -> list[str]:
    """Whole numbers throughout, times in seconds."""
    return [str(person), str(100 + item), str(stars), str(1_300_000_000 + 1000 * number)]


def german(person: int, item: int, stars: int, number: int) -> list[str]:
    """Text ids with umlauts and quotes, decimal commas, dates with the day first."""
    return [f"Kunde {person}", f'"Stück ""{item}"""', f"{stars},0", f"{13 + number % 9}.03.2021"]


def plays(person: int, item: int, stars: int, number: int) -> list[str]:
    """Numbers of plays with a sign between thousands, and a date in digits."""
    return [f"p{person}", f"i{item}", f"{stars},{number:03d}", f"202103{10 + number % 20}"]


def quoted(person: int, item: int, stars: int, number: int) -> list[str]:
    """Every cell in quotes, with the delimiter inside."""
    return [f'"u,{person}"', f'"i,{item}"', f'"{stars}"', f'"2021-03-{10 + number % 20}"']


def json_line(person: int, item: int, stars: int, number: int) -> list[str]:
    """A line of JSON, with a quote inside an id."""
    day = f"2021-03-{10 + number % 20}"
    record = {"user": f"Kunde {person}", "stars": stars, "item": f'Stück "{item}"', "time": day}
    return [json.dumps(record, ensure_ascii=False)]


def event(person: int, item: int, stars: int, number: int) -> list[str]:
    """No stars: every row is an event."""
    return [f"u{person}", f"i{item}", f"2021-03-{10 + number % 20}T10:00:00Z"]


FORMS: dict[str, tuple[Rows, str, str, str, dict[Role, str | None]]] = {
    "plain": (draw_rows(plain), ",", "user_id,item_id,rating,timestamp", "utf-8", {}),
    "no header": (draw_rows(plain), "\t", "", "utf-8", {"rating": "3"}),
    "double colon": (draw_rows(plain), "::", "", "utf-8", {"rating": "3"}),
    "german": (draw_rows(german), ";", "Kunde;Artikel;Bewertung;Datum", "cp1252", {}),
    "plays": (draw_rows(plays), ";", "user;item;plays;date", "utf-8", {"plays": "plays"}),
    "quoted": (draw_rows(quoted), ",", "user,item,rating,time", "utf-8", {}),
    "json lines": (draw_rows(json_line), "", "", "utf-8", {"rating": "stars"}),
    "events": (draw_rows(event), ",", "user,item,time", "utf-8", {}),
}
ODD_CELLS = (
    "",
    "x",
    "-1",
    "007",
    "1.5",
    "1,5",
    "1.234,5",
    "99",
    "0",
    "1e400",
    "nan",
    "2021-03-04",
    "03/04/2021",
    "31.12.1999",
    "04/31/2021",
    "1300000000000",
    "44321",
    "9" * 30,
    '"',
    '""',
    'a"b',
    "'",
    "\\",
    "\u200d",
    "ü",
    "\U0001f600",
    "true",
    "#",
    "a|b",
)


NOTHING_KEPT = ("no row can be kept", "there is no event")
"""Of a file of one row that does not count."""


def lines_of(name: str) -> list[bytes]:
    """Write the rows of a form, each a line without its end."""
    rows, delimiter, _, encoding, _ = FORMS[name]
    return [delimiter.join(cells).encode(encoding) for cells in rows]


def file_of(name: str, lines: list[bytes]) -> bytes:
    """Put lines below the header of a form."""
    header = FORMS[name][2].encode(FORMS[name][3])
    return b"\n".join([*([header] if header else []), *lines]) + b"\n"


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Import each form once; the folders, which hold descriptions."""
    folders = {}
    for name, (*_, asked) in FORMS.items():
        folder = tmp_path_factory.mktemp("written")
        path = folder / "rows.csv"
        path.write_bytes(file_of(name, lines_of(name)))
        roles: dict[Role, str | None] = dict.fromkeys(("user", "item", "rating", "plays", "time"))
        rules = Rules(on_bad="drop", guessing=True)
        reading = carry_out_plan(plan_import([path], roles | asked), rules)
        folders[name] = folder / "out"
        write_folder(reading.ratings, folders[name], reading.written)
    return folders


def contributions(ratings: Ratings) -> dict[Any, list[tuple[Any, float, int | None]]]:
    """List each person's rows: item, stars, time."""
    times = ratings.timestamps
    rows: dict[Any, list[tuple[Any, float, int | None]]] = {}
    for at in range(len(ratings)):
        person = ratings.user_ids[ratings.users[at]]
        item = ratings.item_ids[ratings.items[at]]
        moment = None if times is None else int(times[at])
        rows.setdefault(person, []).append((item, float(ratings.values[at]), moment))
    return {person: sorted(own) for person, own in rows.items()}


def read_bytes(data: bytes, written: Path, folder: Path) -> dict[Any, list[Any]]:
    """Read a file by a description; nobody where no row can be kept."""
    path = folder / "changed.csv"
    path.write_bytes(data)
    try:
        return contributions(read_ratings(path, written=written))
    except DataError as error:
        if not any(words in str(error) for words in NOTHING_KEPT):
            raise
        return {}


def assert_others_are_equal(name: str, row: int, line: bytes, written: Path, folder: Path) -> None:
    """Change one row: everybody but its old and its new owner contributes the same."""
    lines = lines_of(name)
    before = read_bytes(file_of(name, lines), written, folder)
    assert len(before) == PEOPLE
    changed = [*lines[:row], line, *lines[row + 1 :]]
    after = read_bytes(file_of(name, changed), written, folder)
    owners = set(read_bytes(file_of(name, [lines[row]]), written, folder))
    owners |= set(read_bytes(file_of(name, [line]), written, folder))
    assert {key: rows for key, rows in after.items() if key not in owners} == {
        key: rows for key, rows in before.items() if key not in owners
    }


@st.composite
def byte_changes(draw: st.DrawFn) -> tuple[str, int, bytes]:
    """Replace, insert or delete one byte of one row; its line end is between rows and stays."""
    name = draw(st.sampled_from(sorted(FORMS)))
    lines = lines_of(name)
    row = draw(st.integers(0, len(lines) - 1))
    line = lines[row]
    at = draw(st.integers(0, len(line) - 1))
    bytes_ = st.one_of(st.sampled_from(b"\"'\\\xff\x80\x00\r,;\t:.-0x"), st.integers(0, 255))
    new = bytes([draw(bytes_.filter(lambda byte: byte != 10))])
    kind = draw(st.sampled_from(("replace", "insert", "delete")))
    kept = line[at:] if kind == "insert" else line[at + 1 :]
    return name, row, line[:at] + (b"" if kind == "delete" else new) + kept


CHECKS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY_CHECKS = settings(CHECKS, max_examples=1_500)


@given(change=byte_changes())
@CHECKS
def test_one_byte_changes_nobody_else(
    change: tuple[str, int, bytes], described: dict[str, Path], tmp_path: Path
) -> None:
    """A byte of one person's row changes nothing of anybody else."""
    name, row, line = change
    assert_others_are_equal(name, row, line, described[name], tmp_path)


@st.composite
def cell_changes(draw: st.DrawFn) -> tuple[str, int, bytes]:
    """Put anything into one cell of one row."""
    name = draw(st.sampled_from(sorted(FORMS)))
    rows, delimiter, _, encoding, _ = FORMS[name]
    row = draw(st.integers(0, len(rows) - 1))
    cells = list(rows[row])
    at = draw(st.integers(0, len(cells) - 1))
    any_text = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
    cells[at] = draw(st.one_of(st.sampled_from(ODD_CELLS), any_text))
    return name, row, delimiter.join(cells).encode(encoding, "replace")


@pytest.mark.long
@given(change=byte_changes())
@MANY_CHECKS
def test_no_byte_changes_anybody_else(
    change: tuple[str, int, bytes], described: dict[str, Path], tmp_path: Path
) -> None:
    """The same for many more bytes."""
    name, row, line = change
    assert_others_are_equal(name, row, line, described[name], tmp_path)


@given(change=cell_changes())
@CHECKS
def test_one_cell_changes_nobody_else(
    change: tuple[str, int, bytes], described: dict[str, Path], tmp_path: Path
) -> None:
    """A cell of one person's row changes nothing of anybody else."""
    name, row, line = change
    assert_others_are_equal(name, row, line, described[name], tmp_path)


@pytest.mark.long
@given(change=cell_changes())
@MANY_CHECKS
def test_no_cell_changes_anybody_else(
    change: tuple[str, int, bytes], described: dict[str, Path], tmp_path: Path
) -> None:
    """The same for many more cells."""
    name, row, line = change
    assert_others_are_equal(name, row, line, described[name], tmp_path)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_description_reads_what_import_read(name: str, described: dict[str, Path]) -> None:
    """The file of an import, read by the description that it wrote, gives the same ratings."""
    imported = tacit.load(described[name])
    read = read_ratings(described[name].parent / "rows.csv", written=described[name])
    assert contributions(read) == contributions(imported)
    assert read.scale == imported.scale


@pytest.mark.parametrize("odd", [b'6,"101,4,1300000000'])
def test_a_guess_is_changed_by_one_row(odd: bytes, tmp_path: Path) -> None:
    """Without a description the same bytes do change others' rows, as their conditions say."""
    rows = [f"{person},Bücher {item},4,1300000000" for person in range(9) for item in range(8)]
    lines = [b"user_id,item_id,rating,timestamp", *(row.encode() for row in rows)]
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    ratings = read_ratings(path)
    path.write_bytes(b"\n".join([*lines[:9], odd, *lines[9:]]) + b"\n")
    try:
        changed = contributions(read_ratings(path, on_bad="drop"))
    except DataError:
        changed = {}
    assert {"encoding", "rows"} <= set(ratings.guesses)
    assert changed != contributions(ratings)


def test_guesses_end_with_a_description(described: dict[str, Path]) -> None:
    """What was guessed stands in the ratings by name, and a description leaves nothing."""
    imported = tacit.load(described["plain"])
    assert {"encoding", "delimiter", "header", "rows", "ids"} <= set(imported.guesses)
    read = read_ratings(described["plain"].parent / "rows.csv", written=described["plain"])
    assert read.guesses == ()
    assert read.scale_given


def test_json_lines_are_read_one_by_one(tmp_path: Path) -> None:
    """A line of another type or of half a character changes no other line."""
    rows = [
        {"user_id": person, "item_id": f"i{item}", "stars": 1 + (person + item) % 5}
        for person in range(9)
        for item in range(8)
    ]
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines))
    assert main(["data", "import", str(path), "-o", str(tmp_path / "out"), "--yes", "--json"]) == 0
    written = tmp_path / "out" / "data.json"
    before = contributions(read_ratings(path, written=written))
    assert len(before) == 9
    odd_lines = (
        '{"user_id": "x", "item_id": 1.5, "stars": []}',
        '{"user_id": 0, "item_id": "\\ud800", "stars": 5}',
        '{"user_id": 0.5, "item_id": 4, "stars": 5}',
        "[",
    )
    for odd in odd_lines:
        path.write_text("\n".join([odd, *lines[1:]]))
        after = contributions(read_ratings(path, written=written))
        assert {key: after[key] for key in range(1, 9)} == {key: before[key] for key in range(1, 9)}


def test_columns_with_types_are_read_one_by_one(tmp_path: Path) -> None:
    """A star off the scale in a Parquet file is dropped by itself."""
    frame = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 1], "rating": [4.0, 77.0, 5.0]})
    frame.write_parquet(tmp_path / "r.parquet")
    written = {
        "kind": "typed columns",
        "columns": {"user": "user_id", "item": "item_id", "rating": "rating"},
        "ids": {"user": "integer", "item": "integer"},
        "scale": "1:5:1",
        "decimal": None,
        "thousands": "",
        "times": "usual",
        "dates": "dayfirst",
        "least_plays": 1,
        "where": [],
    }
    (tmp_path / "f.json").write_text(json.dumps(written))
    read = read_ratings(tmp_path / "r.parquet", written=tmp_path / "f.json")
    assert contributions(read) == {1: [(1, 4.0, None)], 2: [(1, 5.0, None)]}
    assert read_ratings(
        tmp_path / "r.parquet", written=tmp_path / "f.json", scale=RatingScale(1, 100, 1)
    ).values.tolist() == [4.0, 77.0, 5.0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7", "cp037", "nonsense"])
def test_an_encoding_without_lines_is_refused(
    encoding: str, described: dict[str, Path], tmp_path: Path
) -> None:
    """An encoding in which a line is not decoded by itself is refused in words."""
    values = json.loads((described["plain"] / "data.json").read_text())["reading"]
    (tmp_path / "f.json").write_text(json.dumps(values | {"encoding": encoding}))
    with pytest.raises(ConfigError, match=encoding):
        read_ratings(tmp_path / "x.csv", written=tmp_path / "f.json")


@pytest.mark.parametrize(
    "change", [{"ids": {}}, {"kind": "xml"}, {"scale": None}, {"times": 5}, {"columns": None}]
)
def test_a_wrong_description_is_refused(
    change: dict[str, Any], described: dict[str, Path], tmp_path: Path
) -> None:
    """A description that is incomplete gives a sentence."""
    values = json.loads((described["plain"] / "data.json").read_text())["reading"]
    (tmp_path / "f.json").write_text(json.dumps(values | change))
    with pytest.raises((ConfigError, DataError), match="format"):
        read_ratings(tmp_path / "x.csv", written=tmp_path / "f.json")


def test_a_fit_by_a_description_is_proved(
    described: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a public catalogue and a description the card is proved; else each guess is named."""
    catalogue = tmp_path / "catalogue.csv"
    catalogue.write_text("item_id\n" + "".join(f"{101 + item}\n" for item in range(ITEMS)))
    rows = str(described["plain"].parent / "rows.csv")
    model = str(tmp_path / "m.tacit")
    options = ["--epsilon", "1", "--catalogue", str(catalogue), "-o", model]
    assert main(["fit", "private", rows, "--format", str(described["plain"]), *options]) == 0
    (card,) = tacit.load_model(model).guarantees()
    assert card.basis.value == "proved"
    assert main(["fit", "private", rows, "--scale", "1:5:1", *options]) == 0
    (card,) = tacit.load_model(model).guarantees()
    assert card.basis.value == "conditional"
    for fact in ("encoding", "sign between its cells", "line ends are inside", "whole numbers"):
        assert any(fact in line for line in card.assumptions)
    capsys.readouterr()


def test_an_import_names_a_description_only_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file with a row for each rating; not of one with a column for each item."""
    rows = "user,item,rating\n" + "".join(f"{n},i{k},{k}\n" for n in range(9) for k in range(1, 6))
    wide = "user,i1,i2,i3\n" + "".join(f"{n},1,5,3\n" for n in range(9))
    for name, text, flags, is_described in (
        ("rows", rows, [], True),
        ("wide", wide, ["--layout", "wide", "--scale", "1:5:1"], False),
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(text, encoding="utf-8")
        assert main(["data", "import", str(path), "-o", str(tmp_path / name), *flags]) == 0
        shown = "".join(capsys.readouterr().out.split())
        assert "Guessedfromtherows" in shown
        assert (f"--format{tmp_path / name}/data.json" in shown) == is_described
