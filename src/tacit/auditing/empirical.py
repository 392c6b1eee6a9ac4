"""A lower bound on epsilon from samples of two neighbouring inputs, taken from the running code.

Source   Jagielski, Ullman, Oprea: Auditing differentially private machine learning (NeurIPS 2020);
         Ding, Wang, Wang, Zhang, Kifer: Detecting violations of differential privacy (CCS 2018).
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

from tacit.auditing.limits import bound, ideal_bound
from tacit.errors import ConfigError

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


@dataclass(frozen=True)
class Event:
    """A set of values of one feature.

    kind "in": the listed values. "at least": from the one listed value on. "NaN": not a number.
    """

    feature: str
    kind: str
    values: NDArray[Any]

    def holds(self, seen: NDArray[Any]) -> NDArray[np.bool_]:
        if self.kind == "NaN":
            return np.isnan(seen.astype(np.float64))
        if self.kind == "at least":
            return np.asarray(seen >= self.values[0], dtype=np.bool_)
        return np.isin(seen, self.values)

    def __str__(self) -> str:
        if self.kind == "NaN":
            return f"{self.feature} is NaN"
        if self.kind == "at least":
            return f"{self.feature} at least {self.values[0]}"
        if len(self.values) == 1:
            return f"{self.feature} is {self.values[0]}"
        return f"{self.feature} is one of {len(self.values)} values"


@dataclass(frozen=True)
class Known:
    """An event chosen from exact chances, before anything is drawn.

    first: whether the first neighbour makes it likelier. ideal: the bound that it shows of correct
    code, in all audits but a share of alpha.
    """

    event: Event
    first: bool
    ideal: float


@dataclass(frozen=True)
class Evidence:
    """lower_bound: nats, 0 or more. samples: releases of each neighbour, both halves together.

    event: the one that gave the bound; direction: which neighbour makes it likelier.
    """

    lower_bound: float
    event: str
    direction: str
    samples: int
    alpha: float


def itself(releases: NDArray[Any]) -> NDArray[Any]:
    """The feature that is the release."""
    return releases


def audit(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    alpha: float = ALPHA,
    delta: float = 0.0,
    features: Mapping[str, Feature] | None = None,
    known: Known | None = None,
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
    pilot, count = samples // 2, samples - samples // 2
    first = (release_a(pilot), release_b(pilot))
    chosen = [
        (best_event(name, way(first[0]), way(first[1]), delta), way) for name, way in ways.items()
    ]
    seen = [0, 0] if known is None else _times_of(known, ways, first)
    del first
    second = (release_a(count), release_b(count))
    level = alpha / (4 * len(chosen)) / (1 if known is None else 2)
    answers = []
    if known is not None:
        likely, rare = (x + y for x, y in zip(seen, _times_of(known, ways, second), strict=True))
        found = bound(likely, rare, samples, alpha / 2, delta)
        answers.append((found, str(known.event), "first" if known.first else "second"))
    for event, way in chosen:
        times = [int(event.holds(way(part)).sum()) for part in second]
        for words, (p, q) in (
            (str(event), (times[0], times[1])),
            (f"not: {event}", (count - times[0], count - times[1])),
        ):
            answers.append((bound(p, q, count, level, delta), words, "first"))
            answers.append((bound(q, p, count, level, delta), words, "second"))
    best = max(answers, key=lambda answer: answer[0])
    return Evidence(best[0], best[1], best[2], samples, alpha)


def _times_of(
    known: Known, ways: Mapping[str, Feature], releases: tuple[NDArray[Any], NDArray[Any]]
) -> list[int]:
    """How often the known event happened, to the neighbour that makes it likelier first."""
    way = ways[known.event.feature]
    times = [int(known.event.holds(way(part)).sum()) for part in releases]
    return times if known.first else times[::-1]


def best_known(
    chances: tuple[Mapping[Any, Any], Mapping[Any, Any]],
    samples: int,
    alpha: float,
    delta: float = 0.0,
    *,
    feature: str = "release",
    at_least: bool = False,
) -> Known | None:
    """The event with the largest bound to be expected, None if it is not sure to be above 0.

    chances: of values of the feature, under the two neighbours; candidates are the sets of values
    that one neighbour makes likelier by more than some ratio. at_least: chances are those of each
    value or a larger one, and candidates are these.
    """
    values = np.array(list(dict.fromkeys([*chances[0], *chances[1]])))
    sides = np.array([[float(side.get(value, 0)) for value in values.tolist()] for side in chances])
    best, most = None, 0.0
    for first, (p, q) in ((True, sides), (False, sides[::-1])):
        order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
        if not at_least:
            p, q = (np.minimum(side[order].cumsum(), 1.0) for side in (p, q))
        for place in _some(np.flatnonzero(p - delta > q)).tolist():
            times = (int(samples * p[place]), int(samples * q[place]))
            expected = bound(*times, samples, alpha * alpha, delta)
            if expected > most:
                kind, upto = ("at least", [place]) if at_least else ("in", order[: place + 1])
                found = Event(feature, kind, values[upto])
                best, most = (found, first, p[place], q[place]), expected
    if best is None:
        return None
    event, first, p, q = best
    ideal = ideal_bound(p, q, samples=samples, alpha=alpha, delta=delta)
    return Known(event, first, ideal) if ideal > 0 else None


def _some(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most 200 of them."""
    if len(places) <= _MOST_KNOWN:
        return places
    return places[np.linspace(0, len(places) - 1, _MOST_KNOWN).astype(np.int64)]


