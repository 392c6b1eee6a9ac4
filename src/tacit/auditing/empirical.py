"""A lower bound on epsilon from samples of two neighbouring inputs, taken from the running code.

Source   Jagielski, Ullman, Oprea: Auditing differentially private machine learning (NeurIPS 2020);
         Ding, Wang, Wang, Zhang, Kifer: Detecting violations of differential privacy (CCS 2018);
         Clopper and Pearson: The use of confidence or fiducial limits (Biometrika 1934).
Rule     The event is chosen on one half of the samples and bounded on the other, so that choosing
         costs no confidence. Each feature's event is then asked four questions (the event and its
         complement, in both directions), and all questions share alpha (Bonferroni).
Known    Where exact chances of some events are known, the best of them is chosen before anything
         is drawn, and asked of all samples, with half of alpha. So the smallest bound that a
         correct mechanism shows, but for a chance of alpha, is a quantile of two binomials, and
         nothing about it is left to the choice made on the pilot.
Reading  A bound above the claim refutes it, wrongly with a chance of at most alpha. A bound below
         it proves nothing: no violation was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tacit.errors import ConfigError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ALPHA = 1e-6
"""The chance, per verdict, that a correct mechanism is called broken."""

Release = Callable[[int], NDArray[Any]]
"""Gives that many independent releases of one input, one per entry or row."""

Feature = Callable[[NDArray[Any]], NDArray[Any]]
"""Turns releases into one number each, on which events are sought."""

_MOST_VALUES = 20_000
_THRESHOLDS = 500
_MOST_KNOWN = 200
_PILOT_Z = 5.0  # the pilot's rough limits, about as wide as the real ones
_TAIL, _HALVINGS = 1e-4, 50


@dataclass(frozen=True)
class OutcomeSet:
    """A set of values of one feature."""

    feature: str
    """Name of the feature."""
    kind: str
    """`in`: the listed values. `at least`: from the one listed value on. `NaN`: not a number."""
    values: NDArray[Any]
    """(values,) the listed values."""

    def holds(self, seen: NDArray[Any]) -> NDArray[np.bool_]:
        """Say for each value of the feature whether it is in the set; same shape."""
        if self.kind == "NaN":
            return np.isnan(seen.astype(np.float64))
        if self.kind == "at least":
            return np.asarray(seen >= self.values[0], dtype=np.bool_)
        return np.isin(seen, self.values)


@dataclass(frozen=True)
class KnownOutcomes:
    """An event chosen from exact chances, before anything is drawn."""

    event: OutcomeSet
    """The event."""
    first: bool
    """Whether the first neighbour makes it likelier."""
    ideal: float
    """Bound that it shows of correct code, in all audits but a share of alpha."""


@dataclass(frozen=True)
class Evidence:
    """A lower bound on epsilon."""

    lower_bound: float
    """Nats, 0 or more."""
    samples: int
    """Releases of each neighbour, both halves together."""


def itself(releases: NDArray[Any]) -> NDArray[Any]:
    """Return the release itself as its feature."""
    return releases


def audit(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    alpha: float = ALPHA,
    delta: float = 0.0,
    features: Mapping[str, Feature] | None = None,
    known: KnownOutcomes | None = None,
) -> Evidence:
    """Bound epsilon from below with `samples` releases of each of two neighbouring inputs.

    delta: the claimed one. features: name to feature; by default the release itself. known: an
    event of one of the features that is asked besides.
    """
    if samples < 4:
        raise ConfigError(f"An audit takes at least 4 samples of each neighbour; got {samples}.")
    if not (0 < alpha < 1 and 0 <= delta < 1):
        raise ConfigError(f"alpha lies in (0, 1) and delta in [0, 1); got {alpha} and {delta}.")
    ways = features or {"release": itself}
    pilot = samples // 2
    count = samples - samples // 2

    def times(event: OutcomeSet, parts: tuple[NDArray[Any], NDArray[Any]]) -> Ints:
        way = ways[event.feature]
        return np.array([event.holds(way(part)).sum() for part in parts])

    first = (release_a(pilot), release_b(pilot))
    chosen = [best_event(name, way(first[0]), way(first[1]), delta) for name, way in ways.items()]
    seen = times(known.event, first) if known else np.zeros(2, dtype=np.int64)
    del first
    second = (release_a(count), release_b(count))
    level = alpha / (4 * len(chosen)) / (2 if known else 1)
    bounds = []
    if known:
        seen += times(known.event, second)
        likely, rare = seen if known.first else seen[::-1]
        bounds.append(bound(likely, rare, samples, alpha / 2, delta))
    for event in chosen:
        p, q = times(event, second)
        for likely, rare in ((p, q), (q, p), (count - p, count - q), (count - q, count - p)):
            bounds.append(bound(likely, rare, count, level, delta))
    return Evidence(max(bounds), samples)


def clopper_pearson(times: Ints | int, trials: int, level: float) -> tuple[Floats, Floats]:
    """Return lower and upper limits of chances, each of which fails with a chance of `level`.

    Args:
        times: How often each event happened, of any shape.
        trials: Number of trials.
        level: Chance that one limit is wrong, at most.
    """
    low = special.betaincinv(np.maximum(times, 1), trials - times + 1, level)
    high = special.betainccinv(times + 1, np.maximum(trials - times, 1), level)
    return np.where(times > 0, low, 0.0), np.where(times < trials, high, 1.0)


def bound(likely: int, rare: int, trials: int, level: float, delta: float = 0.0) -> float:
    """Return ln((p - delta) / q) at the limits, `level / 2` for each chance; 0 or more."""
    p = clopper_pearson(likely, trials, level / 2)[0]
    q = clopper_pearson(rare, trials, level / 2)[1]
    return float(np.log((p - delta) / q)) if p - delta > q else 0.0


def ideal_bound(p: float, q: float, *, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Return the bound that a known event shows, in all audits but a share of `alpha`; 0 or more.

    p, q: the exact chances of the event under the two neighbours, the likelier one first.
    """

    def log_lower_limit(times: Ints) -> Floats:
        low = clopper_pearson(times, samples, alpha / 4)[0] - delta
        return np.log(np.where(low > 0, low, 1e-300))

    def log_upper_limit(times: Ints) -> Floats:
        return np.log(clopper_pearson(times, samples, alpha / 4)[1])

    return assured_bound(log_lower_limit, log_upper_limit, (p, q), samples, alpha)


