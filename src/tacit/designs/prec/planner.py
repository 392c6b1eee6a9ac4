"""How much p-REC tells and how often it errs for given numbers, and how many voters it takes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from tacit.designs.prec import theory
from tacit.designs.prec.exact import (
    EXACT_CREDITED,
    EXACT_VOTERS,
    floor_epsilon,
    peers_needed,
    promise_epsilon,
)
from tacit.errors import ConfigError

UNLIKELY = 0.01
"""Chance with which `Forecast.likely_loss_bound` may fail."""
_KEYS = {
    "lam": "lambda",
    "proven": "epsilon_proven",
    "exact": "epsilon_exact",
    "why_not_exact": "epsilon_exact_reason",
    "needed": "peers_needed",
}
_NOTHING = 1e-6
"""Nats that no curve shows: with most voters agreeing there is nothing left but rounding."""
_STEPS, _FEW_STEPS, _MANY_VOTERS = 17, 7, 1000


@dataclass(frozen=True)
class PeersNeeded:
    """For one epsilon, the gate's own apart. theorem: by the proof's formula.

    floor: the fewest that are known to be enough under a gate; None where not even all voters are.
    exact_floor: the same where that is exact, so that one voter fewer would not be enough.
    """

    epsilon: float
    theorem: int
    floor: int | None
    exact_floor: int | None


@dataclass(frozen=True)
class Forecast:
    """Epsilons in nats, for one voter with all their votes, seen by one client.

    loss_bound: expected disliked recommendations at most; likely_loss_bound: but for UNLIKELY.
    loss_lower_bound, epsilon_lower_bound: nobody can go below, with or without privacy, or who
    keeps the loss bound. proven: the best upper bounds known, without a gate if the promise is
    kept ("promise") and under a gate, its own epsilon apart ("floor"). exact: those of them that
    are exact; None, and why_not_exact says why, where none is.
    """

    objects: int
    rounds: int
    diversity: int
    radius: int
    peers: int
    voters: int
    gamma: float
    lam: float
    loss_bound: float
    likely_loss_bound: float
    loss_lower_bound: float
    epsilon_tight: float
    epsilon_paper: float
    epsilon_lower_bound: float
    proven: dict[str, float]
    exact: dict[str, float | None] | None
    why_not_exact: str | None
    needed: PeersNeeded | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {_KEYS.get(key, key): value for key, value in asdict(self).items()}
        if self.needed is None:
            del plain["peers_needed"]
        return plain


def plan(
    *,
    objects: int,
    rounds: int,
    peers: int,
    voters: int,
    diversity: int = 0,
    radius: int = 0,
    epsilon: float | None = None,
) -> Forecast:
    """All that is known before the first vote; with epsilon, also the voters that it takes."""
    m, T, D, R, n, P = objects, rounds, diversity, radius, voters, peers
    theory.check(m, T, D, R, n, P)
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
        raise ConfigError(f"epsilon is a finite number above 0; got {epsilon}.")
    proven, exact, reason = _epsilons(m, T, D, R, n, P)
    return Forecast(
        m,
        T,
        D,
        R,
        P,
        n,
        theory.gamma(m, T, R),
        theory.lam(m, T, R),
        theory.loss_bound(m, T, R, n, P),
        theory.likely_loss_bound(m, T, R, n, P, UNLIKELY),
        theory.loss_lower_bound(m, T, R, n, P),
        theory.eps_tight(m, T, D, R, P),
        theory.eps_paper(m, T, D, R, P),
        theory.eps_lower_bound(m, T, D, R, n, P),
        proven,
        exact,
        reason,
        None if epsilon is None else _needed(epsilon, m, T, D, R, n),
    )


def curves(planned: Forecast) -> dict[str, list[tuple[float, float]]]:
    """Name of a line to its (peers, epsilon) pairs, from the fewest peers to all voters."""
    m, T, D, R, n = (
        planned.objects,
        planned.rounds,
        planned.diversity,
        planned.radius,
        planned.voters,
    )
    steps = _STEPS if n <= _MANY_VOTERS else _FEW_STEPS
    ratio = n / (6 * m)
    places = {round(6 * m * ratio ** (step / (steps - 1))) for step in range(steps)}
    lines: dict[str, list[tuple[float, float]]] = {}
    for P in sorted(places | {planned.peers}):
        proven, exact, _ = _epsilons(m, T, D, R, n, P)
        found = {"theorem": theory.eps_tight(m, T, D, R, P)}
        for mode, words in (("floor", "gate"), ("promise", "promise")):
            certain = exact is not None and exact[mode] is not None
            found[f"{'exact' if certain else 'bound'}, {words}"] = proven[mode]
        found["nobody below"] = theory.eps_lower_bound(m, T, D, R, n, P)
        for name, value in found.items():
            if value > _NOTHING:
                lines.setdefault(name, []).append((float(P), value))
    return lines


def _epsilons(
    m: int,
    T: int,
    D: int,
    R: int,
    n: int,
    P: int,
) -> tuple[dict[str, float], dict[str, float | None] | None, str | None]:
    setting = {
        "objects": m,
        "rounds": T,
        "peers": P,
        "voters": n,
        "diversity": D,
        "radius": R,
    }
    found = {"promise": promise_epsilon(**setting), "floor": floor_epsilon(**setting)}
    proven = {mode: value for mode, (value, _) in found.items()}
    exact = {mode: value if basis == "exact" else None for mode, (value, basis) in found.items()}
    if None not in exact.values():
        return proven, exact, None
    certain = any(value is not None for value in exact.values())
    return proven, exact if certain else None, _why_not(m, D, R)


def _why_not(m: int, D: int, R: int) -> str:
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


def _needed(
    epsilon: float,
    m: int,
    T: int,
    D: int,
    R: int,
    n: int,
) -> PeersNeeded:
    theorem = max(6 * m, math.ceil(theory.eps_tight(m, T, D, R, 1) / epsilon))
    floor = peers_needed(epsilon, objects=m, rounds=T, voters=n, diversity=D, radius=R)
    if floor is None:
        return PeersNeeded(epsilon, theorem, None, None)
    _, exact, _ = _epsilons(m, T, D, R, n, floor)
    certain = exact is not None and exact["floor"] is not None
    return PeersNeeded(epsilon, theorem, floor, floor if certain else None)
