"""Bounds of p-REC's epsilon and of its loss, and how many voters it needs, before the first vote.

There are two bounds of epsilon, by what is assumed (`Mode`):

floor    any votes and any answers, as long as at least `peers` survivors are left, the hidden voter
         among them. A gate enforces this; the gate's own epsilon and delta are added.
promise  the client likes exactly one object in each round, and `peers` other voters vote for it in
         every round. Nobody can check this.

Values are rounded upwards. docs/prec-theory.md derives them, and shows that they also hold for
rounds with fewer objects and for voters who leave. The formulas are in `theory.py`; the exact worst
case is computed by `tacit.engine.prec_chain_compiled`.
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
"""Largest numbers of voters for which epsilon is computed exactly with D = R = 0, by the number of
objects. It takes a second or two."""
EXACT_CREDITED = 40
"""The same for two objects and diversity + radius = 1, where voters differ by their credits."""
_ROUNDING = 1e-10
"""Added to computed losses: a log-ratio is off by 1e-13 at most, and a few dozen rounds leak."""
UNLIKELY = 0.01
"""Chance with which a plan's `likely_loss_bound` may fail."""


def floor_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a run with a gate, without the gate's own epsilon.

    Args:
        objects: m.
        rounds: T.
        peers: P. The gate keeps the sum of all credits at P c or above, where c is the credit of
            one voter at the start (`theory.credit`).
        voters: n, the most voters who can ever count for the client.
        diversity: D.
        radius: R.

    Returns:
        Nats, and whether they are the exact worst case or an upper bound.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("floor", objects, rounds, diversity, radius, voters, peers)


def promise_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a run without a gate, if the promise holds in both patterns.

    Returns:
        As `floor_epsilon`.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("promise", objects, rounds, diversity, radius, voters, peers)


def peers_needed(
    epsilon: float, *, objects: int, rounds: int, voters: int, diversity: int = 0, radius: int = 0
) -> int | None:
    """Find the fewest peers at which a run with a gate costs at most `epsilon` nats.

    The gate's own epsilon is not included. None if even all voters are too few.
    """
    fewest = theory.fewest_peers(objects)
    theory.check(objects, rounds, diversity, radius, max(voters, fewest), fewest)

    def suffices(peers: int) -> bool:
        cost, _ = cached_epsilon("floor", objects, rounds, diversity, radius, voters, peers)
        return cost <= epsilon

    if voters < fewest or not suffices(voters):
        return None
    return fewest + bisect_left(range(fewest, voters), True, key=suffices)


@lru_cache(maxsize=512)
def cached_epsilon(
    mode: Mode, m: int, T: int, D: int, R: int, n: int, P: int
) -> tuple[float, Basis]:
    """Bound the nats of a run with a gate ("floor") or under the promise, once for each setting.

    Sizes are not checked (`theory.check`).

    Returns:
        As `floor_epsilon`.
    """
    if m in EXACT_VOTERS and D == R == 0 and EXACT_VOTERS[m] >= P:
        return _epsilon_without_credits(mode, m, T, n, P)
    if mode == "floor":
        least_credit = theory.gated_credit(D, R, P)
    else:
        least_credit = theory.promised_credit(D, R, P)
    if m == 2 and D + R == 1 and n <= EXACT_CREDITED:
        return _epsilon_with_three_credits(mode, T, R, n, least_credit)
    chain = theory.eps_chain(m, T, D, R, n, least_credit, P)
    formula = theory.eps_at_credit(m, T, D, R, least_credit)
    return round_up(min(chain, formula), slack=1.0), "bound"


def _epsilon_without_credits(mode: Mode, m: int, T: int, n: int, P: int) -> tuple[float, Basis]:
    """Compute the nats for D = R = 0: exactly for up to EXACT_VOTERS survivors.

    The chain bound is added for rounds with more survivors.
    """
    from tacit.engine.prec_chain_compiled import largest_loss

    most_survivors = min(n, EXACT_VOTERS[m])
    fewest_others = P if mode == "promise" else P - 1  # besides the hidden voter
    is_limited = _most_leaking_rounds(2 * m, most_survivors, P) > T
    losses = largest_loss(
        math.log(T),
        theory.gamma(m, T, 0),
        m,
        fewest_others,
        most_survivors - 1,
        T if is_limited else 0,  # 0: any number of rounds, of which fewer than T leak
        mode == "promise",
    )
    value = float(losses.max()) + _ROUNDING
    if most_survivors == n:
        return value, "exact"
    more_survivors = theory.eps_chain(m, T, 0, 0, n, most_survivors + 1, most_survivors + 1)
    return round_up(value + more_survivors, slack=1.0), "bound"


