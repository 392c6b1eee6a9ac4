"""Bounds of what p-REC reveals and of how often it errs, and the voters that it takes.

floor    any votes and any answers, as long as the pattern with the voter has at least `peers`
         survivors: what a gate enforces. No promise.
promise  the client likes exactly one object a round and `peers` others vote for it in every round.

Values are rounded upwards. How they are found, and that they cover rounds with fewer objects and
voters who leave, is in docs/prec-theory.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from tacit.accounting.rounding import round_up
from tacit.designs.prec import theory
from tacit.errors import ConfigError

Mode = Literal["floor", "promise"]
Basis = Literal["exact", "bound"]
EXACT_VOTERS = {2: 6000, 3: 600}
"""Most voters of whom every number is tried, by the number of objects: a second or two."""
EXACT_CREDITED = 40
"""Most voters for two objects and diversity + radius = 1, where voters differ by their credits."""
_ROUNDING = 1e-10
"""A log-ratio is off by 1e-13 at most, and a few dozen rounds leak."""
UNLIKELY = 0.01  # the chance with which a plan's `likely_loss_bound` may fail


def floor_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a gated run, its gate apart; no promise about anybody.

    Args:
        objects: m.
        rounds: T.
        peers: P, the floor on all credits over `theory.credit`, what one voter has at the start.
        voters: n, at most all whom the client could ever count.
        diversity: D.
        radius: R.

    Returns:
        Nats, and whether they are exact or a bound.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("floor", objects, rounds, diversity, radius, voters, peers)


def promise_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a run without a gate, if the promise is kept in both patterns.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("promise", objects, rounds, diversity, radius, voters, peers)


def peers_needed(
    epsilon: float, *, objects: int, rounds: int, voters: int, diversity: int = 0, radius: int = 0
) -> int | None:
    """Find the smallest floor that costs `epsilon` at most; None if all voters are too few."""
    least = 6 * objects
    theory.check(objects, rounds, diversity, radius, max(voters, least), least)

    def suffices(peers: int) -> bool:
        cost, _ = cached_epsilon("floor", objects, rounds, diversity, radius, voters, peers)
        return cost <= epsilon

    if voters < least or not suffices(voters):
        return None
    return least + bisect_left(range(least, voters), True, key=suffices)


@lru_cache(maxsize=512)
def cached_epsilon(
    mode: Mode, m: int, T: int, D: int, R: int, n: int, P: int
) -> tuple[float, Basis]:
    """Bound the nats of a gated run or of a promise, once for each setting."""
    if m in EXACT_VOTERS and D == R == 0 and EXACT_VOTERS[m] >= P:
        return _whole_voters(mode, m, T, n, P)
    floor = theory.credit(D, R) * P if mode == "floor" else theory.credit_floor(D, R, P)
    if m == 2 and D + R == 1 and n <= EXACT_CREDITED:
        from tacit.engine.prec_chain_compiled import largest_loss_with_credits

        log_ratio = math.log(theory.ratio(T, R))
        gamma = theory.gamma(m, T, R)
        value = float(largest_loss_with_credits(log_ratio, gamma, floor, n - 1, R == 0).max())
        certain = mode == "floor" and _leaking_rounds(12, 3 * n, floor) <= T
        return value + _ROUNDING, "exact" if certain else "bound"  # a promise keeps more
    chain = theory.eps_chain(m, T, D, R, n, floor, P)
    if mode == "floor":
        formula = theory.eps_gated(m, T, D, R, P)
    else:
        formula = theory.eps_tight(m, T, D, R, P)
    return round_up(min(chain, formula), slack=1.0), "bound"


def _whole_voters(mode: Mode, m: int, T: int, n: int, P: int) -> tuple[float, Basis]:
    """Compute the loss exactly up to so many voters, and by the chain bound with more survivors."""
    from tacit.engine.prec_chain_compiled import largest_loss

    most = min(n, EXACT_VOTERS[m])
    least = P if mode == "promise" else P - 1
    limit = T if _leaking_rounds(2 * m, most, P) > T else 0
    sums = largest_loss(
        math.log(T), theory.gamma(m, T, 0), m, least, most - 1, limit, mode == "promise"
    )
    value = float(sums.max()) + _ROUNDING
    if most == n:
        return value, "exact"
    return round_up(value + theory.eps_chain(m, T, 0, 0, n, most + 1, most + 1), slack=1.0), "bound"


def _leaking_rounds(parts: int, credits_: int, floor: int) -> int:
    """Bound the rounds that tell anything: each costs one of so many parts of all credits."""
    rounds = 0
    while credits_ >= floor:
        credits_ -= -(-credits_ // parts)
        rounds += 1
    return rounds


def plan(
    *,
    objects: int,
    rounds: int,
    peers: int,
    voters: int,
    diversity: int = 0,
    radius: int = 0,
    epsilon: float | None = None,
    loss: float | None = None,
    mode: Mode | None = None,
) -> dict[str, Any]:
    """Compute all that is known before the first vote, with epsilon also the voters it takes.

    Args:
        objects: m.
        rounds: T.
        peers: P.
        voters: n.
        diversity: D.
        radius: R.
        epsilon: Nats for which voters are counted; None to count none.
        loss: Disliked recommendations that are allowed; None to plan no loss.
        mode: Whose epsilon a loss takes.

    Returns:
        JSON values; epsilons in nats, for one voter with all their votes, seen by one client.
        `loss_bound`: expected disliked recommendations at most; `likely_loss_bound`: but for
        UNLIKELY; `loss_lower_bound`, `epsilon_lower_bound`: nobody can go below, with or without
        privacy, or if they keep the loss bound; `epsilon_proven`: the best upper bounds known, by
        mode; `epsilon_exact`: those of them that are exact, None where none is; `peers_needed`: see
        `_count_needed_voters`; with a loss also the fields of `LossPlan`.

    Raises:
        ConfigError: A number is out of range.
    """
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check(m, T, D, R, n, P)
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise ConfigError(f"epsilon is a finite number above 0; got {epsilon}.")
    modes: tuple[Mode, ...] = ("promise", "floor")
    values = {mode: cached_epsilon(mode, m, T, D, R, n, P) for mode in modes}
    exact = {mode: value if basis == "exact" else None for mode, (value, basis) in values.items()}
    sizes = {"objects": m, "rounds": T, "diversity": D, "radius": R, "peers": P, "voters": n}
    planned: dict[str, Any] = sizes | {
        "gamma": theory.gamma(m, T, R),
        "lambda": theory.lam(m, T, R),
        "loss_bound": theory.loss_bound(m, T, R, n, P),
        "likely_loss_bound": theory.likely_loss_bound(m, T, R, n, P, UNLIKELY),
        "loss_lower_bound": theory.loss_lower_bound(m, T, R, n, P),
        "epsilon_tight": theory.eps_tight(m, T, D, R, P),
        "epsilon_paper": theory.eps_paper(m, T, D, R, P),
        "epsilon_lower_bound": theory.eps_lower_bound(m, T, D, R, n, P),
        "epsilon_proven": {mode: value for mode, (value, _) in values.items()},
        "epsilon_exact": exact if any(exact.values()) else None,
        "epsilon_exact_reason": None if all(exact.values()) else _reason_not_exact(m, D, R),
    }
    if epsilon is not None:
        planned["peers_needed"] = _count_needed_voters(epsilon, m, T, D, R, n)
    if loss is not None:
        sizes = {"objects": m, "rounds": T, "peers": P, "voters": n}
        planned |= asdict(plan_loss(loss, **sizes, diversity=D, radius=R, mode=mode))
    return planned


@dataclass(frozen=True)
class LowerBound:
    """Lower bound of epsilon for everybody who keeps a loss."""

    name: str
    """Lemma or theorem."""
    epsilon: float
    """Nats; 0 where it says nothing."""


@dataclass(frozen=True)
class LossPlan:
    """The least epsilon that p-REC is proven to have for a loss, and the lower bounds beside it."""

    loss: float
    """Expected disliked recommendations that are allowed."""
    epsilon: float | None
    """Nats of one voter's whole history; 0 where uniform recommendations are good enough; None
    below p-REC's own loss bound: it has no knob that buys less loss for more epsilon."""
    mode: Mode | None
    """Whose epsilon it is; None where nothing of votes is used, or nothing is proven."""
    bounds: tuple[LowerBound, ...]
    """Lower bounds of epsilon at this loss, for any algorithm."""
    decides: str | None
    """Name of the largest bound; None where all are 0."""
    gap: float | None
    """Epsilon over the largest bound; None where either says nothing."""
    impossible: bool
    """Whether no algorithm has so small a loss, at any epsilon (Theorem 6)."""


