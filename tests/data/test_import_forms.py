"""Forms in which data sets are published, and files of shops: each read right, or refused by name.

All people, items and rows are drawn by a seed. Each test writes one form of the same ratings.
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import random
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.cli.app import main

PEOPLE, ITEMS = 40, 30
Import = Callable[..., dict[str, Any]]


def draw_ratings(seed: int = 1) -> list[tuple[int, int, int, int]]:
    """480 ratings (person, item, stars, seconds), each pair once."""
    generator = random.Random(seed)  # noqa: S311
    pairs = [(person, item) for person in range(1, PEOPLE + 1) for item in range(1, ITEMS + 1)]
    chosen = generator.sample(pairs, 480)
    return [
        (person, item, generator.choice([1, 2, 3, 3, 4, 4, 5]), 978_300_000 + 977 * row)
        for row, (person, item) in enumerate(chosen)
    ]


ROWS = draw_ratings()
LIKES = sum(stars >= 4 for _, _, stars, _ in ROWS)


@pytest.fixture
def import_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Import named texts with options; the JSON of the result, or of the error."""

    def run(files: dict[str, str | bytes], *options: str) -> dict[str, Any]:
        paths = []
        for name, text in files.items():
            path = tmp_path / name
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(str(path))
        out = str(tmp_path / "out")
        code = main(["data", "import", *paths, "-o", out, "--yes", "--json", *options])
        captured = capsys.readouterr()
        if code:
            assert code == 3
            return dict(json.loads(captured.err)["error"])
        return dict(json.loads(captured.out))

    return run


def lines(rows: list[str], header: str | None = None) -> str:
    """Rows of text, below a header if there is one."""
    head = [] if header is None else [header]
    return "\n".join([*head, *rows]) + "\n"


def test_blocks_of_items(import_files: Import) -> None:
    """A line `7:` above rows of person, stars and date, as in the Netflix Prize."""
    blocks = []
    for item in range(1, ITEMS + 1):
        blocks.append(f"{item}:")
        blocks += [f"{person},{stars},2005-09-06" for person, i, stars, _ in ROWS if i == item]
    found = import_files({"combined.txt": lines(blocks)})
    assert (found["kept"], found["people"], found["items"]) == (480, PEOPLE, ITEMS)
    assert (found["likes"], found["scale"]) == (LIKES, "1:5:1")


def test_comments_above_the_rows(import_files: Import) -> None:
    """Lines that begin with % or # are no rows, as in KONECT and MatrixMarket files."""
    rows = [f"{person} {item} {stars} {time}" for person, item, stars, time in ROWS]
    found = import_files({"out.konect": lines(rows, "% bip weighted\n% 480 40 30")})
    assert (found["kept"], found["likes"]) == (480, LIKES)


def test_a_time_in_the_first_row_makes_no_header(import_files: Import) -> None:
    """A row with an ISO time is data; no message shows its cells."""
    rows = [f"user_{person},2009-05-04T23:08:57Z,track{item}" for person, item, *_ in ROWS]
    found = import_files({"log.csv": lines(rows)}, "--user", "1", "--item", "3")
    assert (found["read"], found["kept"], found["scale"]) == (480, 480, None)


def test_positions_also_where_a_header_reads_one(import_files: Import) -> None:
    """`--user 1` is the first column, though a cell of the first row is 1."""
    rows = [f"{person}::{item}::{stars}::{time}" for person, item, stars, time in ROWS]
    rows.insert(0, "1::1::4::978300760")
    options = ("--user", "1", "--item", "2", "--rating", "3", "--time", "4")
    found = import_files({"ratings.dat": lines(rows)}, *options)
    assert found["columns"] == {"user": "1", "item": "2", "rating": "3", "time": "4"}
    assert found["read"] == 481


