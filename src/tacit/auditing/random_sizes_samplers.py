"""The boundary to OpenDP: the measurement that is asked, its scale, and what becomes of its answer.

Support and tail mass of the noise are OpenDP's own if the measurement is its Laplace or Gaussian
one with the scale asked for, and if every answer is handed on as it is. The first is asked of the
measurement's own privacy map; the second by standing in for it with answers near and far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.random_sizes import Generator, number, whole
from tacit.mechanisms import samplers
from tacit.mechanisms.noise_ahead import LaplaceAhead

_NEAR = 1e-9
_SCALES_AWAY = (0.0, 1.0, 5.0, 5.9, 6.1, 11.9, 12.1, 40.0, 1e4)
Measurement = Callable[[list[int]], list[int]]


@contextmanager
def _standing_in(name: str, measurement: Callable[[float], Measurement]) -> Iterator[None]:
    shipped = getattr(samplers, name)
    setattr(samplers, name, measurement)
    try:
        yield
    finally:
        setattr(samplers, name, shipped)


def laplace(generator: Generator) -> float:
    scale = number(generator, 1e-2, 1e6)
    stated: Any = samplers._laplace(scale)
    if not math.isclose(stated.map(1), 1 / scale, rel_tol=_NEAR):
        return math.inf
    return max(
        _handed_on(generator, "_laplace", scale, samplers.discrete_laplace),
        _handed_on(generator, "_laplace", scale, _ahead),
    )


def gaussian(generator: Generator) -> float:
    sigma = number(generator, 0.5, 1e6)
    stated: Any = samplers._gaussian(sigma)
    if not math.isclose(stated.map(1.0), 0.5 / sigma**2, rel_tol=_NEAR):
        return math.inf
    return _handed_on(generator, "_gaussian", sigma, samplers.discrete_gaussian)


def _ahead(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """A running mechanism's noise, number by number; added to nothing."""
    ahead = LaplaceAhead(scale)
    return np.array([ahead.one() for _ in range(values.size)]) + values


def _handed_on(
    generator: Generator,
    name: str,
    scale: float,
    draw: Callable[[NDArray[np.int64], float], NDArray[np.int64]],
) -> float:
    """0 if each answer comes back as it is, infinite if one is cut, rounded, lost or used twice."""
    count = whole(generator, 1, 1_500)
    away = generator.choice(_SCALES_AWAY, count) * scale * generator.choice([-1, 1], count)
    noise = np.rint(away).astype(np.int64) + generator.integers(-3, 4, count)
    left, asked = noise.tolist(), []

    def measurement(told: float) -> Measurement:
        asked.append(told)

        def answer(values: list[int]) -> list[int]:
            given = [left.pop(0) if left else 0 for _ in values]
            return [value + one for value, one in zip(values, given, strict=True)]

        return answer

    values = generator.integers(-1_000, 1_000, count)
    with _standing_in(name, measurement):
        released = draw(values, scale)
    right = set(asked) == {scale} and np.array_equal(released, values + noise)
    return 0.0 if right else math.inf
