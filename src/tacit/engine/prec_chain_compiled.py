"""Compiled dynamic programs for p-REC's exact privacy loss with two or three objects.

`largest_loss` is for m = 2 or 3 objects and voters without credits (diversity D and radius R are
0), `largest_loss_with_credits` for m = 2 objects and voters who begin with three credits.

In a round, m objects get votes, and the client is given object b with probability

    p_b = gamma / m + (1 - gamma) phi(x_b) / sum_j phi(x_j),

where gamma is the probability of a uniformly random object, and x_b is b's share of the votes.
phi(x) is e^(lambda x) - e^(lambda rho) for x > rho = 1 / (2 m), else 0; `theory.lam` of p-REC is
lambda. Two electorates are compared: some voters, called the others, and the same voters with one
extra voter. The outcome is that the client is given object b; p is its probability with the extra
voter, p' without. Without credits, voters whose votes go against the client's answer leave, so a
state is the number of others who are left.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _phi(votes: int, log_ratio: float, objects: int) -> Any:
    """Compute phi(c / votes) / r for c = 0 ... votes, with r = e^(lambda rho): (votes + 1,).

    It is expm1(ln r (2 m c - votes) / votes), which avoids cancellation, or 0 if 2 m c <= votes.

    Args:
        votes: Number of votes.
        log_ratio: ln r.
        objects: m.
    """
    phi = np.zeros(votes + 1)
    for count in range(votes + 1):
        if 2 * objects * count > votes:
            phi[count] = math.expm1(log_ratio * (2 * objects * count - votes) / votes)
    return phi


@_compile
def _informative_votes(others: int, objects: int) -> Any:
    """Return the fewest and the most votes of the others for b with which a round can lose privacy.

    With fewer votes, b's share is at most rho with and without the extra voter. If there are two
    objects and b has more votes, the share of the other object is at most rho. In both cases p = p'
    in this round, and the loss of the later rounds is at most that from the state in which one of
    the others has left.

    Args:
        others: Number of other voters.
        objects: m.
    """
    few = (others + 1) // (2 * objects)
    return few, others - few if objects == 2 else others


@_compile
def _fill_leaks(
    others: int, log_ratio: float, gamma: float, objects: int, peers: int, ways: int, leaks: Any
) -> None:
    """Fill leaks[side, way, k]: the largest loss of one round in which k others vote for b.

    It is the largest over all votes of the remaining others that the way allows; -inf if it allows
    none.

    Args:
        others: Number of other voters.
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        objects: m.
        peers: Number of others who must vote for the same object, for ways 2 and 3.
        ways: 2 or 4.
        leaks: (2, ways, others + 1) or larger, filled for the k from the fewest to the most votes
            that `_informative_votes` returns.
            Side 0 is ln(p / p'), side 1 is ln(p' / p). In way 0 the extra voter votes for b, in
            way 1 for another object. Ways 2 and 3 are ways 0 and 1 with the condition that at least
            `peers` of the others vote for the same object, which is not b.
    """
    phi_without, phi_with = _phi(others, log_ratio, objects), _phi(others + 1, log_ratio, objects)
    uniform = gamma / objects
    high, low = np.empty(4), np.empty(4)
    first, last = _informative_votes(others, objects)
    for k in range(first, last + 1):
        against = others - k
        high[:], low[:] = 0.0, np.inf
        # Of the others who do not vote for b, i vote for the second object and the remaining ones
        # for the third. If there are only two objects, all vote for the second. An extra voter who
        # does not vote for b votes for the second.
        for i in range(against if objects == 2 else 0, against + 1):
            p_without = uniform + (1 - gamma) * phi_without[k] / (
                phi_without[k] + phi_without[i] + phi_without[against - i]
            )
            agrees = uniform + (1 - gamma) * phi_with[k + 1] / (
                phi_with[k + 1] + phi_with[i] + phi_with[against - i]
            )
            differs = uniform + (1 - gamma) * phi_with[k] / (
                phi_with[k] + phi_with[i + 1] + phi_with[against - i]
            )
            agrees, differs = agrees / p_without, differs / p_without
            high[0], low[0] = max(high[0], agrees), min(low[0], agrees)
            high[1], low[1] = max(high[1], differs), min(low[1], differs)
            if ways == 4 and max(i, against - i) >= peers:
                high[2], low[2] = max(high[2], agrees), min(low[2], agrees)
                high[3], low[3] = max(high[3], differs), min(low[3], differs)
        for way in range(ways):
            leaks[0, way, k] = math.log(high[way]) if high[way] > 0 else -np.inf
            leaks[1, way, k] = -math.log(low[way]) if high[way] > 0 else -np.inf


@_compile
def _largest_loss_from_here(
    leaks: Any, side: int, others: int, k: int, least: int, promise: bool, value: Any
) -> Any:
    """Compute the largest loss of this and all further rounds if k others vote for b, the outcome.

    Args:
        leaks: As `_fill_leaks` fills it.
        side: 0 or 1, as in `_fill_leaks`.
        others: Number of other voters.
        k: Number of others who vote for b.
        least: Smallest number of others with which there is a further round.
        promise: As in `largest_loss`.
        value: (others + 1,) or longer: largest loss of the later rounds, by the number of others
            left.
    """
    agrees, differs = leaks[side, 0, k], leaks[side, 1, k]
    against = others - k
    after_like = value[k] if k >= least else 0.0
    after_dislike = value[against] if against >= least else 0.0
    if not promise:
        # The extra voter stays after a like of their object, or a dislike of another one. Once they
        # have left, later rounds lose nothing.
        return max(agrees + after_like, differs + after_dislike)
    # If the peers vote for another object, b is disliked. The voters for b leave, and so does the
    # extra voter if they voted for b.
    largest = max(leaks[side, 2, k], leaks[side, 3, k] + after_dislike)
    # If the peers vote for b, b is liked. The other voters leave, and so does the extra voter
    # unless they voted for b.
    if k >= least:
        largest = max(largest, agrees + after_like, differs)
    return largest


@_compile
def largest_loss(
    log_ratio: float, gamma: float, objects: int, least: int, most: int, rounds: int, promise: bool
) -> Any:
    """Compute the largest sums over all rounds of ln(p / p') and of ln(p' / p), as an array (2,).

    Args:
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        objects: m.
        least: Smallest number of other voters in a round.
        most: Number of other voters in the first round; they may leave at any time.
        rounds: Number of rounds; 0: no limit.
        promise: Whether in every round `least` or more of the others vote for the only object that
            is liked; if not, any votes and any answers are possible.
    """
    value = np.zeros((2, rounds + 1, most + 1))  # largest loss: [side, rounds left, others left]
    leaks = np.empty((2, 4, most + 1))
    rounds_used = 1 if rounds > 0 else 0  # without a limit, rounds are not counted down
    for others in range(max(least, 1), most + 1):
        first, last = _informative_votes(others, objects)
        _fill_leaks(others, log_ratio, gamma, objects, least, 4 if promise else 2, leaks)
        for side in range(2):
            for left in range(rounds_used, rounds + 1):
                after = value[side, left - rounds_used]
                best = max(value[side, left, others - 1], after[others])
                for k in range(first, last + 1):
                    best = max(
                        best,
                        _largest_loss_from_here(leaks, side, others, k, least, promise, after),
                    )
                value[side, left, others] = best
    return value[:, rounds, most].copy()


@_compile
def largest_loss_with_credits(
    log_ratio: float, gamma: float, floor: int, most: int, fatal: bool
) -> Any:
    """Compute what `largest_loss` does, for two objects and voters who begin with three credits.

    There is no limit on the number of rounds.

    A voter who did not vote for a liked object loses one credit; one who voted for a disliked
    object loses one as well, or all if `fatal`. A state has the credits of the extra voter and the
    numbers of others with three, two and one credits. States are visited in the order of these
    numbers. An answer that costs a voter a credit leads to an earlier state; any other answer
    follows a vote in which all agree, and loses no privacy.

    Args:
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        floor: Smallest sum of credits in a round; the extra voter's credits count, too.
        most: Number of other voters in the first round.
        fatal: Whether a vote for a disliked object costs all credits.
    """
    size = most + 1
    value = np.zeros((2, 4, size, size, size))
    leaks = np.zeros((size, 2, 4, size))
    objects = 2
    peers = 0  # a condition of ways 2 and 3, which are not used
    ways = 2
    for others in range(1, size):
        leaks_of_round = leaks[others, :, :, : others + 1]
        _fill_leaks(others, log_ratio, gamma, objects, peers, ways, leaks_of_round)
    for own_credits in range(1, 4):
        for three in range(size):
            for two in range(size - three):
                for one in range(size - three - two):
                    others, total = one + two + three, one + 2 * two + 3 * three + own_credits
                    for side in range(2):
                        table, leak = value[side], leaks[others, side]
                        best = max(
                            # One of the others leaves, who has one, two or three credits.
                            table[own_credits, three, two, one - 1] if one > 0 else 0.0,
                            table[own_credits, three, two - 1, one] if two > 0 else 0.0,
                            table[own_credits, three - 1, two, one] if three > 0 else 0.0,
                        )
                        if others > 0 and total >= floor:
                            best = max(
                                best, _best_split(leak, table, own_credits, three, two, one, fatal)
                            )
                        table[own_credits, three, two, one] = best
    return value[:, 3, most, 0, 0].copy()


@_compile
def _best_split(
    leak: Any, table: Any, own_credits: int, three: int, two: int, one: int, fatal: bool
) -> Any:
    """Find the largest loss over all votes, the extra voter's too, and over both answers.

    In a vote, i of the others with one credit vote for b, j of those with two credits, and k of
    those with three.

    Args:
        leak: (4, most + 1) loss of the round by the number of others who vote for b: in row 0 if
            the extra voter votes for b, in row 1 if they vote for the other object. Rows 2 and 3
            are not used.
        table: (4, most + 1, most + 1, most + 1) largest loss of the later rounds, by the extra
            voter's credits and the numbers of others with three, two and one credits.
        own_credits: Credits of the extra voter.
        three: Number of others with three credits.
        two: Number of others with two credits.
        one: Number of others with one credit.
        fatal: As in `largest_loss_with_credits`.
    """
    # Tables for an extra voter who agreed with the answer, did not vote for the liked object, or
    # voted for the disliked one.
    kept, charged, wrong = (
        table[own_credits],
        table[own_credits - 1],
        table[0 if fatal else own_credits - 1],
    )
    best = 0.0
    for k in range(three + 1):
        for j in range(two + 1):
            for i in range(one + 1):
                agrees, differs = leak[0, i + j + k], leak[1, i + j + k]
                # The numbers of others with three, two and one credits after the client has liked
                # b, and after the client has disliked b.
                liked = (k, three - k + j, two - j + i)
                disliked = (three - k, two - j, one - i)
                if not fatal:  # voters for b lose one credit, and not all
                    disliked = (three - k, two - j + k, one - i + j)
                best = max(best, agrees + kept[liked], differs + charged[liked])
                best = max(best, agrees + wrong[disliked], differs + kept[disliked])
    return best
