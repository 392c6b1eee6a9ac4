"""One run: all vendors side by side, visit by visit, in training and in two kinds of test.

Training   each vendor gets `arrivals` visits, one after the same visit of the others.
Tests      the paper's, of visits after the training. Its text does not decide whether learning goes
           on, so both readings are run, on the same visitors with the same luck:
           train-then-test      only what was learned is shown; nothing is explored or learned
           train-then-continue  policies go on as they do, and explore and learn
Regret     the mean chance of a click of the best video of ALL vendors, minus that of the video
           that was shown.
Seeds      fix the world, who comes and who would click. Noise takes no seed, so a
           policy that adds some does not repeat to the last click.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tacit import randomness
from tacit.data.clicks import LOW, Clicks
from tacit.designs.pdap.experiment.network import WITH_EPSILON, Network, make
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.cells import Cell
from tacit.designs.pdap.vendor import Visit
from tacit.errors import ConfigError

Protocol = Literal["cumulative", "train-then-test", "train-then-continue"]
CHECKPOINTS = 12
"""Points of a curve, in equal steps."""
PAPERS_ARRIVALS = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000)
"""Where the paper's tables have rows."""


@dataclass(frozen=True)
class Row:
    """Visits of one run, added up.

    Attributes:
        policy: its name on the command line.
        epsilon: as configured; inf without noise.
        protocol: which visits are counted: those of the training so far, or of a test after it.
        arrivals: training visits of each vendor so far.
        test: visits of the test, of all vendors; 0 for the training.
        seed: of the world and its visitors.
        accuracy: clicks over visits, of all vendors.
        regret: of one vendor, mean over vendors.
        average_regret: of one visit.
        explored: share of visits that tried an arm, to learn from its reward.
        trained: share of visits that were forwarded to train the neighbour.
        exploited: share of the other visits. The three sum to 1.
        forwarded: share of visits whose video a neighbour showed.
        first_forwarded: the first visit of a vendor that was forwarded, from 1 on; None if none.
        best: the best possible accuracy, by the chances of a click.
        epsilon_spent_per_visit: inf where nothing holds, whatever is claimed.
    """

    policy: str
    epsilon: float
    protocol: Protocol
    arrivals: int
    test: int
    seed: int
    accuracy: float
    regret: float
    average_regret: float
    explored: float
    trained: float
    exploited: float
    forwarded: float
    first_forwarded: int | None
    best: float
    epsilon_spent_per_visit: float


@dataclass
class Tally:
    """Sums over visits."""

    visits: int = 0
    clicks: float = 0.0
    shown: float = 0.0
    best: float = 0.0
    explored: int = 0
    trained: int = 0
    forwarded: int = 0

    def add(self, visit: Visit, *, clicked: bool, shown: float, best: float) -> None:
        """Count a visit.

        Args:
            visit: as it ended.
            clicked: whether the video was clicked.
            shown: the chance of a click of the video that was shown.
            best: the chance of a click of the best video of all vendors.
        """
        self.visits += 1
        self.clicks += clicked
        self.shown += shown
        self.best += best
        self.explored += visit.choice.phase == "explore"
        self.trained += visit.choice.phase == "train"
        self.forwarded += visit.peer is not None


@dataclass(frozen=True)
class LevelRegret:
    """Largest regret of any cell of a level, over all vendors, beside the paper's bounds.

    Attributes:
        level: 0 is the whole cube.
        cells: cells of this level that one vendor's visitors came to, at most.
        own_video: of exploring one own video.
        neighbour: of training and exploring one neighbour.
        exploitation: of all visits that exploited.
    """

    level: int
    cells: int
    own_video: float
    neighbour: float
    exploitation: float


@dataclass
class CellRegrets:
    """Regret by vendor, cell, and arm; of visits that exploited the arm is None."""

    videos: int
    sums: dict[tuple[int, Cell, int | None], float] = field(
        default_factory=lambda: defaultdict(float)
    )

    def add(self, vendor: int, visit: Visit, regret: float) -> None:
        """Count a visit of a policy whose cells have levels; ignore those of others."""
        cell = visit.choice.cell
        if isinstance(cell, Cell):
            arm = None if visit.choice.phase == "exploit" else visit.choice.arm
            self.sums[vendor, cell, arm] += regret

    def by_level(self) -> list[LevelRegret]:
        """The largest sums of each level, from the whole cube on."""
        own: dict[int, float] = defaultdict(float)
        neighbour: dict[int, float] = defaultdict(float)
        exploitation: dict[int, float] = defaultdict(float)
        cells: dict[int, dict[int, set[Cell]]] = defaultdict(lambda: defaultdict(set))
        for (vendor, cell, arm), regret in self.sums.items():
            level = cell.level
            cells[level][vendor].add(cell)
            if arm is None:
                exploitation[level] = max(exploitation[level], regret)
            elif arm < self.videos:
                own[level] = max(own[level], regret)
            else:
                neighbour[level] = max(neighbour[level], regret)
        found = []
        for level in sorted(cells):
            most = max(len(visited) for visited in cells[level].values())
            largest = (own[level], neighbour[level], exploitation[level])
            found.append(LevelRegret(level, most, *largest))
        return found


