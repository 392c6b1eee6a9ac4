"""Exports of shops and spreadsheets, as programs of several languages write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.cli.app import main
from tacit.data.tabular import read_history

Import = Callable[..., dict[str, Any]]
ROWS = [
    (person, 1 + (7 * person + step) % 30, 1 + (person + step * step) % 5)
    for person in range(1, 31)
    for step in range(10)
]
"""People, items and stars of 300 ratings."""


def lines(form: str, rows: list[tuple[int, int, int]] = ROWS) -> str:
    """Write each row in a form of `{user}`, `{item}`, `{stars}` and `{day}`."""
    written = []
    for number, (user, item, stars) in enumerate(rows):
        day = 1 + number % 28
        written.append(form.format(user=user, item=item, stars=stars, day=day) + "\n")
    return "".join(written)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """What an import answers; refusals have `error`."""

    def runner(text: str, *words: str) -> dict[str, Any]:
        path = tmp_path / "export.csv"
        path.write_text(text)
        out = str(tmp_path / "out")
        code = main(["data", "import", str(path), "-o", out, "--yes", "--json", *words])
        printed = capsys.readouterr()
        return json.loads(printed.out if code == 0 else printed.err)

    return runner


@pytest.mark.parametrize(
    ("header", "day"),
    [
        ("Müşteri No;Ürün Kodu;Puan;Tarih", "{day:02}.07.2017"),
        ("회원번호;상품코드;평점;구매일", "2017년 7월 {day}일"),
        ("会員番号;商品コード;評価;注文日", "2017年07月{day:02}日"),
        ("cod_cliente;cod_produto;nota;data", "{day:02}/07/2017"),
        ("Номер клиента;Код товара;Оценка;Дата", "{day:02}.07.2017"),
        ("Nr klienta;Kod produktu;Ocena;Data zakupu", "{day:02}-07-2017"),
    ],
)
def test_numbers_and_codes_of_people_and_items(header: str, day: str, run: Import) -> None:
    """Words for number, code and reference beside a known word; dates of the language."""
    answer = run(header + "\n" + lines("{user};{item};{stars};" + day))
    names = dict(zip(("user", "item", "rating", "time"), header.split(";"), strict=True))
    assert answer["columns"] == names
    assert (answer["kept"], answer["scale"], answer["warnings"]) == (300, "1:5:1", [])


@pytest.mark.parametrize(
    "header",
    ["N° client;Réf. article;Qté;x", "ID Cliente;Cód. Producto;Cantidad;x", "Käufer;Ware;Menge;x"],
)
def test_quantities_are_plays(header: str, run: Import) -> None:
    """Lines of orders."""
    user, item, plays, _ = header.split(";")
    answer = run(header + "\n" + lines("{user};{item};{stars};"))
    assert answer["columns"] == {"user": user, "item": item, "plays": plays}


@pytest.mark.parametrize("cell", ["#REF!", "#BEZUG!", "#NAME?", "#NV", "#DIV/0!"])
def test_what_a_spreadsheet_could_not_compute_is_missing(cell: str, run: Import) -> None:
    """It is no item, and no person."""
    text = "user,item,rating\n" + lines("{user},{item},{stars}")
    answer = run(text + f"7,{cell},3\n{cell},7,3\n")
    assert (answer["people"], answer["items"], answer["kept"]) == (30, 30, 300)


def test_days_of_a_spreadsheet_under_a_name_of_times(run: Import, tmp_path: Path) -> None:
    """42,930.5 is noon of 14 July 2017."""
    rows = [(user, item, stars) for user, item, stars in ROWS]
    answer = run("user,item,rating,date\n" + lines("{user},{item},{stars},42930.5", rows))
    assert answer["columns"]["time"] == "date"
    timestamps = tacit.load(tmp_path / "out").timestamps
    assert timestamps is not None
    assert set(timestamps.tolist()) == {1_500_033_600}


def test_titles_above_a_table_of_a_spreadsheet(run: Import) -> None:
    """Lines with one filled cell, and empty ones."""
    title = "Bewertungen;;\nStand: 1.2.2024;;\n;;\n"
    answer = run(title + "Kunde;Artikel;Bewertung\n" + lines("{user};{item};{stars}"))
    assert (answer["kept"], answer["dropped"]) == (300, [])


def test_numbers_of_columns_are_a_header(run: Import) -> None:
    """Pandas writes 0,1,2 above columns without names."""
    answer = run("0,1,2\n" + lines("{user},{item},{stars}"))
    assert (answer["kept"], answer["people"]) == (300, 30)


def test_a_first_person_0_is_no_header(run: Import) -> None:
    """People numbered from 0: the first row may be 0,1,2."""
    rows = [(user - 1, item, stars) for user, item, stars in ROWS]
    answer = run("0,1,2\n" + lines("{user},{item},{stars}", [row for row in rows if row[1] != 1]))
    assert answer["people"] == 30
    assert answer["kept"] == 1 + sum(row[1] != 1 for row in rows)


def test_thumbs_are_likes_and_dislikes(run: Import) -> None:
    """Emoji, whatever the column is called."""
    text = lines("{user},{item},{stars}")
    for stars in range(1, 6):
        text = text.replace(f",{stars}\n", ",👍\n" if stars > 3 else ",👎\n")
    answer = run("user,item,reaction\n" + text)
    assert answer["scale"] == "0:1:1"
    assert answer["likes"] == sum(stars > 3 for *_, stars in ROWS)


def test_grades_ask_which_end_is_the_best(run: Import) -> None:
    """In German a Note of 1 is the best, in French a note of 6 of 6 is."""
    rows = [(user, item, 1 + (user + item) % 6) for user, item, _ in ROWS]
    text = "Nutzer;Buch;Note\n" + lines("{user};{item};{stars}", rows)
    assert "either end" in run(text)["error"]["message"]
    assert run(text, "--scale", "1:6:1")["kept"] == 300


def test_a_fit_without_a_like_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is spent; a lower --like-at makes likes of them."""
    path = tmp_path / "shop.csv"
    path.write_text("user,item,rating\n" + lines("{user},{item},1"))
    fit = ["fit", "private", str(path), "--epsilon", "1", "--scale", "1:5:1"]
    assert main(fit) == 3
    assert "no rating is a like" in capsys.readouterr().err
    assert not path.with_suffix(".tacit").exists()
    assert main([*fit, "--like-at", "1"]) == 0