@pytest.mark.parametrize(
    ("header", "level"),
    [("price", 5), ("age", 4), ("store", 3), ("position", 5), ("sales_channel_id", 2)],
)
def test_numbers_of_other_names_are_no_stars(import_files: Import, header: str, level: int) -> None:
    """A price, an age, a store, a position or a channel is never taken for stars."""
    rows = [f"{person},{item},{1 + row % level}" for row, (person, item, *_) in enumerate(ROWS)]
    found = import_files({"orders.csv": lines(rows, f"customer_id,product_id,{header}")})
    assert (found["scale"], found["likes"]) == (None, 480)


def test_numbers_under_a_name_that_says_nothing_are_a_question(import_files: Import) -> None:
    """Content alone never decides beside a header; three options settle it."""
    rows = [f"{person},{item},{stars}" for person, item, stars, _ in ROWS]
    files = {"r.csv": lines(rows, "customer_id,product_id,x7")}
    error = import_files(files)
    assert error["column"] == "x7"
    for option in ("--rating x7", "--plays x7", "--events"):
        assert option in error["message"]
    assert import_files(files, "--rating", "x7")["likes"] == LIKES


def test_feedback_of_zeros_and_ones(import_files: Import) -> None:
    """`clicked` of 0 and 1: the ones are likes."""
    rows = [f"{person},{item},{int(stars >= 4)}" for person, item, stars, _ in ROWS]
    found = import_files({"clicks.csv": lines(rows, "user_id,item_id,clicked")})
    assert (found["kept"], found["likes"], found["scale"]) == (480, LIKES, "0:1:1")


def test_plays_without_a_header_are_no_stars(import_files: Import) -> None:
    """Numbers of which the least is the most frequent are a question."""
    generator = random.Random(4)  # noqa: S311
    rows = [f"{p}\ts{i}\t{1 + int(generator.expovariate(0.7))}" for p, i, *_ in ROWS]
    error = import_files({"triplets.txt": lines(rows)})
    assert "--plays 3" in error["message"]
    assert import_files({"triplets.txt": lines(rows)}, "--plays", "3")["kept"] == 480


def test_more_items_than_people_without_a_header_is_a_question(import_files: Import) -> None:
    """Which of two columns of ids are the people is asked with both pairs of options."""
    rows = [f"B{item},A{person},{stars},{time}" for person, item, stars, time in ROWS]
    error = import_files({"ratings_only.csv": lines(rows)})
    assert "--user 1 --item 2" in error["message"]
    assert "--user 2 --item 1" in error["message"]
    found = import_files({"ratings_only.csv": lines(rows)}, "--user", "2", "--item", "1")
    assert (found["people"], found["items"], found["likes"]) == (PEOPLE, ITEMS, LIKES)


@pytest.mark.parametrize("name", ["order_id", "invoice", "session", "basket", "impression_id"])
def test_an_order_is_no_person(import_files: Import, name: str) -> None:
    """An order, an invoice, a session, a basket is a person only when asked for."""
    rows = [f"{person},{item}" for person, item, *_ in ROWS]
    files = {"lines.csv": lines(rows, f"{name},product_id")}
    assert "no person" in import_files(files)["message"]
    assert import_files(files, "--user", name)["people"] == PEOPLE


@pytest.mark.parametrize(("code", "other"), [(0, "0:5:1"), (-1, "-1:5:1"), (99, "1:99:1")])
def test_a_code_of_no_rating_is_a_question(import_files: Import, code: int, other: str) -> None:
    """A spike beside a common scale never widens it."""
    rows = [f"{p},{i},{code if row % 4 == 0 else s}" for row, (p, i, s, _) in enumerate(ROWS)]
    files = {"books.csv": lines(rows, "user_id,book_id,rating")}
    error = import_files(files)
    assert "no rating" in error["message"]
    assert other in error["message"]
    found = import_files(files, "--scale", "1:5:1")
    assert (found["kept"], found["scale"]) == (360, "1:5:1")


