"""What is computed of the shipped p-REC and not sampled: transcripts, all views, worst streams.

Every check takes the class to look at, so that a faulty one can be put in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.auditing.claims import exceeds
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.patterns import (
    Pattern,
    dropped,
    game,
    hostile,
    rarely_voting,
    refilled,
    staged,
)
from tacit.designs.prec.audit.walk import (
    beyond,
    walked_pair,
)
from tacit.designs.prec.planner import floor_epsilon

PEERS = 12
"""The fewest that two objects allow."""
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Computed:
    """instances: pairs of neighbours. largest: of what was computed; allowed: what the proof or the
    card allows; at_least: what it has to reach, or the check was blind."""

    check: str
    instances: int
    largest: float
    allowed: float
    at_least: float = 0.0

    @property
    def verdict(self) -> str:
        if exceeds(self.allowed, self.largest):
            return "violation"
        return "blind" if self.largest < self.at_least else "held"


Check = Callable[[type[PRec]], list[Computed]]


def settings_for(gate: float) -> PRecSettings:
    """Two objects, 12 peers, and so many nats for the gate beyond what the rounds cost."""
    floor, _ = floor_epsilon(objects=2, rounds=6, peers=PEERS, voters=80)
    return PRecSettings(6, 2, 80, peers=PEERS, epsilon=gate + floor, delta=5e-3)


def worst_streams(kind: type[PRec], rounds: int = 100, peers: int = PEERS) -> list[Computed]:
    """The votes and answers that tell the most, found by a game of its own, and replayed."""
    voters = 5 * peers
    floor, _ = floor_epsilon(objects=2, rounds=rounds, peers=peers, voters=voters)
    wanted = PRecSettings(rounds, 2, voters, peers=peers, epsilon=floor + 2.0)
    reached = 0.0
    for side in (1, -1):
        value, plays = game(rounds, peers, voters, side)
        votes = staged(plays, voters)
        leak = walked_pair(kind, wanted, votes, [(0,) * votes.rounds]).rounds
        reached = max(reached, leak if exceeds(value, leak) else min(leak, value))
    name = f"worst, T={rounds} P={peers} n={voters}: rounds"
    return [Computed(name, 2, reached, floor, floor * (1 - _TOLERANCE))]


def hostile_views(kind: type[PRec], gate: float = 3.0, instances: int = 60) -> list[Computed]:
    """All views of 6 rounds, among them when the gate shut, of clients with few peers or none."""
    wanted = settings_for(gate)
    plan, name = wanted.plan, f"hostile, gate {gate:g}"
    found = [walked_pair(kind, wanted, votes) for votes in hostile_set(wanted, instances)]
    delta = max(beyond(*pair.views(), plan.epsilon) for pair in found)
    return [
        Computed(f"{name}: delta in all", instances, delta, plan.delta),
        Computed(f"{name}: gate", instances, max(one.gate for one in found), plan.gate),
        Computed(f"{name}: rounds", instances, max(one.rounds for one in found), plan.floor),
        Computed(f"{name}: below P", instances, max(one.unguarded for one in found), plan.delta),
    ]


def views_without_gate(_: type[PRec]) -> list[Computed]:
    """The same without a gate, which they would break: the instances are hostile indeed."""
    wanted, bare = settings_for(3.0), PRecSettings(6, 2, 80, PEERS, variant="published")
    delta = max(
        beyond(*walked_pair(PRec, bare, votes, peers=PEERS).views(), wanted.plan.epsilon)
        for votes in hostile_set(wanted, 12)
    )
    return [Computed("hostile, no gate: delta", 12, delta, 1.0, 10 * wanted.plan.delta)]


def changing_voters(kind: type[PRec], rounds: int = 12) -> list[Computed]:
    """Voters who come in the place of those who are used up, and voters who rarely vote."""
    found = []
    for name, votes in (("newcomers", refilled(rounds)), ("abstainers", rarely_voting(rounds))):
        wanted = PRecSettings(rounds, 2, votes.votes.shape[1], PEERS, delta=1e-3)
        leak = walked_pair(kind, wanted, votes, [(0,) * rounds]).rounds
        found.append(Computed(f"{name}: rounds", 1, leak, wanted.plan.floor, 0.1))
    return found


def hostile_set(wanted: PRecSettings, instances: int) -> list[Pattern]:
    """A third of them about as many voters as the gate asks for, the others few."""
    rng = np.random.default_rng(17)
    near = [min(wanted.voters - 1, max(0, wanted.plan.threshold + by)) for by in range(-3, 4)]
    made = []
    for at in range(instances):
        others = near[at // 3 % len(near)] if at % 3 == 0 else at % 30
        made.append(dropped(others, 6) if at % 6 == 3 else hostile(rng, others, 6))
    return made


def checks(*, short: bool = False) -> tuple[Check, ...]:
    """Of the sound variant. short: fewer hostile clients."""
    return (
        worst_streams,
        partial(hostile_views, instances=12 if short else 60),
        partial(hostile_views, gate=0.3, instances=12),
        views_without_gate,
        changing_voters,
    )