@pytest.mark.parametrize("text", ['{"1": 5, "2": 4}', '{\n  "1": 5,\n  "2": 4\n}'])
def test_a_history_may_map_items_to_stars(text: str, tmp_path: Path) -> None:
    """An object of JSON, on one line or on several; a row stays a row."""
    path = tmp_path / "own.json"
    path.write_text(text)
    assert read_history(path) == {"1": 5.0, "2": 4.0}
    path.write_text('{"item": 7, "rating": 5}')
    assert read_history(path) == {7: 5.0}


@pytest.mark.parametrize(
    ("cells", "scale"),
    [(("-1", "+1"), "-1:1:1"), (("1.0 out of 5 stars", "5.0 out of 5 stars"), "1:5:1")],
)
def test_votes_and_stars_in_words(cells: tuple[str, str], scale: str, run: Import) -> None:
    """A vote down is no like; "out of 5 stars" is how a shop writes stars."""
    text = lines("{user},{item},{stars}")
    for stars in range(1, 6):
        text = text.replace(f",{stars}\n", f",{cells[stars > 3]}\n")
    answer = run("user,item,vote\n" + text)
    assert answer["scale"] == scale
    assert answer["likes"] == sum(stars > 3 for *_, stars in ROWS)


def test_times_that_many_rows_lack_are_left_out(run: Import) -> None:
    """Rows are not dropped for a column that nobody asked for."""
    half = ""
    for number, row in enumerate(lines("{user},{item},{stars}").splitlines()):
        half += f"{row},{1_500_000_000 + number if number % 2 else ''}\n"
    answer = run("user,item,rating,timestamp\n" + half)
    assert answer["kept"] == 300
    assert "time" not in answer["columns"]
    assert any("empty" in said for said in answer["warnings"])


def test_a_code_for_guests_is_named(run: Import) -> None:
    """One person with a sixth of all rows, and 30 others."""
    guests = "".join(f"0,{item},3\n" for item in range(1, 61))
    answer = run("user,item,rating\n" + lines("{user},{item},{stars}") + guests)
    assert any("code for guests" in said for said in answer["warnings"])
    assert not any(
        "code for guests" in said
        for said in run("user,item,rating\n" + lines("{user},{item},{stars}"), "--force")[
            "warnings"
        ]
    )
