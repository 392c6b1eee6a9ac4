"""What `tacit simulate pdap` asks, does and shows; and its screen of `tacit demo`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, Tour, option
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, Result, Table, grouped, made_with

if TYPE_CHECKING:
    from tacit.designs.pdap.experiment import Row
    from tacit.designs.pdap.experiment.policies import World

_PACKAGES = ("tacit-rec", "numpy", "scipy", "opendp")


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate pdap`."""

    vendors: int = option("Vendors.", default=4, least=1)
    videos: int = option("Videos of each vendor.", default=5, least=1)
    arrivals: int = option("Visits of each vendor's users.", default=5_000, least=2)
    dimensions: int = option("Features of a context.", default=2, least=1)
    epsilon: tuple[float, ...] = option(
        "Epsilon of a visit; several with commas; inf: no noise.", default=(1.0,)
    )
    policies: tuple[str, ...] = option(
        "With commas: cap, solo, dup, dap, p-dap, gp-dap, sound-context, sound-joint, uniform.",
        default=("cap", "dup", "dap", "p-dap", "gp-dap", "sound-joint", "uniform"),
    )
    seeds: int = option("How many generated data sets.", default=3, least=1)
    lipschitz: float = option(
        "L: how steeply clicks change with the context; policies know it.", default=1.0
    )
    groups: int = option(
        "Clusters that contexts are drawn from, of unequal size; 0: uniform.", default=0, least=0
    )
    test: int = option("Visits after learning, of which nothing is learned.", default=0, least=0)
    gamma: float | None = option(
        "Of p-dap and gp-dap: visits; by default Lemma 5's.", default=None, least=0
    )
    report: Path | None = option(REPORT, default=None, writes=True)

    @property
    def generated(self) -> dict[str, Any]:
        """What is known of generated clicks."""
        return {"lipschitz": self.lipschitz, "groups": self.groups, "test": self.test}


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Simulate vendors that learn from clicks: accuracy and regret.

    Vendors forward visitors to one another by messages. What the published policies (cap to gp-dap)
    claim about privacy does not hold.
    """
    from tacit.designs.pdap import experiment
    from tacit.designs.pdap.experiment.policies import NAMES, WITH_EPSILON, World
    from tacit.designs.pdap.experiment.report import orderings, page_of

    unknown = sorted(set(settings.policies) - set(NAMES))
    if unknown or not settings.policies:
        got = ", ".join(unknown) or "none"
        raise ConfigError(f"--policies names one or more of {', '.join(NAMES)}; got {got}.")
    world = World(
        vendors=settings.vendors,
        videos=settings.videos,
        dimension=settings.dimensions,
        arrivals=settings.arrivals,
        lipschitz=settings.lipschitz,
        gamma=settings.gamma,
    )
    tasks = [
        (name, epsilon, seed)
        for seed in range(settings.seeds)
        for name in settings.policies
        for epsilon in (settings.epsilon if name in WITH_EPSILON else (math.inf,))
    ]
    rows: list[Row] = []
    total = len(tasks) * len(experiment.checkpoints(world.arrivals))
    with run.progress("Simulating", total) as advance:
        for name, epsilon, seed in tasks:
            for row in experiment.simulate(name, epsilon, world, seed=seed, **settings.generated):
                rows.append(row)
                advance(1)
    manifest = _manifest(settings, world)
    if settings.report is not None:
        page_of(rows, world, manifest).write(settings.report)
    ordered = orderings(rows)
    found = {
        "rows": rows,
        "orderings": ordered,
        "manifest": manifest,
        "report": settings.report,
    }
    said = [
        f"{one.above} above {one.below}"
        + ("" if math.isinf(one.epsilon) else f" at epsilon {one.epsilon:g}")
        + f": {one.verdict} ({100 * one.difference.mean:+.2f} points)"
        for one in ordered
    ]
    after = "--report out.html  writes curves, and the paper's orderings."
    return Result(found, [_ended_table(rows), *said], after)


def _manifest(settings: SimulateSettings, world: World) -> dict[str, Any]:
    asked = {
        "vendors": world.vendors,
        "videos": world.videos,
        "arrivals": world.arrivals,
        "dimensions": world.dimension,
        "policies": ",".join(settings.policies),
        "epsilon": ",".join(f"{each:g}" for each in settings.epsilon),
        "seeds": settings.seeds,
        **settings.generated,
        "gamma": "printed" if settings.gamma is None else settings.gamma,
        "split_after": world.setting.first_split,
    }
    data = {"generated": "clicks of tacit.data.clicks"}
    return made_with("tacit simulate pdap", asked, _PACKAGES) | {"data": data}


def _ended_table(rows: list[Row]) -> Table:
    last = max(row.arrivals for row in rows)

    def mean(field: str) -> Callable[[list[Row]], float | None]:
        def of(some: list[Row]) -> float | None:
            known = [value for row in some if (value := getattr(row, field)) is not None]
            return sum(known) / len(known) if known else None

        return of

    def nats(value: float, nothing: str) -> str:
        return nothing if math.isinf(value) else f"{value:.3g}"

    columns: dict[str, Callable[[list[Row]], object]] = {
        "policy": lambda some: some[0].policy,
        "epsilon": lambda some: nats(some[0].epsilon, "–"),
        "accuracy": mean("accuracy"),
        "tested": mean("test_accuracy"),
        "average regret": mean("average_regret"),
        "forwarded": mean("forwarded"),
        "spent per visit": lambda some: nats(some[0].epsilon_spent_per_visit, "nothing holds"),
    }
    ended = [row for row in rows if row.arrivals == last]
    settings = grouped(ended, lambda row: (row.policy, row.epsilon)).values()
    return Table.of(f"after {last:,} visits of each vendor", columns, settings)


SIMULATE = Command(SimulateSettings, simulate)


def tour() -> Tour:
    """One screen: vendors that learn together, and what a neighbour learns of a visit."""
    import numpy as np

    from tacit.designs.pdap import experiment
    from tacit.designs.pdap.experiment.policies import World
    from tacit.designs.pdap.forwarding import Agreement, Forwarder
    from tacit.randomness import secure

    vendors, arrivals, epsilon, draws = 4, 1000, 1.0, 2000
    world = World(vendors=vendors, videos=5, dimension=2, arrivals=arrivals)

    def ended(policy: str, epsilon: float) -> Row:
        *_, row = experiment.simulate(policy, epsilon, world, seed=1)
        return row

    ours, plain = ended("sound-joint", epsilon), ended("sound-joint", math.inf)
    chance = ended("uniform", math.inf)
    forwarder = Forwarder(Agreement(features=2, slices=2, epsilon=epsilon), randomness=secure())
    sent = [forwarder.forward(np.array([0.9, 0.1])) for _ in range(draws)]
    right = sum(each.places == (1, 0) for each in sent) / draws
    return Tour(
        asked=f"{vendors} generated vendors show videos, learn from {arrivals:,} visits each, and "
        "ask one another where a visitor may find something better.",
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
            "accuracy": {
                "private": ours.accuracy,
                "without noise": plain.accuracy,
                "chance": chance.accuracy,
            },
            "epsilon_spent_per_visit": ours.epsilon_spent_per_visit,
        },
    )
