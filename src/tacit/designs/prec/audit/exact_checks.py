"""Checks of p-REC that compute losses exactly: of single transcripts, all views, worst cases.

Every check but `check_views_without_gate` runs on the curator's class that it is given, so that it
can also be run on a faulty one. Below the checks are the patterns of votes that they use, the
output distribution as the paper prints it, and a game against this distribution that finds the
worst case. The distribution and the game share no code with the design. Source: Gilbert, Liu, Yu:
On differentially private online collaborative recommendation systems (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from tacit.auditing.claims import is_exceeded
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit.walk import (
    ABSTAINS,
    Pair,
    Pattern,
    Positions,
    Views,
    follow_last_voter,
    least_delta,
    make_pattern,
    walk_pair,
)
from tacit.designs.prec.planner import floor_epsilon

PEERS = 12
"""P, the number of peers, in all checks: the fewest that the proofs allow for two objects."""
_GAME_ROUNDS = 100
"""T, the number of rounds, in the games that `solve_game` solves."""
_GAME_VOTERS = 60
"""Voters at the start of these games."""
_LEAST_LOSS = 0.1
"""Nats that a pattern of `check_changing_voters` has to leak, or its check is too weak."""
_TOLERANCE = 1e-9
"""Relative error of a loss that is computed in floats."""
_SEED = 17
"""Seed of the hostile patterns."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check on several pairs of neighbours."""

    check: str
    """Name of the check."""
    instances: int
    """How many pairs of neighbours were checked."""
    largest: float
    """Largest loss, delta or chance that was computed."""
    allowed: float
    """Largest value that the proof or the card allows."""
    at_least: float = 0.0
    """Value that `largest` has to reach, or the check is too weak to show a violation."""
    is_loss: bool = True
    """Whether `largest` is a loss in nats; otherwise it is a delta or a chance."""

    @property
    def verdict(self) -> str:
        """Verdict on the check: `held`, `violation` or `blind`.

        It is `violation` if `largest` is above `allowed`, and `blind` if it is below `at_least`.
        """
        if is_exceeded(self.allowed, self.largest):
            return "violation"
        return "blind" if self.largest < self.at_least else "held"


Check = Callable[[type[PRec]], list[CheckResult]]
"""Checks a curator's class."""


def settings_for(gate_epsilon: float, *, rounds: int = 6) -> PRecSettings:
    """Make settings with two objects, 12 peers and 80 voters.

    Args:
        gate_epsilon: Epsilon that is left for the gate, in nats.
        rounds: T, the number of rounds.
    """
    rounds_epsilon, _ = floor_epsilon(objects=2, rounds=rounds, peers=PEERS, voters=80)
    epsilon = gate_epsilon + rounds_epsilon
    return PRecSettings(rounds, objects=2, voters=80, peers=PEERS, epsilon=epsilon, delta=5e-3)


def check_worst_patterns(curator_class: type[PRec]) -> list[CheckResult]:
    """Check the worst votes and answers, whose loss has to reach the bound of the rounds.

    `solve_game` finds them for two objects, T = 100, 60 voters and both directions of the loss. The
    votes end with the game's moves, before round T.
    """
    bound, _ = floor_epsilon(objects=2, rounds=_GAME_ROUNDS, peers=PEERS, voters=_GAME_VOTERS)
    settings = PRecSettings(
        rounds=_GAME_ROUNDS,
        objects=2,
        voters=_GAME_VOTERS,
        peers=PEERS,
        epsilon=bound + 2.0,  # 2 nats for the gate
    )
    largest = 0.0
    for direction in (1, -1):
        game_loss, plays = solve_game(_GAME_ROUNDS, PEERS, _GAME_VOTERS, direction)
        pattern = stage_game(plays, _GAME_VOTERS)
        loss = walk_pair(curator_class, settings, pattern, [(0,) * pattern.rounds]).loss_of_rounds
        if not is_exceeded(game_loss, loss):
            loss = min(loss, game_loss)  # rounding alone is no violation
        largest = max(largest, loss)
    name = f"worst, T={_GAME_ROUNDS} P={PEERS} n={_GAME_VOTERS}: rounds"
    least = bound * (1 - _TOLERANCE)
    return [CheckResult(name, instances=2, largest=largest, allowed=bound, at_least=least)]


