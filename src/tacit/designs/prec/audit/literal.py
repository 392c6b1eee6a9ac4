"""p-REC as printed, voter by voter, and the game against it: nothing here is shared with the core.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015), the two algorithms. What the paper leaves out is in no pattern given here: all who
         are there vote, all rounds have m objects, and clients answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.designs.prec.audit.patterns import Pattern, Places, pattern


def chances(weights: list[int], objects: int, rounds: int, radius: int = 0) -> list[float]:
    """(m,) of each object; weights: of those who vote for it, added up."""
    ratio = Fraction(rounds, radius + 1)
    gamma = Fraction(objects) / (3 * ratio - 1)
    steep, cut = 2 * objects * math.log(ratio), Fraction(1, 2 * objects)
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


def path_chances(
    votes: Pattern, outputs: tuple[int, ...], rounds: int, diversity: int = 0, radius: int = 0
) -> list[float]:
    """Of each output in turn, given those before."""
    objects, voters = votes.answers.shape[1], votes.votes.shape[1]
    credit_d, credit_r = [2 * diversity] * voters, [2 * radius + 1] * voters
    found = []
    for at, output in enumerate(outputs):
        weights = [0] * objects
        for voter in range(voters):
            if credit_r[voter] > 0 and credit_d[voter] + credit_r[voter] > 0:
                weights[votes.votes[at, voter]] += 1
        found.append(chances(weights, objects, rounds, radius)[output])
        for voter in range(voters):
            own = votes.votes[at, voter] == output
            if votes.answers[at, output] and not own:
                credit_d[voter] -= 1
            if not votes.answers[at, output] and own:
                credit_r[voter] -= 1
    return found


@dataclass(frozen=True)
class Play:
    """A round of the game: so many of the others vote for the output, they too, and it is liked.

    agreeing: None where one of the others leaves instead, and no round takes place.
    """

    agreeing: int | None
    own: bool
    liked: bool


def game(rounds: int, peers: int, voters: int, side: int) -> tuple[float, list[Play]]:
    """The most that two objects tell, and the plays that tell it; side: 1 with them, -1 without.

    Any votes and answers, as long as `peers` are left and they among them; as many rounds as one
    likes, of which there are fewer than T.
    """
    worth = [0.0] * voters
    best: list[Play | None] = [None] * voters
    for others in range(peers - 1, voters):
        worth[others], best[others] = worth[others - 1], Play(None, True, True)
        without = [chances([k, others - k], 2, rounds)[0] for k in range(others + 1)]
        beside = [chances([k, others + 1 - k], 2, rounds)[0] for k in range(others + 2)]
        for agreeing in range(others + 1):
            for own in (True, False):
                told = side * math.log(beside[agreeing + own] / without[agreeing])
                left = agreeing if own else others - agreeing  # if the answer spares them
                later = worth[left] if left < others and left >= peers - 1 else 0.0
                if told + later > worth[others] + 1e-15:
                    worth[others], best[others] = told + later, Play(agreeing, own, own)
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
        answers.append([int(play.liked), int(not play.liked)])
        staying = [voter for voter in staying if (row[voter] == 0) == play.liked]
    made = pattern(np.array(votes), np.array(answers))
    here = leaves > 1  # who leaves before the first round was never there
    return Pattern(made.votes[:, here], made.sizes, made.answers, made.comes[here], leaves[here])