class Run:
    """All vendors of one world with one policy."""

    def __init__(self, network: Network, world: World, truth: Clicks, seed: int) -> None:
        self.network = network
        self.world = world
        self.arrivals = 0
        self.training = Tally()
        self.cells = CellRegrets(world.videos)
        self.first_forwarded: int | None = None
        trained = world.vendors * world.arrivals
        tested = max(world.test, default=0)
        drawn = world.contexts(trained + tested, seed)
        mixed = np.random.default_rng([seed, 1]).permutation(drawn[:trained])
        size = (world.vendors, world.arrivals)
        self._contexts = mixed.reshape(*size, world.dimensions)
        self._luck = np.random.default_rng([seed, 2]).random(size)
        self._best = truth.best(mixed)[1].reshape(size)
        self._test_contexts = drawn[trained:]
        self._test_luck = np.random.default_rng([seed, 3]).random(tested)
        self._test_best = truth.best(self._test_contexts)[1]
        self._centres = truth.centres.tolist()
        self._bumps = list(zip(truth.widths.tolist(), truth.heights.tolist(), strict=True))

    def train(self, arrivals: int) -> None:
        """Go on until each vendor has had so many training visits."""
        for step in range(self.arrivals, arrivals):
            for vendor in range(self.world.vendors):
                place = (vendor, step)
                context, luck = self._contexts[place], float(self._luck[place])
                visit = self._visit(self.training, vendor, context, luck, float(self._best[place]))
                if visit.peer is not None and self.first_forwarded is None:
                    self.first_forwarded = step + 1
        self.arrivals = arrivals

    def test(self, *, learning: bool) -> Iterator[tuple[int, Tally]]:
        """Run the test visits after the training, vendors in turn.

        Args:
            learning: whether policies go on exploring and learning, or only show what they learned.

        Yields:
            Each size of --test, and the sums over so many first test visits.
        """
        self.network.set_learning(learning)
        tally = Tally()
        sizes = set(self.world.test)
        for number, context in enumerate(self._test_contexts):
            vendor = number % self.world.vendors
            luck, best = float(self._test_luck[number]), float(self._test_best[number])
            self._visit(tally, vendor, context, luck, best)
            if number + 1 in sizes:
                yield number + 1, tally
        self.network.set_learning(True)

    def row(self, policy: str, epsilon: float, seed: int, tally: Tally, protocol: Protocol) -> Row:
        """Turn sums over visits into shares and means."""
        n = tally.visits
        lost = tally.best - tally.shown
        return Row(
            policy=policy,
            epsilon=epsilon,
            protocol=protocol,
            arrivals=self.arrivals,
            test=0 if protocol == "cumulative" else n,
            seed=seed,
            accuracy=tally.clicks / n,
            regret=lost / self.world.vendors,
            average_regret=lost / n,
            explored=tally.explored / n,
            trained=tally.trained / n,
            exploited=(n - tally.explored - tally.trained) / n,
            forwarded=tally.forwarded / n,
            first_forwarded=self.first_forwarded,
            best=tally.best / n,
            epsilon_spent_per_visit=self.network.spent,
        )

    def _visit(
        self, tally: Tally, vendor: int, context: np.ndarray, luck: float, best: float
    ) -> Visit:
        """Serve one visit and count it. luck: in [0, 1); below the chance of a click is a click."""
        place = context.tolist()

        def click(video: str) -> float:
            return float(luck < self._mean(place, video))

        visit = self.network.visit(self.world.names[vendor], context, click)
        shown = self._mean(place, visit.video or "")
        tally.add(visit, clicked=luck < shown, shown=shown, best=best)
        if tally is self.training:
            self.cells.add(vendor, visit, best - shown)
        return visit

    def _mean(self, context: list[float], video: str) -> float:
        """The chance of a click: `Clicks.mean`, of one context at a time."""
        width, height = self._bumps[int(video)]
        distance = math.dist(context, self._centres[int(video)]) / width
        return float(LOW + height * (1 + math.cos(math.pi * min(distance, 1.0))) / 2)


@dataclass(frozen=True)
class RunResult:
    """Rows of one run, and what its cells lost, level by level."""

    rows: tuple[Row, ...]
    levels: tuple[LevelRegret, ...]


def simulate(world: World, policy: str, epsilon: float, seed: int) -> RunResult:
    """Train one policy in one world, at `checkpoints`, and then test it by both readings."""
    rows = []
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        run = Run(make(policy, epsilon, world, sources), world, world.clicks(seed), seed)
        configured = epsilon if policy in WITH_EPSILON else math.inf
        for arrivals in checkpoints(world.arrivals):
            run.train(arrivals)
            rows.append(run.row(policy, configured, seed, run.training, "cumulative"))
        for _, tally in run.test(learning=False):
            rows.append(run.row(policy, configured, seed, tally, "train-then-test"))
        for _, tally in run.test(learning=True):
            rows.append(run.row(policy, configured, seed, tally, "train-then-continue"))
    return RunResult(tuple(rows), tuple(run.cells.by_level()))


def checkpoints(arrivals: int) -> list[int]:
    """Training visits of each vendor after which a row is made; `arrivals` is the last."""
    if arrivals < 1:
        raise ConfigError(f"There is at least one arrival; got {arrivals}.")
    steps = min(CHECKPOINTS, arrivals)
    equal = {round(arrivals * number / steps) for number in range(1, steps + 1)}
    return sorted(equal | {number for number in PAPERS_ARRIVALS if number <= arrivals})