def check_hostile_views(
    curator_class: type[PRec], gate_epsilon: float = 3.0, instances: int = 60
) -> list[CheckResult]:
    """Check all views of 6 rounds of hostile clients (`make_hostile_patterns`).

    Four values are compared with what the plan allows: the delta of the whole view at the plan's
    epsilon, the loss of the gate, the loss of the rounds, and the chance of a draw with fewer than
    P survivors, the voters who still count for the client.

    Args:
        curator_class: The curator's class.
        gate_epsilon: Epsilon of the gate, in nats.
        instances: How many patterns are checked, with one client each.
    """
    settings = settings_for(gate_epsilon)
    plan = settings.plan
    patterns = make_hostile_patterns(settings, instances)
    pairs = [walk_pair(curator_class, settings, pattern) for pattern in patterns]
    largest = {
        "delta in all": max(least_delta(*pair.views(), plan.epsilon) for pair in pairs),
        "gate": max(pair.loss_of_gate for pair in pairs),
        "rounds": max(pair.loss_of_rounds for pair in pairs),
        "below P": max(pair.unguarded_chance for pair in pairs),
    }
    allowed = {
        "delta in all": plan.delta,
        "gate": plan.gate_epsilon,
        "rounds": plan.rounds_epsilon,
        "below P": plan.delta,
    }
    results = []
    for part, value in largest.items():
        name = f"hostile, gate {gate_epsilon:g}: {part}"
        is_loss = part in ("gate", "rounds")
        results.append(CheckResult(name, instances, value, allowed[part], is_loss=is_loss))
    return results


def check_views_without_gate(_: type[PRec]) -> list[CheckResult]:
    """Check that the patterns of `check_hostile_views` are hostile, on the shipped curator.

    Without a gate, the delta of at least one of twelve patterns has to be ten times the delta that
    the plan with a gate allows, or more. The argument has no effect.
    """
    settings = settings_for(3.0)
    without_gate = PRecSettings(rounds=6, objects=2, voters=80, peers=PEERS, variant="published")
    delta = 0.0
    for pattern in make_hostile_patterns(settings, 12):
        views = walk_pair(PRec, without_gate, pattern, peers=PEERS).views()
        delta = max(delta, least_delta(*views, settings.plan.epsilon))
    least = 10 * settings.plan.delta
    name = "hostile, no gate: delta"
    result = CheckResult(
        name, instances=12, largest=delta, allowed=1.0, at_least=least, is_loss=False
    )
    return [result]


def check_changing_voters(curator_class: type[PRec]) -> list[CheckResult]:
    """Check runs in which new voters join in every round, and runs in which most voters abstain."""
    results = []
    for name, pattern in (
        ("newcomers", make_pattern_of_newcomers(12)),
        ("abstainers", make_pattern_of_abstainers(12)),
    ):
        settings = PRecSettings(
            rounds=12, objects=2, voters=pattern.votes.shape[1], peers=PEERS, delta=1e-3
        )
        loss = walk_pair(curator_class, settings, pattern, [(0,) * 12]).loss_of_rounds
        allowed = settings.plan.rounds_epsilon
        result = CheckResult(
            f"{name}: rounds", instances=1, largest=loss, allowed=allowed, at_least=_LEAST_LOSS
        )
        results.append(result)
    return results


