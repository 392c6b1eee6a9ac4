"""Exact chances of a client's views, from walks: runs of the shipped curator with fixed outputs.

In a walk, a prescribed output replaces each draw from the output distribution, and "open" replaces
each answer of the gate; everything else is the shipped curator. The walk records the chance that
each output would have had, the counts that the gate was asked about, and the scales of the noises
that were drawn for the gate. From these the exact chance of every view is computed. Methods are
replaced for the whole process, so walks must not run in several threads.

Two walks on neighbouring patterns show the privacy loss of a client's whole view, and of each part
of the proof: the gate's answers cost the gate's epsilon; the rounds cost their epsilon while P
survivors are left; and the chance of a draw from the output distribution with fewer survivors is at
most delta. Survivors are voters who count for the client, and P is the plan's number of peers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
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
"""Position of the recommended object in each round."""
Positions = NDArray[np.int64]
Views = Mapping[Hashable, float]
"""The chance of each view of a client."""
ABSTAINS = -1
"""Stands in a pattern's votes for a voter who does not vote."""
_REQUESTS_PER_ROUND = 2
"""How often a client asks in each round: the second request must draw nothing."""
_CLIENTS_PER_CURATOR = 1_000
"""Clients of one curator when views are sampled: with more, each takes longer."""
_MOST_LOSS = 256.0
"""Largest loss in nats that `least_epsilon` tells from an infinite one."""
_HALVINGS = 60
"""Steps of the bisection in `least_epsilon`: they leave an interval of 2^-52 nats."""
_RUN_NUMBER = 1
"""Number of every run. The votes that voters get when they abstain depend on it, so these are the
same in neighbouring patterns."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Votes of a whole run, and the answers of one client.

    Its neighbour is the pattern without the hidden voter, whose privacy is checked.
    """

    votes: Positions
    """(rounds, voters) position of the object that each voter votes for, or ABSTAINS. The last
    column is the hidden voter's."""
    answers: Positions
    """(rounds, objects) the client's answer if the object is recommended: 1 like, 0 dislike."""
    first_rounds: Positions
    """(voters,) first round of each voter, from 1."""
    last_rounds: Positions
    """(voters,) last round of each voter; they leave before the next."""

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
            self,
            votes=self.votes[:, :-1],
            first_rounds=self.first_rounds[:-1],
            last_rounds=self.last_rounds[:-1],
        )

    def open_round(self, server: PRec, row: int) -> None:
        """Open one round on a curator; a voter's id is the number of their column in `votes`.

        Args:
            server: The curator, in which all earlier rounds of the pattern were opened.
            row: The round's row in `votes`, from 0.
        """
        round_number = row + 1
        server.leave_voters(np.flatnonzero(self.last_rounds == round_number - 1))
        is_present = (self.first_rounds <= round_number) & (self.last_rounds >= round_number)
        server.join_voters(np.flatnonzero(is_present))
        voters = np.flatnonzero(is_present & (self.votes[row] != ABSTAINS))
        server.open_round(range(self.answers.shape[1]), (voters, self.votes[row][voters]))


def make_pattern(votes: Positions, answers: Positions) -> Pattern:
    """Make a pattern whose voters are present in all rounds; see `Pattern` for the arrays."""
    rounds, voters = votes.shape
    first_rounds = np.ones(voters, np.int64)
    last_rounds = np.full(voters, rounds, np.int64)
    return Pattern(votes, answers, first_rounds, last_rounds)


def follow_last_voter(votes: Positions) -> Pattern:
    """Make a pattern of two objects whose client likes exactly what the last voter votes for.

    So the last voter, who is the hidden one, never loses credit.

    Args:
        votes: (rounds, voters) position of the object that each voter votes for, or ABSTAINS.
    """
    return make_pattern(votes, np.eye(2, dtype=np.int64)[votes[:, -1]])


@dataclass(frozen=True, eq=False)
class GateQuestion:
    """Event: the gate was asked about a count."""

    gate: GateRun
    """The gate that was asked."""
    threshold_noise_scale: float
    """Scale of the noise on the gate's threshold; 0 for no noise."""
    count: int
    """Number of survivors that the gate was asked about."""
    count_noise_scale: float
    """Scale of the noise on the count; 0 for no noise."""


@dataclass(frozen=True, eq=False)
class OutputDraw:
    """Event: an object was drawn from the output distribution."""

    output: int
    """Position of the object."""
    chance: float
    """The object's chance under the output distribution."""
    survivors: int
    """Credit of all voters who count, divided by the credit of one voter at the start and rounded
    down."""


