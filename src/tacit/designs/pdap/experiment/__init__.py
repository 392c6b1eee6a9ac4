"""Vendors with one policy each, on generated or logged clicks: accuracy and regret, visit by visit.

World     `synthetic_rewards.py`: every vendor has its own videos and users; the best video of ALL
          vendors at a context is known, and regret is its mean minus that of what was shown.
Messages  vendors reach one another by encoded bytes alone (`Network` of policies.py).
Accuracy  clicks so far over visits so far, from a cold start; over all vendors together.
Test      the paper's protocol: learn from all arrivals first, then show videos to N more visitors
          of whom nothing is learned, and take their mean chance of a click.
Seeds     fix the world, who comes and who would click. Noise from OpenDP takes no seed, so a policy
          that adds some does not repeat to the last click.
Replay    A row of a log comes to the vendor of its user. If what is shown is what they rated, their
          click counts and is learned; if not, nobody knows what they would have done, and the visit
          is dropped. Source: Li, Chu, Langford, Wang (WSDM 2011). The log was not made by a uniform
          policy: people rate what they chose. It is read again and again, in new orders, until
          there were enough visits. Videos are dealt by popularity: each vendor gets every M-th.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.data.clicks import LOW, Clicks, Log, contexts, generate
from tacit.designs.pdap.experiment.policies import WITH_EPSILON, Made, Network, Shown, World, make
from tacit.errors import ConfigError
from tacit.evaluation import Interval, mean_interval

CHECKPOINTS = 40
"""Points of a curve, in equal steps."""
PAPERS_ARRIVALS = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000)
"""Where the paper's tables have rows."""


@dataclass(frozen=True)
class Row:
    """One run up to `arrivals` visits of each vendor.

    regret: of one vendor, mean over vendors; average_regret: per visit. Both are None where the
    optimum is not known. epsilon: as configured, inf without noise. epsilon_spent_per_visit: inf
    where nothing holds, whatever is claimed.
    """

    policy: str
    epsilon: float
    arrivals: int
    seed: int
    accuracy: float
    regret: float | None
    average_regret: float | None
    epsilon_spent_per_visit: float
    best: float | None
    forwarded: float
    matched: int | None = None
    test_accuracy: float | None = None
    """Of visits after the last one learned from; None if none were tested."""


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
    """Rows of one run, at `CHECKPOINTS` numbers of visits.

    groups: clusters of contexts, 0 for uniform ones. test: visitors of each vendor after the last
    one learned from; their accuracy stands in the last row. clicks: of `generate`.
    """
    truth = generate(
        vendors=world.vendors, videos=world.videos, dimension=world.dimension, seed=seed, **clicks
    )
    return _rows(
        name, epsilon, world, seed, lambda made: Run(made, world, truth, seed, groups, test)
    )


def replay_log(name: str, epsilon: float, world: World, log: Log, *, seed: int) -> Iterator[Row]:
    """Rows as of `simulate`; `matched` visits are what accuracy is over."""
    if len(log.videos) != world.vendors * world.videos:
        raise ConfigError(
            f"The log has {len(log.videos)} videos; {world.vendors} vendors with {world.videos} "
            "need another number."
        )
    return _rows(name, epsilon, world, seed, lambda made: _Replay(made, world, log, seed))


def _rows(
    name: str, epsilon: float, world: World, seed: int, start: Callable[[list[Made]], Run | _Replay]
) -> Iterator[Row]:
    stated = epsilon if name in WITH_EPSILON else math.inf
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        run = start(make(name, epsilon, world, sources))
        for arrivals in checkpoints(world.arrivals):
            run.until(arrivals)
            row = run.row(name, stated, seed)
            last = arrivals == world.arrivals
            yield replace(row, test_accuracy=run.tested()) if last else row


class _Vendors:
    """All vendors side by side, each visit of one after the same visit of the others."""

    def __init__(self, made: Sequence[Made], world: World, seed: int) -> None:
        self.world = world
        self.spent = max(one.spent for one in made)
        self.network = Network(
            {name: one.vendor for name, one in zip(world.names, made, strict=True)},
            seen=made[0].seen,
            reported=made[0].reported,
            randomness=randomness.replay(f"seen {seed}"),
        )
        self.done = self.forwarded = 0
        self.clicks = 0.0

    def visit(
        self, home: str, context: NDArray[np.float64], click: Callable[[str, str], float | None]
    ) -> Shown:
        """One visit, counted."""
        shown = self.network.visit(home, context, click)
        self.clicks += shown.reward or 0.0
        self.forwarded += shown.vendor != home
        return shown

    def tested(self) -> float | None:
        """The mean chance of a click after the last visit learned from; None if none is known."""
        return None

    def _row(self, name: str, epsilon: float, seed: int, **found: Any) -> Row:
        return Row(
            policy=name,
            epsilon=epsilon,
            arrivals=self.done,
            seed=seed,
            epsilon_spent_per_visit=self.spent,
            forwarded=self.forwarded / (self.done * self.world.vendors),
            **found,
        )