def check_colluding_clients(curator_class: type[PRec]) -> list[CheckResult]:
    """Check two clients who share their views: they may learn twice what one card allows.

    All views of 3 rounds have to stay within twice the epsilon and delta of one client. The loss of
    one long transcript has to lie between the epsilon of one client and twice that.
    """
    settings = settings_for(0.5, rounds=3)
    largest_delta = 0.0
    for pattern in make_hostile_patterns(settings, 8, rounds=3):
        with_voter, without_voter = walk_pair(curator_class, settings, pattern).views()
        views_with_voter = _views_of_two_clients(with_voter)
        views_without_voter = _views_of_two_clients(without_voter)
        delta = least_delta(views_with_voter, views_without_voter, 2 * settings.plan.epsilon)
        largest_delta = max(largest_delta, delta)
    game_loss, plays = solve_game(_GAME_ROUNDS, PEERS, _GAME_VOTERS, direction=1)
    long_pattern = stage_game(plays, _GAME_VOTERS)
    long_settings = PRecSettings(
        rounds=_GAME_ROUNDS,
        objects=2,
        voters=_GAME_VOTERS,
        peers=PEERS,
        epsilon=game_loss + 3.0,  # 3 nats for the gate
        delta=1e-3,
    )
    pair = walk_pair(curator_class, long_settings, long_pattern, [(0,) * long_pattern.rounds] * 2)
    loss = 0.0
    for walk, neighbour in pair.walks:
        gate_never_shuts = walk.answer_chances[-1]
        neighbour_gate_never_shuts = neighbour.answer_chances[-1]
        loss += math.log(gate_never_shuts / neighbour_gate_never_shuts)
        loss += Pair([(walk, neighbour)], pair.peers).loss_of_rounds
    epsilon = long_settings.plan.epsilon
    return [
        CheckResult(
            "two clients: delta in all",
            instances=8,
            largest=largest_delta,
            allowed=2 * settings.plan.delta,
            is_loss=False,
        ),
        CheckResult(
            "two clients: one transcript",
            instances=1,
            largest=loss,
            allowed=2 * epsilon,
            at_least=epsilon,
        ),
    ]


def _views_of_two_clients(views: Views) -> dict[Hashable, float]:
    """Compute the chance of each pair of views of two clients, whose draws are independent."""
    chances: dict[Hashable, float] = {}
    for (first, first_chance), (second, second_chance) in product(views.items(), repeat=2):
        chances[first, second] = first_chance * second_chance
    return chances


def make_hostile_patterns(settings: PRecSettings, instances: int, rounds: int = 6) -> list[Pattern]:
    """Make patterns of hostile clients, most of whom have few peers or none.

    Two thirds have 1 to 29 voters besides the hidden one, a third has about as many as the gate's
    threshold, as far as the settings have so many. Every sixth is made by
    `make_pattern_of_dropped_voter`, so that some may be equal, and the others by
    `draw_hostile_pattern`.

    Args:
        settings: Settings with a gate.
        instances: Number of patterns.
        rounds: Number of rounds of each.
    """
    rng = np.random.default_rng(_SEED)
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
            patterns.append(make_pattern_of_dropped_voter(others, rounds))
        else:
            patterns.append(draw_hostile_pattern(rng, others, rounds))
    return patterns


def checks(*, short: bool = False) -> tuple[Check, ...]:
    """List the exact checks: those of the sound variant, and `check_views_without_gate`.

    Args:
        short: Whether to use fewer hostile clients.
    """
    return (
        check_worst_patterns,
        partial(check_hostile_views, instances=12 if short else 60),
        partial(check_hostile_views, gate_epsilon=0.3, instances=12),
        check_views_without_gate,
        check_changing_voters,
        check_colluding_clients,
    )


