"""What is computed of the shipped p-REC and not sampled: transcripts, all views, worst streams.

Every check takes the class to look at, so that a faulty one can be put in its place. Further down:
the patterns of votes, the law of a round as printed, and the game against it, which share nothing
with the core. Source: Gilbert, Liu, Yu: On differentially private online collaborative
recommendation systems (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from tacit.auditing.claims import exceeds
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.walk import (
    ABSTAINS,
    Pair,
    Pattern,
    Places,
    beyond,
    followed,
    pattern,
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


def settings_for(gate: float, *, rounds: int = 6) -> PRecSettings:
    """Two objects, 12 peers, and so many nats for the gate beyond what the rounds cost."""
    floor, _ = floor_epsilon(objects=2, rounds=rounds, peers=PEERS, voters=80)
    return PRecSettings(rounds, 2, 80, peers=PEERS, epsilon=gate + floor, delta=5e-3)


def worst_streams(kind: type[PRec]) -> list[Computed]:
    """The votes and answers that tell the most, found by a game of its own, and replayed."""
    floor, _ = floor_epsilon(objects=2, rounds=100, peers=PEERS, voters=60)
    wanted, reached = PRecSettings(100, 2, 60, peers=PEERS, epsilon=floor + 2.0), 0.0
    for side in (1, -1):
        value, plays = game(100, PEERS, 60, side)
        votes = staged(plays, 60)
        leak = walked_pair(kind, wanted, votes, [(0,) * votes.rounds]).rounds
        reached = max(reached, leak if exceeds(value, leak) else min(leak, value))
    name = f"worst, T=100 P={PEERS} n=60: rounds"
    return [Computed(name, 2, reached, floor, floor * (1 - _TOLERANCE))]


def hostile_views(kind: type[PRec], gate: float = 3.0, instances: int = 60) -> list[Computed]:
    """All views of 6 rounds, among them when the gate shut, of clients with few peers or none."""
    wanted = settings_for(gate)
    plan, name = wanted.plan, f"hostile, gate {gate:g}"
    pairs = [walked_pair(kind, wanted, votes) for votes in hostile_set(wanted, instances)]
    delta = max(beyond(*pair.views(), plan.epsilon) for pair in pairs)
    return [
        Computed(f"{name}: delta in all", instances, delta, plan.delta),
        Computed(f"{name}: gate", instances, max(pair.gate for pair in pairs), plan.gate),
        Computed(f"{name}: rounds", instances, max(pair.rounds for pair in pairs), plan.floor),
        Computed(f"{name}: below P", instances, max(pair.unguarded for pair in pairs), plan.delta),
    ]


def views_without_gate(_: type[PRec]) -> list[Computed]:
    """The same without a gate, which they would break: the instances are hostile indeed."""
    wanted, bare = settings_for(3.0), PRecSettings(6, 2, 80, PEERS, variant="published")
    delta = max(
        beyond(*walked_pair(PRec, bare, votes, peers=PEERS).views(), wanted.plan.epsilon)
        for votes in hostile_set(wanted, 12)
    )
    return [Computed("hostile, no gate: delta", 12, delta, 1.0, 10 * wanted.plan.delta)]


def changing_voters(kind: type[PRec]) -> list[Computed]:
    """Voters who come in the place of those who are used up, and voters who rarely vote."""
    computed = []
    for name, votes in (("newcomers", refilled(12)), ("abstainers", rarely_voting(12))):
        wanted = PRecSettings(12, 2, votes.votes.shape[1], PEERS, delta=1e-3)
        leak = walked_pair(kind, wanted, votes, [(0,) * 12]).rounds
        computed.append(Computed(f"{name}: rounds", 1, leak, wanted.plan.floor, 0.1))
    return computed


def colluding_clients(kind: type[PRec]) -> list[Computed]:
    """Two clients of three rounds: twice the card's epsilon and delta hold, once does not."""
    wanted, most = settings_for(0.5, rounds=3), 0.0
    for votes in hostile_set(wanted, 8, rounds=3):
        sides = walked_pair(kind, wanted, votes).views()
        both: list[dict[Hashable, float]] = [  # each draws for themselves
            {(a, b): p * q for a, p in side.items() for b, q in side.items()} for side in sides
        ]
        most = max(most, beyond(both[0], both[1], 2 * wanted.plan.epsilon))
    value, plays = game(100, PEERS, 60, 1)
    votes = staged(plays, 60)
    long = PRecSettings(100, 2, 60, peers=PEERS, epsilon=value + 3.0, delta=1e-3)
    pair, leak = walked_pair(kind, long, votes, [(0,) * votes.rounds] * 2), 0.0
    for one, other in pair.walks:
        gates = math.log(one.answers[-1] / other.answers[-1])  # neither ever shuts
        leak += gates + Pair([(one, other)], pair.peers).rounds
    card = long.plan.epsilon
    return [
        Computed("two clients: delta in all", 8, most, 2 * wanted.plan.delta),
        Computed("two clients: one transcript", 1, leak, 2 * card, card),
    ]


