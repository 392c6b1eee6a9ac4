"""One client's run of the shipped curator with its draws fixed beforehand, and what it asked for.

What the law draws is replaced by a given output, and the gate's answer by "go on"; everything else
is the curator as it runs. Recorded are the chances that the law would have drawn with, the counts
that the gate was asked about, and the scales of the noises that were drawn for it. From that
follows the exact chance of every view. Not for several threads: methods are replaced for the whole
process.

Two walks on neighbouring patterns show what a client can tell apart, in all and part by part of the
proof: the gate's answers cost its epsilon; while P survivors are left, the rounds cost the floor's;
and a round with fewer is drawn by the law with a chance of delta at most.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.exact_losses import laplace_distribution, laplace_tail
from tacit.auditing.sampler_spy import BulkNoise, SamplerCall, intercept_samplers
from tacit.designs.prec import OutputDistribution, PRec, PRecSettings
from tacit.mechanisms.gate import GateRun
from tacit.randomness import Source, secure

Path = tuple[int, ...]
Places = NDArray[np.int64]
Views = Mapping[Hashable, float]
ABSTAINS = -1
_ASKED = 2  # times in a round, the second of which must draw nothing
_CLIENTS = 1_000  # of one server that is sampled: a larger one takes longer for each
_MOST_LOSS, _HALVINGS = 256.0, 60
_NUMBER = 1  # of the run, so that abstainers' votes are the same for neighbours


@dataclass(frozen=True, eq=False)
class Pattern:
    """votes: (rounds, voters) the place of each one's object, or ABSTAINS; the last column is of
    the voter in whom neighbours differ. answers: (rounds, objects) of the client to each
    recommendation: 1 a like, 0 a dislike. comes, leaves: (voters,) the first round, from 1, in
    which a voter is there, and in which they are no longer.
    """

    votes: Places
    answers: Places
    comes: Places
    leaves: Places

    @property
    def rounds(self) -> int:
        return len(self.votes)

    @property
    def theirs(self) -> tuple[int, ...]:
        """What the voter in whom neighbours differ votes for."""
        return tuple(self.votes[:, -1].tolist())

    @property
    def without(self) -> Pattern:
        """The neighbour: all votes but theirs."""
        return replace(
            self, votes=self.votes[:, :-1], comes=self.comes[:-1], leaves=self.leaves[:-1]
        )

    def open(self, server: PRec, at: int) -> None:
        """The next round, the `at`-th from 0; a voter's id is their column."""
        number = at + 1
        server.leave_voters(np.flatnonzero(self.leaves == number))
        present = (self.comes <= number) & (self.leaves > number)
        server.join_voters(np.flatnonzero(present))
        voting = np.flatnonzero(present & (self.votes[at] != ABSTAINS))
        server.open_round(range(self.answers.shape[1]), (voting, self.votes[at][voting]))


def pattern(votes: Places, answers: Places) -> Pattern:
    """Everybody votes in all rounds."""
    rounds, voters = votes.shape
    return Pattern(votes, answers, np.ones(voters, np.int64), np.full(voters, rounds + 1, np.int64))


def followed(votes: Places) -> Pattern:
    """The hostile client: they like exactly what the last voter voted for, who so never leaves."""
    return pattern(votes, np.eye(2, dtype=np.int64)[votes[:, -1]])


@dataclass(frozen=True, eq=False)
class Question:
    """The gate was asked. gate: which one, with the scale of the noise on its threshold; scale: of
    the noise on this count. 0 for no noise."""

    gate: GateRun
    gate_scale: float
    count: int
    scale: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """The law gave an output. survivors: their credit over what one has at the start."""

    output: int
    chance: float
    survivors: int


