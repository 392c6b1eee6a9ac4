"""Runs of p-REC on the bench: votes, one voter who comes or goes, and the client's answers.

Beside them the law of a round as printed, and the game against it, which share nothing with the
core. Source: Gilbert, Liu, Yu: On differentially private online collaborative recommendation
systems (2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec import PRec

Places = NDArray[np.int64]
ABSTAINS = -1


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
        if (gone := np.flatnonzero(self.leaves == number)).size:
            server.leave_voters(gone)
        server.join_voters(np.flatnonzero((self.comes == number) & (self.leaves > number)))
        here = (self.comes <= number) & (self.leaves > number) & (self.votes[at] != ABSTAINS)
        server.open_round(
            range(self.answers.shape[1]), (np.flatnonzero(here), self.votes[at][here])
        )


def pattern(votes: Places, answers: Places) -> Pattern:
    """Everybody votes in all rounds."""
    rounds, voters = votes.shape
    return Pattern(votes, answers, np.ones(voters, np.int64), np.full(voters, rounds + 1, np.int64))


def followed(votes: Places) -> Pattern:
    """The hostile client: they like exactly what the last voter voted for, who so never leaves."""
    return pattern(votes, np.eye(2, dtype=np.int64)[votes[:, -1]])


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
    each, first = 12, 24
    others = first + each * (rounds - 1)
    comes = np.maximum(1, (np.arange(others) - first) // each + 2)
    return _split(np.broadcast_to(np.arange(others) < each, (rounds, others)) * 1, comes)


def rarely_voting(rounds: int) -> Pattern:
    """In each round twelve others vote, in halves, and nearly all abstain."""
    each = 12
    others = 20 * each
    silent = np.arange(others) // each != np.arange(rounds)[:, None]
    votes = np.where(silent, ABSTAINS, np.arange(others) % 2)
    return _split(votes, np.ones(others, dtype=np.int64))


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
    phi = []
    for weight in weights:
        share = Fraction(weight, total)
        phi.append(
            0.0 if share <= cut else math.exp(steep * float(share)) - math.exp(steep * float(cut))
        )
    return [float(gamma) / objects + float(1 - gamma) * one / sum(phi) for one in phi]


@dataclass(frozen=True)
class Play:
    """A round of the game: so many of the others vote for the output, which is liked if `own`: if
    the hidden voter voted for it, too. agreeing: None where one of the others leaves instead.
    """

    agreeing: int | None
    own: bool


def game(rounds: int, peers: int, voters: int, side: int) -> tuple[float, list[Play]]:
    """The most that two objects tell, and the plays that tell it; side: 1 with them, -1 without.

    Any votes and answers, as long as `peers` are left and they among them; as many rounds as one
    likes, of which there are fewer than T.
    """
    worth = [0.0] * voters
    best: list[Play | None] = [None] * voters
    for others in range(peers - 1, voters):
        worth[others], best[others] = worth[others - 1], Play(None, True)
        without = [chances([k, others - k], 2, rounds)[0] for k in range(others + 1)]
        beside = [chances([k, others + 1 - k], 2, rounds)[0] for k in range(others + 2)]
        for agreeing in range(others + 1):
            for own in (True, False):
                leak = side * math.log(beside[agreeing + own] / without[agreeing])
                left = agreeing if own else others - agreeing  # if the answer spares them
                later = worth[left] if left < others and left >= peers - 1 else 0.0
                if leak + later > worth[others] + 1e-15:
                    worth[others], best[others] = leak + later, Play(agreeing, own)
    return worth[-1], _played(best, peers)


def _played(best: list[Play | None], peers: int) -> list[Play]:
    plays, others = [], len(best) - 1
    while others >= peers - 1 and (play := best[others]) is not None:
        plays.append(play)
        if play.agreeing is None:
            others -= 1
        else:
            others = play.agreeing if play.own else others - play.agreeing
    return plays


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
