"""How much the paper's algorithm leaks in the worlds that its lower-bound proofs build.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015): the pairs of voting patterns in the proofs of Lemma 8 and Theorem 15, and the
         worlds of Theorem 6 with one peer more or less.

A client is recommended b_1 .. b_T. The log-ratio of b is the sum over rounds of
ln(Pr[b_t | before] / Pr'[b_t | before]), for the two patterns of a pair, with one client's likes.
Two patterns that are k steps apart show that epsilon is at least |log-ratio| / k.

Voters who always vote alike are one kind. The past matters only by the credit of each kind, so
sequences that lead to the same credits are followed together. The largest and the mean log-ratio
over all sequences are exact if the different credits are few enough to follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec import planner, theory
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.errors import ConfigError

Votes = NDArray[np.int64]
Likes = NDArray[np.bool_]
Credits = tuple[tuple[int, int] | None, ...]
"""By kind of voters: creditD and creditR; None for a kind whose weight is 0."""
MOST_STATES = 50_000
"""Pairs of credits that are followed: a few seconds."""


@dataclass(frozen=True, eq=False)
class PatternPair:
    """Two voting patterns for one client."""

    first: Votes
    """(rounds, voters) place of each vote's object in the first pattern."""
    second: Votes
    """(rounds, voters) places in the second pattern."""
    likes: Likes
    """(rounds, objects) what the client likes, in both."""
    steps: int
    """Voters added or removed from the first to the second."""
    peers: int
    """Peers that every pattern between the two has at least."""
    voters: int
    """Voters that every pattern between the two has at most."""


@dataclass(frozen=True)
class Leak:
    """Log-ratios by which a client of the paper's algorithm can tell one pair apart."""

    world: str
    """World of the pair."""
    seed: int
    """Seed of the pair."""
    steps: int
    """See `PatternPair`."""
    played: float
    """Log-ratio of one sequence, drawn under the first pattern."""
    worst: float | None
    """The largest |log-ratio| of any sequence; None where there are too many credits."""
    mean: float | None
    """The mean under the first pattern, a relative entropy; None as `worst`."""
    per_step: float
    """The largest |log-ratio| that is known, over the steps: epsilon is at least this."""
    proven: float | None
    """Nats that each step costs at most, if the promise is kept; None where it is not."""
    lower_bound: float | None
    """Epsilon at least of any algorithm with p-REC's loss bound (Lemma 8, Theorem 15)."""


class Kinds:
    """Voters of one pattern by kind, with the paper's credits and weights.

    Args:
        votes: (rounds, voters) the place of each vote's object.
        law: p-REC's distribution of a round.
        objects: m.
        diversity: D.
        radius: R.
    """

    def __init__(
        self, votes: Votes, law: OutputDistribution, *, objects: int, diversity: int, radius: int
    ) -> None:
        self._objects = objects
        self._law = law
        self._first_credits = (2 * diversity, 2 * radius + 1)
        rows, self._sizes = np.unique(votes, axis=1, return_counts=True)
        self._votes = rows.tolist()

    def start(self) -> Credits:
        """Return full credit for every kind."""
        return (self._first_credits,) * len(self._sizes)

    def chances(self, number: int, credits_: Credits) -> NDArray[np.float64]:
        """Compute the (objects,) chance of each recommendation in a round, from 0."""
        counts = np.zeros(self._objects, dtype=np.int64)
        for place, credit, size in zip(self._votes[number], credits_, self._sizes, strict=True):
            if credit is not None:
                counts[place] += size
        return self._law.chances(counts)

    def charge(self, number: int, credits_: Credits, given: int, liked: bool) -> Credits:
        """Charge for the client's answer to a recommendation, and return the credits after it."""
        after: list[tuple[int, int] | None] = []
        for place, credit in zip(self._votes[number], credits_, strict=True):
            if credit is None:
                after.append(None)
                continue
            diversity, radius = credit
            if liked and place != given:
                diversity -= 1
            elif not liked and place == given:
                radius -= 1
            counts = radius > 0 and diversity + radius > 0
            after.append((diversity, radius) if counts else None)
        return tuple(after)


def leak(game: Game, seed: int) -> Leak:
    """Compute what one pair of a world tells apart, and what is proven about it.

    Raises:
        ConfigError: No proof is built on this world's pair.
    """
    pair = pattern_pair(game, seed)
    law = OutputDistribution(game.rounds, game.objects, game.radius)
    sizes = {"objects": game.objects, "diversity": game.diversity, "radius": game.radius}
    first = Kinds(pair.first, law, **sizes)
    second = Kinds(pair.second, law, **sizes)
    played = played_log_ratio(first, second, pair.likes, np.random.default_rng((seed, 1)))
    worst = mean = None
    exact = exact_log_ratios(first, second, pair.likes)
    if exact is not None:
        worst, mean = exact
    largest = abs(played) if worst is None else worst
    proven, lower = _bounds(game, pair)
    return Leak(
        world=game.world,
        seed=seed,
        steps=pair.steps,
        played=played,
        worst=worst,
        mean=mean,
        per_step=largest / pair.steps,
        proven=proven,
        lower_bound=lower,
    )


def _bounds(game: Game, pair: PatternPair) -> tuple[float | None, float | None]:
    """Bound a step's nats from above, any algorithm's from below; None, None if unknown."""
    sizes = game.objects, game.rounds, game.diversity, game.radius, pair.voters, pair.peers
    try:
        proven, _ = planner.promise_epsilon(
            objects=game.objects,
            rounds=game.rounds,
            diversity=game.diversity,
            radius=game.radius,
            voters=pair.voters,
            peers=pair.peers,
        )
    except ConfigError:
        return None, None
    return proven, theory.eps_lower_bound(*sizes)


