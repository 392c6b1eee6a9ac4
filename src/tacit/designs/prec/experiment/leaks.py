"""Leaks of the paper's algorithm in the worlds of the paper's lower-bound proofs.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015): the pairs of voting patterns in the proofs of Lemma 8 and Theorem 15, and the
         worlds of Theorem 6 with one peer more or less.

A client is recommended the objects b_1 .. b_T. The log-ratio of this sequence is the sum over
rounds of ln(Pr[b_t | b_1 .. b_t-1] / Pr'[b_t | b_1 .. b_t-1]), for the two patterns of a pair and
the same likes. If the patterns are k voters apart, epsilon is at least |log-ratio| / k.

Voters who vote alike in all rounds are one kind. What happened before a round matters only through
the credits of each kind, so sequences that lead to the same credits are followed together. The
largest and the mean log-ratio over all sequences are exact, if there are few enough different
credits to follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec import planner, theory
from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.experiment.worlds import WORLDS
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.errors import ConfigError

Votes = NDArray[np.int64]
Likes = NDArray[np.bool_]


class KindCredit(NamedTuple):
    """Credit of each voter of a kind."""

    diversity: int
    """creditD."""
    radius: int
    """creditR."""


Credits = tuple[KindCredit | None, ...]
"""Credits by kind of voters; None for a kind that counts no more (weight 0)."""
State = tuple[Credits, Credits]
"""Credits under the first and under the second pattern, after the same recommendations."""
MOST_STATES = 50_000
"""The most states that are followed; it takes a few seconds."""
_STREAM_OF_PLAY = 1
"""Second word of the seed of the recommendations that are played."""


@dataclass(frozen=True, eq=False)
class PatternPair:
    """Two voting patterns for one client."""

    first: Votes
    """(rounds, voters) position of the object that each voter votes for, in the first pattern."""
    second: Votes
    """(rounds, voters) the same in the second pattern."""
    likes: Likes
    """(rounds, objects) what the client likes, under either pattern."""
    steps: int
    """Number of voters that are added or removed to get from the first pattern to the second."""
    peers: int
    """Least number of peers on the way from the first pattern to the second."""
    voters: int
    """Largest number of voters on this way."""


@dataclass(frozen=True)
class Leak:
    """Log-ratios of what a client of the paper's algorithm sees, under one pair of patterns."""

    world: str
    """World of the pair."""
    seed: int
    """Seed of the pair."""
    steps: int
    """See `PatternPair`."""
    played: float
    """Log-ratio of one sequence, drawn under the first pattern."""
    worst: float | None
    """The largest |log-ratio| of any sequence; None if there are too many states to follow."""
    mean: float | None
    """The mean log-ratio under the first pattern, a relative entropy; None as `worst`."""
    per_step: float
    """The largest known |log-ratio| divided by the steps: epsilon is at least this."""
    proven: float | None
    """Proven upper bound of the nats of one step; None if the pair does not keep the promise."""
    lower_bound: float | None
    """Lower bound of the epsilon of any algorithm with p-REC's loss bound (Lemma 8, Theorem 15);
    None as `proven`."""


class Kinds:
    """The voters of one pattern by kind, with the paper's credits.

    Args:
        votes: (rounds, voters) position of the object that each voter votes for.
        distribution: p-REC's output distribution of a round.
        objects: m.
        diversity: D.
        radius: R.
    """

    def __init__(
        self,
        votes: Votes,
        distribution: OutputDistribution,
        *,
        objects: int,
        diversity: int,
        radius: int,
    ) -> None:
        self._objects = objects
        self._distribution = distribution
        self._full_credit = KindCredit(2 * diversity, 2 * radius + 1)
        distinct_columns, self._sizes = np.unique(votes, axis=1, return_counts=True)
        self._votes = distinct_columns.tolist()  # [round][kind]

    def start(self) -> Credits:
        """Return full credit for every kind."""
        return (self._full_credit,) * len(self._sizes)

    def chances(self, row: int, credits_: Credits) -> NDArray[np.float64]:
        """Compute the chance of each object in the round of a row of votes, from 0: (objects,)."""
        counts = np.zeros(self._objects, dtype=np.int64)
        for vote, credit, size in zip(self._votes[row], credits_, self._sizes, strict=True):
            if credit is not None:
                counts[vote] += size
        return self._distribution.chances(counts)

    def charge(self, row: int, credits_: Credits, recommended: int, is_liked: bool) -> Credits:
        """Charge for the client's answer to a recommendation, and return the credits after it."""
        credits_after: list[KindCredit | None] = []
        for vote, credit in zip(self._votes[row], credits_, strict=True):
            if credit is None:
                credits_after.append(None)
                continue
            diversity, radius = credit
            if is_liked and vote != recommended:
                diversity -= 1
            elif not is_liked and vote == recommended:
                radius -= 1
            counts = radius > 0 and diversity + radius > 0
            credits_after.append(KindCredit(diversity, radius) if counts else None)
        return tuple(credits_after)


