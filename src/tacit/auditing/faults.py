"""Bugs that real libraries and papers have had, of the kind that samples give away.

Every function takes `bug`: True for the fault, False for its repair. It draws n releases of one
input, with noise for a claim of epsilon 1 unless said otherwise. Where a bug can be described, the
rule engine is asked too, about the fault and about its repair.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import Bug, Described, Sampled
from tacit.auditing.empirical import itself
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.rules import (
    Answered,
    Branch,
    Chosen,
    FirstPast,
    Noised,
    Private,
    Public,
    Rule,
    Together,
)
from tacit.errors import TacitError
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import secure

Many = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

SAMPLED: list[Bug] = []
_DELTA = 1e-5
_random = np.random.default_rng()  # simulations only; a real release draws from randomness.secure()


def plant(
    bugs: list[Bug], made: Callable[..., Bug], name: str, *given: Any, **how: Any
) -> Callable[[F], F]:
    """Decorates a function with a switch: it joins the bugs, as one of the class `made`."""

    def decorated(function: F) -> F:
        bugs.append(made(name, function, *given, **how))
        return function

    return decorated


def _sampled(
    name: str, a: Any, b: Any, described: Described | None = None, **how: Any
) -> Callable[[F], F]:
    return plant(SAMPLED, Sampled, name, a, b, described=described, **how)


def several(one: Rule, count: int) -> Described:
    """`count` releases for the price of one; the repair makes one."""
    return lambda bug: Together((one,) * (count if bug else 1))


def _noise(shape: int | tuple[int, ...], scale: float) -> NDArray[np.int64]:
    """Discrete Laplace noise as the difference of two geometric numbers."""
    stop = -math.expm1(-1 / scale)
    return np.asarray(_random.geometric(stop, shape) - _random.geometric(stop, shape))


@_sampled("noise 20 % too small", 1, 0, lambda bug: Noised(1, 0.8 if bug else 1))
def four_fifths_of_the_noise(count: int, n: int, bug: bool) -> Many:
    return count + _noise(n, 0.8 if bug else 1.0)


@_sampled("noise 5 % too small", 1, 0, lambda bug: Noised(1, 0.95 if bug else 1), samples=1_000_000)
def nearly_all_of_the_noise(count: int, n: int, bug: bool) -> Many:
    return count + _noise(n, 0.95 if bug else 1.0)


@_sampled(
    "sensitivity of add/remove used with replace",
    (1, 0),
    (0, 1),
    lambda bug: Noised(2, 1 if bug else 2),
    features={"moved": lambda cells: (cells[:, 0] >= 1) & (cells[:, 1] <= 0)},
)
def add_remove_noise_for_replace(cells: tuple[int, int], n: int, bug: bool) -> Many:
    """A person who moves changes two cells: the L1 distance is 2."""
    return np.array(cells) + _noise((n, 2), 1.0 if bug else 2.0)


@_sampled(
    "float Laplace noise, low digits",
    0.0,
    1.0,
    features={"release": itself, "finer than 2^-53": lambda y: np.mod(y * 2.0**53, 1) != 0},
)
def float_noise(value: float, n: int, bug: bool) -> Many:
    """The low digits of a float sum tell where it came from; a grid has none."""
    step = 2.0**-6
    return value + (_random.laplace(0, 1, n) if bug else step * _noise(n, 1 / step))


@_sampled(
    "same seed for two answers", 1, 0, features={"difference": lambda two: two[:, 0] - two[:, 1]}
)
def one_seed_for_two_answers(count: int, n: int, bug: bool) -> Many:
    """The second answer is about others, and takes the first one's noise away."""
    first = _noise(n, 1.0)
    second = first if bug else _noise(n, 1.0)
    return np.stack([count + first, second], axis=1)


@_sampled(
    "ten retries drawn again",
    1,
    0,
    several(Answered(BitRelease(1.0).truth), 10),
    features={"sum": lambda bits: bits.sum(axis=1)},
)
def retries_drawn_again(bit: int, n: int, bug: bool) -> Many:
    """A message sent ten times; the repair sends the same message ten times."""
    drawn = BitRelease(1.0)(np.full((n, 10 if bug else 1), bit), secure())
    return np.broadcast_to(drawn, (n, 10))


