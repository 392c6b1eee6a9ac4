"""How the sound variant divides epsilon: a part for the gate, a part for what the gate lets pass.

The gate keeps at least P voters (or P times c credits) in play, but for delta. What the rounds
then cost is a number of P, T, m and n alone; the rest of epsilon is the gate's, and decides how far
above P its threshold lies. What is made small here is the threshold: the voters it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from tacit.accounting.rounding import sum_above
from tacit.designs.prec.client_session import failure, smallest_slack
from tacit.designs.prec.exact import floor_epsilon
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.theory import eps_tight
from tacit.errors import ConfigError
from tacit.mechanisms.grid import SMALLEST_EPSILON

_SAFE = 1 - 2**-40
"""Keeps a difference of floats below the exact one."""
_TURNS = 3
_MANY = 12
_STEP = 1.01
"""From one number of peers tried to the next: a threshold is at most so much above the best."""


class Wanted(Protocol):
    """The part of the settings that decides."""

    @property
    def law(self) -> OutputDistribution: ...
    @property
    def voters(self) -> int: ...
    @property
    def peers(self) -> int | None: ...
    @property
    def diversity(self) -> int: ...
    @property
    def fewest_peers(self) -> int: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def delta(self) -> float: ...
    @property
    def clients_together(self) -> int: ...


@dataclass(frozen=True)
class Plan:
    """What one client's run costs, and from what.

    peers: P, the floor; slack: by how much the gate's threshold lies above it. gate, floor: nats of
    the two parts. basis: "exact" where the floor's part is the exact worst case, else "bound".
    delta: what the gate's noise really fails with.
    """

    peers: int
    slack: int
    gate: float
    floor: float
    basis: str
    delta: float

    @property
    def threshold(self) -> int:
        """Of the gate: about so many voters have to be left."""
        return self.peers + self.slack

    @property
    def epsilon(self) -> float:
        """Nats, of one client's whole run."""
        return sum_above([self.gate, self.floor])


def plan_for_peers(wanted: Wanted, peers: int) -> Plan:
    """The plan at these peers: epsilon as given, or else as much for the gate as for the floor."""
    plan = _plan(wanted, peers)
    if plan is None:
        floor, _ = _floor(wanted, peers, wanted.voters)
        raise ConfigError(
            f"With {peers} peers the rounds alone cost epsilon {floor:.4g} for each client, of "
            f"{_each(wanted):.4g}. Take more peers, a larger epsilon, or leave peers out."
        )
    return _reachable(wanted, plan)


def plan_for_epsilon(wanted: Wanted) -> Plan:
    """The plan for epsilon and delta as given: with these peers, or the lowest threshold found."""
    if wanted.peers is not None:
        return plan_for_peers(wanted, wanted.peers)
    law, least = wanted.law, wanted.fewest_peers
    weight = least * eps_tight(law.objects, law.rounds, wanted.diversity, law.radius, least)
    peers = _best_peers(wanted, weight)
    for _ in range(_TURNS):  # the weight hardly depends on the peers, or on voters beyond many
        few = min(wanted.voters, _MANY * peers)
        peers = _best_peers(wanted, peers * _floor(wanted, peers, few)[0])
    while (plan := _plan(wanted, peers)) is None:
        peers += peers // 8 + 1
    return _reachable(wanted, plan)


def _plan(wanted: Wanted, peers: int) -> Plan | None:
    """None where the rounds alone cost too much."""
    floor, basis = _floor(wanted, peers, wanted.voters)
    gate = max(floor, SMALLEST_EPSILON)
    if wanted.epsilon is not None:
        each = _each(wanted)
        gate = (each - floor) * _SAFE - each * (1 - _SAFE)
        if gate < SMALLEST_EPSILON:
            return None
    slack = smallest_slack(gate, wanted.delta / wanted.clients_together * _SAFE)
    return Plan(peers, slack, gate, floor, basis, failure(gate, slack))


def _reachable(wanted: Wanted, plan: Plan) -> Plan:
    if plan.threshold > wanted.voters:
        raise ConfigError(
            f"The gate would be open from about {plan.threshold} voters on, and there are at most "
            f"{wanted.voters}: everything would be uniform. Take a larger epsilon or delta, fewer "
            "rounds or objects, or have more voters."
        )
    return plan


def _each(wanted: Wanted) -> float:
    """Nats for one client's run."""
    return (math.inf if wanted.epsilon is None else wanted.epsilon) / wanted.clients_together


def _best_peers(wanted: Wanted, weight: float) -> int:
    """Where P + slack is least, if the floor costs weight / P."""
    each, delta = _each(wanted), wanted.delta / wanted.clients_together
    least = max(wanted.fewest_peers, math.ceil(weight / each) + 1)
    best, peers = (math.inf, least), float(least)
    while peers < best[0]:
        whole = math.ceil(peers)
        gate = each - weight / whole
        if gate > SMALLEST_EPSILON:
            best = min(best, (whole + smallest_slack(gate, delta), whole))
        peers = max(peers + 1, peers * _STEP)
    return best[1]


def _floor(wanted: Wanted, peers: int, voters: int) -> tuple[float, str]:
    """Nats of all rounds that the gate lets pass, and whether that is exact or a bound."""
    return floor_epsilon(
        objects=wanted.law.objects,
        rounds=wanted.law.rounds,
        peers=peers,
        voters=max(voters, peers),
        diversity=wanted.diversity,
        radius=wanted.law.radius,
    )