def hostile_set(wanted: PRecSettings, instances: int, rounds: int = 6) -> list[Pattern]:
    """A third of them about as many voters as the gate asks for, the others few."""
    rng = np.random.default_rng(17)
    near = [min(wanted.voters - 1, max(0, wanted.plan.threshold + by)) for by in range(-3, 4)]
    made = []
    for at in range(instances):
        others = near[at // 3 % len(near)] if at % 3 == 0 else at % 30
        made.append(dropped(others, rounds) if at % 6 == 3 else hostile(rng, others, rounds))
    return made


def checks(*, short: bool = False) -> tuple[Check, ...]:
    """Of the sound variant. short: fewer hostile clients."""
    return (
        worst_streams,
        partial(hostile_views, instances=12 if short else 60),
        partial(hostile_views, gate=0.3, instances=12),
        views_without_gate,
        changing_voters,
        colluding_clients,
    )


def hostile(rng: np.random.Generator, others: int, rounds: int) -> Pattern:
    """One of many: two objects, others who agree with them more or less, and hardly twice alike.

    The client follows them, or drops them in a round of their choice and what others vote for
    after.
    """
    own = rng.integers(0, 2, rounds)
    agreeing = rng.choice([0.0, 0.3, 0.5, 0.8, 1.0], (rounds, 1))
    votes = np.where(rng.random((rounds, others)) < agreeing, own[:, None], 1 - own[:, None])
    drop = int(rng.integers(0, 2 * rounds))
    answers = np.eye(2, dtype=np.int64)[own]
    answers[drop:] = 1 - answers[drop:]
    return pattern(np.column_stack([votes, own]), answers)


def refilled(rounds: int) -> Pattern:
    """In halves in every round; one half is disliked, and as many others come in its place."""
    others = np.arange(12 * (rounds + 1))
    comes = np.maximum(1, others // 12)
    return _split(np.tile(others < 12, (rounds, 1)) * 1, comes)


def rarely_voting(rounds: int) -> Pattern:
    """In each round twelve others vote, in halves, and nearly all abstain."""
    others = np.arange(240)
    silent = others // 12 != np.arange(rounds)[:, None]
    return _split(np.where(silent, ABSTAINS, others % 2), np.ones_like(others))


def _split(votes: Places, comes: Places) -> Pattern:
    """They vote for the second object in every round, and are followed."""
    made = followed(np.column_stack([votes, np.ones(len(votes), dtype=np.int64)]))
    return replace(made, comes=np.append(comes, 1))


def dropped(others: int, rounds: int) -> Pattern:
    """All others vote for the first object, which is liked; they do not in the first round."""
    votes = np.zeros((rounds, others + 1), dtype=np.int64)
    votes[0, -1] = 1
    return pattern(votes, np.tile([1, 0], (rounds, 1)))


def chances(weights: list[int], objects: int, rounds: int) -> list[float]:
    """(m,) of each object as printed, R = 0; weights: of those who vote for it, added up."""
    gamma = Fraction(objects, 3 * rounds - 1)
    steep, cut = 2 * objects * math.log(rounds), Fraction(1, 2 * objects)
    total = sum(weights)
    if total == 0:
        return [1 / objects] * objects
    shares = [Fraction(weight, total) for weight in weights]
    phi = [math.exp(steep * max(x, cut)) - math.exp(steep * cut) for x in shares]
    return [float(gamma) / objects + float(1 - gamma) * one / sum(phi) for one in phi]


@dataclass(frozen=True)
class Play:
    """A round of the game: `agreeing` others vote for the output, None where one of them leaves
    instead. It is liked if `own`: if the hidden voter voted for it, too.
    """

    agreeing: int | None
    own: bool


def game(rounds: int, peers: int, voters: int, side: int) -> tuple[float, list[Play]]:
    """The most that two objects tell, and the plays that tell it; side: 1 with them, -1 without.

    Any votes and answers, as long as `peers` are left and they among them; as many rounds as one
    likes, of which there are fewer than T.
    """
    value = [0.0] * voters
    best: dict[int, tuple[Play, int]] = {}  # by number of others: the play, and who is left then
    for others in range(peers - 1, voters):
        value[others], best[others] = value[others - 1], (Play(None, True), others - 1)
        without = [chances([k, others - k], 2, rounds)[0] for k in range(others + 1)]
        beside = [chances([k, others + 1 - k], 2, rounds)[0] for k in range(others + 2)]
        for agreeing, own in product(range(others + 1), (True, False)):
            leak = side * math.log(beside[agreeing + own] / without[agreeing])
            left = agreeing if own else others - agreeing  # if the answer spares them
            later = value[left] if peers - 1 <= left < others else 0.0
            if leak + later > value[others] + 1e-15:
                value[others], best[others] = leak + later, (Play(agreeing, own), left)
    plays, others = [], voters - 1
    while others in best:
        play, others = best[others]
        plays.append(play)
    return value[-1], plays


def staged(plays: list[Play], voters: int) -> Pattern:
    """The game as a pattern in which object 0 is given in every round."""
    staying = list(range(voters - 1))
    leaves = np.full(voters, len(plays) + 1)
    votes: list[Places] = []
    answers: list[list[int]] = []
    for play in plays:
        if play.agreeing is None:
            leaves[staying.pop()] = len(votes) + 1
            continue
        row = np.ones(voters, dtype=np.int64)
        row[staying[: play.agreeing]] = 0
        row[-1] = 0 if play.own else 1
        votes.append(row)
        answers.append([int(play.own), int(not play.own)])
        staying = [voter for voter in staying if (row[voter] == 0) == play.own]
    made = pattern(np.array(votes), np.array(answers))
    here = leaves > 1  # who leaves before the first round was never there
    return Pattern(made.votes[:, here], made.answers, made.comes[here], leaves[here])