def _epsilon_with_three_credits(
    mode: Mode, T: int, R: int, n: int, least_credit: int
) -> tuple[float, Basis]:
    """Compute the nats for two objects and D + R = 1, where a voter starts with three credits.

    The value is exact for a gate, if the rounds that can leak are no more than T. For the promise
    it is a bound, since peers keep more than the least credit.
    """
    from tacit.engine.prec_chain_compiled import largest_loss_with_credits

    log_ratio = math.log(theory.ratio(T, R))
    losses = largest_loss_with_credits(
        log_ratio, theory.gamma(2, T, R), least_credit, n - 1, R == 0
    )
    # Of W survivors at least W / 4 lose a credit each (2m = 4): with 3 credits each, 1/12 of all
    leaking_rounds = _most_leaking_rounds(12, 3 * n, least_credit)
    is_exact = mode == "floor" and leaking_rounds <= T
    return float(losses.max()) + _ROUNDING, "exact" if is_exact else "bound"


def _most_leaking_rounds(parts: int, credit_at_start: int, least_credit: int) -> int:
    """Bound how many rounds can leak: each costs at least one of `parts` parts of all credit.

    The part is rounded up. Below `least_credit` no round leaks.
    """
    rounds = 0
    credit_left = credit_at_start
    while credit_left >= least_credit:
        credit_left -= theory.divide_up(credit_left, parts)
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
    """Compute the bounds of epsilon and loss for one setting.

    Args:
        objects: m.
        rounds: T.
        peers: P.
        voters: n.
        diversity: D.
        radius: R.
        epsilon: Target in nats; if given, `peers_needed` is computed for it.
        loss: Disliked recommendations that are allowed; if given, the least epsilon for it is
            found.
        mode: Mode of the epsilon that is found for `loss`; None for the smaller of both.

    Returns:
        JSON values. Epsilons are in nats, for one voter with all their votes, seen by one client.

        `objects` to `voters`, `diversity`, `radius`: the arguments.
        `gamma`, `lambda`: p-REC's own parameters for these numbers.
        `loss_bound`: upper bound of the expected disliked recommendations.
        `likely_loss_bound`: upper bound that fails with the chance UNLIKELY.
        `loss_lower_bound`: no algorithm has less, private or not.
        `epsilon_lower_bound`: no algorithm that keeps `loss_bound` has less.
        `epsilon_tight`: bound of Theorems 11 and 17, under the promise.
        `epsilon_paper`: the same bound in the paper's simpler form, which is looser.
        `epsilon_proven`: the best upper bound known, by mode.
        `epsilon_exact`: those of them that are exact, by mode, None for a mode whose is not; None
            if neither is.
        `epsilon_exact_reason`: why one is not exact; None if both are.
        `peers_needed`: with `epsilon`, see `_compute_needed_peers`.
        Fields of `LossPlan`: with `loss`.

    Raises:
        ConfigError: A number is out of range.
    """
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check(m, T, D, R, n, P)
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise ConfigError(f"epsilon is a finite number above 0; got {epsilon}.")
    modes: tuple[Mode, ...] = ("promise", "floor")
    proven: dict[Mode, float] = {}
    exact: dict[Mode, float | None] = {}
    for proof_mode in modes:
        value, basis = cached_epsilon(proof_mode, m, T, D, R, n, P)
        proven[proof_mode] = value
        exact[proof_mode] = value if basis == "exact" else None
    has_exact = [value is not None for value in exact.values()]
    planned: dict[str, Any] = {
        "objects": m,
        "rounds": T,
        "diversity": D,
        "radius": R,
        "peers": P,
        "voters": n,
        "gamma": theory.gamma(m, T, R),
        "lambda": theory.lam(m, T, R),
        "loss_bound": theory.loss_bound(m, T, R, n, P),
        "likely_loss_bound": theory.likely_loss_bound(m, T, R, n, P, UNLIKELY),
        "loss_lower_bound": theory.loss_lower_bound(m, T, R, n, P),
        "epsilon_tight": theory.eps_tight(m, T, D, R, P),
        "epsilon_paper": theory.eps_paper(m, T, D, R, P),
        "epsilon_lower_bound": theory.eps_lower_bound(m, T, D, R, n, P),
        "epsilon_proven": proven,
        "epsilon_exact": exact if any(has_exact) else None,
        "epsilon_exact_reason": None if all(has_exact) else _reason_not_exact(m, D, R),
    }
    if epsilon is not None:
        planned["peers_needed"] = _compute_needed_peers(epsilon, m, T, D, R, n)
    if loss is not None:
        sizes = {"objects": m, "rounds": T, "peers": P, "voters": n}
        planned |= asdict(plan_loss(loss, **sizes, diversity=D, radius=R, mode=mode))
    return planned


@dataclass(frozen=True)
class LowerBound:
    """Lower bound of the epsilon of any algorithm with at most a given expected loss."""

    name: str
    """Lemma or theorem that proves it."""
    epsilon: float
    """Nats; 0 if the lemma or theorem says nothing here."""


