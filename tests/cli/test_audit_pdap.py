"""`tacit audit pdap`: rows, what counts as expected, and the exit codes."""

import json
from dataclasses import fields, replace

import pytest

from tacit.auditing.claims import AuditResult
from tacit.cli.app import main
from tacit.designs.pdap.audit import plan, published_policies
from tacit.designs.pdap.audit.forwarded_messages import forwards_claim
from tacit.designs.pdap.audit.published_policies import past_visit_claim


@pytest.fixture
def small(monkeypatch):
    """One published line, one that holds, one bug."""
    monkeypatch.setattr(published_policies, "CLAIMS", (past_visit_claim,))
    monkeypatch.setattr(plan, "SOUND", (forwards_claim,))
    monkeypatch.setattr(plan, "BUGS", plan.BUGS[2:3])


@pytest.mark.usefixtures("small")
def test_refuted_published_lines_are_a_success(capsys):
    """Rows have the keys of every audit; the published violation is listed as expected."""
    assert main(["audit", "pdap", "--samples", "1000", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    keys = {field.name for field in fields(AuditResult)}
    assert all(set(audit) == keys for audit in result["audits"])
    assert [audit["unit"] for audit in result["audits"]] == ["visit", "context"]
    assert result["refuted_as_expected"] == ["exp-dap, past visit, published"]
    assert [bug["caught"] for bug in result["planted"]] == [True]
    assert [twin["alarm"] for twin in result["clean"]] == [False]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("variant", "lines"), [("published", 1), ("sound", 1)])
def test_one_variant(capsys, variant, lines):
    """--variant leaves the other one out."""
    assert main(["audit", "pdap", "--variant", variant, "--samples", "1000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["audits"]) == lines
    assert bool(result["refuted_as_expected"]) == (variant == "published")


@pytest.mark.usefixtures("small")
def test_table_for_a_person(capsys):
    """The table says that the refutation was expected, and that a pass is no proof."""
    assert main(["audit", "pdap", "--samples", "1000"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "refuted as expected" in shown
    assert "is not a proof" in shown
    assert "--planted" in shown


def test_a_published_line_that_holds_is_a_failure(capsys, monkeypatch):
    """If the refutation fails the auditor is broken, and the command says so with exit code 1."""
    lines = (lambda: replace(forwards_claim(), published=True),)
    monkeypatch.setattr(published_policies, "CLAIMS", lines)
    assert main(["audit", "pdap", "--variant", "published", "--samples", "1000"]) == 1
    assert "messages, context:" in capsys.readouterr().out


def test_a_violated_claim_of_the_library_is_a_failure(capsys, monkeypatch):
    """A sound line must hold; the reason stands below the table."""
    monkeypatch.setattr(plan, "SOUND", (lambda: replace(forwards_claim(), epsilon=0.1),))
    assert main(["audit", "pdap", "--variant", "sound", "--samples", "1000"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "messages, context: violation" in shown
    assert "above the claim" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [(["--samples", "5"], "at least 1000"), (["--variant", "best"], "published, sound")],
)
def test_options_that_are_refused(capsys, options, words):
    """In one sentence, with exit code 2."""
    assert main(["audit", "pdap", *options]) == 2
    assert words in capsys.readouterr().err
