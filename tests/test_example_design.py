"""A design is one folder and one line: the example outside tacit has no commands of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli.app import main
from tacit.design import design, names

EXAMPLE = Path(__file__).parents[1] / "examples" / "a_design"
NAME = "noisy-top"


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    """As pip would: the package on the path, and the line of its pyproject.toml."""
    line = 'noisy-top = "noisy_top.design:DESIGN"'
    assert line in (EXAMPLE / "pyproject.toml").read_text("utf-8")
    found = tmp_path / "site" / "noisy_top-0.1.0.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy-top\nVersion: 0.1.0\n")
    entry = line.replace('"', "")
    (found / "entry_points.txt").write_text(f"[tacit.designs]\n{entry}\n")
    for folder in (EXAMPLE, tmp_path / "site"):
        monkeypatch.syspath_prepend(str(folder))
    yield
    for module in [name for name in sys.modules if name.partition(".")[0] == "noisy_top"]:
        del sys.modules[module]


@pytest.fixture
def answered(capsys):
    """What a command prints with --json."""

    def call(*words: object) -> dict:
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def answered_by_process(tmp_path):
    """What a command prints with --json: in a process that starts after the design is installed."""
    path = os.pathsep.join([str(EXAMPLE), str(tmp_path / "site"), *filter(None, sys.path)])

    def call(*words: object) -> dict:
        run = subprocess.run(
            [sys.executable, "-m", "tacit.cli.app", *map(str, words), "--json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return call


def test_the_registry_finds_it():
    """By its entry point, after the designs of tacit."""
    assert names()[-1] == NAME
    assert design(NAME).title == "Noisy top"
    assert (EXAMPLE / f"{NAME}.md").exists()


def test_it_has_a_card(answered_by_process):
    """Composed from the event that a fit draws with."""
    (card,) = answered_by_process("guarantee", NAME, "--epsilon", 2, "--most", 5)["guarantees"]
    assert card["epsilon"] == pytest.approx(2, rel=1e-9)


def test_it_has_an_audit_with_a_planted_bug(answered):
    """The claim holds on the bench, and noise for too few likes is caught."""
    found = answered("audit", NAME, "--samples", 1000, "--planted")
    assert [one["verdict"] for one in found["audits"]] != ["violation"]
    assert [bug["caught"] for bug in found["planted"]] == [True]
    assert [clean["alarm"] for clean in found["clean"]] == [False]


def test_it_is_fitted_evaluated_and_has_a_page(answered, tmp_path):
    """Without a command of its own: options are the fields of its settings."""
    ratings, model, page = (tmp_path / name for name in ("r.csv", "m.tacit", "page.html"))
    sizes = ("--users", 80, "--items", 30, "--ratings", 1500)
    answered("data", "generate", ratings, "--seed", 1, *sizes)
    fitted = answered("fit", NAME, ratings, "--epsilon", 3, "--most", 4, "-o", model)
    assert fitted["items"] == 30
    assert len(answered("recommend", model, "-n", 5)["items"]) == 5
    rows = answered("evaluate", NAME, ratings, "--seeds", 2, "--report", page)["rows"]
    assert {row["model"] for row in rows} == {"popularity", "ease", NAME}
    shown = page.read_text("utf-8")
    assert "Noisy top" in shown
    assert "://" not in shown


def test_it_is_compared_and_attacked(answered, tmp_path):
    """Without a word about it: by its model, its unit and its adversary by its card."""
    ratings = tmp_path / "r.csv"
    sizes = ("--users", 60, "--items", 20, "--ratings", 700)
    answered("data", "generate", ratings, "--seed", 1, *sizes)
    words = ("--design", NAME, "--epsilon", "1,3", "--seeds", 2, "--workers", 1)
    rows = answered("compare", ratings, *words, "--no-attacks")["rows"]
    own = [row for row in rows if row["design"] == NAME]
    assert {row["epsilon"] for row in own} == {1.0, 3.0}
    assert {row["unit"] for row in own} == {"a person's whole profile, added or removed"}
    few = ("--attack", "membership", "--targets", 10, "--shadows", 4, "--victims", 2)
    assert answered("attack", "--model", NAME, ratings, *few)["rows"]
