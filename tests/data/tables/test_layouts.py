"""Tables with several ratings in a row: unfolded where it is clear or asked for, else named."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.cli.app import main
from tacit.data import Ratings
from tacit.recommenders.public_facts import describe_condition

Import = Callable[..., dict[str, Any]]
GENERATOR = random.Random(11)  # noqa: S311
STARS = {
    (f"p{person}", f"i{item}"): GENERATOR.randint(1, 5)
    for person in range(60)
    for item in GENERATOR.sample(range(20), 8)
}
"""Person and item to stars."""
PEOPLE = sorted({person for person, _ in STARS})
ITEMS = sorted({item for _, item in STARS})


@pytest.fixture
def import_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Write a file, import it, and give the answer with the ratings, or the error."""

    def run(name: str, text: str, *words: str) -> dict[str, Any]:
        path = tmp_path / name
        path.write_text(text)
        out = tmp_path / "out"
        code = main(["data", "import", str(path), "-o", str(out), *words, "--yes", "--json"])
        printed = capsys.readouterr()
        if code:
            return dict(json.loads(printed.err)["error"])
        return {**json.loads(printed.out), "values": values_of(tacit.load(out))}

    return run


def values_of(ratings: Ratings) -> dict[tuple[str, str], float]:
    """Stars by person and item, as their ids are written."""
    users = [str(key) for key in ratings.user_ids.tolist()]
    items = [str(key) for key in ratings.item_ids.tolist()]
    rows = zip(ratings.users, ratings.items, ratings.values, strict=True)
    return {(users[user], items[item]): float(value) for user, item, value in rows}


def wide(blank: str = "", corner: str = "user_id", *, ones: bool = False) -> str:
    """Write a column for each item."""
    lines = [",".join([corner, *ITEMS])]
    for person in PEOPLE:
        stars = [STARS.get((person, item)) for item in ITEMS]
        cells = [blank if each is None else str(1 if ones else each) for each in stars]
        lines.append(",".join([person, *cells]))
    return "\n".join(lines) + "\n"


def baskets(between: str, first: str, *, numbered: bool = False) -> str:
    """Write a line for each person: `first` before the items, which `between` parts."""
    lines = []
    for number, person in enumerate(PEOPLE):
        items = [item for item in ITEMS if (person, item) in STARS][: 4 + number % 5]
        person_cell = str(len(items)) if numbered else person
        lines.append(f"{person_cell}{first}{between.join(items)}")
    return "\n".join(lines) + "\n"


def kept_of_baskets() -> set[tuple[str, str]]:
    """Give the pairs that `baskets` writes."""
    pairs = set()
    for number, person in enumerate(PEOPLE):
        items = [item for item in ITEMS if (person, item) in STARS][: 4 + number % 5]
        pairs |= {(person, item) for item in items}
    return pairs


def test_a_table_of_people_with_blanks_is_unfolded(import_file: Import) -> None:
    """People by name, one scale and blanks: each filled cell is a rating, and that is said."""
    found = import_file("wide.csv", wide())
    assert found["values"] == STARS
    assert any("20 columns" in sentence for sentence in found["warnings"])


@pytest.mark.parametrize("blank", ["NA", "0", "99"])
def test_a_table_without_blanks_is_named(import_file: Import, blank: str) -> None:
    """It may describe people; the options in the message read it."""
    text = wide(blank)
    if blank != "NA":
        assert "--layout wide" in import_file("wide.csv", text)["message"]
    words = [] if blank == "NA" else ["--layout", "wide", "--scale", "1:5:1", "--on-bad", "drop"]
    assert import_file("wide.csv", text, *words)["values"] == STARS


def test_a_code_of_no_rating_in_a_wide_table_is_a_question(import_file: Import) -> None:
    """0 beside 1 to 5 may mean that nothing was rated."""
    found = import_file("wide.csv", wide("0"), "--layout", "wide")
    assert "may mean no rating" in found["message"]


def test_ones_and_zeros_are_events(import_file: Import) -> None:
    """1 is an event and 0 none, where no cell is blank."""
    text = wide("0", ones=True)
    assert "--layout wide" in import_file("wide.csv", text)["message"]
    found = import_file("wide.csv", text, "--layout", "wide")
    assert found["values"] == dict.fromkeys(STARS, 1.0)
    assert found["scale"] is None


