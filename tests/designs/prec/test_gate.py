"""The gate: its chance to fail, its one life, and that it goes on in another process."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.container import unpack
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.gate import failure_chance, is_open, make_gate, smallest_slack
from tacit.randomness import secure


def laplace(step: int, scale: float) -> float:
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(step)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("slack", [0, 3, 12])
def test_failure_is_the_sum_over_the_noise(epsilon: float, slack: int) -> None:
    """The closed form is the chance that two discrete draws of scale 2/epsilon are so far apart."""
    scale, far = 2 / epsilon, 400
    above = [sum(laplace(step, scale) for step in range(start, far)) for start in range(-far, far)]
    total = sum(
        laplace(drawn, scale) * above[min(2 * far - 1, slack + 2 + drawn + far)]
        for drawn in range(-far + slack + 2, far - slack - 2)
    )
    assert failure_chance(epsilon, slack) == pytest.approx(total, rel=1e-9)


@given(st.floats(0.05, 20), st.floats(1e-12, 0.4))
@settings(max_examples=50)
def test_slack_is_the_smallest(epsilon: float, delta: float) -> None:
    """One less would fail too often."""
    slack = smallest_slack(epsilon, delta)
    assert failure_chance(epsilon, slack) <= delta
    assert slack == 0 or failure_chance(epsilon, slack - 1) > delta


def test_discrete_slack_is_close_to_the_continuous_one() -> None:
    """For delta 1e-6: 305.6, 122.2 and 61.1 by the continuous formula."""
    found = [smallest_slack(epsilon, 1e-6) for epsilon in (0.1, 0.25, 0.5)]
    assert found == pytest.approx([305.6, 122.2, 61.1], abs=2)


PLAN = PRecSettings(100, 2, 300, peers=40, epsilon=3.0).plan


def test_both_noises_have_scale_two_over_epsilon() -> None:
    """On the threshold and on each count: survivors only rise with one voter more."""
    gate = PLAN.mechanism
    scales = gate.threshold_scale, gate.count_scale
    assert scales == pytest.approx((2 / PLAN.gate_epsilon, 2 / PLAN.gate_epsilon), rel=1e-12)


def test_it_stops_below_and_for_good() -> None:
    """Far above the threshold it is open, far below it shuts, and then counts do not matter."""
    gate, far = PLAN.mechanism.start(), 10**6
    asked = [gate.stops_at(count) for count in (far, far, -far, far)]
    assert asked == [False, False, True, True]


def test_without_noise_survivors_are_compared_with_peers_and_slack() -> None:
    """Open above peers + slack, shut at it, and then for good."""
    gate = make_gate(math.inf, peers=12, slack=3).start()
    assert [is_open(gate, survivors) for survivors in (16, 15, 16)] == [True, False, False]


def test_resumed_gates_keep_their_noise() -> None:
    """The threshold is not drawn again, and shut stays shut."""
    server = PRec(PRecSettings(100, 2, 300, peers=40, epsilon=3.0), randomness=secure())
    server.open_round([0, 1], {1: 0})
    server.recommend("ann")  # one voter is too few: the gate shuts
    state = server.to_bytes()
    again = PRec.from_bytes(state, settings=server.settings, randomness=secure())
    before, after = (unpack(each)[0]["clients"][0] for each in (state, again.to_bytes()))
    _name, _seat, threshold, _replayed, (_joined, _rows, stopped), _passed = before
    assert isinstance(threshold, int)
    assert stopped == 1, "it shut in the first round"
    assert after == before
