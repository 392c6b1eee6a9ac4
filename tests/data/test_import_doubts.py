"""Files that look readable and are not: nothing is taken for people or likes without a word."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import tacit
from tests.data.test_import_forms import LIKES, ROWS, Import, import_files, lines

__all__ = ["import_files"]


def test_kinds_of_events_are_never_people(import_files: Import) -> None:
    """Beside a header no column is the people by its content alone."""
    kinds = ["view_item", "add_to_cart", "purchase"]
    rows = [f"{kinds[p % 3]},{p}.16,{i}" for p, i, *_ in ROWS]
    found = import_files({"ga4.csv": lines(rows, "event_name,visitor_cookie,item_id")})
    assert "no user column" in found["message"]


def test_a_table_of_people_is_no_table_of_ratings(import_files: Import) -> None:
    """A town beside each person is no item."""
    rows = [f"{p},town {p % 30},{p % 60}" for p in range(80)]
    found = import_files({"users.csv": lines(rows, "User-ID,Town,Age")})
    assert "no item column" in found["message"]


def test_kinds_are_shown_beside_plays(import_files: Import) -> None:
    """A cancelled order counts with its quantity until `--where` leaves it out: that is said."""
    rows = [f"{p},{i},{s},{'cancelled' if i == 1 else 'done'}" for p, i, s, _ in ROWS]
    files = {"orders.csv": lines(rows, "customer_id,sku,quantity,order_status")}
    said = import_files(files)["warnings"]
    assert any("cancelled" in sentence for sentence in said)


def test_two_columns_of_likes_are_a_question(import_files: Import) -> None:
    """Neither of `click` and `like` comes first."""
    rows = [f"{p},{i},{s % 2},{int(s > 3)}" for p, i, s, _ in ROWS]
    files = {"feed.csv": lines(rows, "user_id,item_id,click,like")}
    assert "click, like" in import_files(files)["message"]
    assert import_files(files, "--rating", "like")["likes"] == LIKES


@pytest.mark.parametrize("name", ["skipped", "returned", "unsubscribed", "dislike"])
@pytest.mark.parametrize("answers", [("1", "0"), ("True", "False")])
def test_yes_under_another_name_is_no_like(
    import_files: Import, name: str, answers: tuple[str, str]
) -> None:
    """Answers are likes only under a name that says so."""
    rows = [f"{p},{i},{answers[s % 2]}" for p, i, s, _ in ROWS]
    assert name in import_files({"r.csv": lines(rows, f"user_id,item_id,{name}")})["message"]


@pytest.mark.parametrize("answers", [("Y", "N"), ("t", "f"), ("yes", "no"), ("True", "False")])
def test_answers_of_one_letter(import_files: Import, answers: tuple[str, str]) -> None:
    """Y and N, t and f are answers under a name of likes."""
    rows = [f"{p},{i},{answers[s < 4]}" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user_id,item_id,purchased")})
    assert (found["likes"], found["scale"]) == (LIKES, "0:1:1")


@pytest.mark.parametrize("name", ["Bewertung", "purchased", "grade"])
def test_words_under_a_name_of_likes_are_a_question(import_files: Import, name: str) -> None:
    """Words for stars are not thrown away, and rows become no events."""
    words = ["awful", "bad", "fair", "good", "great"]
    rows = [f"{p},{i},{words[s - 1]}" for p, i, s, _ in ROWS]
    files = {"r.csv": lines(rows, f"user_id,item_id,{name}")}
    assert "but holds words" in import_files(files)["message"]
    assert import_files(files, "--events")["likes"] == 480


def test_a_column_of_a_few_words_is_named(import_files: Import) -> None:
    """Words that may mean like and dislike are not read, and that is said."""
    rows = [f"{p},{i},{'buy' if s > 3 else 'skip'}" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user_id,item_id,outcome")})
    assert any("outcome" in sentence for sentence in found["warnings"])


def test_ids_that_a_spreadsheet_shortened_are_refused(import_files: Import) -> None:
    """4.71E+12 stands for many products."""
    rows = [f"{p},{4.7e12 + i:.2E},{s}" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user_id,ean,rating")}, "--item", "ean")
    assert "shortened by a spreadsheet" in found["message"]


@pytest.mark.parametrize("form", ["%Y%m%d%H%M%S", "%Y%m%d%H%M"])
def test_moments_in_digits(import_files: Import, tmp_path: Path, form: str) -> None:
    """20170714024000 is a moment of 2017, and no number of milliseconds."""
    moments = [datetime.fromtimestamp(t, UTC) for *_, t in ROWS]
    rows = [
        f"{p},{i},{s},{moment:{form}}" for (p, i, s, _), moment in zip(ROWS, moments, strict=True)
    ]
    import_files({"r.csv": lines(rows, "user,item,rating,time")})
    expected = {
        int(datetime.strptime(f"{m:{form}}+0000", form + "%z").timestamp()) for m in moments
    }
    read = tacit.load(tmp_path / "out").timestamps
    assert read is not None
    assert set(read.tolist()) == expected


@pytest.mark.parametrize("unit", ["minutes", "from 1601"])
def test_times_far_from_our_days_are_said(import_files: Import, unit: str) -> None:
    """Minutes, or microseconds since 1601, are read as another unit, and that is said."""
    rows = [
        f"{p},{i},{s},{t // 60 if unit == 'minutes' else (t + 11_644_473_600) * 10**6}"
        for p, i, s, t in ROWS
    ]
    found = import_files({"r.csv": lines(rows, "user,item,rating,time")})
    assert any("between 1980 and 2100" in sentence for sentence in found["warnings"])


@pytest.mark.parametrize("time", ["2017", "Jul 2017", "2017-W28-5", "170714"])
def test_a_column_of_times_that_is_not_read_is_named(import_files: Import, time: str) -> None:
    """A column called date that holds no date of a known form is left out with a word."""
    rows = [f"{p},{i},{s},{time}" for p, i, s, _ in ROWS]
    found = import_files({"r.csv": lines(rows, "user,item,rating,date")})
    assert any("column date cannot be read" in sentence for sentence in found["warnings"])
    assert "time" not in found["columns"]


@pytest.mark.parametrize(
    ("start", "word"),
    [
        (b"%PDF-1.4\n", "PDF"),
        (b"\xd0\xcf\x11\xe0", ".xls"),
        (b"\x93NUMPY", "NumPy"),
        (b"MATLAB 5.0 MAT-file", "MATLAB"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x89HDF\r\n", "HDF5"),
    ],
)
def test_other_kinds_of_files_are_named(import_files: Import, start: bytes, word: str) -> None:
    """A document and an array are refused by name, whatever follows their first bytes."""
    content = start + b"\n1,2,3" * 60
    assert word in import_files({"r.csv": content})["message"]
