"""Tables for people, strict JSON for machines."""

from __future__ import annotations

import io
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tacit import terminal
from tacit.errors import ConfigError


@dataclass
class Row:
    auc: float
    name: str


def emitted(result, capsys):
    terminal.emit(result, as_json=True, render=lambda _: pytest.fail("rendered under --json"))
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_json_has_no_nan(capsys):
    """NaN and infinities become null, since JSON has no word for them."""
    result = {
        "a": float("nan"),
        "b": float("inf"),
        "c": np.float64("nan"),
        "d": np.array([1, np.nan]),
    }
    assert emitted(result, capsys) == {"a": None, "b": None, "c": None, "d": [1.0, None]}


def test_json_of_numpy_and_dataclasses(capsys):
    """NumPy scalars and arrays, dataclasses and paths come out as plain values."""
    result = {
        "n": np.int32(3),
        "flag": np.bool_(True),
        "row": Row(np.float64(0.5), "x"),
        "p": Path("m"),
    }
    expected = {"n": 3, "flag": True, "row": {"auc": 0.5, "name": "x"}, "p": "m"}
    assert emitted(result, capsys) == expected


def test_json_keeps_the_order_of_keys(capsys):
    """Keys come out in the order they were put in, so that two runs give the same bytes."""
    assert list(emitted({"b": 1, "a": 2}, capsys)) == ["b", "a"]


def test_unknown_type_is_refused():
    """What has no JSON form is an error, never a made-up string."""
    with pytest.raises(TypeError, match="object has no JSON form"):
        terminal.to_json_types(object())


def test_emit_renders_for_a_person(capsys):
    """Without --json the result goes to render, once, and no JSON is printed."""
    seen = []
    terminal.emit(7, as_json=False, render=seen.append)
    assert (seen, capsys.readouterr().out) == ([7], "")


def test_table_shows_markup_as_it_is(capsys):
    """An item called [red] is text, not a colour."""
    terminal.table("Lists", ("item", "score"), [("[red]Film[/red]", 0.51234), ("b", None)])
    shown = capsys.readouterr().out
    assert "[red]Film[/red]" in shown
    assert "0.512" in shown
    assert "–" in shown


def test_table_cuts_nothing(capsys, monkeypatch):
    """A long id goes over several lines instead of losing its end."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=20))
    terminal.table("", ("item",), [("abcdefghij" * 4,)])
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "".join(re.findall("[a-j]+", shown.partition("━")[2])) == "abcdefghij" * 4


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_silent_for_half_a_minute(capsys, quiet):
    """Where no terminal is, a short command writes nothing on either stream."""
    with terminal.progress("Folds", 2, quiet=quiet) as advance:
        advance(1)
        advance(1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_progress_writes_lines_without_a_terminal(capsys):
    """A line each so many seconds, on standard error, for as long as the block runs."""
    with terminal.ProgressLines("Folds", 4, seconds=0.01) as lines:
        lines.advance(1)
        time.sleep(0.2)
    captured = capsys.readouterr()
    assert captured.out == ""
    written = captured.err.splitlines()
    assert len(written) > 1
    assert written[-1].startswith("Folds: 1 of 4, about")
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (1, 4, 20, "Folds: 1 of 4, about 60 s left"),
        (0, 4, 20, "Folds: 0 of 4, 20 s so far"),
        (5, None, 600, "Folds: 10 min so far"),
        (1, 11, 1200, "Folds: 1 of 11, about 3.3 h left"),
    ],
)
def test_the_time_left_is_that_at_the_same_speed(done, total, seconds, text):
    """Before the first step, and where nobody knows how many there are, the time so far."""
    assert terminal.describe_progress("Folds", done, total, seconds) == text


def test_progress_on_a_terminal(monkeypatch):
    """On a terminal the bar is drawn, counts, and wipes itself away; under quiet it never shows."""
    for quiet in (False, True):
        screen = io.StringIO()
        wide = Console(file=screen, force_terminal=True, width=80)
        monkeypatch.setattr(terminal, "_error_console", lambda console=wide: console)
        with terminal.progress("Folds", 2, quiet=quiet) as advance:
            advance(2)
        assert ("Folds" in screen.getvalue(), "2/2" in screen.getvalue()) == (not quiet, not quiet)


def test_complaint_keeps_a_long_path_whole(capsys):
    """An error is never broken in the middle of a path, so that it can be copied."""
    path = "/very/long" * 30
    terminal.print_error(f"{path}: no such file.")
    assert path in capsys.readouterr().err


def test_a_piped_table_is_at_most_100_columns_wide(capsys, monkeypatch):
    """However wide the terminal is from which it is piped."""
    monkeypatch.setenv("COLUMNS", "300")
    terminal.table("", ("name", "text"), [("a", "word " * 80)])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


def test_a_name_is_given_one_value():
    """The second value would otherwise replace the first without a word."""
    assert terminal.parse_name_values(["gender = F", "age=3"], "--about") == {
        "gender": "F",
        "age": "3",
    }
    with pytest.raises(ConfigError, match="--about names gender twice"):
        terminal.parse_name_values(["gender=F", "gender=M"], "--about")