def assured_bound(
    gain: Callable[[Ints], Floats],
    cost: Callable[[Ints], Floats],
    chances: tuple[float, float],
    samples: int,
    alpha: float,
) -> float:
    """Return the largest x >= 0 with P(gain(K) - cost(J) < x) <= alpha.

    K and J are independent binomials with these chances, and neither function falls.
    """
    low_k, high_k = _likely_counts(samples, chances[0], alpha)
    low_j, high_j = _likely_counts(samples, chances[1], alpha)
    gains, costs = gain(np.arange(low_k, high_k + 1)), cost(np.arange(low_j, high_j + 1))
    # Fewer than the least are taken for the least, more than the most for a failure.
    below = stats.binom.cdf(np.arange(low_k - 1, high_k + 1), samples, chances[0])
    below[-1] = 1.0
    upto = stats.binom.cdf(np.arange(low_j, high_j + 1), samples, chances[1])
    often = np.diff(upto, prepend=0.0)
    beyond = 1 - upto[-1]

    def fails(x: float) -> float:
        return float((often * below[np.searchsorted(gains, x + costs)]).sum() + beyond)

    x = 0.0
    top = max(float(gains[-1] - costs[0]), 0.0)
    for _ in range(_HALVINGS):
        middle = (x + top) / 2
        x, top = (middle, top) if fails(middle) <= alpha else (x, middle)
    return x


def _chances_of(values: list[Any], law: Mapping[Any, Any]) -> list[float]:
    """Return the chance of each value, 0 of one that the law does not have."""
    return [float(law.get(value, 0)) for value in values]


def _likely_counts(samples: int, chance: float, alpha: float) -> tuple[int, int]:
    """Return the least and the most successes that are likelier than a small part of alpha."""
    law = stats.binom(samples, chance)
    return int(law.ppf(alpha * _TAIL)), int(law.isf(alpha * _TAIL))


def best_known(
    chances: tuple[Mapping[Any, Any], Mapping[Any, Any]],
    samples: int,
    alpha: float,
    delta: float = 0.0,
    *,
    feature: str = "release",
    at_least: bool = False,
) -> KnownOutcomes | None:
    """Choose the event with the largest expected bound; None if it is not sure to be above 0.

    chances: of values of the feature, under the two neighbours; candidates are the sets of values
    that one neighbour makes likelier by more than some ratio. at_least: chances are those of each
    value or a larger one, and candidates are these.
    """
    values = np.array(list(dict.fromkeys([*chances[0], *chances[1]])))
    sides = np.array([_chances_of(values.tolist(), side) for side in chances])
    best = None
    most = 0.0
    for first, (p, q) in ((True, sides), (False, sides[::-1])):
        order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
        if not at_least:
            p, q = (np.minimum(side[order].cumsum(), 1.0) for side in (p, q))
        places = np.flatnonzero(p - delta > q)
        tried_places = np.unique(np.linspace(0, len(places) - 1, _MOST_KNOWN).astype(np.int64))
        for place in places[tried_places].tolist() if len(places) else []:
            times = (int(samples * p[place]), int(samples * q[place]))
            expected = bound(*times, samples, alpha * alpha, delta)
            if expected > most:
                kind, upto = ("at least", [place]) if at_least else ("in", order[: place + 1])
                found = OutcomeSet(feature, kind, values[upto])
                best = (found, first, p[place], q[place])
                most = expected
    if best is None:
        return None
    event, first, p, q = best
    ideal = ideal_bound(p, q, samples=samples, alpha=alpha, delta=delta)
    return KnownOutcomes(event, first, ideal) if ideal > 0 else None


