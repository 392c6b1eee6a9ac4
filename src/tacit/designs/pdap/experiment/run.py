"""One run: all vendors side by side, visit by visit, in training and in two kinds of test.

Training   each vendor gets `arrivals` visits; vendors take turns, visit by visit.
Tests      the paper's tests are of visits after the training. Its text does not say whether
           learning goes on, so both readings are run, with the same visitors and the same uniform
           numbers for their clicks:
           train-then-test      arms are chosen by what was learned, without exploring or learning
           train-then-continue  policies go on exploring and learning
Regret     the chance of a click on the best video of ALL vendors, minus that on the video that was
           shown.
Seeds      determine the world, the visitors, whether they would click, and what policies draw from
           their source of randomness. Noise on sums takes no seed, so runs of a policy with such
           noise differ.
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
from tacit.designs.pdap.experiment.network import Network, make_network
from tacit.designs.pdap.experiment.policy_names import WITH_EPSILON
from tacit.designs.pdap.experiment.visitors import generate_clicks, generate_contexts
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.cells import Cell
from tacit.designs.pdap.vendor import Visit
from tacit.errors import ConfigError

Protocol = Literal["cumulative", "train-then-test", "train-then-continue"]
CHECKPOINTS = 12
"""Points of a curve at equal distances, in addition to those of PAPER_ARRIVALS."""
PAPER_ARRIVALS = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000)
"""Numbers of visits in the rows of the paper's tables."""
_STREAM_OF_VISITORS = 1
"""Second word of the seed of the order in which visitors come in training."""
_STREAM_OF_CLICKS = 2
"""Second word of the seed of clicks in training."""
_STREAM_OF_TEST_CLICKS = 3
"""Second word of the seed of clicks in tests."""


