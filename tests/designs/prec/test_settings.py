"""Settings: what makes no sense is refused with its reason, and epsilon is divided as promised."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tacit.designs.prec import PRecSettings
from tacit.designs.prec.gate import failure_chance
from tacit.designs.prec.planner import floor_epsilon
from tacit.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rounds": 2}, "2.83"),
        ({"rounds": 10, "radius": 9}, "2.83"),
        ({"rounds": 10, "objects": 10, "radius": 2}, "1.11"),
        ({"peers": 11}, "fewer than 12"),
        ({"peers": 501}, "peers is 501, voters 500"),
        ({"objects": 1}, "from 2"),
        ({"objects": 2.0}, "whole number"),
        ({"rounds": True}, "whole number"),
        ({"epsilon": 0}, "at least"),
        ({"epsilon": math.nan}, "number"),
        ({"epsilon": None}, "Give epsilon"),
        ({"epsilon": 10**400}, "epsilon is a number below 1e308"),
        ({"delta": 0}, "between 0 and 1"),
        ({"variant": "other"}, "'sound' or 'published'"),
        ({"variant": "published"}, "follows from the peers"),
        ({"diversity": 101}, "counts rounds"),
        ({"clients": 1, "clients_together": 2}, "cannot be for 2 clients"),
    ],
)
def test_refusals_name_the_reason(changes: dict[str, Any], reason: str) -> None:
    """One sentence says what is wrong and which bound it is about."""
    good: dict[str, Any] = {"rounds": 100, "objects": 2, "voters": 500, "epsilon": 2.0}
    with pytest.raises(ConfigError, match=reason):
        PRecSettings(**{**good, **changes})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"peers": 12, "epsilon": 0.5}, "the rounds alone cost"),
        ({"epsilon": 0.01}, "at most 300"),
        ({"peers": 300}, "at most 300"),
    ],
)
def test_plans_that_cannot_be_are_refused(changes: dict[str, Any], reason: str) -> None:
    """Before any vote is seen: no such gate exists, or it would never be open."""
    wanted = PRecSettings(**{"rounds": 100, "objects": 2, "voters": 300, "epsilon": 2.0} | changes)
    with pytest.raises(ConfigError, match=reason):
        _ = wanted.plan


@pytest.mark.parametrize(
    "wanted",
    [
        PRecSettings(100, 2, 300, epsilon=3.0),
        PRecSettings(100, 2, 300, epsilon=3.0, peers=40),
        PRecSettings(100, 2, 400, epsilon=6.0, clients_together=3, delta=1e-4),
        PRecSettings(100, 2, 4000, epsilon=9.0, diversity=1, radius=1),
        PRecSettings(100, 5, 4000, epsilon=9.0),
    ],
)
def test_parts_add_up_to_what_was_asked(wanted: PRecSettings) -> None:
    """Gate and floor together, for all clients priced together, stay within epsilon and delta."""
    plan, clients = wanted.plan, wanted.clients_together
    assert wanted.epsilon is not None
    assert clients * plan.epsilon <= wanted.epsilon
    assert clients * plan.epsilon > wanted.epsilon * (1 - 1e-9)
    assert clients * failure_chance(plan.gate_epsilon, plan.slack) <= wanted.delta
    assert plan.peers >= wanted.fewest_peers


def test_the_floor_is_the_exact_worst_case() -> None:
    """With one credit and few objects the floor's part is the dynamic program's number."""
    plan = PRecSettings(100, 2, 60, peers=12, delta=0.1).plan
    assert plan.rounds_epsilon == pytest.approx(2.623, abs=2e-3)
    assert (plan.basis, plan.gate_epsilon) == ("exact", plan.rounds_epsilon)


@pytest.mark.parametrize(("diversity", "floor"), [(1, 3.6862695880897585), (0, 3.38146701087121)])
def test_few_voters_with_credits_keep_their_division_of_epsilon(
    diversity: int, floor: float
) -> None:
    """Of version 0.1: a file opens only where the gates would be drawn for the same again."""
    given = {"diversity": diversity, "radius": 1 - diversity}
    plan = PRecSettings(100, 2, 40, peers=14, delta=0.01, **given).plan
    assert (plan.peers, plan.slack, plan.basis) == (14, 2, "exact")
    assert plan.rounds_epsilon == plan.gate_epsilon == pytest.approx(floor, rel=1e-12)


def test_credits_are_priced_for_what_the_gate_keeps() -> None:
    """The gate asks for credit // c >= P, which is the floor of `floor_epsilon`, at most
    18 m^2 c ln T' / P."""
    wanted = PRecSettings(100, 2, 4000, peers=1000, diversity=1, radius=1)
    floor, _ = floor_epsilon(objects=2, rounds=100, peers=1000, voters=4000, diversity=1, radius=1)
    assert wanted.plan.rounds_epsilon == floor <= 18 * 4 * 5 * math.log(50) / 1000


def test_more_voters_than_needed_are_not_asked_for() -> None:
    """The threshold that is found is close to the best of all numbers of peers."""
    found = PRecSettings(1000, 2, 600, epsilon=2.0).plan.threshold
    every = [
        PRecSettings(1000, 2, 600, epsilon=2.0, peers=peers).plan.threshold
        for peers in range(32, 90, 4)
    ]
    assert found <= 1.1 * min(every)


@pytest.mark.parametrize("epsilon", [2.0, math.inf])
def test_settings_survive_a_header(epsilon: float) -> None:
    """JSON values and back are the same settings."""
    wanted = PRecSettings(100, 2, 300, epsilon=epsilon, clients=4)
    assert PRecSettings.from_header(wanted.to_header()) == wanted