def test_columns_about_people_are_no_items(import_file: Import) -> None:
    """A column of ages beside the items is not read."""
    lines = wide().splitlines()
    aged = [lines[0] + ",age", *(f"{line},{20 + number}" for number, line in enumerate(lines[1:]))]
    found = import_file("wide.csv", "\n".join(aged) + "\n")
    assert found["values"] == STARS


def test_rows_are_people_where_none_has_an_id(import_file: Import) -> None:
    """A first column that counts the ratings of its row is no item, as in the Jester data."""
    generator = np.random.default_rng(2)
    jokes = np.round(generator.uniform(-10, 10, (60, 12)), 2)
    jokes[generator.random(jokes.shape) < 0.4] = 99
    lines = [
        ",".join([str(int((row != 99).sum())), *(f"{cell:g}" for cell in row)]) for row in jokes
    ]
    text = "\n".join(lines) + "\n"
    message = import_file("jester.csv", text)["message"]
    assert "column of its own" in message
    assert "--layout wide" in message
    words = ["--layout", "wide", "--scale=-10:10:0", "--on-bad", "drop"]
    found = import_file("jester.csv", text, *words)
    rows, columns = np.nonzero(jokes != 99)
    assert found["values"] == {
        (str(row + 1), str(column + 2)): jokes[row, column]
        for row, column in zip(rows, columns, strict=True)
    }


def test_a_survey_of_people_is_a_question(import_file: Import) -> None:
    """Filled numbers about people are not read as ratings without a word."""
    generator = random.Random(3)  # noqa: S311
    names = [f"feature{number}" for number in range(10)]
    lines = [",".join(["user_id", *names])]
    lines += [
        ",".join([f"u{row}", *(str(generator.randint(1, 5)) for _ in names)]) for row in range(60)
    ]
    assert "--layout wide" in import_file("people.csv", "\n".join(lines) + "\n")["message"]


@pytest.mark.parametrize("between", [" ", ",", "\t", ";"])
def test_lines_of_lists_are_read_when_asked(import_file: Import, between: str) -> None:
    """Each line is a person and their items."""
    text = baskets(between, between)
    assert "--layout baskets" in import_file("lists.dat", text)["message"]
    found = import_file("lists.dat", text, "--layout", "baskets")
    assert set(found["values"]) == kept_of_baskets()


def test_lines_that_begin_with_their_length(import_file: Import) -> None:
    """The count is no item and no person: lines are people, numbered from 1."""
    found = import_file("users.dat", baskets(" ", " ", numbered=True), "--layout", "baskets")
    numbers = {person: str(number) for number, person in enumerate(PEOPLE, 1)}
    expected = {(numbers[person], item) for person, item in kept_of_baskets()}
    assert set(found["values"]) == expected
    assert any("line" in sentence for sentence in found["warnings"])


def test_lines_of_lists_below_a_header(import_file: Import) -> None:
    """A header of two names does not make the third cell of a line a mistake."""
    text = "user_id,items\n" + baskets(",", ",")
    assert "--layout baskets" in import_file("lists.csv", text)["message"]
    found = import_file("lists.csv", text, "--layout", "baskets")
    assert set(found["values"]) == kept_of_baskets()


@pytest.mark.parametrize("between", [" ", ",", "|", "; ", "', '"])
def test_lists_of_ids_in_cells_are_unfolded(import_file: Import, between: str) -> None:
    """People and items are named, and the parts are ids: that is clear, and said."""
    lines = [line.split("\n")[0] for line in baskets(between, "\t").splitlines()]
    rows = [line.split("\t") for line in lines]
    quote = "['{}']" if "'" in between else "{}"
    text = "".join(f'{person},"{quote.format(items)}"\n' for person, items in rows)
    found = import_file("lists.csv", "user_id,item_id\n" + text)
    assert set(found["values"]) == kept_of_baskets()
    assert any("60 lists" in sentence for sentence in found["warnings"])


@pytest.mark.parametrize("empty_part", ["", "  ", "''", "' '"])
def test_empty_parts_of_a_list_are_no_items(tmp_path: Path, empty_part: str) -> None:
    """A part of nothing but blanks and quotes is left out, as a part without any character is."""
    path = tmp_path / "lists.csv"
    lines = [f"u{person};\"a,{empty_part},' b '\"" for person in range(8)]
    path.write_text("user;items\n" + "\n".join(lines) + "\n")
    ratings = tacit.read_ratings(path, layout="baskets")
    assert ratings.item_ids.tolist() == ["a", "b"]
    assert len(ratings) == 16


