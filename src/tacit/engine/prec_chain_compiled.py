"""The compiled dynamic program behind p-REC's exact loss of privacy (D = R = 0, m = 2 or 3)."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _phi(votes: int, log_ratio: float, objects: int) -> Any:
    """(votes + 1,) phi(c / votes) / r for c of so many votes, 0 where 2 m c <= votes.

    e^(lambda x) - e^(lambda rho) = r expm1(ln r (2 m c - votes) / votes): no cancellation.
    """
    phi = np.zeros(votes + 1)
    for count in range(votes + 1):
        if 2 * objects * count > votes:
            phi[count] = math.expm1(log_ratio * (2 * objects * count - votes) / votes)
    return phi


@_compile
def _informative_votes(others: int, objects: int) -> Any:
    """Find the fewest and the most votes of the others for b with which a round tells anything.

    With fewer, b is at or below rho with and without them; between two objects, with more the other
    one is. Then both chances are alike, and what remains is worth no more than one voter leaving.
    """
    few = (others + 1) // (2 * objects)
    return few, others - few if objects == 2 else others


@_compile
def _leaks(
    others: int, log_ratio: float, gamma: float, objects: int, peers: int, ways: int, leaks: Any
) -> None:
    """leaks[side, way, k]: the most that a round tells when k of the others vote for the outcome b.

    side 0: by ln(p / p'), side 1: by ln(p' / p), p with the extra voter. way 0: they vote for b;
    1: for another object; 2 and 3: the same with `peers` of the others at least on one object
    that is not b. -inf where there is no such round. The largest over all ways to spread the rest.
    Only those k are filled in that `_informative_votes` names.
    """
    without, beside = _phi(others, log_ratio, objects), _phi(others + 1, log_ratio, objects)
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
            agrees = uniform + (1 - gamma) * beside[k + 1] / (
                beside[k + 1] + beside[i] + beside[rest - i]
            )
            differs = uniform + (1 - gamma) * beside[k] / (
                beside[k] + beside[i + 1] + beside[rest - i]
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
def _largest_further_loss(
    leaks: Any, side: int, others: int, k: int, least: int, promise: bool, value: Any
) -> Any:
    """Largest loss from this round on, b having k of the others' votes.

    value: (others + 1,) largest loss of the rounds after, by the others who are left.
    """
    agrees, differs = leaks[side, 0, k], leaks[side, 1, k]
    rest = others - k
    liked = value[k] if k >= least else 0.0
    disliked = value[rest] if rest >= least else 0.0
    if not promise:
        return max(agrees + liked, differs + disliked)
    most = max(leaks[side, 2, k], leaks[side, 3, k] + disliked)  # b is not what the peers vote for
    if k >= least:
        most = max(most, agrees + liked, differs)
    return most


@_compile
def largest_loss(
    log_ratio: float, gamma: float, objects: int, least: int, most: int, rounds: int, promise: bool
) -> Any:
    """(2,) sup of the sum over rounds of ln(p / p') and of ln(p' / p).

    least, most: of the others, while they survive. rounds: 0 for as many as one likes. promise:
    `least` of the others agree in every round on the only object that is liked; else any counts
    and any answers. Others may leave at any time.
    """
    value = np.zeros((2, rounds + 1, most + 1))
    leaks = np.empty((2, 4, most + 1))
    back = 1 if rounds > 0 else 0  # without a limit, fewer survivors are worth what they are
    for others in range(max(least, 1), most + 1):
        first, last = _informative_votes(others, objects)
        _leaks(others, log_ratio, gamma, objects, least, 4 if promise else 2, leaks)
        for side in range(2):
            for left in range(back, rounds + 1):
                after = value[side, left - back]
                best = max(value[side, left, others - 1], after[others])
                for k in range(first, last + 1):
                    best = max(
                        best, _largest_further_loss(leaks, side, others, k, least, promise, after)
                    )
                value[side, left, others] = best
    return value[:, rounds, most].copy()


@_compile
def largest_loss_with_credits(
    log_ratio: float, gamma: float, floor: int, most: int, fatal: bool
) -> Any:
    """(2,) the same for two objects and voters with three credits each; no limit of rounds.

    Who misses a liked object loses one; who votes for a disliked one loses one too, or all of them
    if `fatal`. floor: on all credits, theirs with them. most: of the others. A vote or an answer
    leaves fewer with three credits, or as many and fewer with two, and so on: in that order, what
    comes after is known.
    """
    size = most + 1
    value = np.zeros((2, 4, size, size, size))
    leaks = np.zeros((size, 2, 4, size))
    for others in range(1, size):
        _leaks(others, log_ratio, gamma, 2, 0, 2, leaks[others, :, :, : others + 1])
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
    """Find the most over who votes for the outcome b, over their vote and over the answer.

    i of those with one credit vote for b, j of those with two, k of those with three.
    """
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