@_sampled(
    "local report without memo",
    0,
    1,
    several(Answered(KaryResponse(1.0, 4).truth, 4), 10),
    features={"zeros less ones": lambda y: (y == 0).sum(axis=1) - (y == 1).sum(axis=1)},
)
def report_without_memo(answer: int, n: int, bug: bool) -> Many:
    """The same question on ten days; the repair remembers its first answer."""
    drawn = KaryResponse(1.0, 4)(np.full((n, 10 if bug else 1), answer), secure())
    return np.broadcast_to(drawn, (n, 10))


@_sampled("k-ary lie may be the truth", 0, 1)
def lie_may_be_the_truth(answer: int, n: int, bug: bool) -> Many:
    honest = _random.random(n) < math.e / (math.e + 3)
    lie = (answer + _random.integers(0 if bug else 1, 4, n)) % 4
    return np.where(honest, answer, lie)


@_sampled(
    "threshold gate without noise on counts",
    (0, 1),
    (1, 0),
    lambda bug: FirstPast(1, 2.0, 0.0 if bug else 4.0),
)
def gate_without_count_noise(counts: tuple[int, ...], n: int, bug: bool) -> Many:
    fires = _gate(counts, n, count_scale=None if bug else 4.0)
    return np.where(fires.any(axis=1), fires.argmax(axis=1), len(counts))


@_sampled(
    "threshold gate that never stops",
    (0, 2) * 30,
    (1, 1) * 30,
    several(FirstPast(1, 2.0, 4.0), 30),
    features={"odd less even": lambda y: y[:, 1::2].sum(axis=1) - y[:, ::2].sum(axis=1)},
)
def gate_never_stops(counts: tuple[int, ...], n: int, bug: bool) -> Many:
    """Answers go on after the first alarm, for the price of one; released: the whole row."""
    fires = _gate(counts, n, count_scale=4.0)
    return fires if bug else fires & (fires.cumsum(axis=1) == 1)


def _gate(counts: tuple[int, ...], n: int, count_scale: float | None) -> NDArray[np.bool_]:
    """Whether each count is at or beyond the threshold 1, which has noise of scale 2."""
    noise = 0 if count_scale is None else _noise((n, len(counts)), count_scale)
    return np.asarray(np.array(counts) + noise >= 1 + _noise((n, 1), 2.0))


@_sampled(
    "noisy max without the factor 2",
    (1.0,) + (0.0,) * 9,
    (0.0,) + (1.0,) * 9,
    lambda bug: Chosen(1, 1.0 if bug else 0.5),
)
def noisy_max_without_the_2(scores: tuple[float, ...], n: int, bug: bool) -> Many:
    """Exponential noise on every score, the largest wins; scores may move apart."""
    noise = _random.exponential(1.0 if bug else 2.0, (n, len(scores)))
    return np.asarray((np.array(scores) + noise).argmax(axis=1))


@_sampled(
    "item listed only if present",
    True,
    False,
    lambda bug: Chosen(1, 0.5, candidates_are_public=not bug),
)
def listed_only_if_present(present: bool, n: int, bug: bool) -> Many:
    """A sixth candidate, known from one person; the repair lists it for everybody."""
    chosen = np.array([1.0] * 5 + [math.exp(0.5) if present else 1.0])
    if bug and not present:
        chosen[5] = 0.0
    return _random.choice(6, size=n, p=chosen / chosen.sum())


@_sampled("clamp missing", 100.0, 0.0, lambda bug: Noised(100 if bug else 5, 5.0))
def clamp_missing(rating: float, n: int, bug: bool) -> Many:
    """The noise is made for ratings from 0 to 5."""
    return np.asarray((rating if bug else min(max(rating, 0.0), 5.0)) + _noise(n, 5.0))


@_sampled("contribution bound missing", 10, 0, lambda bug: Noised(10 if bug else 1, 1.0))
def contribution_bound_missing(ratings: int, n: int, bug: bool) -> Many:
    """The noise is made for one rating per person."""
    return (ratings if bug else min(ratings, 1)) + _noise(n, 1.0)


@_sampled(
    "NaN survives",
    math.nan,
    5.0,
    lambda bug: Branch(Private(), Public("NaN"), Noised(5, 5)) if bug else Noised(5, 5),
)
def nan_survives(rating: float, n: int, bug: bool) -> Many:
    """A clamp lets NaN through; the repair counts it as 0 before the clamp."""
    value = 0.0 if math.isnan(rating) and not bug else rating
    return np.asarray(np.clip(value, 0.0, 5.0) + _noise(n, 5.0))


