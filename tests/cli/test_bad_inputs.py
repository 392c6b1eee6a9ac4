"""Bad inputs, on the command line and from Python: a sentence that says what to do.

Never a traceback, and never half a file.
"""

from __future__ import annotations

import gzip
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import tacit
from tacit.cli.app import main
from tacit.errors import TacitError
from tacit.recommenders.baselines import EASE

FILES = Path(__file__).parents[2] / "golden" / "files"
ROWS = "user,item,rating,time\n" + "".join(
    f"{person},{item},{1 + (person * item) % 5},{10**9 + person}\n"
    for person in range(1, 9)
    for item in range(1, 6)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run: good files, and bad ones."""
    monkeypatch.chdir(tmp_path)
    contents: dict[str, str | bytes] = {
        "good.csv": ROWS,
        "own.csv": "item,rating\n1,5\n2,3\n",
        "words.csv": ROWS + "9,1,good,5\n",
        "nan.csv": ROWS + "9,1,NaN,5\n",
        "off.csv": ROWS + "9,1,3.7,5\n",
        "short.csv": ROWS + "9,1\n",
        "long.csv": ROWS + "9,1,4,5,6\n",
        "quote.csv": ROWS + '9,"1,4,5\n',
        "nobody.csv": ROWS + ",1,4,5\n",
        "when.csv": ROWS + "9,1,4,soon\n",
        "dates.csv": "user,item,date\n1,1,3/4/2010\n2,2,5/6/2010\n",
        "mixed.csv": "user,item,date\n1,1,13/4/2010\n2,2,5/16/2010\n",
        "twice.csv": "user,item,rating,rating\n1,2,3,4\n",
        "columns.csv": "a,b,c,d,e\nx,y,z,u,v\nq,w,e,r,t\n",
        "empty.csv": "",
        "head.csv": "user,item,rating\n",
        "plays.csv": "user,item,plays\n1,2,-3\n",
        "silent.csv": "user,item,plays\n1,2,0\n",
        "wide.csv": "user,item,rating\n1,2,900\n2,3,1700\n",
        "sheet.xlsx": b"PK\x03\x04\x14\0\6\0",
        "picture.csv": b"\x89PNG\r\n\x1a\n\0\0\0\r",
        "cut.csv.gz": gzip.compress(ROWS.encode())[:-9],
        "cut.parquet": b"PAR1 and no more",
        "lines.jsonl": '{"user": 1, "item": 2}\n{"user": \n',
        "not.json": "[1, 2",
        "text-own.csv": "item,rating\nmatrix,5\n",
        "nan-own.csv": "item,rating\n1,NaN\n",
        "off-own.csv": "item,rating\n1,9\n",
        "likes.csv": "item\n1\n",
        "model.tacit": "this is no model",
        "list.csv": "item\nx\ny\n",
        "people.csv": "user,gender\n77,F\n",
        "other.toml": "x = 1",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE a (x INT)")
        connection.execute("CREATE TABLE b (y INT)")
    connection.close()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep")
    for model in FILES.glob("*.tacit"):
        (tmp_path / model.name).write_bytes(model.read_bytes())
    return tmp_path


SCHEME = "scheme.tacit"
LINES: dict[str, str] = {
    # a command line, and what its message must say
    "data import none.csv -o out": "Check the path",
    "data import words.csv -o out --on-bad refuse": "row 42, column 'rating'",
    "data import nan.csv -o out --on-bad refuse": "the rating is missing",
    "data import off.csv -o out --on-bad refuse": "--scale MIN:MAX:STEP",
    "data import short.csv -o out --on-bad refuse": "the row is too short",
    "data import long.csv -o out --on-bad refuse": "the row is too long",
    "data import quote.csv -o out": "the row cannot be read",
    "data import nobody.csv -o out --on-bad refuse": "the user is missing",
    "data import when.csv -o out --on-bad refuse": "not a valid time",
    "data import dates.csv -o out": "--dates dayfirst",
    "data import mixed.csv -o out": "--dates dayfirst",
    "data import twice.csv -o out": "Rename one",
    "data import columns.csv -o out": "--user",
    "data import good.csv -o out --rating nothing": "expected a column 'nothing'",
    "data import good.csv -o out --user user --item user": "Name another column",
    "data import empty.csv -o out": "expected a header",
    "data import head.csv -o out": "no rows",
    "data import plays.csv -o out": "expected a row with plays above 0",
    "data import silent.csv -o out": "expected a row with plays above 0",
    "data import wide.csv -o out": "--scale MIN:MAX:STEP",
    "data import good.csv -o out --scale 1:3:1 --on-bad refuse": "off the scale 1:3:1",
    "data import good.csv -o out --scale 5:1:1": "minimum lies below",
    "data import good.csv -o out --scale stars": "MIN:MAX:STEP",
    "data import good.csv -o out --events --scale 1:5:1": "no stars",
    "data import good.csv -o out --least-plays 0": "above 0",
    "data import good.csv -o out --on-bad maybe": "refuse or drop",
    "data import good.csv -o out --dates european": "dayfirst or monthfirst",
    "data import good.csv -o out --encoding klingon": "--encoding",
    "data import good.csv -o out --delimiter ab": "one sign",
    "data import sheet.xlsx -o out": "as CSV",
    "data import picture.csv -o out": "CSV or other delimited text",
    "data import cut.csv.gz -o out": "Fetch it again",
    "data import cut.parquet -o out": "cannot be read",
    "data import lines.jsonl -o out --on-bad refuse": "one object a line",
    "data import not.json -o out": "a list of objects",
    "data import shop.db -o out": "--table",
    "data import shop.db -o out --table c": "one of a, b",
    "data import good.csv -o full": "Name a new folder",
    "data import good.csv -o none/out": "Make it first",
    "data import full -o out": "Name its files instead",
    "data import good.csv -o out --catalogue list.csv": "Check which column",
    "data import good.csv -o out --users people.csv": "user ids written as in the ratings",
    "data describe words.csv": "tacit data import",
    "data describe full": "tacit data import",
    "fit private good.csv -o out.tacit --epsilon -1": "psilon",
    "fit private good.csv -o none/out.tacit": "does not exist",
    "fit popularity nan.csv -o out.tacit": "tacit data import",
    "fit popularity good.csv -o out.tacit --scale 1:3:1": "off the scale",
    "recommend model.tacit --history own.csv": "model",
    "recommend good.csv --history own.csv": "model",
    f"recommend {SCHEME} --history text-own.csv": "--item",
    f"recommend {SCHEME} --history nan-own.csv": "column 'rating'",
    f"recommend {SCHEME} --history off-own.csv": "off the scale",
    f"recommend {SCHEME} --history likes.csv": "--rating",
    f"recommend {SCHEME} --history none.csv": "no such file",
    f"recommend {SCHEME} --history own.csv -n 2.5": "nteger",
    f"recommend {SCHEME} --history own.csv --about age=3": "gender",
    f"recommend {SCHEME} --history own.csv --about gender": "NAME=VALUE",
    f"recommend {SCHEME} --history own.csv --about gender=unknown": "F",
    "serve good.csv": "model",
    "evaluate private words.csv": "tacit data import",
    "data domains good.csv -o out.csv": "--items",
    "data generate out.txt --seed 1": "Use one of",
}


@pytest.mark.parametrize("line", LINES)
def test_a_bad_command_line_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """One paragraph on standard error, an exit code of ours, and no new file."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    code = main(shlex.split(line))
    said = " ".join(capsys.readouterr().err.split())
    assert code in (1, 2, 3, 4, 5, 6), said
    assert "Traceback" not in said
    assert "np." not in said
    assert LINES[line] in said
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert {path.name for path in after.keys() - before.keys()} <= {".own.csv.released.json.lock"}
    assert all(after[path] == moment for path, moment in before.items() if path.is_file())


@pytest.fixture(scope="module")
def ratings() -> tacit.Ratings:
    return tacit.generate(users=40, items=20, ratings=400, seed=1)


@pytest.fixture(scope="module")
def models(ratings: tacit.Ratings) -> dict[str, Any]:
    """A fitted model of each kind that takes histories in its own way."""
    return {
        "popularity": tacit.Popularity().fit(ratings),
        "ease": EASE().fit(ratings),
        "private": tacit.Private(float("inf")).fit(ratings),
        "scheme": tacit.load_model(FILES / SCHEME),
    }


HISTORIES: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"history": "abc"}, "Give history|maps items to stars"),
    "a number": ({"history": 7}, "Give history|maps items to stars"),
    "NaN": ({"history": {1: float("nan")}}, "Leave the item out"),
    "words": ({"history": {1: "good"}}, "Leave the item out"),
    "None": ({"history": {1: None}}, "Leave the item out"),
    "ids as text": ({"history": {"1": 4}}, "Convert them"),
    "n of 2.5": ({"history": {1: 4}, "n": 2.5}, "whole number of entries"),
    "n of 0": ({"history": {1: 4}, "n": 0}, "at least one"),
    "n as text": ({"history": {1: 4}, "n": "10"}, "whole number of entries"),
    "one id to leave out": ({"history": {1: 4}, "exclude": "12"}, "exclude is a collection"),
    "a number to leave out": ({"history": {1: 4}, "exclude": 12}, "exclude is a collection"),
    "one candidate": ({"history": {1: 4}, "candidates": 12}, "candidates is a collection"),
}


