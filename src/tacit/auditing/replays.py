"""A fit made of noisy sums, replayed on the table with one person more or less; and samples.

Rule     The first run's noisy answers are the transcript. The second run, on the other table, is
         given the same answers. Then
           what it released must be the same to the last bit: all that is not noisy comes from the
           transcript (or it is raw, and the loss is infinite);
           it must have asked for noise of the same kinds, sizes and scales;
           and its sums lie some distance from the first run's: over the scales, added up in
           squares, that is mu^2 of the Gaussian mechanism that this transcript is an answer of.
Differs  from a proof: mu is that of the tables and transcripts tried, at its largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Check, PairResult
from tacit.auditing.gaussian import audit_gaussian, epsilon_of_mu, ideal_gaussian
from tacit.auditing.sampler_spy import Answer, BulkNoise, SamplerCall, intercept_samplers
from tacit.mechanisms import samplers

Released = Mapping[str, NDArray[Any]]
Fit = Callable[[Any], Released]
"""Maps a table, or any other input, to what it releases."""

_LEAST = 10
_TRANSCRIPTS = 2  # of each of the two tables


@dataclass(frozen=True, eq=False)
class Transcript:
    """The calls of a fit to its samplers, their answers, and what the fit released."""

    calls: tuple[SamplerCall, ...]
    answers: tuple[NDArray[np.int64], ...]
    released: Released


@dataclass(frozen=True, eq=False)
class ReplayComparison:
    """A replay beside its first run."""

    steps: tuple[NDArray[np.int64], ...]
    """From the first run's values to the second's, draw by draw."""
    moves: tuple[float, ...]
    """Their lengths in sigmas."""
    differences: tuple[str, ...]
    """What differs without noise, in words; empty if nothing does."""

    @property
    def mu(self) -> float:
        """Mu of all sums together; infinite if something differs without noise."""
        return math.inf if self.differences else math.sqrt(sum(move**2 for move in self.moves))


def record_fit(fit: Fit, table: Any, noise: Answer | None = None) -> Transcript:
    """Record one fit, with `noise` as the samplers' answers; None takes the shipped samplers."""
    drawn = noise or BulkNoise(1).answer
    answers = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        answers.append(drawn(call))
        return answers[-1]

    with intercept_samplers(answer) as calls:
        released = fit(table)
    return Transcript(tuple(calls), tuple(answers), released)


def compare_replay(fit: Fit, first: Transcript, table: Any) -> ReplayComparison:
    """Fit another table with the first run's answers, and compare both."""
    left = list(first.answers)
    refused: list[str] = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        if not left or left[0].shape != call.values.shape:
            refused.append(f"a draw of {call.values.size} numbers that the other did not make")
            return call.values
        return left.pop(0)

    with intercept_samplers(answer) as calls:
        released = fit(table)
    differences = list(dict.fromkeys(refused)) + [f"{len(left)} draws fewer"] * bool(left)
    steps, moves = [], []
    for one, other in zip(first.calls, calls, strict=False):
        if one.values.shape != other.values.shape:
            continue
        if (one.sampler, one.scale) != (other.sampler, other.scale):
            differences.append(f"noise of scale {one.scale!r} against {other.scale!r}")
        steps.append(other.values - one.values)
        moves.append(float(np.linalg.norm(steps[-1] / one.scale)))
    differences += [
        f"'{name}', released without noise"
        for name, array in first.released.items()
        if name not in released or not np.array_equal(array, released[name], equal_nan=True)
    ]
    return ReplayComparison(tuple(steps), tuple(moves), tuple(differences))


Replay = tuple[Transcript, ReplayComparison]


def replays(fit: Fit, tables: tuple[Any, Any], noise: Answer | None = None) -> list[Replay]:
    """Replay some transcripts of either table on the other one."""
    found = []
    for first, other in (tables, tables[::-1]):
        for _ in range(_TRANSCRIPTS):
            transcript = record_fit(fit, first, noise)
            found.append((transcript, compare_replay(fit, transcript, other)))
    return found


def replay_check(
    name: str,
    fit: Fit,
    tables: tuple[Any, Any],
    *,
    entries: int,
    share: int,
    delta: float,
    noise: Answer | None = None,
) -> Check:
    """Make a check of whole fits, with samples of the fit in which the person moves most.

    entries: how many noisy numbers are sampled, those that the person moves most; each takes time.
    share: one sample for so many. noise: as of `recorded`.
    """

    def check(samples: int, alpha: float) -> PairResult:
        transcript, moved = max(replays(fit, tables, noise), key=lambda each: each[1].mu)
        count = max(samples // share, _LEAST)
        if math.isinf(moved.mu):
            return PairResult(name, math.inf, None, 0.0, 0.0, count, moved.differences)
        sampled = _Noises(transcript.calls, moved.steps, entries)
        seen = audit_gaussian(
            lambda n: sampled.ratios(n, 0),
            lambda n: sampled.ratios(n, 1),
            samples=count,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=sampled.finest,
            known=sampled.mu**2 / 2,
        )
        ideal = ideal_gaussian(sampled.mu, samples=count, delta=delta, alpha=alpha)
        return PairResult(
            name, epsilon_of_mu(moved.mu, delta), None, seen.lower_bound, ideal, count
        )

    return check


class _Noises:
    """The largest moves of one replay, under noise of the shipped sampler at the fit's scales."""

    def __init__(
        self, calls: tuple[SamplerCall, ...], steps: tuple[NDArray[np.int64], ...], entries: int
    ) -> None:
        scales = np.concatenate([np.full(one.values.size, one.scale) for one in calls])
        moved = np.concatenate([step.ravel() for step in steps])
        squares = (moved / scales) ** 2
        kept = np.argsort(-squares, kind="stable")[:entries]
        self._steps, self._scales = moved[kept], scales[kept]
        self.mu = math.sqrt(float(squares[kept].sum()))
        self.finest = float(self._scales.min())

    def ratios(self, count: int, side: int) -> NDArray[np.float64]:
        """Return (count,) log likelihood ratios of noise around one side's sums or the other's."""
        total = np.zeros(count)
        for step, scale in zip(self._steps.tolist(), self._scales.tolist(), strict=True):
            noise = samplers.discrete_gaussian(np.full(count, side * step), scale)
            total += noise * (step / scale**2)
        return total
