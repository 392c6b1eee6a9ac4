"""Vendors with one policy each on generated clicks: accuracy and regret, visit after visit.

World     `synthetic_rewards.py`: every vendor has its own videos and users; the best video of ALL
          vendors at a context is known, and regret is its mean minus that of what was shown.
Messages  vendors reach one another by encoded bytes alone (`network.py`).
Accuracy  clicks so far over visits so far, from a cold start; over all vendors together.
Test      the paper's protocol: learn from all arrivals first, then show videos to N more visitors
          of whom nothing is learned, and take their mean chance of a click.
Seeds     fix the world, who comes and who would click. Noise from OpenDP takes no seed, so a policy
          that adds some does not repeat to the last click.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.data.synthetic_rewards import Clicks, contexts, generate
from tacit.designs.pdap.experiment.policies import WITH_EPSILON, Made, World, make
from tacit.designs.pdap.network import Network
from tacit.errors import ConfigError

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinite ones are null."""
        found = asdict(self)
        for name in ("epsilon", "epsilon_spent_per_visit"):
            found[name] = None if math.isinf(found[name]) else found[name]
        return found


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
    one
    learned from; their accuracy stands in the last row. clicks: of `generate`, such as lipschitz.
    """
    truth = generate(
        vendors=world.vendors,
        videos=world.videos,
        dimension=world.dimension,
        seed=seed,
        **clicks,
    )
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        made = make(name, epsilon, world, sources)
        run = Run(made, world, truth, seed, groups, test)
        for arrivals in checkpoints(world.arrivals):
            run.until(arrivals)
            row = run.row(name, epsilon if name in WITH_EPSILON else math.inf, seed)
            last = arrivals == world.arrivals
            yield replace(row, test_accuracy=run.tested()) if last else row


class Run:
    """All vendors side by side, each visit of one after the same visit of the others."""

    def __init__(
        self,
        made: Sequence[Made],
        world: World,
        truth: Clicks,
        seed: int,
        groups: int,
        test: int = 0,
    ) -> None:
        self.world, self.truth = world, truth
        self.spent = max(one.spent for one in made)
        self.network = Network(
            {name: one.vendor for name, one in zip(world.names, made, strict=True)},
            seen=made[0].seen,
            told=made[0].told,
            randomness=randomness.replay(f"seen {seed}"),
        )
        size = (world.vendors, world.arrivals, world.dimension)
        learned = world.vendors * world.arrivals
        count = learned + world.vendors * test
        drawn = contexts(count, world.dimension, seed=seed, groups=groups)
        mixed = np.random.default_rng([seed, 1]).permutation(drawn[:learned])
        self._contexts, self._tests = mixed.reshape(size), drawn[learned:]
        self._chances = np.random.default_rng([seed, 2]).random(size[:2])
        self._centres = truth.centres.tolist()
        self._bumps = list(zip(truth.widths.tolist(), truth.heights.tolist(), strict=True))
        self.done = 0
        self.clicks = 0.0
        self.shown = 0.0
        self.best = 0.0
        self.forwarded = 0

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        part = self._contexts[:, self.done : arrivals]
        self.best += float(self.truth.best(part.reshape(-1, self.world.dimension))[1].sum())
        videos = np.empty(part.shape[:2], dtype=np.int64)
        for step in range(part.shape[1]):
            for vendor, home in enumerate(self.world.names):
                context = part[vendor, step]
                click = self._click(context, self._chances[vendor, self.done + step])
                shown = self.network.visit(home, context, click)
                videos[vendor, step] = int(shown.video)
                self.clicks += shown.reward or 0.0
                self.forwarded += shown.vendor != home
        flat = part.reshape(-1, self.world.dimension)
        self.shown += float(self.truth.mean(videos.reshape(-1), flat).sum())
        self.done = arrivals

    def tested(self) -> float | None:
        """The mean chance of a click at `test` more visits of each vendor; none is learned."""
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
        return Row(
            policy=name,
            epsilon=epsilon,
            arrivals=self.done,
            seed=seed,
            accuracy=self.clicks / visits,
            regret=regret,
            average_regret=regret / self.done,
            epsilon_spent_per_visit=self.spent,
            best=self.best / visits,
            forwarded=self.forwarded / visits,
        )

    def _click(self, context: NDArray[np.float64], chance: float) -> Callable[[str, str], float]:
        """As `Clicks.mean`, of one context at a time."""
        where = context.tolist()

        def click(_vendor: str, video: str) -> float:
            number = int(video)
            width, height = self._bumps[number]
            apart = math.dist(where, self._centres[number]) / width
            bump = (1 + math.cos(math.pi * min(apart, 1.0))) / 2
            return float(chance < self.truth.low + height * bump)

        return click


def _unknown(_vendor: str, _video: str) -> None:
    """What came of a visit that is not learned."""


def checkpoints(arrivals: int) -> list[int]:
    """Numbers of visits at which a run is looked at, the last one included."""
    if arrivals < 1:
        raise ConfigError(f"There is at least one arrival; got {arrivals}.")
    steps = min(CHECKPOINTS, arrivals)
    found = {round(arrivals * number / steps) for number in range(1, steps + 1)}
    return sorted(found | {number for number in PAPERS_ARRIVALS if number <= arrivals})
