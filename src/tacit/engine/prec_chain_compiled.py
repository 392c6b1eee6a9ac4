"""A compiled dynamic program for p-REC's exact privacy loss (D = R = 0, m = 2 or 3 objects).

In a round, m objects get votes, and the client is given object b with probability

    p_b = gamma / m + (1 - gamma) phi(x_b) / sum_j phi(x_j),

where x_b is b's share of the votes; phi(x) = e^(lambda x) - e^(lambda rho) for x > rho = 1 / (2 m),
else 0. Two electorates are compared: the others, and the others with one extra voter. p is the
probability of the outcome with the extra voter, p' without. Voters whose votes go against the
client's answer leave, so a state is the number of others who are left.
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
    """Find the fewest and the most votes of the others for b with which a round loses privacy.

    With fewer votes, b's share is at most rho with and without the extra voter; of two objects,
    with more votes the other one's is. Then p = p', and the loss of the rounds after is at most
    that after one voter has left.

    Args:
        others: Number of other voters.
        objects: m.
    """
    few = (others + 1) // (2 * objects)
    return few, others - few if objects == 2 else others


@_compile
def _leaks(
    others: int, log_ratio: float, gamma: float, objects: int, peers: int, ways: int, leaks: Any
) -> None:
    """Fill leaks[side, way, k]: the largest loss of a round in which k others vote for outcome b.

    It is the largest over all ways in which the remaining others can vote; -inf if there is none.

    Args:
        others: Number of other voters.
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        objects: m.
        peers: Number of others who must vote for the same object, for ways 2 and 3.
        ways: 2 or 4.
        leaks: (2, ways, others + 1) filled for the k that `_informative_votes` returns. Side 0 is
            ln(p / p'), side 1 is ln(p' / p). Way 0: the extra voter votes for b; 1: for another
            object; 2 and 3: the same, with at least `peers` of the others voting for one object
            that is not b.
    """
    without, with_extra = _phi(others, log_ratio, objects), _phi(others + 1, log_ratio, objects)
    uniform = gamma / objects
    high, low = np.empty(4), np.empty(4)
    first, last = _informative_votes(others, objects)
    for k in range(first, last + 1):
        rest = others - k
        high[:], low[:] = 0.0, np.inf
        for i in range(rest if objects == 2 else 0, rest + 1):
            before = uniform + (1 - gamma) * without[k] / (
                without[k] + without[i] + without[rest - i]
            )
            agrees = uniform + (1 - gamma) * with_extra[k + 1] / (
                with_extra[k + 1] + with_extra[i] + with_extra[rest - i]
            )
            differs = uniform + (1 - gamma) * with_extra[k] / (
                with_extra[k] + with_extra[i + 1] + with_extra[rest - i]
            )
            agrees, differs = agrees / before, differs / before
            high[0], low[0] = max(high[0], agrees), min(low[0], agrees)
            high[1], low[1] = max(high[1], differs), min(low[1], differs)
            if ways == 4 and max(i, rest - i) >= peers:
                high[2], low[2] = max(high[2], agrees), min(low[2], agrees)
                high[3], low[3] = max(high[3], differs), min(low[3], differs)
        for way in range(ways):
            leaks[0, way, k] = math.log(high[way]) if high[way] > 0 else -np.inf
            leaks[1, way, k] = -math.log(low[way]) if high[way] > 0 else -np.inf


@_compile
def _largest_loss_from_here(
    leaks: Any, side: int, others: int, k: int, least: int, promise: bool, value: Any
) -> Any:
    """Compute the largest loss of this and all further rounds if k others vote for outcome b.

    Args:
        leaks: As `_leaks` fills it.
        side: 0 or 1, as in `_leaks`.
        others: Number of other voters.
        k: How many of them vote for b.
        least: Number of others below which there is no further round.
        promise: As in `largest_loss`.
        value: (others + 1,) largest loss of the rounds after, by the number of others left.
    """
    agrees, differs = leaks[side, 0, k], leaks[side, 1, k]
    rest = others - k
    after_like = value[k] if k >= least else 0.0
    after_dislike = value[rest] if rest >= least else 0.0
    if not promise:
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
    """Compute the largest sum over rounds of ln(p / p') and of ln(p' / p): (2,).

    Args:
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        objects: m.
        least: Smallest number of other voters in a round.
        most: Number of other voters in the first round; they may leave at any time.
        rounds: Number of rounds; 0: no limit.
        promise: Whether in every round `least` of the others vote for the only object that is
            liked; if not, any votes and any answers are possible.
    """
    value = np.zeros((2, rounds + 1, most + 1))  # largest loss: [side, rounds left, others left]
    leaks = np.empty((2, 4, most + 1))
    back = 1 if rounds > 0 else 0  # without a limit, no number of rounds is counted down
    for others in range(max(least, 1), most + 1):
        first, last = _informative_votes(others, objects)
        _leaks(others, log_ratio, gamma, objects, least, 4 if promise else 2, leaks)
        for side in range(2):
            for left in range(back, rounds + 1):
                after = value[side, left - back]
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
    """Compute what `largest_loss` does, for two objects, voters with three credits, and any rounds.

    A voter who did not vote for a liked object loses one credit; one who voted for a disliked
    object loses one as well, or all if `fatal`. States are visited in the order of the numbers of
    voters with three, two and one credits: every answer leads to an earlier one.

    Args:
        log_ratio: ln r, as in `_phi`.
        gamma: Probability of a uniformly random object.
        floor: Smallest sum of all credits, with those of the extra voter, in a round.
        most: Number of other voters in the first round.
        fatal: Whether a vote for a disliked object costs all credits.
    """
    size = most + 1
    value = np.zeros((2, 4, size, size, size))
    leaks = np.zeros((size, 2, 4, size))
    objects = 2
    peers = 0  # ways 0 and 1 need none
    ways = 2
    for others in range(1, size):
        leaks_of_round = leaks[others, :, :, : others + 1]
        _leaks(others, log_ratio, gamma, objects, peers, ways, leaks_of_round)
    for own in range(1, 4):
        for three in range(size):
            for two in range(size - three):
                for one in range(size - three - two):
                    others, total = one + two + three, one + 2 * two + 3 * three + own
                    for side in range(2):
                        table, leak = value[side], leaks[others, side]
                        best = max(
                            table[own, three, two, one - 1] if one > 0 else 0.0,  # a voter left
                            table[own, three, two - 1, one] if two > 0 else 0.0,
                            table[own, three - 1, two, one] if three > 0 else 0.0,
                        )
                        if others > 0 and total >= floor:
                            best = max(best, _best_split(leak, table, own, three, two, one, fatal))
                        table[own, three, two, one] = best
    return value[:, 3, most, 0, 0].copy()


@_compile
def _best_split(
    leak: Any, table: Any, own: int, three: int, two: int, one: int, fatal: bool
) -> Any:
    """Find the largest loss over all votes of the others and of the extra voter, and both answers.

    i of the others with one credit vote for outcome b, j of those with two, k of those with three.

    Args:
        leak: (2, others + 1) loss of the round if the extra voter votes for b, or for the other.
        table: (4, three, two, one) largest loss of the rounds after, by the extra voter's credits
            and the numbers of others with each number of credits.
        own: Credits of the extra voter.
        three: Number of others with three credits.
        two: Number of others with two credits.
        one: Number of others with one credit.
        fatal: As in `largest_loss_with_credits`.
    """
    # Tables for an extra voter who keeps the credits, missed a liked object, or chose a disliked.
    kept, charged, wrong = table[own], table[own - 1], table[0 if fatal else own - 1]
    best = 0.0
    for k in range(three + 1):
        for j in range(two + 1):
            for i in range(one + 1):
                agrees, differs = leak[0, i + j + k], leak[1, i + j + k]
                liked = (k, three - k + j, two - j + i)
                disliked = (three - k, two - j, one - i)
                if not fatal:
                    disliked = (three - k, two - j + k, one - i + j)
                best = max(best, agrees + kept[liked], differs + charged[liked])
                best = max(best, agrees + wrong[disliked], differs + kept[disliked])
    return best
