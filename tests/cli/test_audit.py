"""`tacit audit`: the table, the JSON and the exit codes."""

import json

import pytest

from tacit.auditing import planted, shipped
from tacit.cli.app import main

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
}


def test_json_of_one_mechanism(capsys):
    """One mechanism at each epsilon, with the published fields and nothing else."""
    assert main(["audit", "bit-release", "--samples", "100000", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"audits"}
    assert [audit["epsilon"] for audit in result["audits"]] == [0.5, 1.0, 2.0, 4.0]
    for audit in result["audits"]:
        assert set(audit) == FIELDS
        assert audit["verdict"] == "no violation found"
        assert audit["lower_bound"] <= audit["epsilon"]


def test_table_for_a_person(capsys):
    """The table names claim and verdict, says that a pass is no proof, and what to type next."""
    assert main(["audit", "bit-release", "--samples", "100000"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("bit-release", "tight", "no violation found", "0.500"))
    assert "That is no proof." in shown
    assert "--planted" in shown


def test_planted_bugs_are_listed(capsys, monkeypatch):
    """With --planted every bug comes with its tool, and every twin with its alarm."""
    monkeypatch.setattr(planted, "BUGS", planted.BUGS[8:9])
    assert main(["audit", "bit-release", "--samples", "1000", "--planted", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (bug,), (twin,) = result["planted"], result["clean"]
    assert bug["bug"] == "bit probability off by one"
    assert (bug["caught"], bug["by"]) == (True, "exact")
    assert bug["lower_bound"] == pytest.approx(1.1196, abs=1e-4)
    assert twin == {"mechanism": "bit probability off by one, repaired", "alarm": False}


def test_violation_is_exit_code_1(capsys, monkeypatch):
    """A shipped mechanism that claims less than it spends makes the command fail."""
    subject = shipped.bit_release(2.0)
    wrong = shipped.Subject(**{**vars(subject), "epsilon": 1.0})
    monkeypatch.setattr(shipped, "BENCH", {"bit-release": (lambda: wrong,)})
    assert main(["audit", "mechanisms", "--samples", "10000"]) == 1
    assert "violations found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such"], "Choose mechanisms or one of: bit-release"),
        (["bit-release", "--samples", "5"], "at least 1000"),
    ],
)
def test_wrong_usage(capsys, words, said):
    """An unknown name and too few samples are refused in one sentence, with exit code 2."""
    assert main(["audit", *words]) == 2
    assert said in capsys.readouterr().err
