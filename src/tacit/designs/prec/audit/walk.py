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
_REQUESTS = 2  # of a client in a round, the second of which must draw nothing
_CLIENTS = 1_000  # of one server that is sampled: a larger one takes longer for each
_MOST_LOSS = 256.0
_HALVINGS = 60
_RUN_NUMBER = 1  # fixed, so that abstainers' votes are the same for neighbours


@dataclass(frozen=True, eq=False)
class Pattern:
    """Votes and answers of a whole run, with the hidden voter in whom neighbours differ."""

    votes: Places
    """(rounds, voters) place of each one's object, or ABSTAINS; the last column is the hidden
    voter's."""
    answers: Places
    """(rounds, objects) the client's answer to each recommendation: 1 a like, 0 a dislike."""
    comes: Places
    """(voters,) first round, from 1, in which a voter is there."""
    leaves: Places
    """(voters,) first round in which a voter is there no longer."""

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self.votes)

    @property
    def hidden_votes(self) -> tuple[int, ...]:
        """Votes of the hidden voter."""
        return tuple(self.votes[:, -1].tolist())

    @property
    def neighbour(self) -> Pattern:
        """The pattern without the hidden voter."""
        return replace(
            self, votes=self.votes[:, :-1], comes=self.comes[:-1], leaves=self.leaves[:-1]
        )

    def open_round(self, server: PRec, row: int) -> None:
        """Open the round of a row, from 0; a voter's id is their column."""
        number = row + 1
        server.leave_voters(np.flatnonzero(self.leaves == number))
        present = (self.comes <= number) & (self.leaves > number)
        server.join_voters(np.flatnonzero(present))
        voting = np.flatnonzero(present & (self.votes[row] != ABSTAINS))
        server.open_round(range(self.answers.shape[1]), (voting, self.votes[row][voting]))


def make_pattern(votes: Places, answers: Places) -> Pattern:
    """Make the pattern of voters who are there in all rounds."""
    rounds, voters = votes.shape
    return Pattern(votes, answers, np.ones(voters, np.int64), np.full(voters, rounds + 1, np.int64))


def follow_last_voter(votes: Places) -> Pattern:
    """Make the pattern of a hostile client, who likes exactly what the last voter votes for.

    So the last voter never leaves.
    """
    return make_pattern(votes, np.eye(2, dtype=np.int64)[votes[:, -1]])


@dataclass(frozen=True, eq=False)
class GateQuestion:
    """Event: the gate was asked about a count."""

    gate: GateRun
    """Which gate."""
    gate_scale: float
    """Scale of the noise on its threshold; 0 for no noise."""
    count: int
    """Voters who are left."""
    scale: float
    """Scale of the noise on the count; 0 for no noise."""


@dataclass(frozen=True, eq=False)
class LawDraw:
    """Event: the law of a round gave an output."""

    output: int
    """Place of the object."""
    chance: float
    """Its chance under the law."""
    survivors: int
    """Credit that is left, over what a voter has at the start."""


@dataclass(eq=False)
class Walk:
    """Events of one client's run, in order."""

    events: list[GateQuestion | LawDraw] = field(default_factory=list)
    """What the gate was asked and what the law gave."""

    @property
    def draws(self) -> list[LawDraw]:
        """Draws of the law, in order."""
        return [event for event in self.events if isinstance(event, LawDraw)]

    @cached_property
    def answers(self) -> list[float]:
        """Chances that the gate shuts at each question in turn, and last, at none of them.

        It shuts at a count if noise less count comes to the noisy negative threshold: `GateRun`.
        """
        before = 1.0  # chance that the earlier gates are open to their end
        open_chances = np.ones(1)  # by noise on the threshold, that this gate is open so far
        noise = np.zeros(1)
        gate = None
        shut = []
        questions = [event for event in self.events if isinstance(event, GateQuestion)]
        for question in questions:
            if question.gate is not gate:  # asked in turn: a gate that is left is done with
                gate = question.gate
                before *= float(open_chances.sum())
                noise, open_chances = laplace_distribution(question.gate_scale)
            least = question.count - gate.gate.threshold + noise
            shuts = open_chances * laplace_tail(least, question.scale)
            shut.append(before * float(shuts.sum()))
            open_chances = open_chances * laplace_tail(1 - least, question.scale)  # symmetric noise
        return [*shut, before * float(open_chances.sum())]

    def path_to(self, place: int) -> tuple[Path, float]:
        """Compute the outputs before an event, and the chance that it comes after them."""
        draws = [event for event in self.events[:place] if isinstance(event, LawDraw)]
        let_pass = sum(self.answers[place - len(draws) :])
        chance = math.prod(draw.chance for draw in draws) * let_pass
        return tuple(draw.output for draw in draws), chance


