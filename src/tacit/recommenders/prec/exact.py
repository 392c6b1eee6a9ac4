"""What p-REC can leak at the very most, computed and not estimated.

Two neighbouring patterns are told apart by the sum over rounds of ln(p / p'), with and without one
voter. While she survives, the only thing that matters of the past is how many others survive: an
adversary who writes all votes and all answers therefore plays a game with one number for a state,
and a dynamic program finds the most that he can get, in either direction. When she is kicked out,
both patterns go on alike.

floor    any votes and any answers, as long as the pattern with her has at least `peers` survivors:
         what a gate enforces. No promise.
promise  the client likes exactly one object a round and `peers` others vote for it in every round.

Rounds with fewer objects are covered: an object without votes does the same, with less of the
uniform part, and a larger uniform part only brings the two chances closer. So are voters who
leave: the others may shrink at any time.

Values are rounded upwards.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Literal

from tacit.accounting.rounding import above
from tacit.recommenders.prec import theory

Basis = Literal["exact", "bound"]
EXACT_VOTERS = {2: 4000, 3: 600}
"""By the number of objects: the most voters of whom every number is tried, in about a second."""
_ROUNDING = 1e-10
"""A log-ratio is off by 1e-13 at most, and a few dozen rounds leak."""


def floor_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Nats that a gated run costs at most, its gate apart; no promise about anybody.

    peers: the floor. With diversity and radius it is on credits: the gate keeps their total at
    `theory.credit_floor` or above. voters: at most, all whom the client could ever count.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return _epsilon("floor", objects, rounds, peers, voters, diversity, radius)


def promise_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Nats that a run without a gate costs at most, if the promise is kept in both patterns."""
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return _epsilon("promise", objects, rounds, peers, voters, diversity, radius)


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
    cost = partial(
        floor_epsilon,
        objects=objects,
        rounds=rounds,
        voters=voters,
        diversity=diversity,
        radius=radius,
    )
    low, high = 6 * objects, voters
    if high < low or cost(peers=high)[0] > epsilon:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(peers=middle)[0] <= epsilon else (middle + 1, high)
    return low


@lru_cache(maxsize=512)
def _epsilon(
    mode: str,
    m: int,
    T: int,
    P: int,
    n: int,
    D: int,
    R: int,
) -> tuple[float, Basis]:
    chain = partial(theory.eps_chain, m, T, D, R, n)
    if D == R == 0 and m in EXACT_VOTERS and EXACT_VOTERS[m] >= P:
        most = min(n, EXACT_VOTERS[m])
        value = _exact(mode, m, T, P, most)
        if most == n:
            return value, "exact"
        return above(value + chain(most + 1)), "bound"
    bound = chain(P, least_weight=P if mode == "promise" else None)
    return above(min(bound, theory.eps_tight(m, T, D, R, P)), slack=1.0), "bound"


def _exact(mode: str, m: int, T: int, P: int, n: int) -> float:
    from tacit.engine.prec_chain_compiled import worst

    promise, enough = mode == "promise", _leaking_rounds(m, P, n)
    sums = worst(
        math.log(T),
        theory.gamma(m, T, 0),
        m,
        P if promise else P - 1,
        n - 1,
        T if enough > T else 0,
        promise,
    )
    return float(sums.max()) + _ROUNDING


def _leaking_rounds(m: int, P: int, n: int) -> int:
    """Rounds at most that tell anything: each costs W / 2m of W survivors (see `eps_chain`)."""
    rounds, left = 0, n
    while left >= P:
        left -= -(-left // (2 * m))
        rounds += 1
    return rounds