@dataclass(frozen=True)
class LossPlan:
    """The least epsilon proven for p-REC at an allowed loss, and the lower bounds at this loss."""

    loss: float
    """Expected disliked recommendations that are allowed."""
    epsilon: float | None
    """Nats of one voter's whole history; 0 if uniform recommendations have at most this loss; None
    below p-REC's own loss bound, as it has no setting that lowers the loss for more epsilon."""
    mode: Mode | None
    """Mode of this epsilon; None if epsilon is 0 or None."""
    bounds: tuple[LowerBound, ...]
    """Lower bounds of epsilon at this loss, for any algorithm."""
    decides: str | None
    """Name of the largest bound; None if all are 0."""
    gap: float | None
    """Epsilon divided by the largest bound; None if epsilon is None or all bounds are 0."""
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
    """Find the least epsilon that p-REC is proven to have for a given loss, and the lower bounds.

    From its own loss bound on p-REC has one epsilon, whatever the loss (Theorems 1 and 2). The
    lower bounds hardly fall until the loss is near that of uniform recommendations (Theorems 7 and
    15).

    Args:
        loss: Expected disliked recommendations that are allowed.
        objects: m.
        rounds: T.
        peers: P.
        voters: n.
        diversity: D.
        radius: R.
        mode: Mode of the proven epsilon; None for the smaller of both.

    Raises:
        ConfigError: The loss is not a finite number of at least 0, or a size is out of range.
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
        modes: tuple[Mode, ...] = ("floor", "promise") if mode is None else (mode,)
        for proof_mode in modes:
            proven, _ = cached_epsilon(proof_mode, m, T, D, R, n, P)
            if epsilon is None or proven < epsilon:
                epsilon = proven
                decisive_mode = proof_mode
    bounds = lower_bounds(T, D, R, n, P, loss)
    highest = max(bounds, key=lambda bound: bound.epsilon)
    has_lower_bound = highest.epsilon > 0
    return LossPlan(
        loss=loss,
        epsilon=epsilon,
        mode=decisive_mode,
        bounds=bounds,
        decides=highest.name if has_lower_bound else None,
        gap=epsilon / highest.epsilon if has_lower_bound and epsilon is not None else None,
        impossible=loss < theory.loss_lower_bound(m, T, R, n, P),
    )


def lower_bounds(T: int, D: int, R: int, n: int, P: int, loss: float) -> tuple[LowerBound, ...]:
    """Compute the two lower bounds of any algorithm's epsilon for a given loss.

    Theorem 1 states the larger of the two. A loss of 0 is treated as one millionth.
    """
    positive_loss = max(loss, 1e-6)
    return (
        LowerBound("Lemma 8", theory.eps_lower_8(T, n, P, positive_loss)),
        LowerBound("Theorem 15", theory.eps_lower_15(T, D, R, n, P, positive_loss)),
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
    """Plan losses from half of p-REC's loss bound to the number of rounds, on a logarithmic scale.

    The curve has a step at p-REC's loss bound and one at the loss of uniform recommendations. These
    losses are included, and so are losses just below them.
    """
    own_loss = theory.loss_bound(objects, rounds, radius, voters, peers)
    uniform_loss = theory.uniform_loss(objects, rounds)
    log_first = math.log(min(own_loss, uniform_loss) / 2)
    log_last = math.log(rounds)
    losses = set()
    for point in range(points + 1):
        losses.add(math.exp(log_first + (log_last - log_first) * point / points))
    for step_loss in (own_loss, uniform_loss):
        losses |= {step_loss, step_loss * (1 - 1e-9)}
    sizes = {"objects": objects, "rounds": rounds, "peers": peers, "voters": voters}
    sizes |= {"diversity": diversity, "radius": radius}
    return [plan_loss(loss, **sizes, mode=mode) for loss in sorted(losses)]


def _reason_not_exact(m: int, D: int, R: int) -> str:
    """Say why the exact epsilon is not known, in a sentence or two."""
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


def _compute_needed_peers(epsilon: float, m: int, T: int, D: int, R: int, n: int) -> dict[str, Any]:
    """Compute how many peers one epsilon needs, without the gate's own epsilon.

    Returns:
        JSON values. `theorem`: peers by the proof's formula. `floor`: the fewest peers that are
        known to be enough with a gate; None if not even all voters are enough. `exact_floor`:
        `floor` if one peer fewer would not be enough, else None.
    """
    theorem = math.ceil(theory.eps_tight(m, T, D, R, 1) / epsilon)
    floor = peers_needed(epsilon, objects=m, rounds=T, voters=n, diversity=D, radius=R)
    exact_floor = None
    if floor is not None:
        _, basis = cached_epsilon("floor", m, T, D, R, n, floor)
        exact_floor = floor if basis == "exact" else None
    return {
        "epsilon": epsilon,
        "theorem": max(theory.fewest_peers(m), theorem),
        "floor": floor,
        "exact_floor": exact_floor,
    }
