"""How the number of people that sketches need grows with items, rated items and epsilon.

The paper has bounds and no experiments. For each setting and seed a crowd grows until every label
is right and stays so; the logarithms are fitted by a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from tacit.data.synthetic_blocks import Blocks, example
from tacit.errors import ConfigError
from tacit.evaluation.intervals import Interval, mean_interval
from tacit.evaluation.sketching import SketchRow, simulate
from tacit.recommenders.sketches.planner import plan

Floats = NDArray[np.float64]
VARIED = ("items", "rated", "epsilon")
STOPS = tuple(float(part) for part in np.geomspace(0.12, 1.5, 16))
"""Sizes of the growing crowd, in parts of the planner's `users_clt`."""


@dataclass(frozen=True)
class Need:
    """People needed at one value of what is varied: geometric mean over seeds, 95 % interval.

    unreached: seeds in which even the largest crowd was too small; they count with its size, so
    that the mean is then too low.
    """

    value: float
    users: float
    low: float
    high: float
    users_clt: float
    unreached: int


@dataclass(frozen=True)
class Scaling:
    """users ~ value^slope, with the slope's 95 % interval over settings and seeds.

    rows: the simulated crowds that it was fitted to.
    """

    method: str
    varied: str
    needs: tuple[Need, ...]
    slope: float
    low: float
    high: float
    rows: tuple[SketchRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the rows."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}


def scaling(
    method: str,
    varied: str,
    values: Sequence[float],
    *,
    items: int = 200,
    rated: int = 20,
    epsilon: float = 1.0,
    seeds: int = 5,
    blocks: Blocks | None = None,
) -> Scaling:
    """Vary one of items, rated and epsilon; theta and the number of questions are the planner's.

    values: two or more. seeds: two or more crowds for each. Seeds of one setting are independent;
    crowds of one seed grow, so that a need is found to within the steps of STOPS (18 %).
    """
    if varied not in VARIED:
        raise ConfigError(f"What can be varied is {', '.join(VARIED)}; got {varied!r}.")
    if len(set(values)) < 2 or seeds < 2:
        raise ConfigError("A slope needs two values and two seeds or more.")
    world = example(2) if blocks is None else blocks
    needs, logs = [], []
    drawn: list[SketchRow] = []
    for value in values:
        setting = {"items": items, "rated": rated, "epsilon": epsilon} | {varied: value}
        sizes, clt, unreached = _needed(method, setting, seeds, world, drawn)
        mean, low, high = (math.exp(part) for part in mean_interval(np.log(sizes)))
        needs.append(Need(float(value), mean, low, high, clt, unreached))
        logs.append(np.log(sizes))
    slope = fitted_slope(np.repeat(np.log(np.asarray(values, dtype=float)), seeds), np.ravel(logs))
    return Scaling(method, varied, tuple(needs), *slope, tuple(drawn))


def fitted_slope(x: Floats, y: Floats, confidence: float = 0.95) -> Interval:
    """Least squares, with Student's interval: (slope, low, high)."""
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    residual = y - y.mean() - slope * centred
    error = math.sqrt(float(residual @ residual) / (len(x) - 2) / float(centred @ centred))
    half = float(student.ppf((1 + confidence) / 2, len(x) - 2)) * error
    return Interval(slope, slope - half, slope + half)


def _needed(
    method: str, setting: dict[str, Any], seeds: int, world: Blocks, drawn: list[SketchRow]
) -> tuple[Floats, float, int]:
    """(seeds,) people from which on every label is right; users_clt; how many never were.

    Every crowd's row is appended to `drawn`.
    """
    advice = plan(**setting, clusters=len(world.items), blocks=world)
    clt = next(row.users_clt for row in advice.methods if row.method == method)
    if math.isinf(clt):
        raise ConfigError(f"{method} cannot tell these clusters apart, whatever the crowd.")
    stops = sorted({max(1, round(part * clt)) for part in STOPS})
    sizes, unreached = [], 0
    for seed in range(seeds):
        rows = simulate(method, **setting, users=stops, seed=seed, blocks=world)
        drawn += rows
        wrong = [place for place, row in enumerate(rows) if row.accuracy < 1]
        first = wrong[-1] + 1 if wrong else 0
        unreached += first == len(stops)
        sizes.append(stops[min(first, len(stops) - 1)])
    return np.array(sizes, dtype=np.float64), clt, unreached
