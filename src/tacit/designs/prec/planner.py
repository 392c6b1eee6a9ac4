"""Bounds of p-REC's epsilon and of its loss, and how many voters it needs, before the first vote.

There are two bounds of epsilon, with different assumptions (`Mode`):

floor    any votes and any answers, as long as at least P survivors are left: voters who still count
         for the client, the hidden voter among them. A gate enforces this; the gate's own epsilon
         and delta come on top.
promise  P voters besides the hidden one are peers: each votes for at most R objects that the client
         dislikes, and the client likes several objects in at most D rounds. For D = R = 0 the
         client likes exactly one object in each round, and all peers vote for it. Nobody can
         check this.

Letters  m objects in each round, T rounds, at most n voters, at least P peers or survivors, and the
         limits D (diversity) and R (radius) of the promise above.
Leaks    A round leaks if it adds to epsilon. Such a round takes credit from voters.

Upper bounds are rounded upwards. docs/prec-theory.md derives the bounds, and shows that they also
hold for rounds with fewer objects and for voters who leave. The formulas are in `theory.py`;
`tacit.engine.prec_chain_compiled` computes the exact worst case.
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
"""The assumption of a bound of epsilon."""
Basis = Literal["exact", "bound"]
"""Whether an epsilon is the exact worst case, or an upper bound."""
EXACT_VOTERS = {2: 6000, 3: 600}
"""For a number of objects, the largest number of voters for which epsilon is computed exactly with
D = R = 0. The computation takes a second or two."""
EXACT_VOTERS_WITH_CREDITS = 40
"""Largest number of voters for which epsilon is computed exactly with two objects and D + R = 1,
where voters differ by their credits."""
_ROUNDING = 1e-10
"""Nats added to a computed loss, more than its rounding error: a round's log-ratio is off by at
most 1e-13, and a few dozen rounds leak."""
UNLIKELY = 0.01
"""Probability with which the loss may exceed a plan's `likely_loss_bound`."""
_LEAST_LOSS = 1e-6
"""Lower bounds for a smaller loss are computed at this loss, because the logarithm of 0 is
infinite."""


