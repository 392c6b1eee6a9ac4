"""A lower bound on epsilon, from samples of the running code's releases of two neighbouring inputs.

Source   Jagielski, Ullman, Oprea: Auditing differentially private machine learning (NeurIPS 2020);
         Ding, Wang, Wang, Zhang, Kifer: Detecting violations of differential privacy (CCS 2018);
         Clopper and Pearson: The use of confidence or fiducial limits (Biometrika 1934).
Rule     If an event has chance p under one input and q under the other, epsilon is at least
         ln((p - delta) / q). An event of each feature is chosen on one half of the samples, the
         pilot, and its chances are bounded on the other half, so that choosing costs no confidence.
         The event and its complement are tested in both directions: four tests, and the tests of
         all features share alpha (Bonferroni).
Known    If the exact chances of some events are known, the best of these events is chosen before
         anything is drawn, and tested on all samples with half of alpha. The pilot has no part
         in this choice. So a bound that correct code reaches with a chance of at
         least 1 - alpha (the ideal) can be computed from two binomial distributions.
Reading  A bound above the claim refutes the claim; with a chance of at most alpha this is wrong. A
         bound below the claim proves nothing: no violation was found.
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
"""Largest chance, for each verdict, that a correct mechanism is called broken."""

Release = Callable[[int], NDArray[Any]]
"""Makes n independent releases of one input, one in each entry or row."""

Feature = Callable[[NDArray[Any]], NDArray[Any]]
"""Maps releases (n, ...) to (n,) numbers, one for each release; events are sets of such numbers."""

_MAX_VALUES = 20_000
"""With more different values than this, only NaN and thresholds are candidates for an event."""
_THRESHOLDS = 500
"""Number of thresholds if there are more different values than `_MAX_VALUES`."""
_MAX_KNOWN_EVENTS = 200
"""Most events with known chances that are compared, for each of the two inputs."""
_PILOT_Z = 5.0
"""Distance of the limits on the pilot from the estimate, in standard errors. That of the limits on
the other half is about the same."""
_TAIL = 1e-4
"""Counts whose tail has less than this share of alpha are not summed."""
_HALVINGS = 50
"""Steps of a bisection."""
_TINY = 1e-300
"""Number that replaces 0 in logarithms and quotients."""


@dataclass(frozen=True)
class OutcomeSet:
    """A set of values of one feature."""

    feature: str
    """Name of the feature."""
    kind: str
    """`in`: the set of `values`. `at least`: `values[0]` and all above it. `NaN`: not a number."""
    values: NDArray[Any]
    """(values,) the values; empty for `NaN`."""

    def contains(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for each number whether it is in the set; the result has the same shape."""
        if self.kind == "NaN":
            return np.isnan(numbers.astype(np.float64))
        if self.kind == "at least":
            return np.asarray(numbers >= self.values[0], dtype=np.bool_)
        return np.isin(numbers, self.values)


@dataclass(frozen=True)
class KnownEvent:
    """An event that was chosen by exact chances, before anything is drawn."""

    event: OutcomeSet
    """The event."""
    is_likelier_in_a: bool
    """Whether it is likelier under the first input than under the second."""
    ideal: float
    """Lower bound on epsilon that the event gives, with a chance of at least 1 - alpha, if the code
    is correct."""


@dataclass(frozen=True)
class Evidence:
    """A lower bound on epsilon."""

    lower_bound: float
    """The bound, in nats, 0 or more."""
    samples: int
    """Releases of each input, both halves together."""


def identity_feature(releases: NDArray[Any]) -> NDArray[Any]:
    """Return releases of one number unchanged, as their feature."""
    return releases


