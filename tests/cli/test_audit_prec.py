"""`tacit audit prec`: what it shows, what counts as expected, and the exit codes."""

import json
from dataclasses import fields, replace
from functools import cache

import pytest

from tacit.auditing.claims import AuditResult
from tacit.cli.app import main
from tacit.designs.prec.audit import audits as bench
from tacit.designs.prec.audit import exact_checks
from tacit.designs.prec.audit.audits import published_claim
from tacit.designs.prec.audit.exact_checks import CheckResult, check_changing_voters


@pytest.fixture(scope="module")
def sampled_claim():
    """The published line, whose views are sampled once for all tests: it takes a second or two."""
    claim = published_claim()
    (check,) = claim.checks
    return replace(claim, checks=(cache(check),))


@pytest.fixture
def small(monkeypatch, sampled_claim):
    """The published line, one check, one bug."""
    monkeypatch.setattr(bench, "CLAIMS", {"published": (lambda: sampled_claim,), "sound": ()})
    monkeypatch.setattr(exact_checks, "checks", lambda **_: (check_changing_voters,))
    monkeypatch.setattr(bench, "BUGS", bench.BUGS[5:6])


@pytest.mark.usefixtures("small")
def test_json(capsys):
    """Rows have the keys of every audit; the published violation is listed as expected."""
    assert main(["audit", "prec", "--samples", "1000", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert all(
        set(row) == {field.name for field in fields(AuditResult)} for row in result["audits"]
    )
    assert result["refuted_as_expected"] == ["p-rec-published"]
    assert {row["verdict"] for row in result["computed"]} == {"held"}
    assert [bug["caught"] for bug in result["planted"]] == [True]
    assert [twin["alarm"] for twin in result["clean"]] == [False]


@pytest.mark.usefixtures("small")
def test_table_for_a_person(capsys):
    """The refutation was expected, and the words are there."""
    assert main(["audit", "prec", "--samples", "1000"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "refuted as expected" in shown
    assert "newcomers: rounds" in shown
    assert main(["audit", "prec", "--samples", "1000", "--variant", "published"]) == 0
    assert "newcomers" not in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_a_published_line_that_holds_is_a_failure(capsys, monkeypatch, sampled_claim):
    """If the refutation fails the auditor is broken."""
    lines = {"published": (lambda: replace(sampled_claim, epsilon=100.0),), "sound": ()}
    monkeypatch.setattr(bench, "CLAIMS", lines)
    assert main(["audit", "prec", "--samples", "1000"]) == 1
    assert "p-rec-published: weak audit" in capsys.readouterr().out


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("largest", "words"), [(2.0, "a check: violation"), (0.1, "a check: blind")]
)
def test_a_computed_violation_is_a_failure(capsys, monkeypatch, largest, words):
    """Above what is allowed, or below what has to be seen: exit code 1, and it is named."""
    found = [CheckResult("a check", 1, largest, 1.0, 0.5)]
    monkeypatch.setattr(exact_checks, "checks", lambda **_: (lambda _: found,))
    assert main(["audit", "prec", "--samples", "1000"]) == 1
    assert words in capsys.readouterr().out


@pytest.mark.usefixtures("small")
def test_a_missed_bug_is_a_failure(capsys, monkeypatch):
    """A check that sees nothing misses the bug."""
    blind = replace(bench.BUGS[0], check=lambda _: [])
    monkeypatch.setattr(bench, "BUGS", (blind,))
    assert main(["audit", "prec", "--samples", "1000", "--planted"]) == 1
    assert "missed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "prec", "--samples", "5"], "at least 1000"),
        (["audit", "prec", "--variant", "both"], "published, sound"),
        (["audit", "xmap", "--variant", "sound"], "has no variants to choose from"),
    ],
)
def test_refusals(capsys, words, said):
    """In one sentence, with exit code 2."""
    assert main(words) == 2
    assert said in " ".join(capsys.readouterr().err.split())