def floor_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a run with a gate, without the gate's own epsilon.

    Args:
        objects: m, the number of objects in a round.
        rounds: T, the number of rounds.
        peers: P. While the gate is open, the sum of all credits is P c or more, where c is the
            credit of one voter at the start (`theory.credit`).
        voters: n, the most voters who can ever count for the client.
        diversity: D.
        radius: R.

    Returns:
        Nats, and whether they are the exact worst case or an upper bound.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check_sizes(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("floor", objects, rounds, diversity, radius, voters, peers)


def promise_epsilon(
    *, objects: int, rounds: int, peers: int, voters: int, diversity: int = 0, radius: int = 0
) -> tuple[float, Basis]:
    """Bound the nats of a run without a gate, if the promise holds with and without the voter.

    Args:
        objects: m.
        rounds: T.
        peers: P, the voters who agree with the client.
        voters: n, the most voters who can ever count for the client. It is taken as at least P + 1,
            since the hidden voter comes on top of the peers.
        diversity: D.
        radius: R.

    Returns:
        Nats, and whether they are the exact worst case or an upper bound.

    Raises:
        ConfigError: A size is out of range.
    """
    theory.check_sizes(objects, rounds, diversity, radius, voters, peers)
    return cached_epsilon("promise", objects, rounds, diversity, radius, voters, peers)


def peers_needed(
    epsilon: float, *, objects: int, rounds: int, voters: int, diversity: int = 0, radius: int = 0
) -> int | None:
    """Find the fewest peers at which `floor_epsilon` is at most `epsilon` nats.

    The gate's own epsilon comes on top. The result is None if it is more even at `voters` peers.

    Raises:
        ConfigError: A size is out of range.
    """
    fewest = theory.fewest_peers(objects)
    theory.check_sizes(objects, rounds, diversity, radius, max(voters, fewest), fewest)

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
    """Bound the nats of a run in one mode, as `floor_epsilon` and `promise_epsilon` do.

    Results are kept, so that each setting is computed once. The caller checks the sizes
    (`theory.check_sizes`).

    Returns:
        Nats, and whether they are the exact worst case or an upper bound.
    """
    if mode == "promise":
        n = max(n, P + 1)  # P peers and the hidden voter; with fewer there would be nobody to hide
    if m in EXACT_VOTERS and D == R == 0 and EXACT_VOTERS[m] >= P:
        return _epsilon_without_credits(mode, m, T, n, P)
    if mode == "floor":
        least_credit = theory.gated_credit(D, R, P)
    else:
        least_credit = theory.promised_credit(D, R, P)
    if m == 2 and D + R == 1 and n <= EXACT_VOTERS_WITH_CREDITS:
        return _epsilon_with_three_credits(mode, T, R, n, least_credit)
    chain = theory.eps_chain(m, T, D, R, n, least_credit, P)
    formula = theory.eps_at_credit(m, T, D, R, least_credit)
    return round_up(min(chain, formula), slack=1.0), "bound"


def _epsilon_without_credits(mode: Mode, m: int, T: int, n: int, P: int) -> tuple[float, Basis]:
    """Bound the nats for D = R = 0.

    The worst case of the rounds with at most EXACT_VOTERS survivors is exact. For earlier rounds,
    which have more survivors, the bound `theory.eps_chain` is added. If `theory.eps_chain` of all
    rounds is smaller than this sum, it is returned instead.

    Returns:
        Nats, and whether they are the exact worst case or an upper bound. They are exact for at
        most EXACT_VOTERS voters.
    """
    from tacit.engine.prec_chain_compiled import largest_loss

    most_survivors = min(n, EXACT_VOTERS[m])
    fewest_others = P if mode == "promise" else P - 1  # others than the hidden voter
    # In a round that leaks, at least the share 1 / (2m) of the survivors stops counting. If this
    # allows at most T such rounds, the computation needs no limit on their number, and is faster.
    is_limited = _most_leaking_rounds(2 * m, most_survivors, P) > T
    losses = largest_loss(
        math.log(T),
        theory.gamma(m, T, 0),
        m,
        fewest_others,
        most_survivors - 1,
        T if is_limited else 0,  # 0: no limit on the number of rounds
        mode == "promise",
    )
    value = float(losses.max()) + _ROUNDING
    if most_survivors == n:
        return value, "exact"
    more_survivors = theory.eps_chain(m, T, 0, 0, n, most_survivors + 1, most_survivors + 1)
    all_rounds = theory.eps_chain(m, T, 0, 0, n, P, P)  # with D = R = 0 the least credit is P
    return round_up(min(value + more_survivors, all_rounds), slack=1.0), "bound"


def _epsilon_with_three_credits(
    mode: Mode, T: int, R: int, n: int, least_credit: int
) -> tuple[float, Basis]:
    """Bound the nats for two objects and D + R = 1, where a voter starts with three credits.

    The computed worst case is exact for a gate if at most T rounds can leak. For the promise it is
    a bound, since peers keep more than the least credit.

    Returns:
        Nats, and whether they are the exact worst case or an upper bound.
    """
    from tacit.engine.prec_chain_compiled import largest_loss_with_credits

    log_ratio = math.log(theory.ratio(T, R))
    losses = largest_loss_with_credits(
        log_ratio, theory.gamma(2, T, R), least_credit, n - 1, R == 0
    )
    # Of W survivors at least W / (2m) = W / 4 lose a credit. With at most 3 credits each, W is at
    # least a third of all credit, so at least 1/12 of all credit is lost.
    leaking_rounds = _most_leaking_rounds(12, 3 * n, least_credit)
    is_exact = mode == "floor" and leaking_rounds <= T
    return float(losses.max()) + _ROUNDING, "exact" if is_exact else "bound"


def _most_leaking_rounds(parts: int, credit_at_start: int, least_credit: int) -> int:
    """Bound how many rounds can leak.

    Args:
        parts: A round that leaks takes at least 1 / `parts` of the credit that is left, rounded up.
        credit_at_start: Credit of all voters together before the first round.
        least_credit: With less credit than this no round leaks.
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
        objects: Number of objects in each round, m.
        rounds: Number of rounds, T.
        peers: Number of peers, P.
        voters: The most voters who can ever count for the client, n.
        diversity: Rounds in which the client may like several objects, D.
        radius: Votes of a peer on objects that the client dislikes, R.
        epsilon: Target in nats, for which `peers_needed` is computed; None for no target.
        loss: Expected number of disliked recommendations that is allowed, for which the
            proven epsilon is found; None for no such number.
        mode: Mode of the epsilon that is found for `loss`; None for the mode with the smaller
            epsilon.

    Returns:
        JSON values. Epsilons are in nats, for one voter with all their votes, seen by one client.

        `objects`, `rounds`, `diversity`, `radius`, `peers`, `voters`: the arguments.
        `gamma`, `lambda`: p-REC's own parameters for these numbers.
        `loss_bound`: upper bound of the expected number of disliked recommendations.
        `likely_loss_bound`: the number of disliked recommendations is above this bound with a
            probability of at most UNLIKELY.
        `loss_lower_bound`: no algorithm, private or not, has a smaller expected number of them.
        `epsilon_lower_bound`: no algorithm that keeps `loss_bound` has a smaller epsilon.
        `epsilon_tight`: bound of Theorems 11 and 17, under the promise.
        `epsilon_paper`: the same bound in the paper's simpler form, which is looser.
        `epsilon_proven`: for each mode, an upper bound: `floor_epsilon` or `promise_epsilon`.
        `epsilon_exact`: for each mode, `epsilon_proven` if it is the exact worst case, else None;
            None in place of the mapping if neither is exact.
        `epsilon_exact_reason`: why one or both are not exact; None if both are.
        `peers_needed`: only with `epsilon`, see `_compute_needed_peers`.
        The fields of `LossPlan`, only with `loss`; its `epsilon` is not the argument.

    Raises:
        ConfigError: A number is out of range.
    """
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check_sizes(m, T, D, R, n, P)
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise ConfigError(f"epsilon is a finite number above 0; got {epsilon}.")
    modes: tuple[Mode, ...] = ("promise", "floor")
    proven: dict[Mode, float] = {}
    exact: dict[Mode, float | None] = {}
    for proof_mode in modes:
        value, basis = cached_epsilon(proof_mode, m, T, D, R, n, P)
        proven[proof_mode] = value
        exact[proof_mode] = value if basis == "exact" else None
    are_exact = [value is not None for value in exact.values()]
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
        "epsilon_exact": exact if any(are_exact) else None,
        "epsilon_exact_reason": None if all(are_exact) else _reason_not_exact(m, D, R),
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
    """The epsilon proven for p-REC at an allowed loss, and the lower bounds at this loss."""

    loss: float
    """Expected number of disliked recommendations that is allowed."""
    epsilon: float | None
    """Nats of one voter's whole history. It is 0 if uniform recommendations have at most this loss.
    It is None below p-REC's own loss bound: no setting lowers the loss at the cost of epsilon."""
    mode: Mode | None
    """Mode of this epsilon; None if uniform recommendations are enough, or nothing is proven."""
    bounds: tuple[LowerBound, ...]
    """Lower bounds of epsilon at this loss, for any algorithm."""
    decides: str | None
    """Name of the largest bound; None if all are 0."""
    gap: float | None
    """Epsilon divided by the largest bound; None if epsilon is None or all bounds are 0."""
    impossible: bool
    """Whether every algorithm has a larger expected loss, at any epsilon (Theorem 6)."""


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
    """Find the epsilon that p-REC is proven to have for a given loss, and the lower bounds.

    p-REC has the same epsilon for every loss between its own loss bound and the loss of uniform
    recommendations (Theorems 1 and 2). There the lower bounds hardly fall, except near the loss of
    uniform recommendations (Theorems 7 and 15).

    Args:
        loss: Expected number of disliked recommendations that is allowed.
        objects: Number of objects in each round, m.
        rounds: Number of rounds, T.
        peers: Number of peers, P.
        voters: The most voters who can ever count for the client, n.
        diversity: Rounds in which the client may like several objects, D.
        radius: Votes of a peer on objects that the client dislikes, R.
        mode: Mode of the proven epsilon; None for the mode with the smaller epsilon.

    Raises:
        ConfigError: The loss is not a finite number of at least 0, the mode is not a `Mode`, or a
            size is out of range.
    """
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check_sizes(m, T, D, R, n, P)
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

    Theorem 1 states the larger of the two. A loss below _LEAST_LOSS is replaced by _LEAST_LOSS.
    """
    positive_loss = max(loss, _LEAST_LOSS)
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
    """Plan for a series of losses, in ascending order: the points of a curve of epsilon.

    The losses lie at equal distances on a logarithmic scale, from half of p-REC's loss bound, or
    half of the loss of uniform recommendations if this is smaller, to the number of rounds. The
    curve has a step at p-REC's loss bound and at the loss of uniform recommendations: both are
    included, and so is a loss just below each.

    Args:
        objects: Number of objects in each round, m.
        rounds: Number of rounds, T.
        peers: Number of peers, P.
        voters: The most voters who can ever count for the client, n.
        diversity: Rounds in which the client may like several objects, D.
        radius: Votes of a peer on objects that the client dislikes, R.
        mode: Mode of the proven epsilon; None for the mode with the smaller epsilon.
        points: Number of intervals between the equally distant losses.

    Raises:
        ConfigError: A size is out of range, or the mode is not a `Mode`.
    """
    theory.check_sizes(objects, rounds, diversity, radius, voters, peers)
    prec_loss = theory.loss_bound(objects, rounds, radius, voters, peers)
    uniform_loss = theory.uniform_loss(objects, rounds)
    log_first = math.log(min(prec_loss, uniform_loss) / 2)
    log_last = math.log(rounds)
    losses = set()
    for point in range(points + 1):
        losses.add(math.exp(log_first + (log_last - log_first) * point / points))
    for step_loss in (prec_loss, uniform_loss):
        losses |= {step_loss, step_loss * (1 - 1e-9)}
    sizes = {"objects": objects, "rounds": rounds, "peers": peers, "voters": voters}
    sizes |= {"diversity": diversity, "radius": radius}
    return [plan_loss(loss, **sizes, mode=mode) for loss in sorted(losses)]


def _reason_not_exact(m: int, D: int, R: int) -> str:
    """Return the reason why an exact epsilon is not known for these sizes, as a sentence."""
    if D == R == 0 and m in EXACT_VOTERS:
        return f"With {m} objects the exact number is computed for up to {EXACT_VOTERS[m]} voters."
    if D + R == 1 and m == 2:
        return (
            "With diversity or radius 1 the exact number is computed for the gate alone, if there "
            f"are up to {EXACT_VOTERS_WITH_CREDITS} voters and enough rounds."
        )
    return (
        "The exact number is computed for 2 or 3 objects with diversity and radius 0, and for 2 "
        "objects with one of them 1."
    )


def _compute_needed_peers(epsilon: float, m: int, T: int, D: int, R: int, n: int) -> dict[str, Any]:
    """Compute how many peers a target for epsilon needs; the gate's own epsilon comes on top.

    Returns:
        JSON values. `epsilon`: the argument. `theorem`: peers by `theory.eps_tight`. `floor`: the
        fewest peers that are known to be enough with a gate; None if not even all voters are
        enough. `exact_floor`: `floor` if it is known that one peer fewer is not enough, or not
        allowed by the proofs; else None.
    """
    theorem = math.ceil(theory.eps_tight(m, T, D, R, 1) / epsilon)
    floor = peers_needed(epsilon, objects=m, rounds=T, voters=n, diversity=D, radius=R)
    fewest = theory.fewest_peers(m)
    exact_floor = None
    if floor == fewest:
        exact_floor = floor
    elif floor is not None:
        _, basis_of_one_fewer = cached_epsilon("floor", m, T, D, R, n, floor - 1)
        exact_floor = floor if basis_of_one_fewer == "exact" else None
    return {
        "epsilon": epsilon,
        "theorem": max(fewest, theorem),
        "floor": floor,
        "exact_floor": exact_floor,
    }
