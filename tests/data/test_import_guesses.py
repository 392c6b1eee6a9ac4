"""Files whose columns are easily mistaken: lines above the table, answers in words, baskets."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from tacit.cli.app import main

ROWS = [
    (user, item, 1 + (3 * user + item) % 5) for user in range(30) for item in range(user % 7, 20, 4)
]


@pytest.fixture
def imported(tmp_path, capsys):
    """The --json of an import of lines, or its error."""

    def call(lines: Iterable[str], *options: str) -> dict:
        path = tmp_path / "in.csv"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        out = tmp_path / "out"
        rc = main(["data", "import", str(path), "-o", str(out), "--json", *options])
        printed = capsys.readouterr()
        if rc:
            assert not out.exists()
            return json.loads(printed.err)["error"]
        return json.loads(printed.out)

    return call


def test_sentences_above_the_table_are_skipped(imported):
    """Although blanks cut them into as many cells as any table may have."""
    rows = [f"{at},c{user},s{item},{stars}" for at, (user, item, stars) in enumerate(ROWS)]
    found = imported(["Export of sales", "made on a Monday", "Order ID,Customer,SKU,Qty", *rows])
    assert found["columns"] == {"user": "Customer", "item": "SKU", "plays": "Qty"}
    assert found["kept"] == found["read"] == len(ROWS)


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [("liked", "TRUE", "FALSE"), ("reaction", "like", "dislike"), ("thumb", "Up", "Down")],
)
def test_answers_in_words_are_likes(imported, header, yes, no):
    """A dislike is no like, and the column of answers is no item."""
    rows = [f"{user},{item},{yes if stars > 2 else no}" for user, item, stars in ROWS]
    found = imported([f"uid,vid,{header}", *rows])
    assert found["columns"] == {"user": "uid", "item": "vid", "rating": header}
    assert found["likes"] == sum(stars > 2 for *_, stars in ROWS)
    assert (found["kept"], found["scale"]) == (len(ROWS), "0:1:1")


def test_a_basket_in_one_cell_is_refused(imported):
    """A basket is no person, and a cell holds one item."""
    rows = [f'{number},"{number} {number + 1} {number + 2}"' for number in range(60)]
    error = imported(["basket_id,items", *rows])["message"]
    assert "a basket is no person" in error


def test_a_column_that_was_named_is_believed(imported):
    """The same rows, when the caller says so."""
    rows = [f"{number},thing {number}" for number in range(60)]
    assert imported(["a,b", *rows], "--user", "a", "--item", "b")["kept"] == 60


def test_a_column_for_each_item_says_what_to_do(imported):
    """A wide table without blanks is not read unasked; the error names the option that reads it."""
    rows = [
        f"u{user}," + ",".join(str(1 + (user + at) % 5) for at in range(9)) for user in range(9)
    ]
    error = imported(["user," + ",".join(f"joke{at}" for at in range(9)), *rows])["message"]
    assert "no item column" in error
    assert "--layout wide" in error


def test_a_scale_is_printed_as_it_is_written(tmp_path, capsys):
    """`0:100:1` holds the name of an emoji, :100:, which a terminal library may draw."""
    path = tmp_path / "percent.csv"
    path.write_text("user,item,score\n" + "".join(f"{u},{i},{20 * s}%\n" for u, i, s in ROWS))
    assert main(["data", "import", str(path), "-o", str(tmp_path / "out"), "--yes"]) == 0
    assert "0:100:1" in capsys.readouterr().out
