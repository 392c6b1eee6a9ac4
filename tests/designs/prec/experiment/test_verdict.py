"""The sentence about a simulation follows from its figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.designs.prec.experiment import Point, Setting, play
from tacit.designs.prec.experiment.methods import Budget
from tacit.designs.prec.experiment.report import verdict
from tacit.designs.prec.experiment.worlds import Game
from tacit.evaluation import Interval

ROW = play(Setting("planted", Game(10, 2, 40, 20), Budget(1.0, 1e-6)), "uniform", 0)


def point(method: str, low: float, high: float, *, stopped: float = 0.0, **changed) -> Point:
    row = replace(ROW, method=method, loss_bound=6.0, **changed)
    loss = Interval((low + high) / 2, low, high)
    return Point(row, loss, loss, stopped)


@pytest.mark.parametrize(
    ("ours", "other", "state"),
    [((0, 2), (3, 5), "hidden"), ((1, 4), (3, 5), "weakened"), ((6, 8), (3, 5), "worse")],
)
def test_intervals_decide_who_errs_less(ours, other, state):
    """Apart, or not told apart."""
    assert verdict([point("p-rec", *ours), point("exponential", *other)]).state == state


def test_a_gate_that_shut_is_said_first():
    """Whatever the figures: most runs were uniform."""
    found = verdict([point("p-rec", 0, 1, stopped=0.6, threshold=33), point("exponential", 3, 5)])
    assert found.state == "worse"
    assert "33 survivors" in found.sentence


def test_the_bound_is_compared_with_the_mean():
    """Within or above."""
    assert "within the bound" in verdict([point("p-rec", 5, 6)]).sentence
    assert "above the bound" in verdict([point("p-rec", 6, 7)]).sentence


def test_in_the_victim_s_world_a_small_loss_is_a_breach():
    """There the client dislikes what is not her victim's vote."""
    read, kept = (point("p-rec", low, low, world="victim") for low in (1, 5))
    assert verdict([read]).state == "open"
    assert verdict([kept]).state == "hidden"


def test_without_a_gate_nothing_is_judged():
    """The page is about what can be promised."""
    assert verdict([point("p-rec-no-gate", 0, 1)]).state == "none"
