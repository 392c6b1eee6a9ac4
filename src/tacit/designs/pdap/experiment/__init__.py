"""Vendors with one policy each, on generated clicks: accuracy and regret, visit by visit.

World     `tacit.data.clicks`: every vendor has its own videos and users; the best video of ALL
          vendors at a context is known, and regret is its mean minus that of what was shown.
Accuracy  clicks so far over visits so far, from a cold start; over all vendors together.
Test      the paper's protocol: learn from all arrivals first, then show videos to N more visitors
          of whom nothing is learned, and take their mean chance of a click.
Seeds     fix the world, who comes and who would click. Noise takes no seed, so a policy
          that adds some does not repeat to the last click.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tacit import design, randomness
from tacit.data.clicks import LOW, Clicks, contexts, generate
from tacit.design import Command, Tour, option
from tacit.designs.pdap.experiment.policies import NAMES, WITH_EPSILON, Network, World, make
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, WORKERS, Result, describe_run
from tacit.evaluation.runner import Runner

CHECKPOINTS = 12
"""Points of a curve, in equal steps."""
PAPERS_ARRIVALS = (5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000)
"""Where the paper's tables have rows."""
_PACKAGES = ("tacit-rec", "numpy", "scipy", "opendp")


@dataclass(frozen=True)
class Row:
    """One run up to `arrivals` visits of each vendor. regret: of one vendor, mean over vendors;
    average_regret: per visit. epsilon: as configured, inf without noise. epsilon_spent_per_visit:
    inf where nothing holds, whatever is claimed. best: the best possible accuracy. test_accuracy:
    of visits after the last one learned from; None if none were tested."""

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
    """All vendors side by side, each visit of one after the same visit of the others."""

    def __init__(self, network: Network, world: World, truth: Clicks, seed: int) -> None:
        self.network, self.world = network, world
        self.done = self.forwarded = 0
        self.clicks = self.shown = 0.0
        learned = world.vendors * world.arrivals
        count = learned + world.vendors * world.test
        drawn = contexts(count, world.dimensions, seed=seed, groups=world.groups)
        mixed = np.random.default_rng([seed, 1]).permutation(drawn[:learned])
        size = (world.vendors, world.arrivals)
        self._contexts, self._tests = mixed.reshape(*size, world.dimensions), drawn[learned:]
        self._chances = np.random.default_rng([seed, 2]).random(size)
        self._best = truth.best(mixed)[1].reshape(size)
        self._centres = truth.centres.tolist()
        self._bumps = list(zip(truth.widths.tolist(), truth.heights.tolist(), strict=True))

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        for step in range(self.done, arrivals):
            for vendor, home in enumerate(self.world.names):
                context, chance = self._contexts[vendor, step].tolist(), self._chances[vendor, step]
                self.shown += self._visit(home, context, chance)
        self.done = arrivals

    def row(self, name: str, epsilon: float, seed: int) -> Row:
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
            epsilon_spent_per_visit=self.network.spent,
            best=best / visits,
            forwarded=self.forwarded / visits,
        )

    def tested(self) -> float | None:
        """The mean chance of a click after the last visit learned from; None without a test."""
        homes = self.world.names * self.world.test
        chances = [self._visit(*one) for one in zip(homes, self._tests.tolist(), strict=True)]
        return sum(chances) / len(chances) if chances else None

    def _visit(self, home: str, context: list[float], chance: float | None = None) -> float:
        """The mean of the video that is shown. chance: below it is a click; None: nobody knows."""

        def click(video: str) -> float | None:
            if chance is None:
                return None
            clicked = float(chance < self._mean(context, video))
            self.clicks += clicked
            return clicked

        visit = self.network.visit(home, np.array(context), click)
        self.forwarded += visit.peer is not None
        return self._mean(context, visit.video or "")

    def _mean(self, context: list[float], video: str) -> float:
        """As `Clicks.mean`, of one context at a time."""
        width, height = self._bumps[int(video)]
        apart = math.dist(context, self._centres[int(video)]) / width
        return float(LOW + height * (1 + math.cos(math.pi * min(apart, 1.0))) / 2)


def simulate(world: World, name: str, epsilon: float, seed: int) -> list[Row]:
    """Rows of one run, at `CHECKPOINTS` numbers of visits; accuracy of a test is in the last."""
    truth = generate(
        vendors=world.vendors,
        videos=world.videos,
        dimension=world.dimensions,
        lipschitz=world.lipschitz,
        seed=seed,
    )
    rows = []
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        run = Run(make(name, epsilon, world, sources), world, truth, seed)
        for arrivals in checkpoints(world.arrivals):
            run.until(arrivals)
            rows.append(run.row(name, epsilon if name in WITH_EPSILON else math.inf, seed))
        return [*rows[:-1], replace(rows[-1], test_accuracy=run.tested())]