@pytest.mark.parametrize("name", ["popularity", "ease", "private", "scheme"])
@pytest.mark.parametrize("kind", HISTORIES)
def test_a_bad_history_says_what_to_do(models: dict[str, Any], kind: str, name: str) -> None:
    """What, expected, got, in one paragraph, from every recommender."""
    given, says = HISTORIES[kind]
    with pytest.raises(TacitError, match=says) as caught:
        models[name].recommend(**given)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize("name", ["private", "scheme"])
def test_stars_off_the_scale_are_refused(models: dict[str, Any], name: str) -> None:
    """With the scale."""
    with pytest.raises(TacitError, match="off the scale"):
        models[name].recommend(history={1: 9})


FRAMES: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "a path": (lambda: "ratings.csv", {}, "read_ratings"),
    "None": (lambda: None, {}, "read_ratings"),
    "an empty frame": (lambda: pd.DataFrame({"user": [], "item": []}), {}, "at least one row"),
    "no item": (lambda: pl.DataFrame({"user": [1], "rating": [1]}), {}, "--item"),
    "a word": (lambda: pd.DataFrame({"user": [1], "item": [1], "rating": ["x"]}), {}, "row 1"),
    "a missing score": (
        lambda: pl.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [1, None]}),
        {},
        "on_bad='drop'",
    ),
    "odd rows": (lambda: [(1, 2, 3), (1, 2)], {}, "tuples"),
    "a dense matrix": (lambda: np.ones((2, 2)), {}, "SciPy sparse matrix"),
    "an unknown column": (lambda: [(1, 2, 3)], {"rating": "stars"}, "expected a column 'stars'"),
    "an unknown rule": (lambda: [(1, 2, 3)], {"on_bad": "skip"}, "refuse or drop"),
    "floats as ids": (lambda: [(1.5, 2, 3)], {}, "row 1, column 'user'"),
    "off the scale": (lambda: [(1, 2, 9)], {"scale": tacit.RatingScale(1, 5, 1)}, "off the scale"),
    "nothing in a matrix": (lambda: sparse.coo_array((2, 2)), {}, "at least one row"),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_bad_frame_says_what_to_do(kind: str) -> None:
    """Likewise for what ratings are made of."""
    make, options, says = FRAMES[kind]
    with pytest.raises(TacitError) as caught:
        tacit.ratings_from(make(), **options)
    assert says in str(caught.value)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize(
    "make", [tacit.Popularity, EASE, lambda: tacit.Private(1.0), lambda: tacit.XMap(target="x")]
)
def test_a_model_is_fitted_to_ratings_only(make: Callable[[], Any]) -> None:
    """A frame without items, or a path, is none; the message names what makes ratings."""
    for given in (pd.DataFrame({"user": [1]}), "ratings.csv", None):
        with pytest.raises(TacitError, match="ratings_from"):
            make().fit(given)