def audit(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    alpha: float = ALPHA,
    delta: float = 0.0,
    features: Mapping[str, Feature] | None = None,
    known_event: KnownEvent | None = None,
) -> Evidence:
    """Bound epsilon from below by samples of two neighbouring inputs.

    Args:
        release_a: Makes releases of the first input.
        release_b: Makes releases of the second input.
        samples: Releases of each input.
        alpha: Largest chance that the bound is above the true epsilon.
        delta: The delta of the claim.
        features: Features by name; None for one feature, "release", the release itself.
        known_event: An event of one of the features that is tested in addition; None: no event.

    Raises:
        ConfigError: There are fewer than 4 samples, alpha or delta is out of range, or a feature
            gives more than one number for a release.
    """
    if samples < 4:
        raise ConfigError(f"An audit takes at least 4 samples of each neighbour; got {samples}.")
    if not (0 < alpha < 1 and 0 <= delta < 1):
        raise ConfigError(f"alpha lies in (0, 1) and delta in [0, 1); got {alpha} and {delta}.")
    features = features or {"release": identity_feature}
    pilot = samples // 2
    count = samples - pilot

    def count_event(event: OutcomeSet, releases: NDArray[Any]) -> int:
        """Return how many of the releases are in the event."""
        numbers = features[event.feature](releases)
        return int(event.contains(numbers).sum())

    pilot_a = release_a(pilot)
    pilot_b = release_b(pilot)
    events = []
    for name, feature in features.items():
        events.append(best_event(name, feature(pilot_a), feature(pilot_b), delta))
    known_in_a = count_event(known_event.event, pilot_a) if known_event else 0
    known_in_b = count_event(known_event.event, pilot_b) if known_event else 0
    del pilot_a, pilot_b  # frees their memory
    second_a = release_a(count)
    second_b = release_b(count)
    bounds = []
    alpha_of_events = alpha
    if known_event:
        known_in_a += count_event(known_event.event, second_a)
        known_in_b += count_event(known_event.event, second_b)
        likely, rare = known_in_a, known_in_b
        if not known_event.is_likelier_in_a:
            likely, rare = rare, likely
        bounds.append(loss_bound(likely, rare, samples, alpha / 2, delta))
        alpha_of_events = alpha / 2
    level = alpha_of_events / (4 * len(events))
    for event in events:
        in_a = count_event(event, second_a)
        in_b = count_event(event, second_b)
        tests = (
            (in_a, in_b),
            (in_b, in_a),
            (count - in_a, count - in_b),
            (count - in_b, count - in_a),
        )
        for likely, rare in tests:
            bounds.append(loss_bound(likely, rare, count, level, delta))
    return Evidence(max(bounds), samples)


def clopper_pearson(times: Ints | int, trials: int, level: float) -> tuple[Floats, Floats]:
    """Return Clopper-Pearson limits of the chances of events.

    Args:
        times: How often each event happened, of any shape.
        trials: Number of trials.
        level: Largest chance that one limit is wrong.

    Returns:
        Lower limits and upper limits, both of the shape of `times`.
    """
    return lower_limit(times, trials, level), upper_limit(times, trials, level)


def lower_limit(times: Ints | int, trials: int, level: float) -> Floats:
    """Return the lower limits alone; arguments as in `clopper_pearson`."""
    low = special.betaincinv(np.maximum(times, 1), trials - times + 1, level)
    return np.where(times > 0, low, 0.0)


def upper_limit(times: Ints | int, trials: int, level: float) -> Floats:
    """Return the upper limits alone; arguments as in `clopper_pearson`."""
    high = special.betainccinv(times + 1, np.maximum(trials - times, 1), level)
    return np.where(times < trials, high, 1.0)


def loss_bound(likely: int, rare: int, trials: int, level: float, delta: float = 0.0) -> float:
    """Return ln((p - delta) / q), a lower bound on epsilon by one event; 0 if that is negative.

    p is the lower limit of the event's chance under the input where it is likely, and q the upper
    limit of its chance under the other.

    Args:
        likely: How often the event happened under the input where it is likely.
        rare: How often it happened under the other input.
        trials: Releases of each input.
        level: Largest chance that the bound is wrong; each limit gets one half.
        delta: The delta of the claim.
    """
    p = lower_limit(likely, trials, level / 2)
    q = upper_limit(rare, trials, level / 2)
    return float(np.log((p - delta) / q)) if p - delta > q else 0.0