@dataclass(eq=False)
class Walk:
    """Events of one client, in order."""

    events: list[GateQuestion | OutputDraw] = field(default_factory=list)
    """Questions to the gate, and draws from the output distribution."""

    @property
    def draws(self) -> list[OutputDraw]:
        """Draws from the output distribution, in order."""
        return [event for event in self.events if isinstance(event, OutputDraw)]

    @cached_property
    def answer_chances(self) -> list[float]:
        """For each question, the chance that the gate shuts there; last, that it never shuts.

        With noise_t the noise on the count of question t, the gate shuts there if
        noise_t - count >= threshold_noise - threshold (`mechanisms.gate.GateRun` with
        `stops="below"`).
        """
        earlier_gates_open = 1.0  # chance that no earlier gate of this walk has shut
        # (values,) possible noise on the threshold, and for each the chance that it was drawn and
        # that the gate has not shut yet
        threshold_noise = np.zeros(1)
        open_chances = np.ones(1)
        gate = None
        shut_chances = []
        questions = [event for event in self.events if isinstance(event, GateQuestion)]
        for question in questions:
            if question.gate is not gate:  # a faulty curator starts several gates in a row
                gate = question.gate
                earlier_gates_open *= float(open_chances.sum())
                threshold_noise, open_chances = laplace_distribution(question.threshold_noise_scale)
            least_noise = question.count - gate.gate.threshold + threshold_noise
            scale = question.count_noise_scale
            shuts_now = open_chances * laplace_tail(least_noise, scale)
            shut_chances.append(earlier_gates_open * float(shuts_now.sum()))
            # P(noise < least_noise) = P(noise >= 1 - least_noise), as the noise is symmetric
            open_chances = open_chances * laplace_tail(1 - least_noise, scale)
        return [*shut_chances, earlier_gates_open * float(open_chances.sum())]

    def path_to(self, event_position: int) -> tuple[Path, float]:
        """Compute the outputs before an event, and the chance of reaching the event with them.

        Args:
            event_position: Position of the event in `events`.
        """
        earlier_events = self.events[:event_position]
        draws = [event for event in earlier_events if isinstance(event, OutputDraw)]
        earlier_questions = event_position - len(draws)
        # The gate was open at all earlier questions if it shuts at a later one, or never
        open_chance = sum(self.answer_chances[earlier_questions:])
        chance = math.prod(draw.chance for draw in draws) * open_chance
        return tuple(draw.output for draw in draws), chance


class _FixedDraws:
    """Prescribes draws of outputs and answers of gates, and records them as a walk's events."""

    def __init__(self) -> None:
        self.threshold_noise_scales: dict[GateRun, float] = {}
        """For each gate, the scale of the noise on its threshold."""
        self.walk = Walk()
        """The walk to which events are added."""
        self.output = 0
        """Position of the object that the next draw returns."""
        self.survivors = 0
        """What is recorded as `OutputDraw.survivors`."""
        self._calls: list[SamplerCall] = []
        """Calls of the samplers so far."""

    @contextmanager
    def replace_draws(self) -> Iterator[None]:
        """Replace the methods that draw, as long as the context lasts.

        In it, the caller sets `walk`, `output` and `survivors` before each recommendation.
        """
        original_init = GateRun.__init__
        original_stops_at = GateRun.stops_at

        def init(gate: GateRun, *arguments: Any) -> None:
            """Start a gate, and record the scale of the noise on its threshold."""
            scale = self._noise_scale(lambda: original_init(gate, *arguments))
            self.threshold_noise_scales[gate] = scale

        def stops_at(gate: GateRun, count: int) -> bool:
            """Record a question to a gate, and answer that the gate is open."""
            scale = self._noise_scale(lambda: original_stops_at(gate, count))
            question = GateQuestion(gate, self.threshold_noise_scales[gate], int(count), scale)
            self.walk.events.append(question)
            gate._stopped = False  # the walk goes on, whatever the noise
            return False

        def draw(distribution: OutputDistribution, counts: NDArray[np.int64], _: Source) -> int:
            """Record the draw of the prescribed output, and return it."""
            chance = float(distribution.chances(counts)[self.output])
            self.walk.events.append(OutputDraw(self.output, chance, self.survivors))
            return self.output

        with (
            intercept_samplers() as self._calls,
            patch.object(GateRun, "__init__", init),
            patch.object(GateRun, "stops_at", stops_at),
            patch.object(OutputDistribution, "draw", draw),
        ):
            yield

    def _noise_scale(self, step: Callable[[], object]) -> float:
        """Call `step`, and return the scale of the one noise that it draws; 0 if it draws none.

        Raises:
            ValueError: It draws several.
        """
        calls_before = len(self._calls)
        step()
        calls = self._calls[calls_before:]
        if len(calls) > 1 or any(call.values.size != 1 for call in calls):
            raise ValueError("a gate draws more than one noise at a time")
        return calls[0].scale if calls else 0.0


