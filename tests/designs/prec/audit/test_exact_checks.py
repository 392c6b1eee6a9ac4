"""p-REC's audit by computation: walks, the literal algorithm, worst streams, whole views."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

from tacit.auditing.exact_losses import gate_distribution
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.exact_checks import (
    PEERS,
    CheckResult,
    chances,
    check_changing_voters,
    check_colluding_clients,
    check_hostile_views,
    check_views_without_gate,
    check_worst_patterns,
    make_hostile_patterns,
    settings_for,
    solve_game,
    stage_game,
)
from tacit.designs.prec.audit.walk import (
    follow_last_voter,
    least_delta,
    least_epsilon,
    views,
    walk_pair,
    walk_paths,
)
from tests.support.seen import require_any


@pytest.mark.parametrize(
    "check",
    [
        check_worst_patterns,
        partial(check_hostile_views, instances=4),
        partial(check_hostile_views, gate_epsilon=0.3, instances=4),
        check_views_without_gate,
        check_changing_voters,
        check_colluding_clients,
    ],
)
def test_the_shipped_curator_holds(check):
    """Nothing is above what is allowed, and no check is blind."""
    for found in require_any(check(PRec)):
        assert found.verdict == "held", found


def test_verdicts():
    """Above the allowed is a violation; below what has to be seen, blind."""
    assert CheckResult("c", 1, 2.0, 1.0).verdict == "violation"
    assert CheckResult("c", 1, 0.1, 1.0, 0.5).verdict == "blind"
    assert CheckResult("c", 1, 0.7, 1.0, 0.5).verdict == "held"


@pytest.mark.parametrize(("side", "known"), [(1, 1.0072), (-1, 0.9755)])
@pytest.mark.long
def test_the_worst_stream_of_a_thousand_rounds(side, known):
    """P = 50 and n = 300: the game's value is reached by the shipped curator to the last digits."""
    value, plays = solve_game(1000, 50, 300, side)
    votes = stage_game(plays, 300)
    wanted = PRecSettings(1000, 2, 300, peers=50, epsilon=2.0)
    assert value == pytest.approx(known, abs=1e-4)
    told = walk_pair(PRec, wanted, votes, [(0,) * votes.rounds]).loss_of_rounds
    assert told == pytest.approx(value, abs=1e-9)
    assert told <= wanted.plan.rounds_epsilon


def test_gates_are_read_as_the_mechanisms_are():
    """The law of the stop, from the scales heard, is that of AboveThreshold in closed form."""
    wanted = settings_for(3.0)
    votes = follow_last_voter(np.zeros((6, wanted.plan.threshold), dtype=np.int64))
    walk = walk_paths(PRec, wanted, votes, [(0,) * 6])[0]
    *shut, never = walk.answer_chances
    scale = 2 / wanted.plan.gate_epsilon
    counts = [-wanted.plan.threshold] * 6
    known = gate_distribution(counts, -wanted.plan.threshold, scale, scale)
    assert [*shut, never] == pytest.approx([known[place] for place in range(7)], abs=1e-12)


def test_views_are_whole():
    """127 views of six rounds of two objects, of chance 1 together."""
    wanted = settings_for(3.0)
    votes = make_hostile_patterns(wanted, 1)[0]
    found = views(walk_paths(PRec, wanted, votes, list(product((0, 1), repeat=6))))
    assert len(found) == 127
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)


def test_the_counterexample():
    """T = 20, P = 100: 13.52 if all recommendations are her votes, 67.69 if none is."""
    wanted = PRecSettings(20, 2, 200, peers=100, variant="published")
    votes = follow_last_voter(np.array([[at % 2] for at in range(20)]))
    never = tuple(1 - place for place in votes.hidden_votes)
    told = [
        walk_pair(PRec, wanted, votes, [path], peers=0).loss_of_rounds
        for path in (votes.hidden_votes, never)
    ]
    assert told == pytest.approx([13.52, 67.69], abs=0.005)


def test_losses_by_hand():
    """Two coins: 3/4 against 1/2 lose ln 2 on tails, and less once delta takes some of it."""
    fair, biased = {"h": 0.5, "t": 0.5}, {"h": 0.75, "t": 0.25}
    assert least_epsilon(fair, biased, 0.0) == pytest.approx(math.log(2))
    assert least_delta(fair, biased, math.log(1.5)) == pytest.approx(0.125)
    assert least_epsilon(fair, biased, 0.125) == pytest.approx(math.log(1.5))
    assert least_epsilon(fair, {"h": 1.0}, 0.1) == math.inf


def test_the_literal_algorithm_by_hand():
    """Two of three votes, m = 2, T = 9: shares 2/3 and 1/3, lambda 4 ln 9, gamma 2/26."""
    first, second = (9 ** (4 * share) - 9 for share in (2 / 3, 1 / 3))
    expected = 1 / 26 + 12 / 13 * first / (first + second)
    assert chances([2, 1], 2, 9)[0] == pytest.approx(expected)
    assert chances([3, 1], 2, 9)[1] == pytest.approx(1 / 26)  # 1/4 is at rho
    assert chances([0, 0], 2, 9) == [0.5, 0.5]


def test_peers_are_the_fewest():
    """The instances stand where the settings allow no fewer voters."""
    assert settings_for(1.0).fewest_peers == PEERS