@dataclass(eq=False)
class Walk:
    """Of one client, in order."""

    events: list[Question | Drawn] = field(default_factory=list)

    @property
    def drawn(self) -> list[Drawn]:
        return [event for event in self.events if isinstance(event, Drawn)]

    @cached_property
    def answers(self) -> list[float]:
        """Chances that the gate shuts at each question in turn, and last, at none of them. It shuts
        at a count if noise less count comes to the noisy negative threshold: `GateRun`."""
        before, left, gate = 1.0, np.ones(1), None
        shut, noise = [], np.zeros(1)
        for asked in (event for event in self.events if isinstance(event, Question)):
            if asked.gate is not gate:  # asked in turn, so that a gate that is left is done with
                before, gate = before * float(left.sum()), asked.gate
                noise, left = laplace_distribution(asked.gate_scale)
            least = asked.count - gate.gate.threshold + noise
            shut.append(before * float((left * laplace_tail(least, asked.scale)).sum()))
            left = left * laplace_tail(1 - least, asked.scale)  # the noise is symmetric
        return [*shut, before * float(left.sum())]

    def reaching(self, place: int) -> tuple[Path, float]:
        """The outputs before an event, and the chance that it comes after them."""
        drawn = [event for event in self.events[:place] if isinstance(event, Drawn)]
        let_pass = sum(self.answers[place - len(drawn) :])
        chance = math.prod(event.chance for event in drawn) * let_pass
        return tuple(event.output for event in drawn), chance


class _Steering:
    """Stand-ins for the law's draw and for the gate, which record what they are asked."""

    def __init__(self) -> None:
        self.scales: dict[GateRun, float] = {}
        self.walk, self.output, self.survivors = Walk(), 0, 0
        self._asked: list[SamplerCall] = []

    @contextmanager
    def at_work(self) -> Iterator[None]:
        make, ask = GateRun.__init__, GateRun.stops_at

        def made(gate: GateRun, *given: Any) -> None:
            self.scales[gate] = self._noise(lambda: make(gate, *given))

        def stops_at(gate: GateRun, count: int) -> bool:
            scale = self._noise(lambda: ask(gate, count))
            self.walk.events.append(Question(gate, self.scales[gate], int(count), scale))
            gate._stopped = False
            return False

        def draw(law: OutputDistribution, counts: NDArray[np.int64], _: Source) -> int:
            chance = float(law.chances(counts)[self.output])
            self.walk.events.append(Drawn(self.output, chance, self.survivors))
            return self.output

        with (
            intercept_samplers() as self._asked,
            patch.object(GateRun, "__init__", made),
            patch.object(GateRun, "stops_at", stops_at),
            patch.object(OutputDistribution, "draw", draw),
        ):
            yield

    def _noise(self, step: Any) -> float:
        """The scale of the one noise that a step draws; 0 if it draws none."""
        before = len(self._asked)
        step()
        drawn = self._asked[before:]
        if len(drawn) > 1 or any(asked.values.size != 1 for asked in drawn):
            raise ValueError("a gate draws more than one noise at a time")
        return drawn[0].scale if drawn else 0.0


def walked(
    kind: type[PRec], settings: PRecSettings, votes: Pattern, paths: Sequence[Path]
) -> list[Walk]:
    """Each client is given the outputs of their path, and answers as the pattern says."""
    steering, walks = _Steering(), [Walk() for _ in paths]
    with steering.at_work():
        server = kind(settings, randomness=secure(), number=_NUMBER)
        for client in range(len(paths)):
            server.join(client)
        for at in range(votes.rounds):
            votes.open(server, at)
            for client, path in enumerate(paths):
                if at < len(path):
                    steering.walk, steering.output = walks[client], path[at]
                    steering.survivors = server.credit_left(client) // settings.credit
                    for _ in range(_ASKED):
                        server.recommend(client)
                    server.feedback(client, bool(votes.answers[at, path[at]]))
    return walks


def views(walks: Iterable[Walk]) -> dict[Hashable, float]:
    """Chance of every (outputs until the gate shut, questions that it let pass)."""
    chances: dict[Hashable, float] = {}
    for walk in walks:
        outputs: Path = ()
        chance, asked = 1.0, 0
        for event in walk.events:
            if isinstance(event, Question):
                chances[outputs, asked] = chance * walk.answers[asked]
                asked += 1
            else:
                outputs, chance = (*outputs, event.output), chance * event.chance
        chances[outputs, asked] = chance * walk.answers[-1]
    return chances


