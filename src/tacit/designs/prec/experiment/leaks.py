"""Log-ratios of the paper's algorithm, without a gate, in the worlds of the lower-bound proofs.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015): the pairs of voting patterns in the proofs of Lemma 8 and Theorem 15, and the
         worlds of Theorem 6 with one peer more or less.

A client is recommended the objects b_1 .. b_T. The log-ratio of this sequence is the sum over
rounds of ln(Pr[b_t | b_1 .. b_t-1] / Pr'[b_t | b_1 .. b_t-1]), where Pr is under the first pattern
of a pair, Pr' under the second, and the client likes the same objects under both. If the patterns
are k steps apart, each adding or removing one voter, epsilon is at least |log-ratio| / k.

Voters who vote alike in all rounds are one kind. The chances of a round depend on earlier rounds
only through the state: the credits of each kind under both patterns. So all sequences that lead to
the same state are followed together. The largest and the mean log-ratio over all sequences are
exact, unless there are too many states to follow.
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
"""(rounds, voters) position of the object that each voter votes for."""
Likes = NDArray[np.bool_]
"""(rounds, objects) whether the client likes an object; a row of it in some functions."""


class KindCredit(NamedTuple):
    """Credit that each voter of a kind has with the client."""

    diversity: int
    """The paper's creditD: one is taken if the client likes a recommended object that the voter did
    not vote for."""
    radius: int
    """The paper's creditR: one is taken if the client dislikes a recommended object that the voter
    voted for."""


Credits = tuple[KindCredit | None, ...]
"""Credits by kind of voters; None for a kind whose voters do not count any more (weight 0)."""
State = tuple[Credits, Credits]
"""Credits under the first and under the second pattern, after the same recommendations."""
MOST_STATES = 50_000
"""The most states that are followed, over all rounds; so many take a few seconds."""
_STREAM_OF_PLAY = 1
"""Second word of the seed of the recommendations that are played."""


@dataclass(frozen=True, eq=False)
class PatternPair:
    """Two voting patterns for one client."""

    first: Votes
    """(rounds, voters) position of the object that each voter votes for, in the first pattern."""
    second: Votes
    """(rounds, voters of the second pattern) position of the object that each of them votes for."""
    likes: Likes
    """(rounds, objects) what the client likes, under either pattern."""
    steps: int
    """Number of voters that are added or removed to get from the first pattern to the second."""
    peers: int
    """Number of peers that the client has, at least, all the way from the first pattern to the
    second."""
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
    """Voters added or removed from the first pattern to the second (`PatternPair.steps`)."""
    played: float
    """Log-ratio of one sequence of recommendations, drawn under the first pattern."""
    worst: float | None
    """The largest |log-ratio| of any sequence; None if there are too many states to follow."""
    mean: float | None
    """The mean log-ratio under the first pattern, a relative entropy; None if `worst` is None."""
    per_step: float
    """The largest known |log-ratio|, divided by the steps: epsilon is at least this number. The
    largest known one is `worst`, or |`played`| if `worst` is None."""
    proven: float | None
    """Upper bound of epsilon that is proven if the client has `PatternPair.peers` peers or more;
    None if the proofs do not allow the sizes of the pair."""
    lower_bound: float | None
    """Lower bound of the epsilon of any algorithm with p-REC's loss bound (Lemma 8, Theorem 15);
    None if `proven` is None."""


class Kinds:
    """The voters of one pattern by kind: those who vote alike in all rounds are one kind.

    Args:
        votes: (rounds, voters) position of the object that each voter votes for.
        distribution: p-REC's output distribution of a round.
        objects: Number of objects in each round.
        diversity: Most rounds in which the client likes more than one object.
        radius: Largest number of votes of one peer for objects that the client dislikes.
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

    def chances(self, row: int, kind_credits: Credits) -> NDArray[np.float64]:
        """Compute the chance of each object in one round: (objects,).

        Args:
            row: The round's row in the votes, from 0.
            kind_credits: Credits of each kind before the round.
        """
        counts = np.zeros(self._objects, dtype=np.int64)
        for vote, credit, size in zip(self._votes[row], kind_credits, self._sizes, strict=True):
            if credit is not None:
                counts[vote] += size
        return self._distribution.chances(counts)

    def charge(self, row: int, kind_credits: Credits, recommended: int, is_liked: bool) -> Credits:
        """Return the credits of each kind after the client's answer to a recommendation.

        Args:
            row: The round's row in the votes, from 0.
            kind_credits: Credits of each kind before the answer.
            recommended: Position of the recommended object.
            is_liked: The answer.
        """
        credits_after: list[KindCredit | None] = []
        for vote, credit in zip(self._votes[row], kind_credits, strict=True):
            if credit is None:
                credits_after.append(None)
                continue
            diversity, radius = credit
            if is_liked and vote != recommended:
                diversity -= 1
            elif not is_liked and vote == recommended:
                radius -= 1
            still_counts = radius > 0 and diversity + radius > 0
            credits_after.append(KindCredit(diversity, radius) if still_counts else None)
        return tuple(credits_after)


