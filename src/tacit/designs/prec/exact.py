"""What p-REC can leak at the very most, computed and not estimated.

Two neighbouring patterns are compared by the sum over rounds of ln(p / p'), with and without one
voter. While they survive, the only thing that matters of the past is how many others survive: an
adversary who writes all votes and all answers therefore plays a game with one number for a state,
and a dynamic program finds the adversary's maximum, in either direction. When the voter leaves,
both patterns go on alike.

floor    any votes and any answers, as long as the pattern with them has at least `peers` survivors:
         what a gate enforces. No promise.
promise  the client likes exactly one object a round and `peers` others vote for it in every round.

Rounds with fewer objects are covered: an object without votes does the same, with less of the
uniform part, and a larger uniform part only brings the two chances closer. So are voters who
leave: the others may shrink at any time.

Values are rounded upwards.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

from tacit.accounting.rounding import above
from tacit.designs.prec import theory

Mode = Literal["floor", "promise"]
Basis = Literal["exact", "bound"]
EXACT_VOTERS = {2: 6000, 3: 600}
"""By the number of objects: the most voters of whom every number is tried, in a second or two."""
EXACT_CREDITED = 40
"""The same for two objects and diversity + radius = 1, where voters differ by their credits."""
_ROUNDING = 1e-10
"""A log-ratio is off by 1e-13 at most, and a few dozen rounds leak."""


def floor_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Nats that a gated run costs at most, its gate apart; no promise about anybody.

    peers: the floor. With diversity and radius it is on all credits over what one voter has at the
    start: the gate keeps them at `peers * theory.credit(diversity, radius)` or above. voters: at
    most, all whom the client could ever count.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return _epsilon("floor", objects, rounds, diversity, radius, voters, peers)


def promise_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Nats that a run without a gate costs at most, if the promise is kept in both patterns."""
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return _epsilon("promise", objects, rounds, diversity, radius, voters, peers)


def peers_needed(
    epsilon: float,
    *,
    objects: int,
    rounds: int,
    voters: int,
    diversity: int = 0,
    radius: int = 0,
) -> int | None:
    """The smallest floor that costs `epsilon` at most; None if not even all voters are enough."""
    least = 6 * objects
    theory.check(objects, rounds, diversity, radius, max(voters, least), least)
    low, high = least, voters

    def enough(peers: int) -> bool:
        cost, _ = _epsilon("floor", objects, rounds, diversity, radius, voters, peers)
        return cost <= epsilon

    if high < low or not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


@lru_cache(maxsize=512)
def _epsilon(mode: Mode, m: int, T: int, D: int, R: int, n: int, P: int) -> tuple[float, Basis]:
    if m in EXACT_VOTERS and D == R == 0 and EXACT_VOTERS[m] >= P:
        return _whole_voters(mode, m, T, n, P)
    floor = theory.credit(D, R) * P if mode == "floor" else theory.credit_floor(D, R, P)
    if m == 2 and D + R == 1 and n <= EXACT_CREDITED:
        value = _credited(T, R, n, floor)
        certain = mode == "floor" and _leaking_rounds(4, 3 * n, floor, 3) <= T
        return value, "exact" if certain else "bound"  # the promise does more than keep the floor
    chain = theory.eps_chain(m, T, D, R, n, floor, P)
    formula = (theory.eps_gated if mode == "floor" else theory.eps_tight)(m, T, D, R, P)
    return above(min(chain, formula), slack=1.0), "bound"


def _whole_voters(mode: Mode, m: int, T: int, n: int, P: int) -> tuple[float, Basis]:
    """Exact up to so many voters; rounds with more survivors than that by the chain bound."""
    from tacit.engine.prec_chain_compiled import worst

    most = min(n, EXACT_VOTERS[m])
    least = P if mode == "promise" else P - 1
    limit = T if _leaking_rounds(2 * m, most, P) > T else 0
    sums = worst(math.log(T), theory.gamma(m, T, 0), m, least, most - 1, limit, mode == "promise")
    value = float(sums.max()) + _ROUNDING
    if most == n:
        return value, "exact"
    return above(value + theory.eps_chain(m, T, 0, 0, n, most + 1, most + 1), slack=1.0), "bound"


def _credited(T: int, R: int, n: int, floor: int) -> float:
    from tacit.engine.prec_chain_compiled import worst_with_credits

    sums = worst_with_credits(
        math.log(theory.ratio(T, R)), theory.gamma(2, T, R), floor, n - 1, R == 0
    )
    return float(sums.max()) + _ROUNDING


def _leaking_rounds(parts: int, credits_: int, floor: int, each: int = 1) -> int:
    """Rounds at most that tell anything: each costs a part of all survivors a credit."""
    rounds, left = 0, credits_
    while left >= floor:
        left -= -(-left // (each * parts))
        rounds += 1
    return rounds