def walk_paths(
    curator_class: type[PRec], settings: PRecSettings, pattern: Pattern, paths: Sequence[Path]
) -> list[Walk]:
    """Record the walk of one client along each path.

    The client is recommended the path's outputs, and answers by the pattern. All clients are served
    by one curator.

    Args:
        curator_class: The curator's class.
        settings: Settings of the run.
        pattern: Votes and answers of the run.
        paths: Outputs for each client; a path may end before the last round.

    Returns:
        A walk for each path.
    """
    fixed_draws = _FixedDraws()
    walks = [Walk() for _ in paths]
    with fixed_draws.replace_draws():
        server = curator_class(settings, randomness=secure(), number=_RUN_NUMBER)
        for client in range(len(paths)):
            server.join(client)
        for row in range(pattern.rounds):
            pattern.open_round(server, row)
            for client, path in enumerate(paths):
                if row >= len(path):
                    continue
                fixed_draws.walk = walks[client]
                fixed_draws.output = path[row]
                fixed_draws.survivors = server.credit_left(client) // settings.credit
                for _ in range(_REQUESTS_PER_ROUND):
                    server.recommend(client)
                server.feedback(client, bool(pattern.answers[row, path[row]]))
    return walks


def views(walks: Iterable[Walk]) -> dict[Hashable, float]:
    """Compute the chance of every view of a client.

    A view is a pair: the outputs that were drawn before the gate shut, and the number of questions
    at which it was open.

    Args:
        walks: The walks along all possible paths.
    """
    chances: dict[Hashable, float] = {}
    for walk in walks:
        outputs: Path = ()
        chance_of_outputs = 1.0
        open_questions = 0
        for event in walk.events:
            if isinstance(event, GateQuestion):
                shut_chance = walk.answer_chances[open_questions]
                chances[outputs, open_questions] = chance_of_outputs * shut_chance
                open_questions += 1
            else:
                outputs = (*outputs, event.output)
                chance_of_outputs *= event.chance
        chances[outputs, open_questions] = chance_of_outputs * walk.answer_chances[-1]
    return chances


def sample_views(
    curator_class: type[PRec], settings: PRecSettings, pattern: Pattern, clients: int
) -> NDArray[np.int64]:
    """Sample the views of clients who all answer by one pattern.

    Args:
        curator_class: The curator's class.
        settings: Settings of the curators' runs.
        pattern: Votes of each run, and answers of each client.
        clients: How many views are sampled.

    Returns:
        (clients, rounds + 1) position of the object that each client was recommended in each round;
        in the last column, in how many rounds their gate was open.
    """
    sampled = np.full((clients, pattern.rounds + 1), pattern.rounds)
    with intercept_samplers(BulkNoise().answer):
        for start in range(0, clients, _CLIENTS_PER_CURATOR):
            server = curator_class(settings, randomness=secure())
            _serve_clients(server, pattern, sampled[start : start + _CLIENTS_PER_CURATOR])
    return sampled


def _serve_clients(server: PRec, pattern: Pattern, sampled: Positions) -> None:
    """Serve one client for each row of `sampled`, and write the client's view into the row.

    Args:
        server: A curator before its first round.
        pattern: Votes of the run, and answers of each client.
        sampled: (clients, rounds + 1) array filled with the number of rounds, which stays in the
            last column if the client's gate never shuts.
    """
    for row in range(pattern.rounds):
        pattern.open_round(server, row)
        for client, view in enumerate(sampled):
            position = int(server.recommend(client))
            view[row] = position
            server.feedback(client, bool(pattern.answers[row, position]))
    for client, view in enumerate(sampled):
        stopped_round = server.transcript(client).stopped_round
        if stopped_round is not None:
            view[-1] = stopped_round - 1