def ideal_bound(p: float, q: float, *, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Return the bound, 0 or more, that a known event reaches with a chance of at least 1 - alpha.

    Args:
        p: Exact chance of the event under the input where it is likelier.
        q: Exact chance under the other input.
        samples: Releases of each input.
        alpha: As in `audit`, which gives one half of it to the known event.
        delta: The delta of the claim.
    """

    def log_lower_limit(times: Ints) -> Floats:
        """Return ln(p - delta), with p the lower limit for each count of the event."""
        low = lower_limit(times, samples, alpha / 4) - delta
        return np.log(np.where(low > 0, low, _TINY))

    def log_upper_limit(times: Ints) -> Floats:
        """Return ln(q), with q the upper limit for each count of the event."""
        return np.log(upper_limit(times, samples, alpha / 4))

    return assured_bound(log_lower_limit, log_upper_limit, (p, q), samples, alpha)


def assured_bound(
    gain: Callable[[Ints], Floats],
    cost: Callable[[Ints], Floats],
    chances: tuple[float, float],
    samples: int,
    alpha: float,
) -> float:
    """Find x > 0, about the largest, with P(gain(K) - cost(J) < x) <= alpha, by bisection.

    Far tails of the two counts are taken as failures. 0 if no such x is found.

    Args:
        gain: Function of counts K that never decreases.
        cost: Function of counts J that never decreases.
        chances: K and J are independent binomials, of `samples` trials with these two chances.
        samples: Number of trials.
        alpha: As in the formula.
    """
    low_k, high_k = _likely_range(samples, chances[0], alpha)
    low_j, high_j = _likely_range(samples, chances[1], alpha)
    gains = gain(np.arange(low_k, high_k + 1))
    costs = cost(np.arange(low_j, high_j + 1))
    # Entry i is the chance that gain(K) is among the first i gains. Counts below low_k are
    # included, and in the last entry also those above high_k.
    chance_below = stats.binom.cdf(np.arange(low_k - 1, high_k + 1), samples, chances[0])
    chance_below[-1] = 1.0
    # P(J = j) for each j of the range. Smaller counts are added to the first entry; larger ones
    # count as failures.
    cumulative = stats.binom.cdf(np.arange(low_j, high_j + 1), samples, chances[1])
    chance_of_j = np.diff(cumulative, prepend=0.0)
    chance_above = 1 - cumulative[-1]

    def failure_chance(x: float) -> float:
        """Return P(gain(K) - cost(J) < x), or slightly more: a sum over the counts j."""
        chance_given_j = chance_below[np.searchsorted(gains, x + costs)]
        return float((chance_of_j * chance_given_j).sum() + chance_above)

    x = 0.0
    upper = max(float(gains[-1] - costs[0]), 0.0)
    for _ in range(_HALVINGS):
        middle = (x + upper) / 2
        x, upper = (middle, upper) if failure_chance(middle) <= alpha else (x, middle)
    return x


def _chances_of(values: list[Any], chances: Mapping[Any, Any]) -> list[float]:
    """Return the chance of each value; 0 for a value that `chances` does not have."""
    return [float(chances.get(value, 0)) for value in values]


def _likely_range(samples: int, chance: float, alpha: float) -> tuple[int, int]:
    """Return the smallest and the largest count of a binomial, without its far tails."""
    binomial = stats.binom(samples, chance)
    return int(binomial.ppf(alpha * _TAIL)), int(binomial.isf(alpha * _TAIL))


def best_known_event(
    chances: tuple[Mapping[Any, Any], Mapping[Any, Any]],
    samples: int,
    alpha: float,
    delta: float = 0.0,
    *,
    feature: str = "release",
    at_least: bool = False,
) -> KnownEvent | None:
    """Choose the event with the largest expected bound on epsilon, by exact chances.

    Candidates are the sets of values that one input makes likelier by at least some ratio; with
    `at_least`, the sets of a value and all larger ones. They are ranked by the bound at about the
    expected counts.

    Args:
        chances: Under the first and the second input, the chances of values of the feature.
        samples: Releases of each input.
        alpha: As in `audit`.
        delta: The delta of the claim.
        feature: Name of the feature.
        at_least: Whether each value's chance in `chances` is that of this value or a larger one.

    Returns:
        The event; None if none was found, or if its ideal bound is 0.
    """
    values = np.array(list(dict.fromkeys([*chances[0], *chances[1]])))
    in_a = np.array(_chances_of(values.tolist(), chances[0]))
    in_b = np.array(_chances_of(values.tolist(), chances[1]))
    best = None
    best_bound = 0.0
    for is_likelier_in_a, p, q in ((True, in_a, in_b), (False, in_b, in_a)):
        order = np.argsort(-p / np.maximum(q, _TINY), kind="stable")
        if not at_least:  # candidate i is the set of the first i + 1 values of `order`
            p = np.minimum(p[order].cumsum(), 1.0)
            q = np.minimum(q[order].cumsum(), 1.0)
        candidates = np.flatnonzero(p - delta > q)
        if len(candidates) == 0:
            continue
        # If there are too many candidates, evenly spread ones.
        spread = np.linspace(0, len(candidates) - 1, _MAX_KNOWN_EVENTS).astype(np.int64)
        for index in candidates[np.unique(spread)].tolist():
            likely = int(samples * p[index])
            rare = int(samples * q[index])
            # Only to rank candidates: alpha squared allows for counts below the expected ones.
            expected = loss_bound(likely, rare, samples, alpha * alpha, delta)
            if expected <= best_bound:
                continue
            if at_least:
                event = OutcomeSet(feature, "at least", values[[index]])
            else:
                event = OutcomeSet(feature, "in", values[order[: index + 1]])
            best = (event, is_likelier_in_a, p[index], q[index])
            best_bound = expected
    if best is None:
        return None
    event, is_likelier_in_a, p, q = best
    ideal = ideal_bound(p, q, samples=samples, alpha=alpha, delta=delta)
    return KnownEvent(event, is_likelier_in_a, ideal) if ideal > 0 else None


def best_event(name: str, a: NDArray[Any], b: NDArray[Any], delta: float = 0.0) -> OutcomeSet:
    """Choose the event with the largest loss, as samples estimate it.

    Candidates are: that the value is NaN, if there are floats; each single value; the sets of
    values whose ratio of counts is above a limit; and for each value, the set of this value and all
    larger ones. With more than 20,000 different values, only NaN and the last kind are candidates,
    for 500 values evenly spread among the sorted different ones.

    Args:
        name: Name of the feature.
        a: (n,) values of the feature under the first input.
        b: (n,) values of the feature under the second input.
        delta: The delta of the claim.

    Raises:
        ConfigError: The feature gives more than one number for a release.
    """
    if a.ndim != 1 or b.ndim != 1:
        raise ConfigError("Events are sought on one number per release: name a feature.")
    trials = len(a)
    candidates: list[tuple[float, OutcomeSet]] = []

    def add_best(kind: str, values: NDArray[Any], in_a: Ints, in_b: Ints) -> None:
        """Add the best event of a kind to the candidates, with its score."""
        scores = _estimate_losses(in_a, in_b, trials, delta)
        best = int(scores.argmax())
        candidates.append((float(scores[best]), OutcomeSet(name, kind, values[best : best + 1])))

    if a.dtype.kind == "f" or b.dtype.kind == "f":
        is_nan_a = np.isnan(a.astype(np.float64))
        is_nan_b = np.isnan(b.astype(np.float64))
        add_best("NaN", np.array([]), np.array([is_nan_a.sum()]), np.array([is_nan_b.sum()]))
        a = a[~is_nan_a]
        b = b[~is_nan_b]
    values = np.unique(np.concatenate([a, b]))
    if len(values) == 0:
        return candidates[0][1]
    in_a = _count_values(values, a)
    in_b = _count_values(values, b)
    thresholds = np.arange(len(values))
    if len(values) > _MAX_VALUES:
        thresholds = np.unique(np.linspace(0, len(values) - 1, _THRESHOLDS).astype(np.int64))
    else:
        add_best("in", values, in_a, in_b)
        candidates.append(_best_set(name, values, (a, b), trials // 2, delta))
    at_least_in_a = in_a[::-1].cumsum()[::-1]
    at_least_in_b = in_b[::-1].cumsum()[::-1]
    add_best("at least", values[thresholds], at_least_in_a[thresholds], at_least_in_b[thresholds])
    _, event = max(candidates, key=lambda candidate: candidate[0])
    return event


def _best_set(
    name: str,
    values: NDArray[Any],
    numbers: tuple[NDArray[Any], NDArray[Any]],
    trials: int,
    delta: float,
) -> tuple[float, OutcomeSet]:
    """Choose the best of the sets that hold all values whose ratio of counts is above some limit.

    Values are ordered by one half of the pilot and scored on the other half: of many values, some
    are more frequent under one input by chance.

    Args:
        name: Name of the feature.
        values: (values,) different values, sorted.
        numbers: Values of the feature under the two inputs, without NaN.
        trials: Releases in half a pilot, NaN included.
        delta: The delta of the claim.

    Returns:
        The set's estimated loss, and the set.
    """
    a, b = numbers
    half_a = len(a) // 2
    half_b = len(b) // 2
    in_a = _count_values(values, a[:half_a])
    in_b = _count_values(values, b[:half_b])
    order = np.argsort(-(in_a + 1) / (in_b + 1), kind="stable")
    set_in_a = _count_values(values, a[half_a:])[order].cumsum()
    set_in_b = _count_values(values, b[half_b:])[order].cumsum()
    scores = _estimate_losses(set_in_a, set_in_b, trials, delta)
    best = int(scores.argmax())
    return float(scores[best]), OutcomeSet(name, "in", np.sort(values[order[: best + 1]]))


def _count_values(values: NDArray[Any], numbers: NDArray[Any]) -> Ints:
    """Count how often each of the sorted `values` (values,) is among the numbers (n,)."""
    return np.bincount(np.searchsorted(values, numbers), minlength=len(values)).astype(np.int64)


def _estimate_losses(in_a: Ints, in_b: Ints, trials: int, delta: float) -> Floats:
    """Estimate the loss that each event shows, from counts on the pilot.

    Each event and its complement are tested in both directions, with Wilson's limits; the largest
    loss of the four tests counts.

    Args:
        in_a: (events,) counts under the first input.
        in_b: (events,) counts under the second input.
        trials: Releases of each input.
        delta: The delta of the claim.

    Returns:
        (events,) losses in nats, which may be negative.
    """
    low_a, high_a = _wilson_limits(in_a, trials)
    low_b, high_b = _wilson_limits(in_b, trials)
    tests = [(low_a, high_b), (low_b, high_a), (1 - high_a, 1 - low_b), (1 - high_b, 1 - low_a)]
    losses = [np.log(np.maximum(p - delta, _TINY) / np.maximum(q, _TINY)) for p, q in tests]
    return np.asarray(np.max(losses, axis=0), dtype=np.float64)


def _wilson_limits(times: Ints, trials: int) -> tuple[Floats, Floats]:
    """Return Wilson's lower and upper limits of chances, both of the shape of `times`.

    With x = z^2 / trials: (share + x / 2 -+ sqrt(share (1 - share) x + x^2 / 4)) / (1 + x).
    """
    share = times / trials
    x = _PILOT_Z**2 / trials
    middle = (share + x / 2) / (1 + x)
    half_width = np.sqrt(share * (1 - share) * x + x**2 / 4) / (1 + x)
    return np.maximum(middle - half_width, 0.0), np.minimum(middle + half_width, 1.0)
