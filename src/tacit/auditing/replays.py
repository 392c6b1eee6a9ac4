"""Fits made of noisy sums, replayed with and without one person: the exact loss, and samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Check
from tacit.auditing.gaussian import audit_gaussian, epsilon_of, ideal_gaussian
from tacit.auditing.sampler_spy import Answer, Asked
from tacit.auditing.transcripts import Compared, Fit, Transcript, compared, recorded
from tacit.auditing.verdicts import Checked
from tacit.mechanisms import samplers

Replay = tuple[Transcript, Compared]
_LEAST = 10
_TRANSCRIPTS = 2  # of each of the two tables


def replays(fit: Fit, tables: tuple[Any, Any], noise: Answer | None = None) -> list[Replay]:
    """Some transcripts of either table, replayed on the other one."""
    found = []
    for first, other in (tables, tables[::-1]):
        for _ in range(_TRANSCRIPTS):
            transcript = recorded(fit, first, noise)
            found.append((transcript, compared(fit, transcript, other)))
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
    """The loss of whole fits, and samples of the noise of the fit in which the person moves most.

    entries: how many noisy numbers are sampled, those that the person moves most; each takes time.
    share: one sample for so many that are asked for. noise: as of `recorded`.
    """

    def check(samples: int, alpha: float) -> Checked:
        transcript, moved = max(replays(fit, tables, noise), key=lambda each: each[1].mu)
        count = max(samples // share, _LEAST)
        if math.isinf(moved.mu):
            return Checked(name, math.inf, None, 0.0, 0.0, count, moved.differences)
        sampled = _Noises(transcript.asked, moved.steps, entries)
        seen = audit_gaussian(
            lambda n: sampled.ratios(n, 0),
            lambda n: sampled.ratios(n, 1),
            samples=count,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=sampled.finest,
        )
        ideal = ideal_gaussian(sampled.mu, samples=count, delta=delta, alpha=alpha)
        return Checked(name, epsilon_of(moved.mu, delta), None, seen.lower_bound, ideal, count)

    return check


class _Noises:
    """The largest moves of one replay, under noise of the shipped sampler at the fit's scales."""

    def __init__(
        self, asked: tuple[Asked, ...], steps: tuple[NDArray[np.int64], ...], entries: int
    ) -> None:
        scales = np.concatenate([np.full(one.values.size, one.scale) for one in asked])
        moved = np.concatenate([step.ravel() for step in steps])
        squares = (moved / scales) ** 2
        kept = np.argsort(-squares, kind="stable")[:entries]
        self._steps, self._scales = moved[kept], scales[kept]
        self.mu = math.sqrt(float(squares[kept].sum()))
        self.finest = float(self._scales.min())

    def ratios(self, count: int, side: int) -> NDArray[np.float64]:
        """(count,) log likelihood ratios of noise around the one side's sums or the other's."""
        total = np.zeros(count)
        for step, scale in zip(self._steps.tolist(), self._scales.tolist(), strict=True):
            noise = samplers.discrete_gaussian(np.full(count, side * step), scale)
            total += noise * (step / scale**2)
        return total