def plan_loss(
    loss: float,
    *,
    objects: int,
    rounds: int,
    peers: int,
    voters: int,
    diversity: int = 0,
    radius: int = 0,
    mode: Mode | None = None,
) -> LossPlan:
    """Find the least proven epsilon for a loss, and the lower bounds beside it.

    Theorems 1, 2, 7 and 15: p-REC's epsilon is a step at its own loss bound, and the lower bounds
    hardly fall until a loss is near that of uniform recommendations.

    Args:
        loss: Expected disliked recommendations that are allowed.
        objects: m.
        rounds: T.
        peers: P.
        voters: n.
        diversity: D.
        radius: R.
        mode: Whose proven epsilon is taken; None for the smaller of both.

    Raises:
        ConfigError: The loss is no number from 0 up, or a size is out of range.
    """
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check(m, T, D, R, n, P)
    if not (math.isfinite(loss) and loss >= 0):
        raise ConfigError(f"loss counts disliked recommendations, from 0 up; got {loss}.")
    if mode not in (None, "promise", "floor"):
        raise ConfigError(f"A mode is promise or floor; got {mode!r}.")
    epsilon: float | None = None
    decisive_mode: Mode | None = None
    if loss >= theory.uniform_loss(m, T):
        epsilon = 0.0
    elif loss >= theory.loss_bound(m, T, R, n, P):
        modes: tuple[Mode, ...] = ("promise", "floor") if mode is None else (mode,)
        proven = [(cached_epsilon(mode, m, T, D, R, n, P)[0], mode) for mode in modes]
        epsilon, decisive_mode = min(proven)
    bounds = lower_bounds(T, D, R, n, P, loss)
    highest = max(bounds, key=lambda bound: bound.epsilon)
    known = highest.epsilon > 0
    return LossPlan(
        loss=loss,
        epsilon=epsilon,
        mode=decisive_mode,
        bounds=bounds,
        decides=highest.name if known else None,
        gap=epsilon / highest.epsilon if known and epsilon is not None else None,
        impossible=loss < theory.loss_lower_bound(m, T, R, n, P),
    )