def checkpoints(arrivals: int) -> list[int]:
    """Numbers of visits at which a run is looked at, the last one included."""
    if arrivals < 1:
        raise ConfigError(f"There is at least one arrival; got {arrivals}.")
    steps = min(CHECKPOINTS, arrivals)
    equal = {round(arrivals * number / steps) for number in range(1, steps + 1)}
    return sorted(equal | {number for number in PAPERS_ARRIVALS if number <= arrivals})


@dataclass(frozen=True, kw_only=True)
class SimulateSettings(World):
    epsilon: tuple[float, ...] = option(
        "Epsilon of a visit; several with commas; inf: no noise.", default=(1.0,)
    )
    policies: tuple[str, ...] = option(
        "With commas: cap, solo, dup, dap, p-dap, gp-dap, sound-context, sound-joint, uniform.",
        default=("cap", "dup", "dap", "p-dap", "gp-dap", "sound-joint", "uniform"),
    )
    seeds: int = option("How many generated data sets.", default=3, least=1)
    workers: int = option(WORKERS, default=1, least=0)
    report: Path | None = option(REPORT, default=None, writes=True)


def _simulate(settings: SimulateSettings, run: design.Run) -> Result:
    """Simulate vendors that learn from clicks: accuracy and regret.

    Vendors forward visitors to one another by messages. What the published policies (cap to gp-dap)
    claim about privacy does not hold.
    """
    from tacit.designs.pdap.experiment.report import ordered, orderings, page_of, standings

    unknown = sorted(set(settings.policies) - set(NAMES))
    if unknown or not settings.policies:
        got = ", ".join(unknown) or "none"
        raise ConfigError(f"--policies names one or more of {', '.join(NAMES)}; got {got}.")
    tasks = [
        (name, epsilon, seed)
        for seed in range(settings.seeds)
        for name in settings.policies
        for epsilon in (settings.epsilon if name in WITH_EPSILON else (math.inf,))
    ]
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(settings, workers=settings.workers) as runner,
    ):
        rows = list(chain.from_iterable(runner.run(simulate, tasks, advance)))
    manifest, orders = _manifest(settings), orderings(rows)
    if settings.report is not None:
        page_of(rows, settings, manifest).write(settings.report)
    data = {"rows": rows, "orderings": orders, "manifest": manifest, "report": settings.report}
    after = "--report out.html  writes curves, and the paper's orderings."
    if settings.report is not None:
        after = "tacit guarantee pdap --epsilon 1  shows what each policy claims."
    return Result(data, [standings(rows), *([ordered(orders)] if orders else [])], after)


def _manifest(settings: SimulateSettings) -> dict[str, Any]:
    asked = vars(settings) | {
        "policies": ",".join(settings.policies),
        "epsilon": ",".join(f"{each:g}" for each in settings.epsilon),
        "gamma": "printed" if settings.gamma is None else settings.gamma,
        "split_after": settings.setting.first_split,
    }
    del asked["report"], asked["workers"]  # no result depends on them
    data = {"generated": "clicks of tacit.data.clicks"}
    return describe_run("tacit simulate pdap", asked, _PACKAGES) | {"data": data}


SIMULATE = Command(SimulateSettings, _simulate)


def tour() -> Tour:
    """One screen: vendors that learn together, and what a neighbour learns of a visit."""
    epsilon, draws = 1.0, 2000
    world = World(arrivals=1000, lipschitz=2.0)
    ours = simulate(world, "sound-joint", epsilon, 1)[-1]
    plain = simulate(world, "sound-joint", math.inf, 1)[-1]
    chance = simulate(world, "uniform", math.inf, 1)[-1]
    ended = {"private": ours, "without noise": plain, "chance": chance}
    agreement = Agreement(features=2, slices=2, epsilon=epsilon)
    forwarder = Forwarder(agreement, randomness=randomness.secure())
    sent = [forwarder.forward(np.array([0.9, 0.1])) for _ in range(draws)]
    right = sum(each.places == (1, 0) for each in sent) / draws
    return Tour(
        asked=f"{world.vendors} generated vendors show videos, learn from {world.arrivals:,} "
        "visits each, and ask one another where a visitor may find something better.",
        left=f"To the other vendors: {len(sent[0].encode())} bytes a visit, with the visitor's "
        "context as one of four cells, at times a wrong one, as epsilon says; and noisy sums.",
        learned="Another vendor that believes the cell it was sent is right in "
        f"{right:.0%} of {draws:,} visits; guessing is right in 25 %. From what others are "
        "recommended, a visit is hidden by the noise of the sums.",
        cost=f"Epsilon {ours.epsilon_spent_per_visit:g} for one visit; a person's visits add up. "
        f"Clicks: {ours.accuracy:.0%} of visits, without noise {plain.accuracy:.0%}, with videos "
        f"chosen by chance {chance.accuracy:.0%}.",
        read_on="docs/pdap.md",
        figures={
            "right": right,
            "accuracy": {name: row.accuracy for name, row in ended.items()},
            "epsilon_spent_per_visit": ours.epsilon_spent_per_visit,
        },
    )