class _FixedDraws:
    """Stand-ins for the law's draw and for the gate, which record what they are asked."""

    def __init__(self) -> None:
        self.scales: dict[GateRun, float] = {}
        self.walk = Walk()
        self.output = 0
        self.survivors = 0
        self._calls: list[SamplerCall] = []

    @contextmanager
    def replace_draws(self) -> Iterator[None]:
        """Put the stand-ins in place; the draws of the run are fixed while it lasts."""
        begin = GateRun.__init__
        ask = GateRun.stops_at

        def begin_gate(gate: GateRun, *arguments: Any) -> None:
            self.scales[gate] = self._noise_scale(lambda: begin(gate, *arguments))

        def stops_at(gate: GateRun, count: int) -> bool:
            scale = self._noise_scale(lambda: ask(gate, count))
            self.walk.events.append(GateQuestion(gate, self.scales[gate], int(count), scale))
            gate._stopped = False
            return False

        def draw(law: OutputDistribution, counts: NDArray[np.int64], _: Source) -> int:
            chance = float(law.chances(counts)[self.output])
            self.walk.events.append(LawDraw(self.output, chance, self.survivors))
            return self.output

        with (
            intercept_samplers() as self._calls,
            patch.object(GateRun, "__init__", begin_gate),
            patch.object(GateRun, "stops_at", stops_at),
            patch.object(OutputDistribution, "draw", draw),
        ):
            yield

    def _noise_scale(self, step: Any) -> float:
        """Take a step, and return the scale of the one noise that it draws; 0 if it draws none."""
        before = len(self._calls)
        step()
        calls = self._calls[before:]
        if len(calls) > 1 or any(call.values.size != 1 for call in calls):
            raise ValueError("a gate draws more than one noise at a time")
        return calls[0].scale if calls else 0.0


def walk_paths(
    kind: type[PRec], settings: PRecSettings, votes: Pattern, paths: Sequence[Path]
) -> list[Walk]:
    """Walk clients along paths: each is given their path's outputs, and answers by the pattern.

    Returns:
        A walk for each path.
    """
    fixed = _FixedDraws()
    walks = [Walk() for _ in paths]
    with fixed.replace_draws():
        server = kind(settings, randomness=secure(), number=_RUN_NUMBER)
        for client in range(len(paths)):
            server.join(client)
        for row in range(votes.rounds):
            votes.open_round(server, row)
            for client, path in enumerate(paths):
                if row >= len(path):
                    continue
                fixed.walk = walks[client]
                fixed.output = path[row]
                fixed.survivors = server.credit_left(client) // settings.credit
                for _ in range(_REQUESTS):
                    server.recommend(client)
                server.feedback(client, bool(votes.answers[row, path[row]]))
    return walks


def views(walks: Iterable[Walk]) -> dict[Hashable, float]:
    """Compute the chance of every (outputs until the gate shut, questions that it let pass)."""
    chances: dict[Hashable, float] = {}
    for walk in walks:
        outputs: Path = ()
        chance = 1.0
        questions = 0
        for event in walk.events:
            if isinstance(event, GateQuestion):
                chances[outputs, questions] = chance * walk.answers[questions]
                questions += 1
            else:
                outputs = (*outputs, event.output)
                chance *= event.chance
        chances[outputs, questions] = chance * walk.answers[-1]
    return chances


def sample_views(
    kind: type[PRec], settings: PRecSettings, votes: Pattern, runs: int
) -> NDArray[np.int64]:
    """Sample the views of clients.

    Returns:
        (runs, rounds + 1) what each client was given; last, the rounds until their gate shut.
    """
    seen = np.full((runs, votes.rounds + 1), votes.rounds)
    with intercept_samplers(BulkNoise().answer):
        for begun in range(0, runs, _CLIENTS):
            _serve(kind(settings, randomness=secure()), votes, seen[begun : begun + _CLIENTS])
    return seen