def lower_bounds(T: int, D: int, R: int, n: int, P: int, loss: float) -> tuple[LowerBound, ...]:
    """Compute the lower bounds of epsilon at a loss; 0 where one says nothing.

    Theorem 1 is the larger of the two. A loss of 0 is bounded as one of a millionth.
    """
    at_least = max(loss, 1e-6)
    return (
        LowerBound("Lemma 8", theory.eps_lower_8(T, n, P, at_least)),
        LowerBound("Theorem 15", theory.eps_lower_15(T, D, R, n, P, at_least)),
    )


def loss_curve(
    *,
    objects: int,
    rounds: int,
    peers: int,
    voters: int,
    diversity: int = 0,
    radius: int = 0,
    mode: Mode | None = None,
    points: int = 60,
) -> list[LossPlan]:
    """Plan losses from half of p-REC's bound to the number of rounds, on a logarithmic scale.

    p-REC's loss bound and the loss of uniform recommendations, where the curve steps, are among
    them, and what is just below.
    """
    bound = theory.loss_bound(objects, rounds, radius, voters, peers)
    uniform = theory.uniform_loss(objects, rounds)
    first = math.log(min(bound, uniform) / 2)
    last = math.log(rounds)
    losses = {math.exp(first + (last - first) * step / points) for step in range(points + 1)}
    for step in (bound, uniform):
        losses |= {step, step * (1 - 1e-9)}
    sizes = {"objects": objects, "rounds": rounds, "peers": peers, "voters": voters}
    sizes |= {"diversity": diversity, "radius": radius}
    return [plan_loss(loss, **sizes, mode=mode) for loss in sorted(losses)]


def _reason_not_exact(m: int, D: int, R: int) -> str:
    """Say why no exact number is known."""
    if D == R == 0 and m in EXACT_VOTERS:
        return f"With {m} objects every number of voters is tried up to {EXACT_VOTERS[m]} of them."
    if D + R == 1 and m == 2:
        return (
            "With diversity or radius 1 the exact number is computed for the gate alone, up to "
            f"{EXACT_CREDITED} voters."
        )
    return (
        "The exact number is computed for 2 or 3 objects with diversity and radius 0, and for 2 "
        "objects with one of them 1."
    )


def _count_needed_voters(epsilon: float, m: int, T: int, D: int, R: int, n: int) -> dict[str, Any]:
    """Count the voters for one epsilon, the gate's own apart.

    Returns:
        `theorem`: by the proof's formula; `floor`: the fewest that are known to be enough under a
        gate, None where not even all voters are; `exact_floor`: `floor` where it is exact, so that
        one voter fewer would not be enough.
    """
    theorem = max(6 * m, math.ceil(theory.eps_tight(m, T, D, R, 1) / epsilon))
    floor = peers_needed(epsilon, objects=m, rounds=T, voters=n, diversity=D, radius=R)
    certain = floor is not None and cached_epsilon("floor", m, T, D, R, n, floor)[1] == "exact"
    return {
        "epsilon": epsilon,
        "theorem": theorem,
        "floor": floor,
        "exact_floor": floor if certain else None,
    }