def best_event(name: str, a: NDArray[Any], b: NDArray[Any], delta: float = 0.0) -> OutcomeSet:
    """Choose the event with the largest estimated loss among candidates made from the samples.

    Candidates: NaN; each value; values whose ratio of counts passes a limit; thresholds. With more
    than 20,000 different values: 500 thresholds at quantiles.
    """
    if a.ndim != 1 or b.ndim != 1:
        raise ConfigError("Events are sought on one number per release: name a feature.")
    trials = len(a)
    candidates: list[tuple[float, OutcomeSet]] = []

    def add(kind: str, values: NDArray[Any], in_a: Ints, in_b: Ints) -> None:
        """The best of the values or thresholds, by how often they were seen."""
        scores = _scores(in_a, in_b, trials, delta)
        one = int(scores.argmax())
        candidates.append((float(scores[one]), OutcomeSet(name, kind, values[one : one + 1])))

    if a.dtype.kind == "f" or b.dtype.kind == "f":
        missing_a, missing_b = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
        add("NaN", np.array([]), np.array([missing_a.sum()]), np.array([missing_b.sum()]))
        a, b = a[~missing_a], b[~missing_b]
    values = np.unique(np.concatenate([a, b]))
    if len(values) == 0:
        return candidates[0][1]
    in_a, in_b = _times(values, a), _times(values, b)
    keep = np.arange(len(values))
    if len(values) > _MOST_VALUES:
        keep = np.unique(np.linspace(0, len(values) - 1, _THRESHOLDS).astype(np.int64))
    else:
        add("in", values, in_a, in_b)
        candidates.append(_set_event(name, values, (a, b), trials // 2, delta))
    from_a, from_b = (part[::-1].cumsum()[::-1][keep] for part in (in_a, in_b))
    add("at least", values[keep], from_a, from_b)
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _set_event(
    name: str,
    values: NDArray[Any],
    seen: tuple[NDArray[Any], NDArray[Any]],
    trials: int,
    delta: float,
) -> tuple[float, OutcomeSet]:
    """Choose the values whose ratio of counts passes a limit; return the set's score and the set.

    Ordered by one half of the pilot and scored by the other: among many values some are more
    frequent under one neighbour by chance alone. trials: of half a pilot, NaN included.
    """
    in_a, in_b = (_times(values, part[: len(part) // 2]) for part in seen)
    order = np.argsort(-(in_a + 1) / (in_b + 1), kind="stable")
    of_a, of_b = (_times(values, part[len(part) // 2 :])[order].cumsum() for part in seen)
    scores = _scores(of_a, of_b, trials, delta)
    upto = int(scores.argmax())
    return float(scores[upto]), OutcomeSet(name, "in", np.sort(values[order[: upto + 1]]))


def _times(values: NDArray[Any], seen: NDArray[Any]) -> Ints:
    """Count how often each of the sorted `values` was seen."""
    return np.bincount(np.searchsorted(values, seen), minlength=len(values)).astype(np.int64)


def _scores(in_a: Ints, in_b: Ints, trials: int, delta: float) -> Floats:
    """Estimate each event's loss from the pilot: the best of four questions (Wilson's limits)."""
    (low_a, high_a), (low_b, high_b) = _wilson(in_a, trials), _wilson(in_b, trials)
    questions = [(low_a, high_b), (low_b, high_a), (1 - high_a, 1 - low_b), (1 - high_b, 1 - low_a)]
    tiny = 1e-300
    losses = [np.log(np.maximum(p - delta, tiny) / np.maximum(q, tiny)) for p, q in questions]
    return np.asarray(np.max(losses, axis=0), dtype=np.float64)


def _wilson(times: Ints, trials: int) -> tuple[Floats, Floats]:
    share = times / trials
    square = _PILOT_Z**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