def draw_hostile_pattern(rng: np.random.Generator, others: int, rounds: int) -> Pattern:
    """Draw a pattern of two objects in which other voters agree more or less with the hidden voter.

    The client likes what the hidden voter votes for. In half of the patterns there is a round from
    which on the client likes the other object.

    Args:
        rng: Source of the votes.
        others: How many voters there are besides the hidden one.
        rounds: Number of rounds.
    """
    hidden_votes = rng.integers(0, 2, rounds)
    other_object = 1 - hidden_votes
    agreement = rng.choice([0.0, 0.3, 0.5, 0.8, 1.0], (rounds, 1))
    agrees = rng.random((rounds, others)) < agreement
    votes = np.where(agrees, hidden_votes[:, None], other_object[:, None])
    first_changed_row = int(rng.integers(0, 2 * rounds))
    answers = np.eye(2, dtype=np.int64)[hidden_votes]
    answers[first_changed_row:] = 1 - answers[first_changed_row:]
    return make_pattern(np.column_stack([votes, hidden_votes]), answers)


def make_pattern_of_newcomers(rounds: int) -> Pattern:
    """Make a pattern in which twelve new voters join in every round after the first.

    In the first round there are 24 voters besides the hidden one. Twelve of them vote for the
    second object, as the hidden voter does. The other twelve and all who join later vote for the
    first object.
    """
    others = np.arange(12 * (rounds + 1))
    first_rounds = np.maximum(1, others // 12)
    votes = np.where(others < 12, 1, 0)
    return _follow_second_object(np.tile(votes, (rounds, 1)), first_rounds)


def make_pattern_of_abstainers(rounds: int) -> Pattern:
    """Make a pattern with 240 voters besides the hidden one, most of whom abstain.

    In each round another twelve of them vote, six for each object. There are at most 20 rounds.
    """
    others = np.arange(240)
    round_of_vote = others // 12
    abstains = round_of_vote != np.arange(rounds)[:, None]
    votes = np.where(abstains, ABSTAINS, others % 2)
    return _follow_second_object(votes, np.ones_like(others))


def _follow_second_object(votes: Positions, first_rounds: Positions) -> Pattern:
    """Make a pattern whose client likes the second object, for which the hidden voter votes.

    Args:
        votes: (rounds, others) votes of the voters besides the hidden one.
        first_rounds: (others,) first round of each of them.
    """
    hidden_votes = np.ones(len(votes), dtype=np.int64)
    pattern = follow_last_voter(np.column_stack([votes, hidden_votes]))
    return replace(pattern, first_rounds=np.append(first_rounds, 1))


def make_pattern_of_dropped_voter(others: int, rounds: int) -> Pattern:
    """Make a pattern whose hidden voter loses their credit in the first round.

    The client likes the first object in every round, and all other voters vote for it. The hidden
    voter votes for the second object in the first round, and then for the first object.
    """
    votes = np.zeros((rounds, others + 1), dtype=np.int64)
    votes[0, -1] = 1
    return make_pattern(votes, np.tile([1, 0], (rounds, 1)))


def chances(counts: list[int], objects: int, rounds: int) -> list[float]:
    """Compute the output distribution of a round as the paper prints it, for a radius R of 0.

    Object j of m has the chance gamma / m + (1 - gamma) phi(x_j) / (sum of all phi), where x_j is
    its share of the votes, and phi(x) = e^(lambda x) - e^(lambda rho) for x above rho, else 0. The
    constants are gamma = m / (3 T - 1), lambda = 2 m ln T and rho = 1 / (2 m). Without votes all
    objects have the chance 1 / m.

    Args:
        counts: (m,) votes that count for the client, by object.
        objects: m, the number of objects.
        rounds: T, the number of rounds.

    Returns:
        (m,) chances.
    """
    gamma = Fraction(objects, 3 * rounds - 1)
    lam = 2 * objects * math.log(rounds)
    rho = Fraction(1, 2 * objects)
    total = sum(counts)
    if total == 0:
        return [1 / objects] * objects
    shares = [Fraction(count, total) for count in counts]
    phi = [math.exp(lam * max(share, rho)) - math.exp(lam * rho) for share in shares]
    sum_of_phi = sum(phi)
    return [float(gamma) / objects + float(1 - gamma) * value / sum_of_phi for value in phi]


@dataclass(frozen=True)
class Play:
    """One move of the game: a round, or one voter who leaves."""

    agreeing: int | None
    """How many voters besides the hidden one vote for the recommended object; None if one of them
    leaves, which is no round."""
    hidden_agrees: bool
    """Whether the hidden voter votes for the recommended object, which the client then likes."""


class BestPlay(NamedTuple):
    """The best move while a given number of voters count for the client besides the hidden one."""

    play: Play
    """The move."""
    others_left: int
    """Number of voters who count besides the hidden one after the move."""


def solve_game(rounds: int, peers: int, voters: int, direction: int) -> tuple[float, list[Play]]:
    """Find the largest loss of the hidden voter with two objects, and the moves that lead to it.

    The adversary chooses all votes and answers, as long as `peers` voters are left, the hidden one
    among them. Though the number of rounds is not limited, the best game has fewer than T rounds
    for the sizes that the checks use.

    Args:
        rounds: T, the number of rounds of the run.
        peers: P, the number of peers.
        voters: Voters at the start, the hidden one among them.
        direction: 1 for the logarithm of the chance with the hidden voter divided by the chance
            without; -1 for the logarithm of the inverse ratio.

    Returns:
        The loss in nats, and the moves in order.
    """
    # Both are indexed by the number of voters who count besides the hidden one
    largest_loss = [0.0] * voters
    best: dict[int, BestPlay] = {}
    for others in range(peers - 1, voters):
        largest_loss[others] = largest_loss[others - 1]
        best[others] = BestPlay(Play(None, True), others - 1)
        # Chance of the first object by the number of votes for it, without and with the hidden vote
        without_voter = [chances([k, others - k], 2, rounds)[0] for k in range(others + 1)]
        with_voter = [chances([k, others + 1 - k], 2, rounds)[0] for k in range(others + 2)]
        for agreeing, hidden_agrees in product(range(others + 1), (True, False)):
            votes_with_hidden = agreeing + 1 if hidden_agrees else agreeing
            loss = direction * math.log(with_voter[votes_with_hidden] / without_voter[agreeing])
            # The client's answer is the one that costs the hidden voter nothing
            others_left = agreeing if hidden_agrees else others - agreeing
            later_loss = 0.0
            if peers - 1 <= others_left < others:
                later_loss = largest_loss[others_left]
            if loss + later_loss > largest_loss[others] + 1e-15:
                largest_loss[others] = loss + later_loss
                best[others] = BestPlay(Play(agreeing, hidden_agrees), others_left)
    plays = []
    others = voters - 1
    while others in best:
        plays.append(best[others].play)
        others = best[others].others_left
    return largest_loss[-1], plays


def stage_game(plays: list[Play], voters: int) -> Pattern:
    """Make the pattern of a game's moves, in which object 0 is recommended in every round.

    Args:
        plays: Moves that `solve_game` found.
        voters: Voters at the start; the last one is the hidden voter.
    """
    counting = list(range(voters - 1))  # voters who still count, besides the hidden one
    last_rounds = np.full(voters, len(plays))
    votes: list[Positions] = []
    answers: list[list[int]] = []
    for play in plays:
        if play.agreeing is None:  # one of the others leaves after the rounds so far
            last_rounds[counting.pop()] = len(votes)
            continue
        row = np.ones(voters, dtype=np.int64)
        row[counting[: play.agreeing]] = 0
        row[-1] = 0 if play.hidden_agrees else 1
        votes.append(row)
        answers.append([1, 0] if play.hidden_agrees else [0, 1])
        # The answer costs credit to all who do not vote as the hidden voter does
        counting = [voter for voter in counting if row[voter] == row[-1]]
    pattern = make_pattern(np.array(votes), np.array(answers))
    takes_part = last_rounds > 0  # not for voters who leave before the first round
    return Pattern(
        pattern.votes[:, takes_part],
        pattern.answers,
        pattern.first_rounds[takes_part],
        last_rounds[takes_part],
    )