def best_event(name: str, a: NDArray[Any], b: NDArray[Any], delta: float = 0.0) -> Event:
    """The event with the largest estimated loss among candidates made from the samples.

    Candidates: NaN; each value; values whose ratio of counts passes a limit; thresholds. With more
    than 20,000 different values: 500 thresholds at quantiles.
    """
    if a.ndim != 1 or b.ndim != 1:
        raise ConfigError("Events are sought on one number per release: name a feature.")
    trials = len(a)
    candidates: list[tuple[float, Event]] = []
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        missing_a, missing_b = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
        times = (np.array([missing_a.sum()]), np.array([missing_b.sum()]))
        event = Event(name, "NaN", np.array([]))
        candidates.append((float(_scores(*times, trials, delta)[0]), event))
        a, b = a[~missing_a], b[~missing_b]
    values, in_a, in_b = _counted(a, b)
    if len(values) == 0:
        return candidates[0][1]
    if len(values) > _MOST_VALUES:
        keep = np.unique(np.linspace(0, len(values) - 1, _THRESHOLDS).astype(np.int64))
    else:
        keep = np.arange(len(values))
        scores = _scores(in_a, in_b, trials, delta)
        one = int(scores.argmax())
        candidates.append((float(scores[one]), Event(name, "in", values[one : one + 1])))
        candidates.append(_set_event(name, values, (a, b), trials // 2, delta))
    from_a = in_a[::-1].cumsum()[::-1][keep]
    from_b = in_b[::-1].cumsum()[::-1][keep]
    scores = _scores(from_a, from_b, trials, delta)
    place = int(scores.argmax())
    at = values[keep[place] : keep[place] + 1]
    candidates.append((float(scores[place]), Event(name, "at least", at)))
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _set_event(
    name: str,
    values: NDArray[Any],
    seen: tuple[NDArray[Any], NDArray[Any]],
    trials: int,
    delta: float,
) -> tuple[float, Event]:
    """The values whose ratio of counts passes a limit, and the score of that set.

    Ordered by one half of the pilot and scored by the other: among many values some are more
    frequent under one neighbour by chance alone. trials: of half a pilot, NaN included.
    """
    in_a, in_b = (_times(values, part[: len(part) // 2]) for part in seen)
    order = np.argsort(-(in_a + 1) / (in_b + 1), kind="stable")
    of_a, of_b = (_times(values, part[len(part) // 2 :])[order].cumsum() for part in seen)
    scores = _scores(of_a, of_b, trials, delta)
    upto = int(scores.argmax())
    return float(scores[upto]), Event(name, "in", np.sort(values[order[: upto + 1]]))


def _times(values: NDArray[Any], seen: NDArray[Any]) -> NDArray[np.int64]:
    """How often each of the sorted `values` was seen."""
    return np.bincount(np.searchsorted(values, seen), minlength=len(values)).astype(np.int64)


def _counted(
    a: NDArray[Any], b: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Every value that occurs, ascending, and how often under each neighbour."""
    values, where = np.unique(np.concatenate([a, b]), return_inverse=True)
    in_a = np.bincount(where[: len(a)], minlength=len(values)).astype(np.int64)
    in_b = np.bincount(where[len(a) :], minlength=len(values)).astype(np.int64)
    return values, in_a, in_b


def _scores(
    in_a: NDArray[np.int64], in_b: NDArray[np.int64], trials: int, delta: float
) -> NDArray[np.float64]:
    """The pilot's estimate for each event, the best of the four questions (Wilson's limits)."""
    (low_a, high_a), (low_b, high_b) = _wilson(in_a, trials), _wilson(in_b, trials)
    questions = [
        (low_a, high_b),
        (low_b, high_a),
        (1 - high_a, 1 - low_b),
        (1 - high_b, 1 - low_a),
    ]
    tiny = 1e-300
    losses = [np.log(np.maximum(p - delta, tiny) / np.maximum(q, tiny)) for p, q in questions]
    return np.asarray(np.max(losses, axis=0), dtype=np.float64)


def _wilson(
    times: NDArray[np.int64], trials: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    share, square = times / trials, _PILOT_Z**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = np.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
