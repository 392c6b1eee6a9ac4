"""`tacit plan prec`: the numbers, the sentence, the drawing, the refusals."""

from __future__ import annotations

import json
import re

import pytest

from tacit.cli import app as cli
from tacit.designs.prec.planner import plan_loss

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
    """What a gate limits, and what a promise would; both are rounded up."""
    code, out, _ = tacit(*PLAN)
    said = " ".join(out.split())
    assert code == 0
    _, as_json, _ = tacit(*PLAN, "--json")
    proven = json.loads(as_json)["epsilon_proven"]
    floor = re.search(r"to (\S+) nats, besides the gate's own epsilon and delta", said)
    promise = re.search(r"(\S+) nats if 50 voters agree with the client throughout, which", said)
    assert proven["floor"] <= float(floor[1]) <= proven["floor"] + 0.001
    assert proven["promise"] <= float(promise[1]) <= proven["promise"] + 0.0001


def test_a_small_epsilon_is_not_printed_as_none(tacit):
    """Millions of voters: neither a sentence nor the table says 0.000 nats of an upper bound."""
    sizes = ("--objects", 2, "--rounds", 1000, "--peers", 2_000_000, "--voters", 3_000_000)
    _, out, _ = tacit("plan", "prec", *sizes, "--loss", 20)
    said = " ".join(out.split())
    limits = re.findall(r"(?:to|is) (\S+) nats", said)
    assert len(limits) == 2
    assert all(0 < float(limit) < 1e-3 for limit in limits)
    assert "0.000 " not in said.split("disliked recommendations, promise kept")[0]
    assert "at epsilon 0 " not in said


def test_the_promise_needs_a_voter_beside_the_peers(tacit):
    """With as many peers as voters nobody would be hidden: the number is for one voter more."""
    sizes = ("--objects", 2, "--rounds", 1000, "--peers", 100)
    _, out, _ = tacit("plan", "prec", *sizes, "--voters", 100)
    assert "The second number is for 101 voters" in " ".join(out.split())
    promises = []
    for voters in (100, 101):
        _, as_json, _ = tacit("plan", "prec", *sizes, "--voters", voters, "--json")
        promises.append(json.loads(as_json)["epsilon_proven"]["promise"])
    assert promises[0] == promises[1]
    _, out, _ = tacit("plan", "prec", *sizes, "--voters", 101)
    assert "101 voters" not in " ".join(out.split())


def test_an_epsilon_for_a_loss_names_its_promise(tacit):
    """The smaller epsilon is that of the promise, and the sentence says that it is one."""
    _, out, _ = tacit(*PLAN, "--loss", 8)
    assert "It holds only if 50 voters agree with the client throughout" in " ".join(out.split())


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


def test_the_least_epsilon_for_a_loss(tacit):
    """epsilon and named bounds; every size reaches the planner."""
    _, out, _ = tacit(*PLAN, "--loss", 8, "--json")
    found = json.loads(out)
    assert found["epsilon"] == pytest.approx(0.525, abs=0.001)
    assert [bound["name"] for bound in found["bounds"]] == ["Lemma 8", "Theorem 15"]
    assert found["bounds"][0]["epsilon"] == pytest.approx(0.083, abs=0.001)
    assert json.loads(tacit(*PLAN, "--loss", 7, "--json")[1])["epsilon"] is None
    assert json.loads(tacit(*PLAN, "--loss", 500, "--json")[1])["epsilon"] == 0
    sizes = {"rounds": 4000, "voters": 500, "peers": 60, "diversity": 70, "radius": 30}
    words = [word for name, size in sizes.items() for word in (f"--{name}", size)]
    _, out, _ = tacit("plan", "prec", "--objects", 3, *words, "--loss", 3000, "--json")
    found = json.loads(out)
    own = plan_loss(3000, objects=3, **sizes)
    assert found["epsilon"] is None or found["epsilon"] == own.epsilon
    assert [bound["epsilon"] for bound in found["bounds"]] == [b.epsilon for b in own.bounds]
    assert (found["mode"], found["gap"], found["decides"]) == (own.mode, own.gap, own.decides)


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (8, "there is little trade-off"),
        (8, "No algorithm can go below 0.0827 (Lemma 8 decides), a factor of 6.35 less"),
        (3, "p-REC is proven to have at most 7.5 and has no setting that lowers it"),
        (0.5, "No algorithm, private or not, has only 0.5"),
        (600, "have no more disliked ones than this: epsilon is 0"),
    ],
)
def test_says_what_a_loss_costs(tacit, loss, sentence):
    """In words: the step, the bound that decides, the trade-off, and what cannot be had."""
    assert sentence in " ".join(tacit(*PLAN, "--loss", loss)[1].split())


def test_the_floor_can_be_asked_for(tacit):
    """--mode floor takes the epsilon under a gate; it needs a loss or a page."""
    _, out, _ = tacit(*PLAN, "--loss", 8, "--mode", "floor", "--json")
    found = json.loads(out)
    assert (found["mode"], found["epsilon"]) == ("floor", pytest.approx(1.007, abs=0.001))
    assert "own epsilon and delta are added to it" in " ".join(
        tacit(*PLAN, "--loss", 8, "--mode", "floor")[1].split()
    )
    for words, said in (
        (("--mode", "floor"), "add --loss"),
        (("--loss", 8, "--mode", "hope"), "promise or floor"),
        (("--loss", -1), "--loss"),
    ):
        code, _, err = tacit(*PLAN, *words)
        assert code == 2
        assert said in err


def test_the_curve_is_drawn(tacit, tmp_path):
    """A page with the plot, both transitions and the table of the same figures."""
    page = tmp_path / "curve.html"
    code, out, _ = tacit(*PLAN, "--report", page, "--json")
    assert code == 0
    curve = json.loads(out)["curve"]
    assert {point["epsilon"] for point in curve} == {None, curve[-10]["epsilon"], 0.0}
    text = page.read_text()
    assert "<svg" in text
    assert "little trade-off" in text
    assert all(f"{point['loss']:.4g}" in text for point in curve)


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