@dataclass(frozen=True)
class Pair:
    """Walks along the same paths on two neighbouring patterns."""

    walks: Sequence[tuple[Walk, Walk]]
    """For each path, the walk with the hidden voter and the one without."""
    peers: int
    """P, the fewest survivors with which the proof bounds the loss of a round."""

    @property
    def loss_of_rounds(self) -> float:
        """Largest |sum of ln(p / p')| over the first k rounds of a path, of all paths and all k.

        A path counts until the first round with fewer than P survivors, the hidden voter included.
        p and p' are the chances of a round's output with and without the hidden voter.
        """
        largest = 0.0
        for walk, neighbour in self.walks:
            loss = 0.0
            for draw, neighbour_draw in zip(walk.draws, neighbour.draws, strict=True):
                if draw.survivors < self.peers:
                    break
                loss += math.log(draw.chance / neighbour_draw.chance)
                largest = max(largest, abs(loss))
        return largest

    @property
    def loss_of_gate(self) -> float:
        """Largest |ln(p / q)| of an answer of the gate, given the outputs of a path.

        p and q are the answer's chances with and without the hidden voter. The loss is infinite if
        an answer is possible in only one of the patterns, which happens without noise.
        """
        largest = 0.0
        for walk, neighbour in self.walks:
            for p, q in zip(walk.answer_chances, neighbour.answer_chances, strict=True):
                if p == q:
                    continue
                if p == 0 or q == 0:
                    return math.inf
                largest = max(largest, abs(math.log(p / q)))
        return largest

    @property
    def unguarded_chance(self) -> float:
        """Chance of a draw from the output distribution with fewer than P survivors.

        Of the two patterns the one with the larger chance is taken. Survivors are counted with the
        hidden voter. The walks have to be along all paths.
        """
        # Chances by the outputs before the draw, which several paths may share
        with_voter: dict[Path, float] = {}
        without_voter: dict[Path, float] = {}
        for walk, neighbour in self.walks:
            position = _find_unguarded_draw(walk, self.peers)
            if position is None:
                continue
            outputs, chance = walk.path_to(position)
            with_voter[outputs] = chance
            outputs, chance = neighbour.path_to(position)
            without_voter[outputs] = chance
        return max(sum(with_voter.values()), sum(without_voter.values()))

    def views(self) -> tuple[Views, Views]:
        """Compute the chance of every view with and without the hidden voter.

        The walks have to be along all paths.
        """
        with_voter = [walk for walk, _ in self.walks]
        without_voter = [neighbour for _, neighbour in self.walks]
        return views(with_voter), views(without_voter)


def _find_unguarded_draw(walk: Walk, peers: int) -> int | None:
    """Find the position of the first draw with fewer than P survivors; None if there is none."""
    for position, event in enumerate(walk.events):
        if isinstance(event, OutputDraw) and event.survivors < peers:
            return position
    return None


def walk_pair(
    curator_class: type[PRec],
    settings: PRecSettings,
    pattern: Pattern,
    paths: Sequence[Path] | None = None,
    *,
    peers: int | None = None,
) -> Pair:
    """Record walks along the same paths on a pattern and on its neighbour.

    Args:
        curator_class: The curator's class.
        settings: Settings of the run.
        pattern: The pattern with the hidden voter.
        paths: Outputs for each client; None for all possible outputs.
        peers: `Pair.peers`; None for the peers of the settings' plan.
    """
    if paths is None:
        paths = list(product(range(pattern.answers.shape[1]), repeat=pattern.rounds))
    with_voter = walk_paths(curator_class, settings, pattern, paths)
    without_voter = walk_paths(curator_class, settings, pattern.neighbour, paths)
    pairs = list(zip(with_voter, without_voter, strict=True))
    return Pair(pairs, settings.plan.peers if peers is None else peers)


def least_delta(first: Views, second: Views, epsilon: float) -> float:
    """Compute the least delta with which two distributions of views are (epsilon, delta)-close."""
    return max(_excess(first, second, epsilon), _excess(second, first, epsilon))


def _excess(first: Views, second: Views, epsilon: float) -> float:
    """Compute the sum over all views of max(0, P_first(view) - e^epsilon P_second(view))."""
    factor = math.exp(epsilon)
    excesses = []
    for view, chance in first.items():
        excesses.append(max(0.0, chance - factor * second.get(view, 0.0)))
    return sum(excesses)


def least_epsilon(first: Views, second: Views, delta: float) -> float:
    """Compute the least epsilon with which two distributions are (epsilon, delta)-close.

    It is rounded up; inf if it is above _MOST_LOSS.
    """
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
