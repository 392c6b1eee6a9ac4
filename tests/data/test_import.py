"""`tacit data import`: files of any form become one clean folder; what is dropped is counted."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit.cli.app import main
from tacit.data import RatingScale, load, read_catalogue
from tacit.data.tables.folder import write_folder
from tacit.errors import DataError
from tacit.recommenders.public_facts import facts_read_off

GERMAN = (
    "Kundennummer;Artikel;Bezeichnung;Bewertung;Datum\r\n"
    "K01;A1;Käse;3,0;14.12.2009 02:52\r\n"
    "K01;A2;Brot;5,0;14.12.2009 02:53\r\n"
    "K02;A1;Käse;;15.12.2009 10:00\r\n"
    "K02;A2;Brot;1,0;15.12.2009 10:01\r\n"
)
Import = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file with this content."""

    def writer(content: str | bytes, name: str = "r.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writer


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """What the command answers; its folder is `out`."""

    def runner(*words: object) -> dict[str, Any]:
        out = str(tmp_path / "out")
        assert main(["data", "import", *map(str, words), "-o", out, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return runner


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a refusal says; nothing is written."""

    def runner(*words: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        out = str(tmp_path / "out")
        assert main(["data", "import", *map(str, words), "-o", out, "--json"]) in (1, 2, 3, 6)
        assert sorted(tmp_path.rglob("*")) == before
        return str(json.loads(capsys.readouterr().err)["error"]["message"])

    return runner


def test_a_german_file(write: Write, run: Import, tmp_path: Path) -> None:
    """Semicolons, Windows-1252, decimal commas, full stops in dates, a missing score."""
    result = run(write(GERMAN.encode("cp1252")))
    assert result == {
        "read": 4,
        "kept": 3,
        "dropped": [{"rule": "the rating is missing", "rows": 1}],
        "people": 2,
        "items": 2,
        "likes": 1,
        "scale": "1:5:1",
        "warnings": [],
        "columns": {
            "user": "Kundennummer",
            "item": "Artikel",
            "rating": "Bewertung",
            "time": "Datum",
        },
        "guesses": [
            "encoding",
            "delimiter",
            "header",
            "rows",
            "columns",
            "ids",
            "dates",
            "times",
        ],
        "folder": str(tmp_path / "out"),
    }
    ratings = load(tmp_path / "out")
    assert ratings.history("K01") == {"A1": 3.0, "A2": 5.0}
    assert ratings.timestamps is not None
    assert int(ratings.timestamps[0]) == 1_260_759_120
    assert ratings.item_metadata["title"].tolist() == ["Käse", "Brot"]


def test_gzipped_events(write: Write, run: Import, tmp_path: Path) -> None:
    """Without stars rows are events, and other columns are left alone."""
    rows = "timestamp,visitorid,event,itemid\n1433221332117,7,view,3\n1433221332118,8,view,3\n"
    assert run(write(gzip.compress(rows.encode()), "e.csv.gz"))["kept"] == 2
    ratings = load(tmp_path / "out")
    assert ratings.likes.all()
    assert ratings.timestamps is not None
    assert ratings.timestamps.tolist() == [1_433_221_332, 1_433_221_332]
    assert (tmp_path / "out" / "events.parquet").exists()


def test_parquet_with_other_names(run: Import, tmp_path: Path) -> None:
    """String ids stay strings, milliseconds become seconds."""
    path = tmp_path / "o.parquet"
    pl.DataFrame(
        {"created_at": [1_600_000_000_000], "score": [4], "sku": ["01"], "customer": ["7"]}
    ).write_parquet(path)
    assert run(path)["columns"]["user"] == "customer"
    assert load(tmp_path / "out").history("7") == {"01": 4.0}


JSON = """{"customer_id": 1, "product": "x", "rating": 4}
{"customer_id": 2, "product": "y", "rating": 2}
"""
RECBOLE = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\tx\t4\t5\n2\ty\t2\t6\n"
FORMS = {
    "lines.jsonl": JSON,
    "list.json": "[" + JSON.strip().replace("\n", ",") + "]",
    "m.inter": RECBOLE,
    "pipes.txt": "user|item|rating\n1|x|4\n2|y|2\n",
    "no-header.csv": "1,x,4,978300760\n2,y,2,978300761\n1,x,4,978300760\n2,y,2,978300761\n",
    "ratings.dat": "1::x::4::978300760\n2::y::2::978300761\n",
    "quoted.csv": "'user','item','rating'\n'1','x','4'\n'2','y','2'\n",
    "excel.csv": "sep=;\nuser;item;rating\n1;x;4\n2;y;2\n",
    "trailing.csv": "user,item,rating\n1,x,4,\n2,y,2,\n",
    "index.csv": ",user,item,rating\n0,1,x,4\n1,2,y,2\n",
    "utf16.txt": "user\titem\trating\n1\tx\t4\n2\ty\t2\n".encode("utf-16"),
    "mac.csv": "user,item,rating\r1,x,4\r2,y,2\r",
    "spaces.txt": "user item rating\n1 x 4\n2 y 2\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_text(write: Write, run: Import, tmp_path: Path, name: str) -> None:
    """The same two ratings, written in many ways."""
    run(write(FORMS[name], name))
    ratings = load(tmp_path / "out")
    assert (ratings.history(1), ratings.history(2)) == ({"x": 4.0}, {"y": 2.0})


def test_zstd(run: Import, refused: Callable[..., str], tmp_path: Path) -> None:
    """A .zst file is unpacked on the way."""
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "r.csv.zst"
    path.write_bytes(pa.Codec("zstd").compress(b"user,item,rating\n1,x,4\n", asbytes=True))
    assert run(path)["kept"] == 1
    path.write_bytes(path.read_bytes()[:12])
    assert ".zst file cannot be unpacked" in refused(path)


def test_arrow(run: Import, refused: Callable[..., str], tmp_path: Path) -> None:
    """An Arrow file is known by its first bytes."""
    path = tmp_path / "r.feather"
    pl.DataFrame({"user": [1], "item": ["x"], "rating": [4.0]}).write_ipc(path)
    assert run(path)["kept"] == 1
    path.write_bytes(path.read_bytes()[:-8])
    assert "the Arrow file cannot be read" in refused(path)


def test_a_decimal_sign_of_its_own(write: Write, run: Import) -> None:
    """--decimal makes numbers with the other sign bad."""
    path = write("user;item;rating\n1;x;3,5\n2;y;4.5\n3;z;4\n")
    assert run(path)["kept"] == 3
    assert run(path, "--decimal", ",")["kept"] == 2
    assert run(path, "--decimal", ".")["kept"] == 2


def test_sqlite_tables(run: Import, refused: Callable[..., str], tmp_path: Path) -> None:
    """The one table with people and items is read; of two, the one that is named."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE products (sku TEXT, price REAL)")
        connection.execute("CREATE TABLE reviews (customer_id INT, sku TEXT, stars INT)")
        connection.execute("INSERT INTO reviews VALUES (1, 'x', 4), (2, 'y', NULL)")
    assert run(path)["dropped"] == [{"rule": "the rating is missing", "rows": 1}]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE views AS SELECT customer_id, sku FROM reviews")
    connection.close()
    assert run(path, "--table", "views")["kept"] == 2
    (tmp_path / "out").rename(tmp_path / "before")
    assert "Name it with --table" in refused(path)
    assert "no such table" in refused(path, "--table", "x")


def test_duckdb_tables(run: Import, tmp_path: Path) -> None:
    """Likewise."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE r AS SELECT 1 AS client, 'x' AS article, 4 AS note, "
            "TIMESTAMP '2009-12-14 02:52:00' AS date"
        )
    assert set(run(path)["columns"]) == {"user", "item", "rating", "time"}
    assert load(tmp_path / "out").history(1) == {"x": 4.0}


def test_files_of_items_and_people(write: Write, run: Import, tmp_path: Path) -> None:
    """Tables without people speak of items, those without items of people."""
    ratings = write("userId,movieId,rating\n1,10,4\n2,11,5\n")
    items = write("movieId,title,genres\n10,A,x|y\n11,B,y\n", "movies.csv")
    people = write("userId,gender\n1,F\n2,M\n", "users.csv")
    run(items, people, ratings)
    read = load(tmp_path / "out")
    assert read.item_metadata["title"].tolist() == ["A", "B"]
    assert read.attribute("gender").tolist() == ["F", "M"]


def test_several_files_of_ratings_are_one(write: Write, run: Import, tmp_path: Path) -> None:
    """Months of a shop, one of them with ids that are no numbers."""
    first = write("user,item,rating\n1,x,4\n2,x,1\n", "a.csv")
    second = write("user,item,rating\nb7,x,2\n1,y,5\n", "b.csv")
    assert run(first, second)["read"] == 4
    assert load(tmp_path / "out").history("1") == {"x": 4.0, "y": 5.0}


def test_a_recbole_folder(run: Import, tmp_path: Path) -> None:
    """Interactions, items and users by their endings; types in headers are no part of the names."""
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "ml.inter").write_text(RECBOLE)
    (folder / "ml.item").write_text("item_id:token\ttitle:token_seq\nx\tA\ny\tB\n")
    (folder / "ml.user").write_text("user_id:token\tage:token\n1\t24\n2\t30\n")
    for files in ([folder], sorted(folder.iterdir())):
        run(*files)
        read = load(tmp_path / "out")
        assert read.history(1) == {"x": 4.0}
        assert list(read.item_metadata) == ["title"]


def test_a_lenskit_folder(run: Import, tmp_path: Path) -> None:
    """Numbers in the table of ratings are places in those of users and items."""
    folder = tmp_path / "lk"
    folder.mkdir()
    schema = {
        "entities": {"user": {}, "item": {}},
        "relationships": {"rating": {"entities": {"user": None, "item": None}}},
    }
    (folder / "schema.json").write_text(json.dumps(schema))
    pl.DataFrame({"user_id": [70, 80]}).write_parquet(folder / "user.parquet")
    pl.DataFrame({"item_id": ["x", "y"], "title": ["A", "B"]}).write_parquet(
        folder / "item.parquet"
    )
    pl.DataFrame({"user_num": [0, 1], "item_num": [1, 0], "rating": [4.0, 2.0]}).write_parquet(
        folder / "rating.parquet"
    )
    run(folder)
    read = load(tmp_path / "out")
    assert (read.history(70), read.history(80)) == ({"y": 4.0}, {"x": 2.0})
    assert read.item_metadata["title"].tolist() == ["A", "B"]


def test_a_movielens_folder(run: Import, tmp_path: Path) -> None:
    """The three layouts are read as `load` reads them."""
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "u.data").write_text("1\t1\t3\t881250949\n2\t1\t5\t881250950\n")
    run(folder)
    assert load(tmp_path / "out").digest == load(folder).digest


def test_every_dropped_row_has_a_rule(write: Write, run: Import) -> None:
    """Each counts once, by the first rule that it breaks."""
    rows = (
        "user,item,rating,time\n1,a,4,100\n,a,4,100\n1,,4,100\n2,a,x,100\n3,a,NaN,100\n"
        "4,a,4,soon\n5,a\n5,a,4,1,2,3\n1,a,5,200\n9,z,4,7\n8,z,4,7\n7,z,4,7\n6,z,4,7\n5,z,4,7\n"
    )
    dropped = {
        each["rule"]: each["rows"] for each in run(write(rows), "--on-bad", "drop")["dropped"]
    }
    assert dropped == {
        "the row is too short": 1,
        "the row is too long": 1,
        "the user is missing": 1,
        "the item is missing": 1,
        "the rating is missing": 1,
        "not a valid rating": 1,
        "not a valid time": 1,
        "a person's item appears again: the latest counts, then the most stars": 1,
    }


def test_refusing_names_the_first_bad_row(write: Write, refused: Callable[..., str]) -> None:
    """File, row and column; not what stands there."""
    said = refused(write("user,item,rating\nann,a,4\nbob,b,secret\n"), "--on-bad", "refuse")
    assert "row 3, column 'rating': not a valid rating" in said
    assert "bob" not in said
    assert "secret" not in said


def test_most_rows_are_not_dropped_unasked(write: Write, refused: Callable[..., str]) -> None:
    """A wrong guess must not pass as cleaning."""
    path = write("user,item,rating\n1,a,4\n2,a,\n3,a,\n4,a,\n")
    assert "3 of 4 rows would be dropped" in refused(path)


def test_undecidable_dates_are_refused(
    write: Write, refused: Callable[..., str], run: Import, tmp_path: Path
) -> None:
    """One day above 12 settles a column; without one the caller says it."""
    path = write("user,item,date\n1,a,3/4/2010\n2,a,5/6/2010\n")
    assert "--dates dayfirst" in refused(path)
    run(path, "--dates", "monthfirst")
    assert load(tmp_path / "out").timestamps.tolist() == [1_267_660_800, 1_273_104_000]  # type: ignore[union-attr]


def test_dates_that_disagree_are_refused(write: Write, refused: Callable[..., str]) -> None:
    """13/1 and 1/13 in one column."""
    path = write("user,item,date\n1,a,13/1/2010\n2,a,1/13/2010\n")
    assert "some dates have the day first" in refused(path)


def test_a_guess_that_fails_asks_for_an_option(write: Write, refused: Callable[..., str]) -> None:
    """Without a terminal nothing is asked: the sentence names the option."""
    path = write("q,w,e,r\na,b,c,d\ne,f,g,h\n")
    assert "Name it with --user" in refused(path)
    assert "expected a column 'x'" in refused(path, "--user", "x")


@pytest.mark.parametrize("value", ["yes", "ignore"])
def test_unknown_rules_are_refused(write: Write, refused: Callable[..., str], value: str) -> None:
    """--on-bad, --dates and --decimal have few values."""
    path = write(GERMAN)
    assert "refuse or drop" in refused(path, "--on-bad", value)
    assert "dayfirst or monthfirst" in refused(path, "--dates", value)
    assert "a comma or a point" in refused(path, "--decimal", value)


def test_a_folder_of_something_else_is_kept(write: Write, tmp_path: Path) -> None:
    """Only an empty folder, or one that import wrote, is written to."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("keep")
    assert main(["data", "import", str(write(GERMAN)), "-o", str(out), "--json"]) == 1
    assert [file.name for file in out.iterdir()] == ["letter.txt"]


def test_importing_again_replaces_the_folder(write: Write, run: Import, tmp_path: Path) -> None:
    """The old content is gone, and nothing lies beside it."""
    run(write("user,item\n1,a\n"))
    run(write(GERMAN))
    assert not (tmp_path / "out" / "events.parquet").exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "r.csv"]


def test_a_failure_while_writing_leaves_nothing(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong half way, no folder and no part of one is left."""

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tacit.data.tables.folder.write_items", broken)
    path = write(GERMAN)
    assert main(["data", "import", str(path), "-o", str(tmp_path / "out"), "--json"]) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


def test_what_is_read_off_the_ratings_is_not_public(
    write: Write, run: Import, tmp_path: Path
) -> None:
    """Neither catalogue nor scale, nor is the folder's list taken for a public one."""
    run(write(GERMAN))
    made = load(tmp_path / "out")
    assert (made.catalogue_given, made.scale_given) == (False, False)
    with pytest.raises(DataError, match="no public catalogue"):
        read_catalogue(tmp_path / "out" / "catalogue.parquet", domains=False)


def test_what_was_given_is_public(write: Write, run: Import, tmp_path: Path) -> None:
    """A list from elsewhere keeps items that nobody rated; ratings of others are dropped."""
    listed = write("item_id,title\nA1,Cheese\nA9,Milk\n", "list.csv")
    result = run(write(GERMAN), "--catalogue", listed, "--scale", "1:5:1")
    assert {"rule": "the item is not in the catalogue", "rows": 2} in result["dropped"]
    made = load(tmp_path / "out")
    assert (made.catalogue_given, made.scale_given) == (True, True)
    assert made.item_metadata["title"].tolist() == ["Cheese", "Milk"]
    for path in (tmp_path / "out", tmp_path / "out" / "catalogue.parquet"):
        assert set(read_catalogue(path, domains=False)["title"]) == {"A1", "A9"}


def test_a_statement_makes_the_items_public(write: Write, run: Import, tmp_path: Path) -> None:
    """--public-items says that everybody may know which items were rated."""
    run(write(GERMAN), "--public-items")
    assert load(tmp_path / "out").catalogue_given


def test_a_folder_of_a_later_version_is_refused(write: Write, run: Import, tmp_path: Path) -> None:
    """With the version it has."""
    run(write(GERMAN))
    note = tmp_path / "out" / "data.json"
    note.write_text(note.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(DataError, match="another format; found 2; expected format 1"):
        load(tmp_path / "out")


def test_columns_of_a_folder_are_its_own(write: Write, run: Import, tmp_path: Path) -> None:
    """A scale may be given beside it, a column's name not."""
    run(write(GERMAN))
    with pytest.raises(DataError, match="an imported folder names its own columns"):
        load(tmp_path / "out", user="x")
    with pytest.raises(DataError, match="off the scale"):
        load(tmp_path / "out", scale=RatingScale(1, 4, 1))


def test_the_guess_is_shown(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a table, with the reason of each column and what is not read."""
    path = write(GERMAN.replace("Bezeichnung", "Lager"))
    assert main(["data", "import", str(path), "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "Kundennummer" in said
    assert "Not read: Lager" in said
    assert "the rating is missing" in said


class Terminal:
    """Answers typed on a terminal, one a line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: str) -> None:
        self.left = answers.split("\n")
        self.asked: list[str] = []
        for name in ("stdin", "stdout"):
            monkeypatch.setattr(f"sys.{name}.isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.confirm", lambda text, **_: self.answer(text) == "y")
        monkeypatch.setattr("typer.prompt", lambda text, default="": self.answer(text) or default)

    def answer(self, text: str) -> str:
        self.asked.append(text)
        return self.left.pop(0)


def test_on_a_terminal_the_guess_is_asked_about(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A yes goes on; a no asks for each column, and a dash is none."""
    path, out = write("user,item,score,amount\n1,a,4,7\n2,b,2,9\n"), tmp_path / "out"
    terminal = Terminal(monkeypatch, "n\n\n\namount\n-\n-")
    words = ("data", "import", str(path), "-o", str(out), "--scale", "1:10:1")
    assert main(list(words)) == 0
    assert terminal.asked[0] == "Is this right?"
    assert load(out).history(1) == {"a": 7.0}
    Terminal(monkeypatch, "y")
    assert main(list(words)) == 0
    assert load(out).history(1) == {"a": 4.0}


def test_on_a_terminal_what_cannot_be_guessed_is_asked_for(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word about whether the rest is right."""
    path, out = write("q,w,e,r\na,b,c,d\ne,f,g,h\n"), tmp_path / "out"
    Terminal(monkeypatch, "q\ne\n-\n-\n-")
    assert main(["data", "import", str(path), "-o", str(out)]) == 0
    assert load(out).history("a") == {"c": 1.0}


def test_on_a_terminal_columns_can_be_asked_for_twice(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column that was answered with a dash in the first round is not asked for in the second."""
    path, out = write("user,item,foo\n1,a,4\n1,b,5\n2,a,4\n2,b,5\n"), tmp_path / "out"
    terminal = Terminal(monkeypatch, "user\nitem\n-\n-\n-\nn\nuser\nitem")
    assert main(["data", "import", str(path), "-o", str(out)]) == 0
    assert terminal.asked[5] == "Is this right?"
    assert len(terminal.asked) == 8
    assert load(out).history(1) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("above", "score"),
    [("# exported\n", "4"), ("Export of shop X\n\n", "4"), ("", "4/5"), ("", "★★★★☆"), ("", "4,0")],
)
def test_titles_above_a_table_and_odd_scores(
    write: Write, run: Import, tmp_path: Path, above: str, score: str
) -> None:
    """Comments are no header; four of five stars are 4 in any writing."""
    run(write(f"{above}user;item;rating\n1;a;{score}\n2;b;2\n"))
    assert load(tmp_path / "out").history(1) == {"a": 4.0}


def test_what_was_liked_is_a_like(write: Write, run: Import, tmp_path: Path) -> None:
    """A no was seen and is not taken for a like."""
    assert run(write("user,item,liked\n1,a,true\n1,b,false\n"))["likes"] == 1
    assert load(tmp_path / "out").history(1) == {"a": 1.0, "b": 0.0}


def test_events_of_a_folder_take_no_scale(write: Write, run: Import, tmp_path: Path) -> None:
    """Nor does a MovieLens folder, which has its own; its stars can be left out."""
    run(write("user,item\n1,a\n"))
    with pytest.raises(DataError, match="Leave --scale out"):
        load(tmp_path / "out", scale=RatingScale(1, 5, 1))
    folder = tmp_path / "ml"
    folder.mkdir()
    (folder / "u.data").write_text("1\t1\t3\t881250949\n2\t1\t5\t881250950\n")
    run(folder, "--events")
    assert load(tmp_path / "out").likes.all()
    assert main(["data", "import", str(folder), "-o", str(tmp_path / "x"), "--scale", "1:5:1"]) == 2


def test_an_imported_folder_is_not_imported_again(
    write: Write, run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command takes it as it is."""
    run(write(GERMAN))
    assert main(["data", "import", str(tmp_path / "out"), "-o", str(tmp_path / "x")]) == 3
    assert "imported already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("header", "item"),
    [
        ("visitorId,action,product_sku,price", "product_sku"),
        ("customer_uuid,itemCode,item_price,product_category", "itemCode"),
    ],
)
def test_headers_made_of_known_names(write: Write, run: Import, header: str, item: str) -> None:
    """`product_sku` names an item twice; `product_category` names something of it."""
    found = run(write(f"{header}\na,view,s1,2.5\nb,view,s2,3.5\na,view,s2,9.5\n"), "--events")
    assert found["columns"]["item"] == item


PUBLIC = ("user_id,item_id,rating,timestamp\n", "{0},a,5,{1}\n{0},a,1,{2}\n{0},b,3,{2}\n")


def days(write: Write, run: Import, tmp_path: Path, own: str, *flags: str) -> Any:
    """The folder of ten people with dates of both orders, and one person with a date of `own`."""
    head, row = PUBLIC
    rows = "".join(row.format(each, "03/04/2020", "01/05/2020") for each in range(10))
    run(write(head + rows + f"99,a,5,{own}\n"), *flags)
    return load(tmp_path / "out")


def test_one_persons_date_makes_the_claim_conditional(
    write: Write, run: Import, tmp_path: Path
) -> None:
    """The order of day and month that it shows decides which rows of others count."""
    found = days(write, run, tmp_path, "25/12/2020")
    assert "dates" in facts_read_off(found)
    found = days(write, run, tmp_path, "25/12/2020", "--dates", "dayfirst")
    assert "dates" not in facts_read_off(found)


def test_one_persons_cells_change_no_others(write: Write, run: Import, tmp_path: Path) -> None:
    """A score with both signs, and a time in milliseconds, are read or refused by themselves."""
    rows = "".join(f'{each},a,"4,5",1400000000\n' for each in range(10))
    head = "user_id,item_id,rating,timestamp\n"
    read = run(write(head + rows + '99,a,"1,000.5",1400000000000\n'), "--on-bad", "drop")
    assert read["kept"] == 10
    found = load(tmp_path / "out")
    assert set(found.values.tolist()) == {4.5}
    run(write(head + rows + '99,a,"4,5",1400000000000\n'))
    assert set(load(tmp_path / "out").timestamps.tolist()) == {1_400_000_000}


def test_a_filter_is_remembered_by_the_folder(tmp_path: Path, write: Write) -> None:
    """What was left out for what others rated is a condition there, too."""
    made = load(write("user_id,item_id,rating\n1,a,5\n2,a,3\n2,b,1\n")).drop_rare(per_item=2)
    write_folder(made, tmp_path / "kept")
    assert "filter" in facts_read_off(load(tmp_path / "kept"))