def played_log_ratio(
    first: Kinds, second: Kinds, likes: Likes, generator: np.random.Generator
) -> float:
    """Compute the log-ratio of one recommendation sequence, drawn under the first pattern."""
    one = first.start()
    other = second.start()
    total = 0.0
    for number, liked in enumerate(likes):
        chances = first.chances(number, one)
        others = second.chances(number, other)
        given = int(generator.choice(len(chances), p=chances / chances.sum()))
        total += math.log(chances[given] / others[given])
        answer = bool(liked[given])
        one = first.charge(number, one, given, answer)
        other = second.charge(number, other, given, answer)
    return total


def exact_log_ratios(first: Kinds, second: Kinds, likes: Likes) -> tuple[float, float] | None:
    """Compute the largest |log-ratio| over all sequences, and the mean under the first pattern.

    None where more than MOST_STATES pairs of credits can be reached.
    """
    level = {(first.start(), second.start())}
    rounds: list[dict[tuple[Credits, Credits], list[_Step]]] = []
    states = 1
    for number, liked in enumerate(likes):
        steps = {state: _steps(first, second, number, state, liked) for state in level}
        level = {step.after for step in chain.from_iterable(steps.values())}
        rounds.append(steps)
        states += len(level)
        if states > MOST_STATES:
            return None
    # From the last round back: largest, smallest and mean log-ratio of what is still to come.
    ahead = dict.fromkeys(level, (0.0, 0.0, 0.0))
    for steps in reversed(rounds):
        ahead = {state: _look_ahead(of_state, ahead) for state, of_state in steps.items()}
    ((largest, smallest, mean),) = ahead.values()
    return max(largest, -smallest), mean


@dataclass(frozen=True)
class _Step:
    """One recommendation of a round."""

    chance: float
    """Its chance under the first pattern."""
    log_ratio: float
    """Its log-ratio."""
    after: tuple[Credits, Credits]
    """Credits after it, in either pattern."""


def _steps(
    first: Kinds, second: Kinds, number: int, state: tuple[Credits, Credits], liked: Likes
) -> list[_Step]:
    """List the recommendations that can follow a state."""
    one, other = state
    found = []
    chances = zip(first.chances(number, one), second.chances(number, other), strict=True)
    for given, (chance, another) in enumerate(chances):
        answer = bool(liked[given])
        after_one = first.charge(number, one, given, answer)
        after = (after_one, second.charge(number, other, given, answer))
        found.append(_Step(float(chance), math.log(chance / another), after))
    return found


def _look_ahead(
    steps: list[_Step], ahead: dict[tuple[Credits, Credits], tuple[float, float, float]]
) -> tuple[float, float, float]:
    """Compute the largest, smallest and mean log-ratio from a state on."""
    largest = -math.inf
    smallest = math.inf
    mean = 0.0
    for step in steps:
        high, low, middle = ahead[step.after]
        largest = max(largest, step.log_ratio + high)
        smallest = min(smallest, step.log_ratio + low)
        mean += step.chance * (step.log_ratio + middle)
    return largest, smallest, mean


def pattern_pair(game: Game, seed: int) -> PatternPair:
    """Make the pair of patterns that a proof compares in a world.

    Raises:
        ConfigError: No proof is built on this world's pair.
    """
    if game.world not in PAIRS:
        raise ConfigError(f"A leak is computed of {', '.join(PAIRS)}; got {game.world!r}.")
    return PAIRS[game.world](game, seed)


def _camp_or_both(game: Game, seed: int) -> PatternPair:
    """Lemma 8: the client's camp and the other one, and the client's camp alone."""
    votes, likes = _record_world(game, seed)
    wrong = ~likes[np.arange(game.rounds)[:, None], votes]
    mine = ~wrong.any(axis=0)
    own = votes[:, mine]
    removed = votes.shape[1] - own.shape[1]
    return PatternPair(votes, own, likes, removed, own.shape[1], votes.shape[1])


def _both_patterns(game: Game, seed: int) -> PatternPair:
    """Theorem 15: every voter votes as U, or every voter as U'."""
    patterns = []
    for number in (1, 2):
        votes, likes = _record_world(replace(game, pattern=number), seed)
        patterns.append(votes)
    first, second = patterns
    voters = first.shape[1]
    return PatternPair(first, second, likes, 2 * voters, voters, 2 * voters)


def _with_or_without_a_peer(game: Game, seed: int) -> PatternPair:
    """Theorem 6: the world as it is, and without one of the client's peers."""
    votes, likes = _record_world(game, seed)
    wrong = ~likes[np.arange(game.rounds)[:, None], votes]
    peer = int(np.argmin(wrong.sum(axis=0)))
    without = np.delete(votes, peer, axis=1)
    peers = int((wrong.sum(axis=0) <= game.radius).sum()) - 1
    return PatternPair(votes, without, likes, 1, min(peers, game.peers), game.voters)


def _record_world(game: Game, seed: int) -> tuple[Votes, Likes]:
    """Record a world that looks at no answer: (rounds, voters) votes, (rounds, objects) likes."""
    votes = []
    likes = []
    for cast, liked in WORLDS[game.world](game, np.random.default_rng(seed)):
        votes.append(cast.copy())
        likes.append(liked.copy())
    return np.array(votes), np.array(likes)


PAIRS: dict[str, Callable[[Game, int], PatternPair]] = {
    "one-round": _camp_or_both,
    "both-ways": _both_patterns,
    "search": _with_or_without_a_peer,
    "stubborn": _with_or_without_a_peer,
}
"""The pair of patterns of each world's proof."""
