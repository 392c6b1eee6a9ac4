"""Audit of a fit that consists of noisy sums: it is replayed on a table with one person changed.

Rule     A first run records the noisy answers of its samplers. A second run, on a neighbouring
         table, is given the same answers. Then
           it must release exactly the same: anything else was computed from the table without
           noise, and has an infinite loss;
           it must ask for noise of the same kinds, sizes and scales;
           and the distances of its sums from those of the first run, each divided by its scale and
           squared, add up to mu^2 of the Gaussian mechanism that gave these answers.
Limits   This is no proof: mu is the largest for the tables and answers that were tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Check, PairResult
from tacit.auditing.gaussian import audit_gaussian, epsilon_of_mu, ideal_gaussian
from tacit.auditing.sampler_spy import Answer, BulkNoise, SamplerCall, intercept_samplers
from tacit.mechanisms import samplers

Released = Mapping[str, NDArray[Any]]
"""What a fit releases: arrays by name."""
Fit = Callable[[Any], Released]
"""Runs a fit on a table, or any other input, and returns what it releases."""

_FEWEST_SAMPLES = 10
"""Fewest samples of each table in a check."""
_TRANSCRIPTS = 2
"""Number of first runs on each of the two tables; each is replayed on the other table."""


@dataclass(frozen=True, eq=False)
class Transcript:
    """One run of a fit."""

    calls: tuple[SamplerCall, ...]
    """The calls of samplers, in order."""
    answers: tuple[NDArray[np.int64], ...]
    """The answer to each call."""
    released: Released
    """What the fit released, by name."""


@dataclass(frozen=True, eq=False)
class ReplayComparison:
    """Differences between a first run and its replay."""

    steps: tuple[NDArray[np.int64], ...]
    """For each call of a sampler, the second run's values minus the first run's, before noise.
    Calls whose values differ in shape are left out."""
    moves: tuple[float, ...]
    """For each of `steps`, its L2 norm divided by the scale of the noise."""
    differences: tuple[str, ...]
    """Differences that no noise covers, in words; empty if there are none."""

    @property
    def mu(self) -> float:
        """Mu of all sums together; infinite if a difference is not covered by noise."""
        if self.differences:
            return math.inf
        return math.sqrt(sum(move**2 for move in self.moves))


def record_fit(fit: Fit, table: Any, noise: Answer | None = None) -> Transcript:
    """Run a fit, and record the calls of its samplers and their answers.

    Args:
        fit: The fit.
        table: Its input.
        noise: Answers the calls; None for the shipped samplers.
    """
    draw = noise or BulkNoise(1).answer
    answers = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        answers.append(draw(call))
        return answers[-1]

    with intercept_samplers(answer) as calls:
        released = fit(table)
    return Transcript(tuple(calls), tuple(answers), released)


def compare_replay(fit: Fit, first: Transcript, table: Any) -> ReplayComparison:
    """Run a fit on another table with the answers of a first run, and compare the two runs.

    Args:
        fit: The fit.
        first: The first run.
        table: The other table.

    Returns:
        The comparison. Arrays that only the second run releases are not among its differences.
    """
    unused_answers = list(first.answers)
    unanswered_draws: list[str] = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        """Give the first run's next answer if its shape fits; else answer without noise."""
        if not unused_answers or unused_answers[0].shape != call.values.shape:
            size = call.values.size
            unanswered_draws.append(f"a draw of {size} numbers that the first run did not make")
            return call.values
        return unused_answers.pop(0)

    with intercept_samplers(answer) as calls:
        released = fit(table)
    differences = list(dict.fromkeys(unanswered_draws))
    if unused_answers:
        differences.append(f"{len(unused_answers)} draws of the first run, not made again")
    steps = []
    moves = []
    for first_call, call in zip(first.calls, calls, strict=False):
        if first_call.values.shape != call.values.shape:
            continue
        if (first_call.sampler, first_call.scale) != (call.sampler, call.scale):
            differences.append(
                f"{first_call.sampler} noise of scale {first_call.scale!r} against {call.sampler} "
                f"noise of scale {call.scale!r}"
            )
        step = call.values - first_call.values
        steps.append(step)
        moves.append(float(np.linalg.norm(step / first_call.scale)))
    for name, array in first.released.items():
        if name not in released:
            differences.append(f"'{name}', released for one of the inputs only")
        elif not np.array_equal(array, released[name], equal_nan=True):
            differences.append(f"'{name}', released without noise")
    return ReplayComparison(tuple(steps), tuple(moves), tuple(differences))