def leak(game: Game, seed: int) -> Leak:
    """Compute the log-ratios of a world's pair of patterns, and the bounds of epsilon.

    Args:
        game: World and sizes.
        seed: Seed of the world and of the sequence that is drawn.

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
    """Compute `Leak.proven` and `Leak.lower_bound` of a pair."""
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
        probabilities = first_chances / first_chances.sum()  # the sum differs from 1 by rounding
        recommended = int(generator.choice(len(probabilities), p=probabilities))
        log_ratio += math.log(first_chances[recommended] / second_chances[recommended])
        is_liked = bool(liked[recommended])
        first_credits = first.charge(row, first_credits, recommended, is_liked)
        second_credits = second.charge(row, second_credits, recommended, is_liked)
    return log_ratio


def exact_log_ratios(first: Kinds, second: Kinds, likes: Likes) -> tuple[float, float] | None:
    """Compute the largest |log-ratio| over all sequences, and the mean under the first pattern.

    States are listed round by round from the first to the last. Then the log-ratios of all later
    rounds are computed for each state, from the last round to the first.

    Args:
        first: Voters of the first pattern.
        second: Voters of the second pattern.
        likes: (rounds, objects) what the client likes.

    Returns:
        Both log-ratios; None if more than MOST_STATES states can be reached.
    """
    states = {(first.start(), second.start())}  # all states that can be reached before the round
    steps_of_rounds: list[dict[State, list[_Step]]] = []
    followed = 1
    for row, liked in enumerate(likes):
        steps_of_states = {}
        next_states: set[State] = set()
        for state in states:
            steps = _list_steps(first, second, row, state, liked)
            steps_of_states[state] = steps
            next_states.update(step.after for step in steps)
        steps_of_rounds.append(steps_of_states)
        states = next_states
        followed += len(states)
        if followed > MOST_STATES:
            return None
    later = dict.fromkeys(states, _LaterLogRatios(0.0, 0.0, 0.0))  # after the last round
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
    """Chance of the recommendation under the first pattern."""
    log_ratio: float
    """ln of this chance over the one under the second pattern."""
    after: State
    """State after the client's answer to the recommendation."""


class _LaterLogRatios(NamedTuple):
    """Log-ratios of the sequences of recommendations in all rounds after a state."""

    largest: float
    """The largest log-ratio."""
    smallest: float
    """The smallest log-ratio."""
    mean: float
    """The mean log-ratio under the first pattern."""


def _list_steps(first: Kinds, second: Kinds, row: int, state: State, liked: Likes) -> list[_Step]:
    """List the possible recommendations in a state.

    Args:
        first: Voters of the first pattern.
        second: Voters of the second pattern.
        row: The round's row in the votes, from 0.
        state: Credits under both patterns before the round.
        liked: (objects,) what the client likes in the round.
    """
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
    """Compute the log-ratios of all rounds from a state on.

    Args:
        steps: Possible recommendations in the state.
        later: The log-ratios of all later rounds, for each state that these lead to.
    """
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
        raise ConfigError(
            f"Leaks are computed in the worlds {', '.join(PAIRS)}; got {game.world!r}."
        )
    return PAIRS[game.world](game, seed)


def _make_pair_of_lemma_8(game: Game, seed: int) -> PatternPair:
    """Make the pair of Lemma 8: all voters, and the client's peers alone.

    The voters who are no peers vote once for an object that the client dislikes.
    """
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
    """Make the pair of Theorem 15: all voters vote by pattern 1 of the world, or all by pattern 2.

    On the way from one to the other, voters of pattern 2 are added one by one, and then voters of
    pattern 1 are removed.
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
    """Make a pair in a world of Theorem 6: all voters, and all voters but one of the peers."""
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
    """Count for each voter their votes for objects that the client dislikes: (voters,)."""
    rows = np.arange(len(votes))[:, None]
    is_wrong = ~likes[rows, votes]
    return np.asarray(is_wrong.sum(axis=0), dtype=np.int64)


def _record_world(game: Game, seed: int) -> tuple[Votes, Likes]:
    """Record the votes and likes of all rounds of a world that depends on no recommendations."""
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
