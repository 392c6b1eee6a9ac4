"""How many people sketches need, and how that grows with items, rated items and epsilon.

The paper has bounds and no experiments. For each setting and seed a population grows until every
label is right and stays so. What is needed is the size at which nine of ten populations get there:
the planner's formula is for a failure of one in ten, too. The logarithms are fitted by a line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_blocks import Blocks, example
from tacit.designs.sketches.experiment.simulation import METHODS, SketchRow, simulate
from tacit.designs.sketches.planner import plan
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
VARIED = ("items", "rated", "epsilon")
ETA = 0.1
"""Share of populations that may fail, and the planner's chance of failure."""
STOPS = tuple(float(part) for part in np.geomspace(0.12, 1.5, 26))
"""Sizes of the growing population, in parts of the planner's `users_clt`: steps of 11 %."""
_RESAMPLES = 2000


@dataclass(frozen=True)
class Need:
    """People needed by one method at one value of what is varied.

    users: nine of ten populations have all labels right from here on; low, high: 95 %, bootstrap
    over seeds. mean: geometric mean over seeds of the size from which on all were right: about
    half of the populations have arrived there. users_clt: the planner's. unreached: seeds in which
    even the largest population was too small; they count with its size, so that both are then too
    low.
    """

    method: str
    value: float
    users: float
    low: float
    high: float
    mean: float
    users_clt: float
    unreached: int


@dataclass(frozen=True)
class Scaling:
    """users ~ value^slope, with the slope's 95 % interval, bootstrap over seeds.

    formula_slope: the same line through the planner's `users_clt`; above 2 in items, for all of
    more labels have to be right. mean_slope: through the means, where half of populations have
    arrived. rows: the simulated populations that it was fitted to.
    """

    method: str
    varied: str
    needs: tuple[Need, ...]
    slope: float
    low: float
    high: float
    formula_slope: float
    mean_slope: float
    rows: tuple[SketchRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the rows."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}


@dataclass(frozen=True)
class Comparison:
    """Two methods with the same people to ask.

    ratio: people that the second needs, over those of the first; 95 % interval as above.
    formula_ratio: the same by the planner. rows: the simulated populations.
    """

    needs: tuple[Need, Need]
    ratio: float
    low: float
    high: float
    formula_ratio: float
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
    seeds: int = 20,
    blocks: Blocks | None = None,
) -> Scaling:
    """Vary one of items, rated and epsilon; theta and the number of questions are the planner's.

    values: two or more. seeds: two or more populations for each; below ten, nine of ten is read off
    between two of them. Seeds of one setting are independent; populations of one seed grow, so
    that a need is found to within the steps of STOPS.
    """
    if method not in METHODS:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {method!r}.")
    if varied not in VARIED:
        raise ConfigError(f"What can be varied is {', '.join(VARIED)}; got {varied!r}.")
    if len(set(values)) < 2 or seeds < 2:
        raise ConfigError("A slope needs two values and two seeds or more.")
    kept = {"items": items, "rated": rated, "epsilon": epsilon}
    populations = [_Populations(method, kept | {varied: value}, seeds, blocks) for value in values]
    x = np.log(np.asarray(values, dtype=float))
    slopes = fitted_slope(x, np.stack([one.resampled for one in populations], axis=-1))
    low, high = _ends(slopes)
    return Scaling(
        method,
        varied,
        tuple(one.need(float(value)) for one, value in zip(populations, values, strict=True)),
        float(fitted_slope(x, np.array([one.log_users for one in populations]))),
        low,
        high,
        float(fitted_slope(x, np.log([one.clt for one in populations]))),
        float(fitted_slope(x, np.array([one.logs.mean() for one in populations]))),
        tuple(row for one in populations for row in one.rows),
    )


def compare(
    methods: tuple[str, str],
    *,
    items: int = 200,
    rated: int = 20,
    epsilon: float = 1.0,
    seeds: int = 20,
    blocks: Blocks | None = None,
) -> Comparison:
    """How many people the second method needs against the first; two seeds or more."""
    if len(set(methods)) != 2 or not set(methods) <= set(METHODS) or seeds < 2:
        raise ConfigError(f"A comparison needs two of {', '.join(METHODS)}, and two seeds or more.")
    setting = {"items": items, "rated": rated, "epsilon": epsilon}
    first, second = (_Populations(method, setting, seeds, blocks) for method in methods)
    low, high = _ends(np.exp(second.resampled - first.resampled))
    return Comparison(
        (first.need(epsilon), second.need(epsilon)),
        math.exp(second.log_users - first.log_users),
        low,
        high,
        second.clt / first.clt,
        (*first.rows, *second.rows),
    )


class _Populations:
    """The populations of one method at one setting, one for each seed."""

    def __init__(
        self, method: str, setting: dict[str, Any], seeds: int, blocks: Blocks | None
    ) -> None:
        world = example(2) if blocks is None else blocks
        advice = plan(**setting, clusters=len(world.items), eta=ETA, blocks=world)
        self.method = method
        self.clt = next(row.users_clt for row in advice.methods if row.method == method)
        if math.isinf(self.clt):
            raise ConfigError(f"{method} cannot distinguish these clusters, for any population.")
        stops = sorted({max(1, round(part * self.clt)) for part in STOPS})
        self.rows: list[SketchRow] = []
        self.unreached = 0
        sizes = []
        for seed in range(seeds):
            rows = simulate(method, **setting, users=stops, seed=seed, blocks=world)
            self.rows += rows
            wrong = [place for place, row in enumerate(rows) if row.accuracy < 1]
            first = wrong[-1] + 1 if wrong else 0
            self.unreached += first == len(stops)
            sizes.append(stops[min(first, len(stops) - 1)])
        self.logs = np.log(np.array(sizes, dtype=np.float64))
        self.log_users = float(np.quantile(self.logs, 1 - ETA))
        generator = np.random.default_rng(round(self.clt))
        drawn = generator.choice(self.logs, size=(_RESAMPLES, seeds))
        self.resampled: Floats = np.quantile(drawn, 1 - ETA, axis=1)

    def need(self, value: float) -> Need:
        low, high = _ends(np.exp(self.resampled))
        mean = math.exp(self.logs.mean())
        users = math.exp(self.log_users)
        return Need(self.method, value, users, low, high, mean, self.clt, self.unreached)


def fitted_slope(x: Floats, y: Floats) -> Floats:
    """Of the least-squares line through (x, y), along the last axis of y."""
    centred = x - x.mean()
    slope: Floats = y @ centred / (centred @ centred)
    return slope


def _ends(values: Floats) -> tuple[float, float]:
    """Of the 95 % interval of resampled values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
