"""`tacit simulate pdap`: rows with the documented keys, and a page."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app

SMALL = "simulate pdap --arrivals 60 --vendors 2 --videos 2 --seeds 2"
SHARES = ("explored", "trained", "exploited")


def invoke(line):
    found = CliRunner().invoke(app, line.split())
    assert found.exit_code == 0, found.output
    return found.stdout


def result_of(line):
    return json.loads(invoke(f"{line} --json"))


def test_rows_are_a_policy_by_a_protocol():
    """Strict JSON: policy, protocol, accuracy with its interval, and shares that sum to 1; an
    infinite epsilon is null."""
    rows = result_of(f"{SMALL} --policies dap,p-dap,uniform --epsilon 1,inf --test 40")["rows"]
    assert {(row["policy"], row["epsilon"]) for row in rows} == {
        ("dap", None),
        ("p-dap", 1.0),
        ("p-dap", None),
        ("uniform", None),
    }
    by_policy = {(row["policy"], row["epsilon"], row["protocol"]) for row in rows}
    assert len(by_policy) == len(rows) == 4 * 3
    assert {row["protocol"] for row in rows} == {
        "cumulative",
        "train-then-test",
        "train-then-continue",
    }
    for row in rows:
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert sum(row[share] for share in SHARES) == pytest.approx(1.0)
        assert row["test"] == (0 if row["protocol"] == "cumulative" else 40)


def test_several_sizes_of_a_test_are_rows_of_their_own():
    """--test 20,40: each reading at each size."""
    rows = result_of(f"{SMALL} --policies dap --test 20,40")["rows"]
    tested = [(row["protocol"], row["test"]) for row in rows if row["test"]]
    assert tested == [
        ("train-then-test", 20),
        ("train-then-test", 40),
        ("train-then-continue", 20),
        ("train-then-continue", 40),
    ]


def test_without_a_test_there_is_the_training_alone():
    """One row for each policy."""
    rows = result_of(f"{SMALL} --policies cap,dap")["rows"]
    assert [row["protocol"] for row in rows] == ["cumulative", "cumulative"]


def test_what_else_is_printed():
    """Regret over time, claims, orderings, bounds, all runs, and what it cost."""
    found = result_of(f"{SMALL} --policies cap,dup,dap,p-dap,gp-dap --epsilon 0.01")
    assert found["cost"]["cpu_seconds"] > 0
    assert found["cost"]["peak_mebibytes"] > 10
    curve = [point for point in found["regret"] if point["policy"] == "gp-dap"]
    assert curve[-1]["arrivals"] == 60
    assert {"Figure 6", "Figure 7", "Figure 8"} <= {claim["item"] for claim in found["claims"]}
    assert {"Theorem 2", "Corollary 2"} <= {bound["item"] for bound in found["bounds"]}
    assert {run["seed"] for run in found["runs"]} == {0, 1}
    assert found["orderings"]


def test_other_seeds_are_other_worlds():
    """--first-seed 5 --seeds 2 runs the worlds 5 and 6."""
    found = result_of(f"{SMALL} --policies dap --first-seed 5")
    assert {run["seed"] for run in found["runs"]} == {5, 6}


def test_the_page_stands_alone(tmp_path):
    """No script and no address; every policy, both tests, and every part of the paper."""
    file = tmp_path / "out.html"
    invoke(f"{SMALL} --policies cap,dap,p-dap --epsilon 0.01 --test 20,40 --report {file}")
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert not re.search(r"https?://", page)
    assert "P-DAP, ε = 0.01" in page
    assert page.count("<svg") >= 6
    for title in (
        "Average regret",
        "Tests after the training",
        "What the paper says of regret",
        "The paper’s bounds",
        "over its bound",
    ):
        assert title in page


def test_the_page_has_no_bound_without_dap(tmp_path):
    """CAP's regret is not what Theorem 3 bounds."""
    file = tmp_path / "out.html"
    invoke(f"{SMALL} --policies cap --report {file}")
    assert "over its bound" not in file.read_text(encoding="utf-8")


def test_the_terminal_shows_tables():
    """Regret over time and both tests, by name."""
    shown = invoke(f"{SMALL} --policies cap,dap --test 20")
    for title in ("Average regret so far", "Test of what was learned", "Test while it goes on"):
        assert title in shown
