"""`tacit audit xmap`: rows, what counts as expected, and the exit codes."""

import json
from dataclasses import fields, replace

import pytest

from tacit.auditing.claims import AuditResult
from tacit.cli.app import main
from tacit.designs.xmap.audit import bench, tables
from tacit.designs.xmap.audit.bench import published_selection, sums


@pytest.fixture
def small(monkeypatch):
    """One published line, one that holds, the control alone, one bug."""
    monkeypatch.setattr(bench, "BENCH", (published_selection, sums))
    monkeypatch.setattr(tables, "GAMES", tables.GAMES[:1])
    monkeypatch.setattr(bench, "BUGS", bench.BUGS[:1])


@pytest.mark.usefixtures("small")
def test_refuted_published_lines_are_a_success(capsys):
    """Rows have the keys of every audit; the published violation is listed as expected."""
    assert main(["audit", "xmap", "--samples", "1000", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    keys = {field.name for field in fields(AuditResult)}
    assert all(set(audit) == keys for audit in result["audits"])
    assert result["audits"][0]["verdict"] == "violation"
    assert result["refuted_as_expected"] == ["pnsa-published"]
    assert {row["attack"] for row in result["membership"]} == {"lists", "predictions"}
    assert [bug["caught"] for bug in result["planted"]] == [True]
    assert [twin["alarm"] for twin in result["clean"]] == [False]


@pytest.mark.usefixtures("small")
def test_table_for_a_person(capsys):
    """The table says that the refutation was expected, and that a pass is no proof."""
    assert main(["audit", "xmap", "--samples", "1000"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "refuted as expected" in shown
    assert "that is no proof" in shown


def test_a_published_line_that_holds_is_a_failure(capsys, monkeypatch):
    """If the refutation fails the auditor is broken, and the command says so with exit code 1."""
    lines = (lambda: replace(published_selection(), epsilon=100.0),)
    monkeypatch.setattr(bench, "BENCH", lines)
    monkeypatch.setattr(tables, "GAMES", ())
    assert main(["audit", "xmap", "--samples", "1000"]) == 1
    assert "pnsa-published: weak audit" in capsys.readouterr().out


def test_a_violated_claim_of_the_library_is_a_failure(capsys, monkeypatch):
    """A line that is not the paper's must hold."""
    monkeypatch.setattr(bench, "BENCH", (lambda: replace(sums(), epsilon=0.01),))
    monkeypatch.setattr(tables, "GAMES", ())
    assert main(["audit", "xmap", "--samples", "1000"]) == 1
    assert "x-map-sound: violation" in capsys.readouterr().out


def test_too_few_samples(capsys):
    """Fewer than 1,000 are refused in one sentence, with exit code 2."""
    assert main(["audit", "xmap", "--samples", "5"]) == 2
    assert "at least 1000" in capsys.readouterr().err