def test_words_in_cells_are_a_question(import_file: Import) -> None:
    """Words may be titles, so nothing is cut at their blanks without being asked."""
    words = ["red", "blue", "shoe", "coat", "warm", "light", "long"]
    generator = random.Random(4)  # noqa: S311
    lines = ["user_id,item"]
    lines += [f"u{row},{' '.join(generator.sample(words, 4))} {row % 7}x" for row in range(60)]
    text = "\n".join(lines) + "\n"
    assert "--layout baskets" in import_file("words.csv", text)["message"]
    assert import_file("words.csv", text, "--layout", "baskets")["items"] == len(words) + 7


def test_an_order_with_a_list_is_no_person(import_file: Import) -> None:
    """It is one if the caller says so."""
    text = "order_id,products\n" + "".join(
        line.replace("\t", ',"', 1) + '"\n' for line in baskets(" ", "\t").splitlines()
    )
    assert "no user column" in import_file("orders.csv", text)["message"]
    words = ["--user", "order_id", "--layout", "baskets"]
    assert set(import_file("orders.csv", text, *words)["values"]) == kept_of_baskets()


def test_objects_in_lists_become_rows(import_file: Import) -> None:
    """Sessions of events, as in the OTTO data: ids and times are columns of the events."""
    lines = []
    for number, person in enumerate(PEOPLE):
        own = [item for item in ITEMS if (person, item) in STARS]
        events = [{"aid": item, "ts": 1_600_000_000_000 + number} for item in own]
        lines.append(json.dumps({"session": person, "events": events}))
    text = "\n".join(lines) + "\n"
    assert "--layout baskets" in import_file("otto.jsonl", text)["message"]
    words = ["--user", "session", "--layout", "baskets"]
    found = import_file("otto.jsonl", text, *words)
    assert set(found["values"]) == set(STARS)
    assert found["columns"] == {"user": "session", "item": "aid", "time": "ts"}


def test_items_with_their_stars_in_a_list(import_file: Import) -> None:
    """`item:stars` are ratings, and `item-0` was shown and not clicked."""
    rows: dict[str, list[str]] = {}
    shown: dict[str, list[str]] = {}
    for (person, item), stars in STARS.items():
        rows.setdefault(person, []).append(f"{item}:{stars}")
        shown.setdefault(person, []).append(f"{item}-{stars % 2}")
    text = "".join(f"{person}\t{' '.join(items)}\n" for person, items in rows.items())
    words = ["--user", "1", "--layout", "baskets"]
    assert import_file("stars.tsv", text, *words)["values"] == STARS
    text = "".join(f"{person}\t{' '.join(items)}\n" for person, items in shown.items())
    clicked = {pair: stars % 2 for pair, stars in STARS.items()}
    assert import_file("shown.tsv", text, *words)["values"] == clicked


def test_the_layout_is_for_every_reader(tmp_path: Path) -> None:
    """`read_ratings` and `ratings_from` unfold as the import does; frames keep a named index."""
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "wide.csv"
    path.write_text(wide("0", ones=True))
    expected = dict.fromkeys(STARS, 1.0)
    assert values_of(tacit.read_ratings(path, layout="wide")) == expected
    frame = pandas.read_csv(path)
    assert values_of(tacit.ratings_from(frame, layout="wide")) == expected
    assert values_of(tacit.ratings_from(frame.set_index("user_id"), layout="wide")) == expected
    lists = pandas.DataFrame({"user": ["a", "b"], "item": [["x", "y"], ["x"]]})
    assert len(tacit.ratings_from(lists)) == 3


@pytest.mark.parametrize("odd", ["i5", "i5|i6"])
def test_how_lists_are_written_is_a_condition(import_file: Import, odd: str) -> None:
    """One person's list without stars changes how everybody's is read: so the card names it."""
    rows = [f"p{person}\ti{person % 7}:4 i{person % 5 + 7}:2" for person in range(9)]
    words = ("--layout", "baskets", "--user", "user", "--item", "items")
    before = import_file("lists.tsv", "\n".join(["user\titems", *rows]) + "\n", *words)
    assert "lists" in before["guesses"]
    changed = [*rows[:4], f"p4\t{odd}", *rows[5:]]
    after = import_file("lists.tsv", "\n".join(["user\titems", *changed]) + "\n", *words)
    assert before["values"]["p3", "i3"] == 4
    assert after["values"].get(("p3", "i3")) != 4
    named = describe_condition(before["guesses"])
    assert "how lists of items are written" in named
    assert "a row for each" in named