def leak(game: Game, seed: int) -> Leak:
    """Compute the log-ratios of the pair of patterns of a world, and the bounds for it.

    Raises:
        ConfigError: No proof uses a pair of patterns of this world.
    """
    pair = pattern_pair(game, seed)
    distribution = OutputDistribution(game.rounds, game.objects, game.radius)
    sizes = {"objects": game.objects, "diversity": game.diversity, "radius": game.radius}
    first = Kinds(pair.first, distribution, **sizes)
    second = Kinds(pair.second, distribution, **sizes)
    generator = np.random.default_rng((seed, _STREAM_OF_PLAY))
    played = played_log_ratio(first, second, pair.likes, generator)
    worst = mean = None
    exact = exact_log_ratios(first, second, pair.likes)
    if exact is not None:
        worst, mean = exact
    largest = abs(played) if worst is None else worst
    proven, lower_bound = _bounds(game, pair)
    return Leak(
        world=game.world,
        seed=seed,
        steps=pair.steps,
        played=played,
        worst=worst,
        mean=mean,
        per_step=largest / pair.steps,
        proven=proven,
        lower_bound=lower_bound,
    )


def _bounds(game: Game, pair: PatternPair) -> tuple[float | None, float | None]:
    """Compute `Leak.proven` and `Leak.lower_bound`; None and None if the proofs do not apply."""
    sizes = {
        "objects": game.objects,
        "rounds": game.rounds,
        "diversity": game.diversity,
        "radius": game.radius,
        "voters": pair.voters,
        "peers": pair.peers,
    }
    try:
        proven, _ = planner.promise_epsilon(**sizes)
    except ConfigError:
        return None, None
    lower_bound = theory.eps_lower_bound(
        game.objects, game.rounds, game.diversity, game.radius, pair.voters, pair.peers
    )
    return proven, lower_bound


def played_log_ratio(
    first: Kinds, second: Kinds, likes: Likes, generator: np.random.Generator
) -> float:
    """Compute the log-ratio of one sequence of recommendations, drawn under the first pattern."""
    first_credits = first.start()
    second_credits = second.start()
    log_ratio = 0.0
    for row, liked in enumerate(likes):
        first_chances = first.chances(row, first_credits)
        second_chances = second.chances(row, second_credits)
        probabilities = first_chances / first_chances.sum()
        recommended = int(generator.choice(len(probabilities), p=probabilities))
        log_ratio += math.log(first_chances[recommended] / second_chances[recommended])
        is_liked = bool(liked[recommended])
        first_credits = first.charge(row, first_credits, recommended, is_liked)
        second_credits = second.charge(row, second_credits, recommended, is_liked)
    return log_ratio


def exact_log_ratios(first: Kinds, second: Kinds, likes: Likes) -> tuple[float, float] | None:
    """Compute the largest |log-ratio| over all sequences, and the mean under the first pattern.

    None if more than MOST_STATES states can be reached.
    """
    states = {(first.start(), second.start())}  # reached before a round
    steps_of_rounds: list[dict[State, list[_Step]]] = []
    followed = 1
    for row, liked in enumerate(likes):
        steps_of_states = {}
        next_states: set[State] = set()
        for state in states:
            steps = _steps(first, second, row, state, liked)
            steps_of_states[state] = steps
            next_states.update(step.after for step in steps)
        steps_of_rounds.append(steps_of_states)
        states = next_states
        followed += len(states)
        if followed > MOST_STATES:
            return None
    # Backwards, the log-ratios of all rounds after a state
    later = dict.fromkeys(states, _LaterLogRatios(0.0, 0.0, 0.0))
    for steps_of_states in reversed(steps_of_rounds):
        earlier = {}
        for state, steps in steps_of_states.items():
            earlier[state] = _combine_log_ratios(steps, later)
        later = earlier
    (all_rounds,) = later.values()
    return max(all_rounds.largest, -all_rounds.smallest), all_rounds.mean


@dataclass(frozen=True)
class _Step:
    """One possible recommendation in a state."""

    chance: float
    """Its chance under the first pattern."""
    log_ratio: float
    """Its log-ratio."""
    after: State
    """State after the client's answer to it."""


class _LaterLogRatios(NamedTuple):
    """Log-ratios of the rounds after a state, over all sequences of recommendations."""

    largest: float
    """The largest sum."""
    smallest: float
    """The smallest sum."""
    mean: float
    """The mean sum under the first pattern."""