def sampled(
    kind: type[PRec], settings: PRecSettings, votes: Pattern, runs: int
) -> NDArray[np.int64]:
    """(runs, rounds + 1): what each client was given; last, the rounds until their gate shut."""
    seen = np.full((runs, votes.rounds + 1), votes.rounds)
    with intercept_samplers(BulkNoise().answer):
        for begun in range(0, runs, _CLIENTS):
            _serve(kind(settings, randomness=secure()), votes, seen[begun : begun + _CLIENTS])
    return seen


def _serve(server: PRec, votes: Pattern, seen: Places) -> None:
    """One client for each row."""
    for at in range(votes.rounds):
        votes.open(server, at)
        for client, row in enumerate(seen):
            row[at] = place = int(server.recommend(client))
            server.feedback(client, bool(votes.answers[at, place]))
    for client, row in enumerate(seen):
        if (stopped := server.transcript(client).stopped) is not None:
            row[-1] = stopped - 1


@dataclass(frozen=True)
class Pair:
    """walks: of each path, with them and without them. peers: P, of the proof."""

    walks: Sequence[tuple[Walk, Walk]]
    peers: int

    @property
    def rounds(self) -> float:
        """The largest sum of ln(p / p'), either way, over rounds with P survivors."""
        most = 0.0
        for beside, without in self.walks:
            leak = 0.0
            for one, other in zip(beside.drawn, without.drawn, strict=True):
                if one.survivors < self.peers:
                    break
                leak += math.log(one.chance / other.chance)
                most = max(most, abs(leak))
        return most

    @property
    def gate(self) -> float:
        """The largest log-ratio of the gate's answers along one path; infinite without noise."""
        return max(
            0.0 if p == q else math.inf if 0 in (p, q) else abs(math.log(p / q))
            for beside, without in self.walks
            for p, q in zip(beside.answers, without.answers, strict=True)
        )

    @property
    def unguarded(self) -> float:
        """Chance that the law draws with fewer than P survivors, in the worse pattern, if all paths
        were walked."""
        chances: tuple[dict[Path, float], dict[Path, float]] = ({}, {})
        for walks in self.walks:
            for place, event in enumerate(walks[0].events):
                if isinstance(event, Drawn) and event.survivors < self.peers:
                    for side, walk in zip(chances, walks, strict=True):
                        outputs, chance = walk.reaching(place)
                        side[outputs] = chance  # paths with the same beginning share theirs
                    break
        return max(sum(side.values()) for side in chances)

    def views(self) -> tuple[Views, Views]:
        """Chances of everything that a client can see, if all paths were walked."""
        beside, without = zip(*self.walks, strict=True)
        return views(beside), views(without)


def walked_pair(
    kind: type[PRec],
    settings: PRecSettings,
    votes: Pattern,
    paths: Sequence[Path] | None = None,
    *,
    peers: int | None = None,
) -> Pair:
    """Both neighbours along these paths; by default, all. peers: where the plan has none."""
    if paths is None:
        paths = list(product(range(votes.answers.shape[1]), repeat=votes.rounds))
    sides = [walked(kind, settings, side, paths) for side in (votes, votes.without)]
    return Pair(list(zip(*sides, strict=True)), settings.plan.peers if peers is None else peers)


def beyond(first: Views, second: Views, epsilon: float) -> float:
    """The least delta at which epsilon holds for these two, in both directions."""
    factor = math.exp(epsilon)
    return max(
        sum(max(0.0, chance - factor * other.get(seen, 0.0)) for seen, chance in one.items())
        for one, other in ((first, second), (second, first))
    )


def loss_at(first: Views, second: Views, delta: float) -> float:
    """The least epsilon that holds for these two at delta, from above; inf above _MOST_LOSS."""
    low, high = 0.0, _MOST_LOSS
    if beyond(first, second, high) > delta:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(first, second, middle) > delta else (low, middle)
    return high