@pytest.mark.parametrize("odd", ["6", "55"])
def test_one_odd_rating_decides_nothing(import_files: Import, odd: str) -> None:
    """One cell off the scale is a bad row; everybody's likes stay."""
    rows = [f"{p},{i},{s}" for p, i, s, _ in ROWS]
    rows[7] = ",".join([*rows[7].split(",")[:2], odd])
    found = import_files({"r.csv": lines(rows, "user,item,rating")})
    assert (found["kept"], found["scale"]) == (479, "1:5:1")


def test_thousands_in_a_column_of_counts(import_files: Import) -> None:
    """`1,234` is 1234 plays."""
    rows = [f"{p},{i},{'7' if s < 4 else chr(34) + '1,234' + chr(34)}" for p, i, s, _ in ROWS]
    files = {"plays.csv": lines(rows, "user,item,plays")}
    assert import_files(files, "--plays", "plays", "--least-plays", "100")["likes"] == LIKES


def test_plays_of_repeated_rows_add_up(import_files: Import) -> None:
    """Three rows of 3 plays are 9 plays; for stars one row counts."""
    rows = [f"{p},{i},3" for p, i, *_ in ROWS[:200] for _ in range(3)]
    files = {"log.csv": lines(rows, "user,item,quantity")}
    found = import_files(files, "--plays", "quantity", "--least-plays", "5")
    assert (found["kept"], found["likes"]) == (200, 200)


def test_two_spellings_of_a_title_are_one_item(import_files: Import) -> None:
    """Ids are normalized to NFC."""
    forms = ("Am\u00e9lie", "Ame\u0301lie")
    rows = [f"{p},{forms[p % 2]} {i},{s}" for p, i, s, _ in ROWS]
    assert import_files({"r.csv": lines(rows, "user,item,rating")})["items"] == ITEMS