def _serve(server: PRec, votes: Pattern, seen: Places) -> None:
    """Serve a client for each row of `seen`, and write their view there."""
    for number in range(votes.rounds):
        votes.open_round(server, number)
        for client, view in enumerate(seen):
            place = int(server.recommend(client))
            view[number] = place
            server.feedback(client, bool(votes.answers[number, place]))
    for client, view in enumerate(seen):
        stopped = server.transcript(client).stopped
        if stopped is not None:
            view[-1] = stopped - 1


@dataclass(frozen=True)
class Pair:
    """Walks along the same paths on two neighbouring patterns."""

    walks: Sequence[tuple[Walk, Walk]]
    """For each path, the walk with the hidden voter and the one without."""
    peers: int
    """P of the proof."""

    @property
    def loss_of_rounds(self) -> float:
        """Largest sum of ln(p / p'), either way, over rounds with P survivors."""
        most = 0.0
        for walk, neighbour in self.walks:
            loss = 0.0
            for draw, other in zip(walk.draws, neighbour.draws, strict=True):
                if draw.survivors < self.peers:
                    break
                loss += math.log(draw.chance / other.chance)
                most = max(most, abs(loss))
        return most

    @property
    def loss_of_gate(self) -> float:
        """Largest log-ratio of the gate's answers along one path; infinite without noise."""
        most = 0.0
        for walk, neighbour in self.walks:
            for p, q in zip(walk.answers, neighbour.answers, strict=True):
                if p == q:
                    continue
                if 0 in (p, q):
                    return math.inf
                most = max(most, abs(math.log(p / q)))
        return most

    @property
    def unguarded_chance(self) -> float:
        """Chance that the law draws with fewer than P survivors, in the worse pattern.

        All paths have to be walked.
        """
        chances: tuple[dict[Path, float], dict[Path, float]] = ({}, {})
        for walks in self.walks:
            place = _find_unguarded_draw(walks[0], self.peers)
            if place is None:
                continue
            for side, walk in zip(chances, walks, strict=True):
                outputs, chance = walk.path_to(place)
                side[outputs] = chance  # paths with the same beginning share theirs
        return max(sum(side.values()) for side in chances)

    def views(self) -> tuple[Views, Views]:
        """Compute the chances of all that a client can see, if all paths were walked."""
        with_voter, without_voter = zip(*self.walks, strict=True)
        return views(with_voter), views(without_voter)


def _find_unguarded_draw(walk: Walk, peers: int) -> int | None:
    """Find the first draw with fewer than P survivors; None where there is none."""
    for place, event in enumerate(walk.events):
        if isinstance(event, LawDraw) and event.survivors < peers:
            return place
    return None


def walk_pair(
    kind: type[PRec],
    settings: PRecSettings,
    votes: Pattern,
    paths: Sequence[Path] | None = None,
    *,
    peers: int | None = None,
) -> Pair:
    """Walk both neighbours along the same paths.

    Args:
        kind: The curator's class.
        settings: Settings of the run.
        votes: The pattern with the hidden voter.
        paths: Outputs of each client; by default, all that there are.
        peers: P, where the plan has none.
    """
    if paths is None:
        paths = list(product(range(votes.answers.shape[1]), repeat=votes.rounds))
    sides = [walk_paths(kind, settings, side, paths) for side in (votes, votes.neighbour)]
    return Pair(list(zip(*sides, strict=True)), settings.plan.peers if peers is None else peers)


def least_delta(first: Views, second: Views, epsilon: float) -> float:
    """Compute the least delta at which epsilon holds for two distributions, in both directions."""
    return max(_excess(first, second, epsilon), _excess(second, first, epsilon))


def _excess(one: Views, other: Views, epsilon: float) -> float:
    """Sum the chances of one distribution beyond e^epsilon times those of the other."""
    factor = math.exp(epsilon)
    return sum(max(0.0, chance - factor * other.get(seen, 0.0)) for seen, chance in one.items())


def least_epsilon(first: Views, second: Views, delta: float) -> float:
    """Compute the least epsilon that holds at delta, from above; inf above _MOST_LOSS."""
    low = 0.0
    high = _MOST_LOSS
    if least_delta(first, second, high) > delta:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if least_delta(first, second, middle) > delta:
            low = middle
        else:
            high = middle
    return high