@dataclass(frozen=True)
class Row:
    """Shares and means over visits of one run.

    Attributes:
        policy: its name on the command line.
        epsilon: as configured; inf without noise.
        protocol: which visits are counted: those of the training so far, or of a test after it.
        arrivals: training visits of each vendor so far.
        test: visits of the test, of all vendors; 0 for the training.
        seed: seed of the world and its visitors.
        accuracy: clicks per visit, over all vendors.
        regret: summed over the visits of a vendor, averaged over vendors.
        average_regret: regret per visit.
        explored: share of visits that tried an arm, to learn from its reward.
        trained: share of visits that were forwarded to train the neighbour.
        exploited: share of all other visits.
        forwarded: share of visits whose video came from a neighbour.
        first_forwarded: the earliest forwarded visit in training: its number, from 1, at its
            vendor; None if there is none.
        best: the best possible accuracy, by the chances of a click.
        epsilon_spent_per_visit: as proved; inf if nothing is proved, whatever the paper claims.
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
    """Sums over visits.

    Attributes:
        visits: number of visits.
        clicks: number of clicks.
        chances: sum of the shown videos' chances of a click.
        best_chances: sum of the chances of a click on the best video of all vendors.
        explored: visits that tried an arm.
        trained: visits that trained a neighbour.
        forwarded: visits whose video came from a neighbour.
    """

    visits: int = 0
    clicks: float = 0.0
    chances: float = 0.0
    best_chances: float = 0.0
    explored: int = 0
    trained: int = 0
    forwarded: int = 0

    def add(self, visit: Visit, *, clicked: bool, chance: float, best_chance: float) -> None:
        """Count a visit.

        Args:
            visit: the visit, after a video was shown.
            clicked: whether the video was clicked.
            chance: chance of a click on the video that was shown.
            best_chance: chance of a click on the best video of all vendors.
        """
        self.visits += 1
        self.clicks += clicked
        self.chances += chance
        self.best_chances += best_chance
        self.explored += visit.choice.phase == "explore"
        self.trained += visit.choice.phase == "train"
        self.forwarded += visit.peer is not None


@dataclass(frozen=True)
class LevelRegret:
    """The largest regrets of any cell of a level and any vendor, for the paper's bounds.

    Attributes:
        level: level of the cells; 0 is the whole cube.
        cells: the largest number of visited cells of this level at one vendor.
        own_video: regret of exploring one own video in one cell.
        neighbour: regret of training and exploring one neighbour in one cell.
        exploitation: regret of all visits of one cell that exploited.
    """

    level: int
    cells: int
    own_video: float
    neighbour: float
    exploitation: float


@dataclass
class CellRegrets:
    """Sums of regret by vendor, cell and arm.

    Attributes:
        videos: number of own videos of a vendor; the arms below this number are own videos.
        sums: regret by vendor, cell and arm; visits that exploited are under the arm None.
    """

    videos: int
    sums: dict[tuple[int, Cell, int | None], float] = field(
        default_factory=lambda: defaultdict(float)
    )

    def add(self, vendor: int, visit: Visit, regret: float) -> None:
        """Add the regret of a visit; do nothing if the choice was not made in a `Cell`."""
        cell = visit.choice.cell
        if isinstance(cell, Cell):
            arm = None if visit.choice.phase == "exploit" else visit.choice.arm
            self.sums[vendor, cell, arm] += regret

    def by_level(self) -> list[LevelRegret]:
        """Return the largest sums of each level that has visits, in ascending order of levels."""
        own_video: dict[int, float] = defaultdict(float)
        neighbour: dict[int, float] = defaultdict(float)
        exploitation: dict[int, float] = defaultdict(float)
        # By level, then by vendor.
        visited_cells: dict[int, dict[int, set[Cell]]] = defaultdict(lambda: defaultdict(set))
        for (vendor, cell, arm), regret in self.sums.items():
            level = cell.level
            visited_cells[level][vendor].add(cell)
            if arm is None:
                exploitation[level] = max(exploitation[level], regret)
            elif arm < self.videos:
                own_video[level] = max(own_video[level], regret)
            else:
                neighbour[level] = max(neighbour[level], regret)
        regrets: list[LevelRegret] = []
        for level, cells_by_vendor in sorted(visited_cells.items()):
            regrets.append(
                LevelRegret(
                    level=level,
                    cells=max(len(cells_of_vendor) for cells_of_vendor in cells_by_vendor.values()),
                    own_video=own_video[level],
                    neighbour=neighbour[level],
                    exploitation=exploitation[level],
                )
            )
        return regrets


class Run:
    """All vendors of one world with one policy, and all visitors of one seed.

    Attributes:
        network: the vendors.
        world: the settings of the experiment.
        arrivals: training visits of each vendor so far.
        training: sums over all training visits so far.
        cells: regret of the training visits by cell.
        first_forwarded: as in `Row`; None before any visit is forwarded.
    """

    def __init__(self, network: Network, world: World, truth: Clicks, seed: int) -> None:
        """Draw all visitors. A visitor clicks if their uniform number is below the chance.

        Args:
            network: the vendors.
            world: the settings of the experiment.
            truth: the chances of a click.
            seed: seed of the visitors.
        """
        self.network = network
        self.world = world
        self.arrivals = 0
        self.training = Tally()
        self.cells = CellRegrets(world.videos)
        self.first_forwarded: int | None = None
        n_training = world.vendors * world.arrivals
        n_test = max(world.test, default=0)
        contexts = generate_contexts(world, n_training + n_test, seed)
        shape = (world.vendors, world.arrivals)
        training_contexts = np.random.default_rng([seed, _STREAM_OF_VISITORS]).permutation(
            contexts[:n_training]
        )
        _, best_of_training = truth.best(training_contexts)
        self._contexts = training_contexts.reshape(*shape, world.dimensions)
        self._uniforms = np.random.default_rng([seed, _STREAM_OF_CLICKS]).random(shape)
        self._best_chances = best_of_training.reshape(shape)
        self._test_contexts = contexts[n_training:]
        self._test_uniforms = np.random.default_rng([seed, _STREAM_OF_TEST_CLICKS]).random(n_test)
        _, self._best_test_chances = truth.best(self._test_contexts)
        # Plain lists are faster than arrays for one context at a time.
        self._centres = truth.centres.tolist()
        self._widths = truth.widths.tolist()
        self._heights = truth.heights.tolist()

    def train(self, arrivals: int) -> None:
        """Run training visits until each vendor has had `arrivals` of them."""
        for number in range(self.arrivals, arrivals):
            for vendor in range(self.world.vendors):
                context = self._contexts[vendor, number]
                uniform = float(self._uniforms[vendor, number])
                best_chance = float(self._best_chances[vendor, number])
                visit = self._visit(self.training, vendor, context, uniform, best_chance)
                if visit.peer is not None and self.first_forwarded is None:
                    self.first_forwarded = number + 1
        self.arrivals = arrivals

    def test(self, *, learning: bool) -> Iterator[tuple[int, Tally]]:
        """Run the test visits after the training; the vendors take turns.

        Args:
            learning: whether policies go on exploring and learning.

        Yields:
            Each size of --test, and the sums over that many test visits. The `Tally` is the same
            object each time: later visits are added to it.
        """
        self.network.set_learning(learning)
        tally = Tally()
        sizes = set(self.world.test)
        for number, context in enumerate(self._test_contexts):
            vendor = number % self.world.vendors
            uniform = float(self._test_uniforms[number])
            best_chance = float(self._best_test_chances[number])
            self._visit(tally, vendor, context, uniform, best_chance)
            if number + 1 in sizes:
                yield number + 1, tally
        self.network.set_learning(True)

    def make_row(
        self, policy: str, epsilon: float, seed: int, tally: Tally, protocol: Protocol
    ) -> Row:
        """Make a row from sums over visits.

        Args:
            policy: its name on the command line.
            epsilon: epsilon of the policy; inf without noise.
            seed: seed of the world and its visitors.
            tally: the sums, over at least one visit.
            protocol: which visits were summed.
        """
        n = tally.visits
        regret = tally.best_chances - tally.chances
        return Row(
            policy=policy,
            epsilon=epsilon,
            protocol=protocol,
            arrivals=self.arrivals,
            test=0 if protocol == "cumulative" else n,
            seed=seed,
            accuracy=tally.clicks / n,
            regret=regret / self.world.vendors,
            average_regret=regret / n,
            explored=tally.explored / n,
            trained=tally.trained / n,
            exploited=(n - tally.explored - tally.trained) / n,
            forwarded=tally.forwarded / n,
            first_forwarded=self.first_forwarded,
            best=tally.best_chances / n,
            epsilon_spent_per_visit=self.network.visit_epsilon,
        )

    def _visit(
        self, tally: Tally, vendor: int, context: np.ndarray, uniform: float, best_chance: float
    ) -> Visit:
        """Serve one visit and count it.

        Args:
            tally: the sums to which the visit is added.
            vendor: number of the vendor.
            context: (d,) the visitor's context.
            uniform: a number in [0, 1); the visitor clicks a video whose chance of a click is
                larger.
            best_chance: chance of a click on the best video of all vendors.
        """
        features = context.tolist()

        def click(video: str) -> float:
            return float(uniform < self._click_chance(features, video))

        visit = self.network.visit(self.world.vendor_names[vendor], context, click)
        assert visit.video is not None
        chance = self._click_chance(features, visit.video)
        tally.add(visit, clicked=uniform < chance, chance=chance, best_chance=best_chance)
        if tally is self.training:
            self.cells.add(vendor, visit, best_chance - chance)
        return visit

    def _click_chance(self, context: list[float], video: str) -> float:
        """Compute the chance of a click as `Clicks.mean` does, for one context and one video.

        It is LOW + height (1 + cos(pi distance / width)) / 2, or LOW beyond the width.
        """
        number = int(video)
        distance = math.dist(context, self._centres[number]) / self._widths[number]
        height = self._heights[number]
        return float(LOW + height * (1 + math.cos(math.pi * min(distance, 1.0))) / 2)


@dataclass(frozen=True)
class RunResult:
    """Results of one run.

    Attributes:
        rows: a row for each checkpoint of the training, then for each test.
        level_regrets: regret of the training by level of the cells; empty for a policy that does
            not choose in a `Cell`.
    """

    rows: tuple[Row, ...]
    level_regrets: tuple[LevelRegret, ...]


def simulate(world: World, policy: str, epsilon: float, seed: int) -> RunResult:
    """Train one policy in one world, with a row at each checkpoint, and run both kinds of test.

    Args:
        world: the settings of the experiment.
        policy: its name on the command line.
        epsilon: nats of one visit; ignored by a policy without an epsilon.
        seed: seed of the world and its visitors.
    """
    rows: list[Row] = []
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        network = make_network(policy, epsilon, world, sources)
        run = Run(network, world, generate_clicks(world, seed), seed)
        epsilon_of_row = epsilon if policy in WITH_EPSILON else math.inf
        for arrivals in checkpoints(world.arrivals):
            run.train(arrivals)
            rows.append(run.make_row(policy, epsilon_of_row, seed, run.training, "cumulative"))
        for _, tally in run.test(learning=False):
            rows.append(run.make_row(policy, epsilon_of_row, seed, tally, "train-then-test"))
        for _, tally in run.test(learning=True):
            rows.append(run.make_row(policy, epsilon_of_row, seed, tally, "train-then-continue"))
    return RunResult(tuple(rows), tuple(run.cells.by_level()))


def checkpoints(arrivals: int) -> list[int]:
    """List the training visits of each vendor after which a row is made; `arrivals` is the last.

    Raises:
        ConfigError: `arrivals` is below 1.
    """
    if arrivals < 1:
        raise ConfigError(f"There is at least one arrival; got {arrivals}.")
    steps = min(CHECKPOINTS, arrivals)
    equidistant = {round(arrivals * step / steps) for step in range(1, steps + 1)}
    from_paper = {number for number in PAPER_ARRIVALS if number <= arrivals}
    return sorted(equidistant | from_paper)