class Run(_Vendors):
    """On generated clicks."""

    def __init__(
        self,
        made: Sequence[Made],
        world: World,
        truth: Clicks,
        seed: int,
        groups: int,
        test: int = 0,
    ) -> None:
        super().__init__(made, world, seed)
        self.truth = truth
        size = (world.vendors, world.arrivals, world.dimension)
        learned = world.vendors * world.arrivals
        count = learned + world.vendors * test
        drawn = contexts(count, world.dimension, seed=seed, groups=groups)
        mixed = np.random.default_rng([seed, 1]).permutation(drawn[:learned])
        self._contexts, self._tests = mixed.reshape(size), drawn[learned:]
        self._chances = np.random.default_rng([seed, 2]).random(size[:2])
        self._centres = truth.centres.tolist()
        self._bumps = list(zip(truth.widths.tolist(), truth.heights.tolist(), strict=True))
        self.shown = self.best = 0.0

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        part = self._contexts[:, self.done : arrivals]
        self.best += float(self.truth.best(part.reshape(-1, self.world.dimension))[1].sum())
        videos = np.empty(part.shape[:2], dtype=np.int64)
        for step in range(part.shape[1]):
            for vendor, home in enumerate(self.world.names):
                context = part[vendor, step]
                click = self._click(context, self._chances[vendor, self.done + step])
                videos[vendor, step] = int(self.visit(home, context, click).video)
        flat = part.reshape(-1, self.world.dimension)
        self.shown += float(self.truth.mean(videos.reshape(-1), flat).sum())
        self.done = arrivals

    def tested(self) -> float | None:
        if not len(self._tests):
            return None
        names = self.world.names
        shown = [
            int(self.network.visit(names[number % len(names)], context, _unknown).video)
            for number, context in enumerate(self._tests)
        ]
        return float(self.truth.mean(np.array(shown), self._tests).mean())

    def row(self, name: str, epsilon: float, seed: int) -> Row:
        visits = self.done * self.world.vendors
        regret = (self.best - self.shown) / self.world.vendors
        return self._row(
            name,
            epsilon,
            seed,
            accuracy=self.clicks / visits,
            regret=regret,
            average_regret=regret / self.done,
            best=self.best / visits,
        )

    def _click(self, context: NDArray[np.float64], chance: float) -> Callable[[str, str], float]:
        """As `Clicks.mean`, of one context at a time."""
        where = context.tolist()

        def click(_vendor: str, video: str) -> float:
            number = int(video)
            width, height = self._bumps[number]
            apart = math.dist(where, self._centres[number]) / width
            bump = (1 + math.cos(math.pi * min(apart, 1.0))) / 2
            return float(chance < LOW + height * bump)

        return click


def _unknown(_vendor: str, _video: str) -> None:
    """What came of a visit that is not learned."""


class _Replay(_Vendors):
    def __init__(self, made: Sequence[Made], world: World, log: Log, seed: int) -> None:
        super().__init__(made, world, seed)
        self.log, self.matched = log, 0
        generator = np.random.default_rng([seed, 3])
        homes = log.users % world.vendors
        self._rows = []
        for vendor in range(world.vendors):
            own = np.flatnonzero(homes == vendor)
            if len(own) == 0:
                raise ConfigError("There are fewer people than vendors.")
            times = -(-world.arrivals // len(own))
            order = [generator.permutation(own) for _ in range(times)]
            self._rows.append(np.concatenate(order)[: world.arrivals])

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        for step in range(self.done, arrivals):
            for vendor, home in enumerate(self.world.names):
                row = int(self._rows[vendor][step])
                context = self.log.contexts[self.log.users[row]]
                self.matched += self.visit(home, context, self._click(row)).reward is not None
        self.done = arrivals

    def row(self, name: str, epsilon: float, seed: int) -> Row:
        accuracy = self.clicks / self.matched if self.matched else math.nan
        unknown = {"regret": None, "average_regret": None, "best": None}
        return self._row(name, epsilon, seed, accuracy=accuracy, matched=self.matched, **unknown)

    def _click(self, row: int) -> Callable[[str, str], float | None]:
        rank, vendors, videos = int(self.log.arms[row]), self.world.vendors, self.world.videos
        rated = str(rank % vendors * videos + rank // vendors)
        reward = float(self.log.clicks[row])
        return lambda _vendor, video: reward if video == rated else None


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