def _steps(first: Kinds, second: Kinds, row: int, state: State, liked: Likes) -> list[_Step]:
    """List the possible recommendations in a state, in the round of a row of votes."""
    first_credits, second_credits = state
    first_chances = first.chances(row, first_credits)
    second_chances = second.chances(row, second_credits)
    steps = []
    for recommended, chance in enumerate(first_chances):
        log_ratio = math.log(chance / second_chances[recommended])
        is_liked = bool(liked[recommended])
        after = (
            first.charge(row, first_credits, recommended, is_liked),
            second.charge(row, second_credits, recommended, is_liked),
        )
        steps.append(_Step(float(chance), log_ratio, after))
    return steps


def _combine_log_ratios(steps: list[_Step], later: dict[State, _LaterLogRatios]) -> _LaterLogRatios:
    """Compute the log-ratios from a state on, from its steps and the states after them."""
    largest = -math.inf
    smallest = math.inf
    mean = 0.0
    for step in steps:
        after = later[step.after]
        largest = max(largest, step.log_ratio + after.largest)
        smallest = min(smallest, step.log_ratio + after.smallest)
        mean += step.chance * (step.log_ratio + after.mean)
    return _LaterLogRatios(largest, smallest, mean)


def pattern_pair(game: Game, seed: int) -> PatternPair:
    """Make the pair of patterns that a proof compares in a world.

    Raises:
        ConfigError: No proof uses a pair of patterns of this world.
    """
    if game.world not in PAIRS:
        raise ConfigError(f"A leak is computed of {', '.join(PAIRS)}; got {game.world!r}.")
    return PAIRS[game.world](game, seed)


def _make_pair_of_lemma_8(game: Game, seed: int) -> PatternPair:
    """Make the pair of Lemma 8: both camps, and the client's camp alone."""
    votes, likes = _record_world(game, seed)
    is_peer = _count_wrong_votes(votes, likes) == 0
    votes_of_peers = votes[:, is_peer]
    voters = votes.shape[1]
    peers = votes_of_peers.shape[1]
    return PatternPair(
        first=votes,
        second=votes_of_peers,
        likes=likes,
        steps=voters - peers,
        peers=peers,
        voters=voters,
    )


def _make_pair_of_theorem_15(game: Game, seed: int) -> PatternPair:
    """Make the pair of Theorem 15: all voters vote by pattern 1, or all by pattern 2.

    All voters of the first are removed and all voters of the second are added, one by one.
    """
    first, likes = _record_world(replace(game, pattern=1), seed)
    second, _ = _record_world(replace(game, pattern=2), seed)
    voters = first.shape[1]
    return PatternPair(
        first=first,
        second=second,
        likes=likes,
        steps=2 * voters,
        peers=voters,
        voters=2 * voters,
    )


def _make_pair_of_theorem_6(game: Game, seed: int) -> PatternPair:
    """Make a pair in a world of Theorem 6: all voters, and all but one of the client's peers."""
    votes, likes = _record_world(game, seed)
    wrong_votes = _count_wrong_votes(votes, likes)
    removed_peer = int(np.argmin(wrong_votes))
    without_peer = np.delete(votes, removed_peer, axis=1)
    peers_left = int(np.count_nonzero(wrong_votes <= game.radius)) - 1
    return PatternPair(
        first=votes,
        second=without_peer,
        likes=likes,
        steps=1,
        peers=min(peers_left, game.peers),
        voters=game.voters,
    )


def _count_wrong_votes(votes: Votes, likes: Likes) -> NDArray[np.int64]:
    """Count each voter's votes for objects that the client dislikes: (voters,)."""
    rows = np.arange(len(votes))[:, None]
    is_wrong = ~likes[rows, votes]
    return np.asarray(is_wrong.sum(axis=0), dtype=np.int64)


def _record_world(game: Game, seed: int) -> tuple[Votes, Likes]:
    """Record all rounds of a world that does not depend on recommendations.

    Returns:
        (rounds, voters) votes, and (rounds, objects) likes.
    """
    votes = []
    likes = []
    for votes_of_round, likes_of_round in WORLDS[game.world](game, np.random.default_rng(seed)):
        votes.append(votes_of_round.copy())
        likes.append(likes_of_round.copy())
    return np.array(votes), np.array(likes)


PAIRS: dict[str, Callable[[Game, int], PatternPair]] = {
    "one-round": _make_pair_of_lemma_8,
    "both-ways": _make_pair_of_theorem_15,
    "search": _make_pair_of_theorem_6,
    "stubborn": _make_pair_of_theorem_6,
}
"""For each world with such a proof, the function that makes its pair of patterns."""