@pytest.mark.parametrize(
    "time",
    ["Mon Jan 05 15:04:05 +0000 2009", "Jan 5 15:04:05 2009", "2009-01", "2009-01-05 15:04 CET"],
)
def test_times_of_other_forms(import_files: Import, tmp_path: Path, time: str) -> None:
    """ctime, a month alone and zone names are read."""
    rows = [f"{p};{i};{s};{time}" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user;item;rating;timestamp")})
    assert found["columns"]["time"] == "timestamp"
    stored = tacit.load(tmp_path / "out").timestamps
    assert stored is not None
    assert 1_230_768_000 <= int(stored[0]) <= 1_231_200_000


def test_times_that_cannot_be_read_are_left_out(import_files: Import) -> None:
    """With a warning that names the column, where nobody asked for it."""
    rows = [f"{p},{i},{s},soon" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user,item,rating,timestamp")})
    assert "time" not in found["columns"]
    assert any("timestamp" in sentence for sentence in found["warnings"])


@pytest.mark.parametrize(
    "text",
    [
        "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n",
        "<!DOCTYPE html><html><body>404</body></html>",
        '{"error": {"code": 404,\n "message": "not found"}}\n',
    ],
)
def test_what_stands_in_for_a_file_is_named(import_files: Import, text: str) -> None:
    """A pointer, a web page and an error message are refused by name."""
    message = import_files({"r.csv": text})["message"]
    assert any(word in message for word in ("Git LFS", "web page", "no table"))


def test_profiles_as_json(import_files: Import) -> None:
    """{person: {item: stars}} is read."""
    profiles: dict[str, dict[str, int]] = {}
    for person, item, stars, _ in ROWS:
        profiles.setdefault(f"u{person}", {})[f"i{item}"] = stars
    found = import_files({"profiles.json": json.dumps(profiles)})
    assert (found["kept"], found["people"], found["likes"]) == (480, PEOPLE, LIKES)


def test_other_events_beside_ratings_are_left_out(import_files: Import) -> None:
    """A table of tags is left out and named; one of titles is taken by its ids."""
    ratings = lines([f"{p},{i},{s}" for p, i, s, _ in ROWS], "userId,movieId,rating")
    tags = lines([f"{p},{i},funny" for p, i, *_ in ROWS[:90]], "userId,movieId,tag")
    titles = lines([f"{i}::Title {i}::Drama" for i in range(1, ITEMS + 1)])
    found = import_files({"ratings.csv": ratings, "tags.csv": tags, "movies.dat": titles})
    assert (found["kept"], found["likes"]) == (480, LIKES)
    assert any("tags.csv" in sentence for sentence in found["warnings"])


def test_people_and_items_in_two_tables_are_joined(import_files: Import, tmp_path: Path) -> None:
    """Each line of an order gets the person of the order; a line without its order is dropped."""
    orders = lines(
        [f"{row},{p},{t}" for row, (p, _, _, t) in enumerate(ROWS)], "order_id,user_id,time"
    )
    products = lines([f"{row},{i}" for row, (_, i, *_) in enumerate(ROWS)], "order_id,product_id")
    titles = lines([f"{i},Title {i}" for i in range(1, ITEMS + 1)], "product_id,product_name")
    files = {"o.csv": orders, "p.csv": products + "9999,1\n", "t.csv": titles}
    found = import_files(files)
    assert (found["kept"], found["people"], found["items"]) == (480, PEOPLE, ITEMS)
    assert any("joined by order_id" in sentence for sentence in found["warnings"])
    assert found["dropped"] == [{"rule": "the user is missing", "rows": 1}]
    ratings = tacit.load(tmp_path / "out")
    assert ratings.history(ROWS[0][0]).keys() == {i for p, i, *_ in ROWS if p == ROWS[0][0]}
    assert ratings.item_metadata["product_name"][0] == f"Title {ratings.item_ids[0]}"


def test_lines_of_orders_alone_name_the_table_of_people(import_files: Import) -> None:
    """The file beside them is named, with the command that joins the two."""
    orders = lines([f"{row},{p}" for row, (p, *_) in enumerate(ROWS)], "order_id,user_id")
    products = lines([f"{row},{i}" for row, (_, i, *_) in enumerate(ROWS)], "order_id,product_id")
    assert import_files({"o.csv": orders, "p.csv": products})["kept"] == 480
    error = import_files({"p.csv": products})
    assert "o.csv" in error["message"]
    assert "order_id" in error["message"]


def test_orders_with_two_people_are_not_joined(import_files: Import) -> None:
    """An order that stands in two rows has no one person."""
    orders = lines([f"{row // 2},{p}" for row, (p, *_) in enumerate(ROWS)], "order_id,user_id")
    products = lines([f"{row},{i}" for row, (_, i, *_) in enumerate(ROWS)], "order_id,product_id")
    assert (
        "one row for each order_id" in import_files({"o.csv": orders, "p.csv": products})["message"]
    )


def test_conditions_on_rows(import_files: Import) -> None:
    """`--where` keeps rows; kinds of events are shown with their counts."""
    kinds = ["view", "buy", "return"]
    rows = [f"{p},{i},{kinds[row % 3]}" for row, (p, i, *_) in enumerate(ROWS)]
    files = {"events.csv": lines(rows, "visitorid,itemid,event")}
    assert any("view (160)" in sentence for sentence in import_files(files)["warnings"])
    assert import_files(files, "--where", "event!=return")["kept"] == 320
    assert (
        import_files(files, "--where", "event in view|buy", "--where", "itemid>15")["items"] == 15
    )
    assert "no such column" in import_files(files, "--where", "kind=buy")["message"]


@pytest.mark.parametrize("kind", ["xz", "bz2", "zip"])
def test_packed_files(import_files: Import, tmp_path: Path, kind: str) -> None:
    """xz, bz2 and zip are unpacked."""
    text = lines([f"{p},{i},{s}" for p, i, s, _ in ROWS], "user,item,rating").encode()
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
            archive.writestr("r.csv", text)
        packed = (tmp_path / "r.zip").read_bytes()
    else:
        packed = lzma.compress(text) if kind == "xz" else bz2.compress(text)
    assert import_files({f"r.{kind}": packed})["likes"] == LIKES


def test_a_pipe_is_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """40,000 rows through a pipe are 40,000 rows."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rows = [f"{row // 100},{row % 100},{1 + row % 5}" for row in range(40_000)]
    text = lines(rows, "user,item,rating")
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    code = main(["data", "import", str(pipe), "-o", str(tmp_path / "out"), "--yes", "--json"])
    writer.join()
    assert code == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 40_000


def test_nothing_to_learn_is_refused(import_files: Import) -> None:
    """No like, one person, one item: refused before anything is spent."""
    few = lines([f"{p},{i},{1 + s % 3}" for p, i, s, _ in ROWS], "user,item,rating")
    assert "no rating is a like" in import_files({"r.csv": few})["message"]
    alone = lines([f"7,{p}-{i},{s}" for p, i, s, _ in ROWS], "user,item,rating")
    assert "only one person" in import_files({"r.csv": alone})["message"]


@pytest.mark.parametrize(
    "header",
    [
        "Kundennummer;Artikelnummer;Bewertung;Preis;Bestelldatum",
        "id_client;id_produit;note;prix;date_achat",
        "id_cliente;id_producto;puntuacion;precio;fecha_compra",
        "id_utente;id_prodotto;voto;prezzo;data_acquisto",
        "klantnummer;artikelcode;beoordeling;prijs;besteldatum",
        "codigo_cliente;codigo_produto;avaliação;preço;data_compra",
        "id_klienta;id_produktu;ocena;cena;data_zakupu",
        "kundnummer;produktnummer;betyg;pris;orderdatum",
        "müşteri_id;ürün;puan;fiyat;tarih",
        "клиент;товар;оценка;цена;дата",
        "顧客ID;商品ID;評価;価格;購入日",
        "用户ID;商品;评分;价格;时间",
    ],
)
def test_headers_of_the_languages_of_shops(import_files: Import, header: str) -> None:
    """People, items, stars and times by their names in twelve languages; a price is no rating."""
    rows = [f"K{p};A{i};{s};{9 + i % 5};2024-03-{1 + p % 28:02d}" for p, i, s, _ in ROWS]
    found = import_files({"shop.csv": lines(rows, header)})
    names = header.split(";")
    expected = dict(zip(("user", "item", "rating", "time"), [*names[:3], names[4]], strict=True))
    assert found["columns"] == expected
    assert found["likes"] == LIKES


@pytest.mark.parametrize("digits", [0, 3, 6, 9])
def test_the_unit_of_times_is_one_for_the_column(
    import_files: Import, tmp_path: Path, digits: int
) -> None:
    """Seconds to nanoseconds by most of the numbers; a small one does not change its unit."""
    rows = [f"{p},{i},{s},{t * 10**digits}" for p, i, s, t in ROWS]
    early = 5000 * 10**digits  # 1970: as a number of a smaller unit it would be another moment
    found = import_files({"r.csv": lines([*rows, f"1,99,3,{early}"], "user,item,rating,ts")})
    assert found["kept"] == 481
    ratings = tacit.load(tmp_path / "out")
    moments = ratings.timestamps
    assert moments is not None
    assert moments.min() == 5000
    assert sorted(moments.tolist())[1:] == sorted(t for *_, t in ROWS)


def test_a_time_of_another_unit_is_a_bad_one(import_files: Import) -> None:
    """One time in milliseconds among seconds is counted and left out."""
    rows = [f"{p},{i},{s},{t}" for p, i, s, t in ROWS]
    found = import_files(
        {"r.csv": lines([*rows, f"1,99,3,{ROWS[0][3]}000"], "user,item,rating,ts")}
    )
    assert found["dropped"] == [{"rule": "not a valid time", "rows": 1}]
