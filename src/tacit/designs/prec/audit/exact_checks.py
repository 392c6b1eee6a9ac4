"""Checks that compute the shipped p-REC and sample nothing: transcripts, all views, worst streams.

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
    Views,
    follow_last_voter,
    least_delta,
    make_pattern,
    walk_pair,
)
from tacit.designs.prec.planner import floor_epsilon

PEERS = 12
"""The fewest that two objects allow."""
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class CheckResult:
    """Result of one check on several pairs of neighbours."""

    check: str
    """Name of the check."""
    instances: int
    """Pairs of neighbours."""
    largest: float
    """Largest loss or delta that was computed."""
    allowed: float
    """What the proof or the card allows."""
    at_least: float = 0.0
    """What it has to reach, or the check was blind."""

    @property
    def verdict(self) -> str:
        """`held`, `violation` or `blind`."""
        if exceeds(self.allowed, self.largest):
            return "violation"
        return "blind" if self.largest < self.at_least else "held"


Check = Callable[[type[PRec]], list[CheckResult]]


def settings_for(gate: float, *, rounds: int = 6) -> PRecSettings:
    """Make settings: two objects, 12 peers, so many nats for the gate beyond what rounds cost."""
    floor, _ = floor_epsilon(objects=2, rounds=rounds, peers=PEERS, voters=80)
    return PRecSettings(rounds, 2, 80, peers=PEERS, epsilon=gate + floor, delta=5e-3)


def worst_streams(kind: type[PRec]) -> list[CheckResult]:
    """Replay the votes and answers that tell the most, which a game of its own finds."""
    floor, _ = floor_epsilon(objects=2, rounds=100, peers=PEERS, voters=60)
    settings = PRecSettings(100, 2, 60, peers=PEERS, epsilon=floor + 2.0)
    reached = 0.0
    for side in (1, -1):
        value, plays = solve_game(100, PEERS, 60, side)
        votes = stage_game(plays, 60)
        loss = walk_pair(kind, settings, votes, [(0,) * votes.rounds]).loss_of_rounds
        reached = max(reached, loss if exceeds(value, loss) else min(loss, value))
    name = f"worst, T=100 P={PEERS} n=60: rounds"
    return [CheckResult(name, 2, reached, floor, floor * (1 - _TOLERANCE))]


def hostile_views(kind: type[PRec], gate: float = 3.0, instances: int = 60) -> list[CheckResult]:
    """Check all views of 6 rounds, and when the gate shut, of clients with few peers or none."""
    settings = settings_for(gate)
    plan = settings.plan
    pairs = [walk_pair(kind, settings, votes) for votes in hostile_patterns(settings, instances)]
    largest = {
        "delta in all": max(least_delta(*pair.views(), plan.epsilon) for pair in pairs),
        "gate": max(pair.loss_of_gate for pair in pairs),
        "rounds": max(pair.loss_of_rounds for pair in pairs),
        "below P": max(pair.unguarded_chance for pair in pairs),
    }
    allowed = {
        "delta in all": plan.delta,
        "gate": plan.gate,
        "rounds": plan.floor,
        "below P": plan.delta,
    }
    results = []
    for part, value in largest.items():
        name = f"hostile, gate {gate:g}: {part}"
        results.append(CheckResult(name, instances, value, allowed[part]))
    return results


def views_without_gate(_: type[PRec]) -> list[CheckResult]:
    """Check that the patterns are hostile: without a gate their views tell more than is allowed."""
    settings = settings_for(3.0)
    without_gate = PRecSettings(6, 2, 80, PEERS, variant="published")
    delta = 0.0
    for votes in hostile_patterns(settings, 12):
        views = walk_pair(PRec, without_gate, votes, peers=PEERS).views()
        delta = max(delta, least_delta(*views, settings.plan.epsilon))
    return [CheckResult("hostile, no gate: delta", 12, delta, 1.0, 10 * settings.plan.delta)]


def changing_voters(kind: type[PRec]) -> list[CheckResult]:
    """Check runs whose voters replace those who are used up, and runs of rare voters."""
    results = []
    for name, votes in (("newcomers", refilled_voters(12)), ("abstainers", rare_voters(12))):
        settings = PRecSettings(12, 2, votes.votes.shape[1], PEERS, delta=1e-3)
        loss = walk_pair(kind, settings, votes, [(0,) * 12]).loss_of_rounds
        results.append(CheckResult(f"{name}: rounds", 1, loss, settings.plan.floor, 0.1))
    return results


def colluding_clients(kind: type[PRec]) -> list[CheckResult]:
    """Check two clients together: twice the card's epsilon and delta hold, once does not."""
    settings = settings_for(0.5, rounds=3)
    most = 0.0
    for votes in hostile_patterns(settings, 8, rounds=3):
        with_voter, without_voter = walk_pair(kind, settings, votes).views()
        pairs_of_views = (_views_of_two(with_voter), _views_of_two(without_voter))
        most = max(most, least_delta(*pairs_of_views, 2 * settings.plan.epsilon))
    value, plays = solve_game(100, PEERS, 60, 1)
    votes = stage_game(plays, 60)
    long_settings = PRecSettings(100, 2, 60, peers=PEERS, epsilon=value + 3.0, delta=1e-3)
    pair = walk_pair(kind, long_settings, votes, [(0,) * votes.rounds] * 2)
    loss = 0.0
    for walk, neighbour in pair.walks:
        gates = math.log(walk.answers[-1] / neighbour.answers[-1])  # neither ever shuts
        loss += gates + Pair([(walk, neighbour)], pair.peers).loss_of_rounds
    epsilon = long_settings.plan.epsilon
    return [
        CheckResult("two clients: delta in all", 8, most, 2 * settings.plan.delta),
        CheckResult("two clients: one transcript", 1, loss, 2 * epsilon, epsilon),
    ]


