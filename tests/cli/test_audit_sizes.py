"""`tacit audit sizes` and `tacit audit --all`: what they print, and when they fail."""

from __future__ import annotations

import json

import pytest

from tacit.auditing.random_sizes import Profile
from tacit.cli import audit as command
from tacit.cli.app import main
from tacit.designs import random_sizes as bench
from tacit.designs.random_sizes import faults
from tacit.designs.random_sizes.faults import FAULTS


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    kept = [one for one in bench.BENCH if one.artefact in ("laplace", "gaussian")]
    monkeypatch.setattr(bench, "BENCH", tuple(kept))
    monkeypatch.setattr(faults, "FAULTS", tuple(f for f in FAULTS if "zero" in f.name)[1:2])


def test_json_names_the_seed_and_each_artefact(capsys):
    """With --planted every bug says whether it was caught."""
    assert main(["audit", "sizes", "--samples", "5", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [one["artefact"] for one in result["artefacts"]] == ["laplace", "gaussian"]
    assert [one["caught"] for one in result["planted"]] == [True]
    assert result["seed"] >= 0


def test_a_violation_is_exit_code_1(capsys, monkeypatch):
    """So is a bug that was missed."""
    monkeypatch.setattr(bench, "BENCH", (Profile("broken", lambda _: 2.0, 1),))
    assert main(["audit", "sizes"]) == 1
    assert "violation" in capsys.readouterr().out
    monkeypatch.setattr(bench, "BENCH", ())
    missed = faults.Fault("nothing replaced", "size", "laplace", {})
    monkeypatch.setattr(faults, "FAULTS", (missed,))
    assert main(["audit", "sizes", "--planted"]) == 1
    assert "MISSED" in capsys.readouterr().out


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_all_says_how_long_it_took(capsys, monkeypatch, options):
    """Every audit in turn, its seconds, and the seconds in all; JSON is one object."""
    monkeypatch.setattr(command, "audits", lambda: (command.SIZES,))
    assert main(["audit", "--all", "--planted", *options]) == 0
    shown = capsys.readouterr().out
    if options:
        result = json.loads(shown)
        assert result["failed"] == []
        assert result["audits"]["sizes"]["planted"][0]["caught"]
    else:
        assert "seconds in all" in shown


def test_all_fails_where_one_does(capsys, monkeypatch):
    """The one that failed is named."""
    monkeypatch.setattr(bench, "BENCH", (Profile("broken", lambda _: 2.0, 1),))
    monkeypatch.setattr(command, "audits", lambda: (command.SIZES,))
    assert main(["audit", "--all", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failed"] == ["sizes"]


@pytest.mark.parametrize("arguments", [[], ["--all", "sizes"], ["sizes", "--samples", "0"]])
def test_refusals(capsys, arguments):
    """Nothing to audit, too much, and no cases are usage errors."""
    assert main(["audit", *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err
