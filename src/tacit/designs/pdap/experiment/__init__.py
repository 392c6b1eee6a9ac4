"""Vendors with one policy each, on generated clicks: accuracy and regret, visit by visit.

World     `tacit.data.clicks`: every vendor has its own videos and users; the best video of ALL
          vendors at a context is known, and regret is its mean minus that of what was shown.
Messages  vendors reach one another by encoded bytes alone (`Network` of policies.py).
Accuracy  clicks so far over visits so far, from a cold start; over all vendors together.
Test      the paper's protocol: learn from all arrivals first, then show videos to N more visitors
          of whom nothing is learned, and take their mean chance of a click.
Seeds     fix the world, who comes and who would click. Noise from OpenDP takes no seed, so a policy
          that adds some does not repeat to the last click.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit import randomness
from tacit.data.clicks import LOW, Clicks, contexts, generate
from tacit.designs.pdap.experiment.policies import WITH_EPSILON, Made, Network, World, make
from tacit.errors import ConfigError
from tacit.evaluation import Interval, mean_interval

CHECKPOINTS = 12
"""Points of a curve, in equal steps."""
PAPERS_ARRIVALS = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000)
"""Where the paper's tables have rows."""


@dataclass(frozen=True)
class Row:
    """One run up to `arrivals` visits of each vendor.

    regret: of one vendor, mean over vendors; average_regret: per visit. epsilon: as configured, inf
    without noise. epsilon_spent_per_visit: inf where nothing holds, whatever is claimed. best: the
    best possible accuracy. test_accuracy: of visits after the last one learned from; None if none
    were tested.
    """

    policy: str
    epsilon: float
    arrivals: int
    seed: int
    accuracy: float
    regret: float
    average_regret: float
    epsilon_spent_per_visit: float
    best: float
    forwarded: float
    test_accuracy: float | None = None


class Run:
    """All vendors side by side, each visit of one after the same visit of the others.

    groups: clusters of contexts, 0 for uniform ones. test: visitors of each vendor after the last
    one learned from.
    """

    def __init__(
        self,
        made: Sequence[Made],
        world: World,
        truth: Clicks,
        seed: int,
        groups: int = 0,
        test: int = 0,
    ) -> None:
        self.world, self.spent = world, max(one.spent for one in made)
        self.network = Network(
            {name: one.vendor for name, one in zip(world.names, made, strict=True)},
            seen=made[0].seen,
        )
        self.done = self.forwarded = 0
        self.clicks = self.shown = 0.0
        learned = world.vendors * world.arrivals
        count = learned + world.vendors * test
        drawn = contexts(count, world.dimension, seed=seed, groups=groups)
        mixed = np.random.default_rng([seed, 1]).permutation(drawn[:learned])
        size = (world.vendors, world.arrivals)
        self._contexts, self._tests = mixed.reshape(*size, world.dimension), drawn[learned:]
        self._chances = np.random.default_rng([seed, 2]).random(size)
        self._best = truth.best(mixed)[1].reshape(size)
        self._centres = truth.centres.tolist()
        self._bumps = list(zip(truth.widths.tolist(), truth.heights.tolist(), strict=True))

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        for step in range(self.done, arrivals):
            for vendor, home in enumerate(self.world.names):
                context, chance = self._contexts[vendor, step].tolist(), self._chances[vendor, step]
                video = self._visit(home, context, chance)
                self.shown += self._mean(context, video)
        self.done = arrivals

    def row(self, name: str, epsilon: float, seed: int) -> Row:
        """What was found so far."""
        visits = self.done * self.world.vendors
        best = float(self._best[:, : self.done].sum())
        regret = (best - self.shown) / self.world.vendors
        return Row(
            policy=name,
            epsilon=epsilon,
            arrivals=self.done,
            seed=seed,
            accuracy=self.clicks / visits,
            regret=regret,
            average_regret=regret / self.done,
            epsilon_spent_per_visit=self.spent,
            best=best / visits,
            forwarded=self.forwarded / visits,
        )

    def tested(self) -> float | None:
        """The mean chance of a click after the last visit learned from; None if none is known."""
        names = self.world.names
        found = [
            self._mean(context, self._visit(names[number % len(names)], context))
            for number, context in enumerate(self._tests.tolist())
        ]
        return sum(found) / len(found) if found else None

    def _visit(self, home: str, context: list[float], chance: float | None = None) -> str:
        """The video that is shown, counted. chance: below it is a click; None: it is not known."""

        def click(video: str) -> float | None:
            return None if chance is None else float(chance < self._mean(context, video))

        shown = self.network.visit(home, np.array(context), click)
        self.clicks += shown.reward or 0.0
        self.forwarded += shown.vendor != home
        return shown.video

    def _mean(self, context: list[float], video: str) -> float:
        """As `Clicks.mean`, of one context at a time."""
        width, height = self._bumps[int(video)]
        apart = math.dist(context, self._centres[int(video)]) / width
        return float(LOW + height * (1 + math.cos(math.pi * min(apart, 1.0))) / 2)


def simulate(
    name: str,
    epsilon: float,
    world: World,
    *,
    seed: int,
    groups: int = 0,
    test: int = 0,
    **clicks: Any,
) -> Iterator[Row]:
    """Rows of one run, at `CHECKPOINTS` numbers of visits; accuracy of a test is in the last one.

    groups, test: see `Run`. clicks: of `generate`.
    """
    sizes = {"vendors": world.vendors, "videos": world.videos, "dimension": world.dimension}
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        made = make(name, epsilon, world, sources)
        run = Run(made, world, generate(**sizes, seed=seed, **clicks), seed, groups, test)
        for arrivals in checkpoints(world.arrivals):
            run.until(arrivals)
            row = run.row(name, epsilon if name in WITH_EPSILON else math.inf, seed)
            last = arrivals == world.arrivals
            yield replace(row, test_accuracy=run.tested()) if last else row


def checkpoints(arrivals: int) -> list[int]:
    """Numbers of visits at which a run is looked at, the last one included."""
    if arrivals < 1:
        raise ConfigError(f"There is at least one arrival; got {arrivals}.")
    steps = min(CHECKPOINTS, arrivals)
    found = {round(arrivals * number / steps) for number in range(1, steps + 1)}
    return sorted(found | {number for number in PAPERS_ARRIVALS if number <= arrivals})


Column = tuple[str, float]
"""A policy, and its epsilon: inf for those without."""


def level(rows: Sequence[Row], column: Column, field: str, arrivals: int) -> Interval | None:
    """A figure of the rows, with its interval over seeds; None where there is none."""
    values = [
        getattr(row, field)
        for row in rows
        if (row.policy, row.epsilon, row.arrivals) == (*column, arrivals)
    ]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return mean_interval(known) if known else None


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """Policies and their epsilons, in the order they were run."""
    return list(dict.fromkeys((row.policy, row.epsilon) for row in rows))