def _views_of_two(views: Views) -> dict[Hashable, float]:
    """Compute the chances of the views of two clients, who each draw for themselves."""
    chances: dict[Hashable, float] = {}
    for (first, p), (second, q) in product(views.items(), repeat=2):
        chances[first, second] = p * q
    return chances


def hostile_patterns(settings: PRecSettings, instances: int, rounds: int = 6) -> list[Pattern]:
    """Make patterns, a third of them with about as many voters as the gate asks for."""
    rng = np.random.default_rng(17)
    near_threshold = []
    for difference in range(-3, 4):
        others = max(0, settings.plan.threshold + difference)
        near_threshold.append(min(settings.voters - 1, others))
    patterns = []
    for number in range(instances):
        others = number % 30
        if number % 3 == 0:
            others = near_threshold[number // 3 % len(near_threshold)]
        if number % 6 == 3:
            patterns.append(dropped_voter(others, rounds))
        else:
            patterns.append(hostile_pattern(rng, others, rounds))
    return patterns


def checks(*, short: bool = False) -> tuple[Check, ...]:
    """List the checks of the sound variant.

    Args:
        short: Whether there are fewer hostile clients.
    """
    return (
        worst_streams,
        partial(hostile_views, instances=12 if short else 60),
        partial(hostile_views, gate=0.3, instances=12),
        views_without_gate,
        changing_voters,
        colluding_clients,
    )


def hostile_pattern(rng: np.random.Generator, others: int, rounds: int) -> Pattern:
    """Draw a pattern of two objects, and others who agree more or less with the last voter.

    The client follows the last voter, or drops them and what they vote for from some round on.
    """
    own = rng.integers(0, 2, rounds)
    agreeing = rng.choice([0.0, 0.3, 0.5, 0.8, 1.0], (rounds, 1))
    votes = np.where(rng.random((rounds, others)) < agreeing, own[:, None], 1 - own[:, None])
    drop = int(rng.integers(0, 2 * rounds))
    answers = np.eye(2, dtype=np.int64)[own]
    answers[drop:] = 1 - answers[drop:]
    return make_pattern(np.column_stack([votes, own]), answers)


def refilled_voters(rounds: int) -> Pattern:
    """Make voters in halves: in every round one half is disliked, and others come in its place."""
    others = np.arange(12 * (rounds + 1))
    comes = np.maximum(1, others // 12)
    return _follow_second_object(np.tile(others < 12, (rounds, 1)) * 1, comes)


def rare_voters(rounds: int) -> Pattern:
    """Make 240 others of whom twelve vote in each round, in halves, and the rest abstain."""
    others = np.arange(240)
    silent = others // 12 != np.arange(rounds)[:, None]
    return _follow_second_object(np.where(silent, ABSTAINS, others % 2), np.ones_like(others))


def _follow_second_object(votes: Places, comes: Places) -> Pattern:
    """Add the hidden voter, who votes for the second object in every round and is followed."""
    made = follow_last_voter(np.column_stack([votes, np.ones(len(votes), dtype=np.int64)]))
    return replace(made, comes=np.append(comes, 1))


def dropped_voter(others: int, rounds: int) -> Pattern:
    """Make a hidden voter who is dropped at once: only in the first round they vote otherwise."""
    votes = np.zeros((rounds, others + 1), dtype=np.int64)
    votes[0, -1] = 1
    return make_pattern(votes, np.tile([1, 0], (rounds, 1)))


def chances(weights: list[int], objects: int, rounds: int) -> list[float]:
    """Compute the law of a round as printed, for R = 0.

    Args:
        weights: (m,) for each object the weights of those who vote for it, added up.
        objects: m.
        rounds: T.

    Returns:
        (m,) chances.
    """
    gamma = Fraction(objects, 3 * rounds - 1)
    steep = 2 * objects * math.log(rounds)
    cut = Fraction(1, 2 * objects)
    total = sum(weights)
    if total == 0:
        return [1 / objects] * objects
    shares = [Fraction(weight, total) for weight in weights]
    phi = [math.exp(steep * max(x, cut)) - math.exp(steep * cut) for x in shares]
    return [float(gamma) / objects + float(1 - gamma) * x / sum(phi) for x in phi]


@dataclass(frozen=True)
class Play:
    """A round of the game."""

    agreeing: int | None
    """Others who vote for the output; None where one of them leaves instead."""
    own: bool
    """Whether the hidden voter votes for the output, too; then it is liked."""


def solve_game(rounds: int, peers: int, voters: int, side: int) -> tuple[float, list[Play]]:
    """Find the most that two objects tell about the hidden voter, and the plays that tell it.

    Votes and answers are any, as long as `peers` are left with the hidden voter among them. There
    are as many rounds as one likes, which are fewer than T.

    Args:
        rounds: T.
        peers: P.
        voters: Voters at the start, with the hidden one.
        side: 1 for the log-ratio with the hidden voter over without, -1 for its inverse.
    """
    value = [0.0] * voters
    best: dict[int, tuple[Play, int]] = {}  # by number of others: the play, and who is left then
    for others in range(peers - 1, voters):
        value[others] = value[others - 1]
        best[others] = (Play(None, True), others - 1)
        without = [chances([k, others - k], 2, rounds)[0] for k in range(others + 1)]
        with_vote = [chances([k, others + 1 - k], 2, rounds)[0] for k in range(others + 2)]
        for agreeing, own in product(range(others + 1), (True, False)):
            loss = side * math.log(with_vote[agreeing + own] / without[agreeing])
            left = agreeing if own else others - agreeing  # if the answer spares them
            later = value[left] if peers - 1 <= left < others else 0.0
            if loss + later > value[others] + 1e-15:
                value[others] = loss + later
                best[others] = (Play(agreeing, own), left)
    plays = []
    others = voters - 1
    while others in best:
        play, others = best[others]
        plays.append(play)
    return value[-1], plays


def stage_game(plays: list[Play], voters: int) -> Pattern:
    """Make the game's pattern, in which object 0 is given in every round."""
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
    made = make_pattern(np.array(votes), np.array(answers))
    takes_part = leaves > 1  # who leaves before the first round was never there
    return Pattern(
        made.votes[:, takes_part], made.answers, made.comes[takes_part], leaves[takes_part]
    )