class Replay(NamedTuple):
    """A first run, and its replay on the other table."""

    transcript: Transcript
    """The first run."""
    comparison: ReplayComparison
    """How the replay differs from the first run."""


def run_replays(fit: Fit, tables: tuple[Any, Any], noise: Answer | None = None) -> list[Replay]:
    """Run a fit on each of two tables a few times, and replay each run on the other table.

    Args:
        fit: The fit.
        tables: Two neighbouring tables.
        noise: As in `record_fit`.
    """
    results = []
    for first_table, second_table in (tables, tables[::-1]):
        for _ in range(_TRANSCRIPTS):
            transcript = record_fit(fit, first_table, noise)
            comparison = compare_replay(fit, transcript, second_table)
            results.append(Replay(transcript, comparison))
    return results


def replay_check(
    name: str,
    fit: Fit,
    tables: tuple[Any, Any],
    *,
    entries: int,
    sample_divisor: int,
    delta: float,
    noise: Answer | None = None,
) -> Check:
    """Make a check of a whole fit on two neighbouring tables.

    Mu is the largest of several replays. The lower bound comes from samples of the shipped sampler.
    Of the replay with the largest mu, the `entries` noisy numbers that move most are sampled.

    Args:
        name: Name of the pair.
        fit: The fit.
        tables: The tables.
        entries: Number of noisy numbers that are sampled; each takes time.
        sample_divisor: Each table gets samples / sample_divisor samples, 10 at least.
        delta: The delta of the claim.
        noise: As in `record_fit`.
    """

    def check(samples: int, alpha: float) -> PairResult:
        """Replay the fit, and audit the noise of the replay with the largest mu."""
        replays = run_replays(fit, tables, noise)
        transcript, comparison = max(replays, key=lambda replay: replay.comparison.mu)
        count = max(samples // sample_divisor, _FEWEST_SAMPLES)
        if not transcript.calls and comparison.mu == 0:  # no noise, and nothing that differs
            return PairResult(
                name, exact=0.0, rule_bound=None, lower_bound=0.0, ideal=0.0, samples=count
            )
        if math.isinf(comparison.mu):
            return PairResult(
                name,
                exact=math.inf,
                rule_bound=None,
                lower_bound=0.0,
                ideal=0.0,
                samples=count,
                differences=comparison.differences,
            )
        noises = _LargestMoves(transcript.calls, comparison.steps, entries)
        evidence = audit_gaussian(
            lambda n: noises.sample_ratios(n, moved=False),
            lambda n: noises.sample_ratios(n, moved=True),
            samples=count,
            delta=delta,
            alpha=alpha,
            sigma_in_steps=noises.smallest_scale,
            known_threshold=noises.mu**2 / 2,  # halfway between the centres, 0 and mu^2
        )
        return PairResult(
            name,
            exact=epsilon_of_mu(comparison.mu, delta),
            rule_bound=None,
            lower_bound=evidence.lower_bound,
            ideal=ideal_gaussian(noises.mu, samples=count, delta=delta, alpha=alpha),
            samples=count,
        )

    return check


class _LargestMoves:
    """The noisy numbers of a replay that move most, and samples of the shipped noise on them.

    Args:
        calls: Calls of samplers in the first run.
        steps: For each call, the second run's values minus the first run's.
        entries: How many numbers to keep: those with the largest |step| / scale.
    """

    def __init__(
        self, calls: tuple[SamplerCall, ...], steps: tuple[NDArray[np.int64], ...], entries: int
    ) -> None:
        all_scales = np.concatenate([np.full(call.values.size, call.scale) for call in calls])
        all_steps = np.concatenate([step.ravel() for step in steps])
        squared_moves = (all_steps / all_scales) ** 2
        positions = np.argsort(-squared_moves, kind="stable")[:entries]
        self._steps = all_steps[positions]
        self._scales = all_scales[positions]
        self.mu = math.sqrt(float(squared_moves[positions].sum()))
        self.smallest_scale = float(self._scales.min())

    def sample_ratios(self, count: int, *, moved: bool) -> NDArray[np.float64]:
        """Sample (count,) sums of noise * step / scale^2.

        Apart from a constant, they are log likelihood ratios of the two tables.

        Args:
            count: Number of samples.
            moved: Whether the noise is centred at the steps, or at 0.
        """
        total = np.zeros(count)
        for step, scale in zip(self._steps.tolist(), self._scales.tolist(), strict=True):
            centre = step if moved else 0
            noise = samplers.discrete_gaussian(np.full(count, centre), scale)
            total += noise * (step / scale**2)
        return total
