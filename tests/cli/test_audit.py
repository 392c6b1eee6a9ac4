"""`tacit audit`: the table, the JSON and the exit codes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit.auditing import planted_bugs, shipped_mechanisms
from tacit.auditing.empirical import ALPHA
from tacit.auditing.shipped_mechanisms import bit_release
from tacit.cli import audit as command
from tacit.cli.app import main
from tacit.cli.audit import list_audits, plan_audit

FIELDS = {
    "mechanism",
    "unit",
    "adjacency",
    "epsilon",
    "delta",
    "exact",
    "lower_bound",
    "samples",
    "alpha",
    "verdict",
    "pair",
    "pairs",
}


def test_json_of_one_mechanism(capsys):
    """One mechanism at each epsilon, with the published fields and the pairs."""
    assert main(["audit", "bit-release", "--samples", "100000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"audits", "refuted_as_expected", "false_alarm"}
    assert result["false_alarm"] == pytest.approx(4 * 1e-6)  # as few samples are never too few
    assert [audit["epsilon"] for audit in result["audits"]] == [0.5, 1.0, 2.0, 4.0]
    for audit in result["audits"]:
        assert set(audit) == FIELDS
        assert audit["verdict"] == "no violation found"
        assert audit["lower_bound"] <= audit["epsilon"]


def test_table_for_a_person(capsys):
    """The table names claim and verdict, says that a pass is no proof, and what to type next."""
    assert main(["audit", "bit-release", "--samples", "100000"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("bit-release", "claim", "no violation found", "0.500"))
    assert "That is no proof." in shown
    assert "--planted" in shown


@pytest.mark.parametrize("what", list_audits())
def test_correct_code_hardly_ever_fails(what):
    """Every line may fail twice in a million times, by a violation or by a weak audit, and so may
    each study's row and each repaired bug that is sampled: below 1 in 10,000 for the command."""
    plan = plan_audit(what)
    lines = [make() for makes in plan.claims.values() for make in makes]
    sampled = sum(bug.tool == "empirical" for bug in plan.bugs)
    rows = 10 * len(plan.studies)
    assert (2 * sum(not line.published for line in lines) + sampled + rows) * ALPHA < 1e-4


def test_planted_bugs_are_listed(capsys, monkeypatch):
    """With --planted every bug comes with its tool, and every twin with its alarm."""
    (off_by_one,) = (bug for bug in planted_bugs.BUGS if bug.name == "bit probability off by one")
    monkeypatch.setattr(planted_bugs, "BUGS", (off_by_one,))
    assert main(["audit", "bit-release", "--samples", "1000", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (bug,), (twin,) = result["planted"], result["clean"]
    assert bug["bug"] == "bit probability off by one"
    assert (bug["caught"], bug["by"], bug["rules"]) == (True, "exact", True)
    assert bug["lower_bound"] == pytest.approx(1.1196, abs=1e-4)
    assert twin == {"mechanism": "bit probability off by one, repaired", "alarm": False}


def test_violation_is_exit_code_1(capsys, monkeypatch):
    """A shipped mechanism that claims less than it spends makes the command fail."""
    wrong = replace(bit_release(2.0), epsilon=1.0)
    monkeypatch.setattr(shipped_mechanisms, "MECHANISMS", {"bit-release": (lambda: wrong,)})
    assert main(["audit", "mechanisms", "--samples", "10000"]) == 1
    assert "violations found" in capsys.readouterr().out


def test_everything_end_to_end(capsys):
    """The quick profile: all mechanisms on few samples, every bug caught, every twin quiet."""
    assert main(["audit", "mechanisms", "--planted", "--samples", "2000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {audit["mechanism"] for audit in result["audits"]} == set(shipped_mechanisms.MECHANISMS)
    assert all(audit["verdict"] != "violation" for audit in result["audits"])
    assert all(len(audit["pairs"]) >= 5 for audit in result["audits"])
    assert len(result["planted"]) == len(planted_bugs.BUGS) >= 20
    assert all(bug["caught"] for bug in result["planted"])
    assert not any(twin["alarm"] for twin in result["clean"])


def weak_bench(monkeypatch):
    """A bit release that claims 20 times what it spends, with the samples that it always gets."""
    subject = bit_release(0.5)
    pairs = tuple(replace(pair, sample_divisor=1_000) for pair in subject.pairs)
    weak = replace(subject, epsilon=10.0, pairs=pairs)
    monkeypatch.setattr(shipped_mechanisms, "MECHANISMS", {"bit-release": (lambda: weak,)})


def test_weak_audit_is_exit_code_1(capsys, monkeypatch):
    """With the default samples a weak audit is a failure, and the output says so."""
    weak_bench(monkeypatch)
    assert main(["audit", "mechanisms"]) == 1
    assert "1 weak: the audit showed less than it should have." in capsys.readouterr().out


def test_weak_audit_of_few_samples_is_no_failure(capsys, monkeypatch):
    """Somebody who asked for fewer samples gets the verdict, the reason and exit code 0."""
    weak_bench(monkeypatch)
    assert main(["audit", "mechanisms", "--samples", "999999"]) == 0
    assert "1 weak: fewer --samples than by default" in capsys.readouterr().out


def test_differences_are_named(capsys, monkeypatch):
    """What the grey-box audit saw stands under the table."""
    subject = bit_release(1.0)

    def telling(data, source):
        if np.asarray(data).ravel()[0]:
            source.words(1)
        return subject.pairs[0].call(data, source)

    wrong = replace(subject, pairs=(replace(subject.pairs[0], call=telling),))
    monkeypatch.setattr(shipped_mechanisms, "MECHANISMS", {"bit-release": (lambda: wrong,)})
    assert main(["audit", "mechanisms", "--samples", "1000"]) == 1
    assert "bit-release, one bit: the draws: 1 words, 1 words against" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["no-such"],
            "Choose mechanisms or one of: private, standard-scheme, xmap",
        ),
        (["bit-release", "--samples", "5"], "at least 1000"),
    ],
)
def test_wrong_usage(capsys, words, said):
    """An unknown name and too few samples are refused in one sentence, with exit code 2."""
    assert main(["audit", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def only_bits(monkeypatch):
    """One mechanism, and no other audit."""
    monkeypatch.setattr(command, "list_audits", lambda: (command.ALL_MECHANISMS,))
    monkeypatch.setattr(
        shipped_mechanisms, "MECHANISMS", {"bit-release": (lambda: bit_release(1.0),)}
    )


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_all_says_how_long_it_took(capsys, only_bits, options):
    """Every audit in turn, its seconds, and the seconds in all; JSON is one object."""
    assert main(["audit", "--all", *options]) == 0
    shown = capsys.readouterr().out
    if options:
        result = json.loads(shown)
        assert result["failed"] == []
        assert result["audits"]["mechanisms"]["seconds"] > 0
    else:
        assert "seconds in all" in shown


def test_all_fails_where_one_does(capsys, monkeypatch, only_bits):
    """The one that failed is named."""
    wrong = replace(bit_release(2.0), epsilon=1.0)
    monkeypatch.setattr(shipped_mechanisms, "MECHANISMS", {"bit-release": (lambda: wrong,)})
    assert main(["audit", "--all", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["failed"] == ["mechanisms"]


@pytest.mark.parametrize("arguments", [[], ["--all", "mechanisms"]])
def test_nothing_or_too_much_to_audit(capsys, arguments):
    """Both are usage errors."""
    assert main(["audit", *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err
