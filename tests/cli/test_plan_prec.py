"""`tacit plan prec`: the numbers, the sentence, the drawing, the refusals."""

from __future__ import annotations

import json

import pytest

from tacit.cli import app as cli

PLAN = ("plan", "prec", "--objects", 2, "--rounds", 1000, "--peers", 50, "--voters", 300)


@pytest.fixture
def tacit(capsys):
    """Run one command line in this process: exit code, standard output, standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


def test_machine_output(tacit):
    """One JSON object with the promised keys and the known exact numbers."""
    code, out, err = tacit(*PLAN, "--diversity", 0, "--radius", 0, "--epsilon", 1, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    for key in (
        "gamma",
        "lambda",
        "loss_bound",
        "loss_lower_bound",
        "epsilon_tight",
        "epsilon_paper",
        "epsilon_lower_bound",
    ):
        assert found[key] > 0
    assert found["epsilon_exact"] == pytest.approx({"promise": 0.525, "floor": 1.007}, abs=0.002)
    assert found["peers_needed"]["theorem"] == 498
    assert found["peers_needed"]["exact_floor"] == 51


def test_no_exact_number_comes_with_a_reason(tacit):
    """null, and why; no peers_needed where no epsilon was given."""
    _, out, _ = tacit(*PLAN, "--diversity", 3, "--json")
    found = json.loads(out)
    assert found["epsilon_exact"] is None
    assert "2 or 3 objects" in found["epsilon_exact_reason"]
    assert "peers_needed" not in found


def test_says_it_in_sentences(tacit):
    """What a gate limits, and what a promise would."""
    code, out, _ = tacit(*PLAN)
    said = " ".join(out.split())
    assert code == 0
    assert "to 1.007 nats, besides the gate's own epsilon and delta" in said
    assert "0.525 nats if 50 voters agree with the client throughout, which cannot be" in said


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--epsilon", 1), "a gate has to keep 51, exactly; the theorem asks for 498."),
        (("--epsilon", 0.001), "not even all 300 voters are enough."),
        (("--epsilon", 4, "--diversity", 1), "it is known to be enough that a gate keeps"),
    ],
)
def test_says_how_many_voters_it_takes(tacit, more, sentence):
    """For an epsilon: exactly, at most, or not at all."""
    code, out, _ = tacit(*PLAN, *more)
    assert code == 0
    assert sentence in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--objects", 2, "--rounds", 2, "--peers", 12, "--voters", 20), "at least 2.83"),
        (("--objects", 9, "--rounds", 3, "--peers", 60, "--voters", 90), "stay below 1"),
        (("--objects", 3, "--rounds", 99, "--peers", 17, "--voters", 90), "at least 6 peers for"),
        ((*PLAN[2:], "--diversity", 1001), "diversity counts rounds"),
        (("--objects", 2, "--rounds", 99, "--peers", 17, "--voters", 9), "peers is 17, voters 9"),
    ],
)
def test_refuses_with_a_reason(tacit, words, sentence):
    """Settings that the proofs do not carry end in one sentence and exit code 2."""
    code, out, err = tacit("plan", "prec", *words)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.split())