@_sampled("tails cut", 1, 0, samples=1_000_000)
def tails_cut(count: int, n: int, bug: bool) -> Many:
    noise = _noise(n, 1.0)
    return count + (np.clip(noise, -6, 6) if bug else noise)


_RESPONSE = KaryResponse(1.0, 10_000)
_ANSWERED = Answered(_RESPONSE.truth, 10_000)


@_sampled(
    "raw value once in 1,000",
    0,
    1,
    lambda bug: Branch(Public("a die"), Private(), _ANSWERED) if bug else _ANSWERED,
    samples=1_000_000,
)
def raw_once_in_a_thousand(answer: int, n: int, bug: bool) -> Many:
    drawn = _RESPONSE(np.full(n, answer), secure())
    raw = _random.random(n) < (0.001 if bug else 0.0)
    return np.where(raw, answer, drawn)


@_sampled(
    "exact count in a denominator",
    (5.0, 10),
    (5.0, 11),
    lambda bug: Together((Noised(1, 1), Private()) if bug else (Noised(1, 2), Noised(1, 2))),
)
def exact_count_below_the_line(ratings: tuple[float, int], n: int, bug: bool) -> Many:
    """A mean of ratings from 0 to 1; the repair spends half of epsilon on the count."""
    total, count = ratings
    if bug:
        return np.asarray((total + _noise(n, 1.0)) / count)
    return np.asarray((total + _noise(n, 2.0)) / np.maximum(count + _noise(n, 2.0), 1))


@_sampled(
    "k similarities charged as one",
    1,
    0,
    lambda bug: Together((Noised(1, 1 if bug else 5),) * 5),
    features={"how many": lambda y: (y >= 1).sum(axis=1)},
)
def similarities_charged_as_one(similarity: int, n: int, bug: bool) -> Many:
    """Five neighbours' similarities, all about the same person, each with its own noise."""
    return similarity + _noise((n, 5), 1.0 if bug else 5.0)


@_sampled(
    "tree without a level",
    (1, 0),
    (0, 0),
    lambda bug: Noised(2, 1 if bug else 2),
    features={"smaller": lambda totals: totals.min(axis=1)},
)
def tree_without_a_level(steps: tuple[int, int], n: int, bug: bool) -> Many:
    """log2(2) = 1 level is charged; two nodes hold the first step."""
    return np.cumsum(steps) + _noise((n, 2), 1.0 if bug else 2.0)


_gaussian: dict[str, Any] = {
    "epsilon": epsilon_of(1.0, _DELTA),
    "delta": _DELTA,
    "samples": 200_000,
}


@_sampled("Gaussian sigma halved", 1.0, 0.0, **_gaussian)
def half_sigma(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.5 if bug else 1.0, n)


@_sampled("Gaussian sigma 10 % too small", 1.0, 0.0, **_gaussian)
def sigma_10_percent_too_small(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.9 if bug else 1.0, n)


def generator_shared_after_fork(bit: int, n: int, bug: bool) -> Many:
    """Two processes release a bit each. A fork copies memory, and a generator is memory."""

    def released(one: int) -> Many:
        if bug:
            return (_random.random(n) < 1 / (1 + math.e)) ^ bool(one)
        return BitRelease(1.0)(np.full(n, one), secure())

    return np.stack(in_two_processes(lambda: released(bit), lambda: released(0)), axis=1)


if hasattr(os, "fork"):  # where there is no fork, there is no such bug
    _two = {"differ": lambda bits: bits[:, 0] ^ bits[:, 1]}
    _sampled("numpy generator shared after fork", 1, 0, features=_two)(generator_shared_after_fork)


def in_two_processes(
    here: Callable[[], Many], there: Callable[[], Many]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The bits of `here`, and those of `there` as computed by a forked child, as a server's workers
    are forks of one process. POSIX only."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold; the child draws, writes and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write, "wb") as pipe:
                pipe.write(there().astype(np.uint8).tobytes())
        finally:
            os._exit(0)  # nothing of the parent's is closed or flushed twice
    os.close(write)
    own = here().astype(np.bool_)
    with os.fdopen(read, "rb") as pipe:
        sent = np.frombuffer(pipe.read(), dtype=np.uint8).astype(np.bool_)
    os.waitpid(child, 0)
    if sent.shape != own.shape:
        raise TacitError("The forked process did not send its bits.")
    return own, sent
