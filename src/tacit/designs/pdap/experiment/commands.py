"""What `tacit simulate pdap` asks, does and shows; and its screen of `tacit demo`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, Tour, option
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, Result, Table, grouped, made_with

if TYPE_CHECKING:
    from tacit.data.clicks import Log
    from tacit.designs.pdap.experiment import Row
    from tacit.designs.pdap.experiment.policies import World
    from tacit.designs.pdap.experiment.report import PaperTable

_PACKAGES = ("tacit-rec", "numpy", "scipy", "opendp")


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate pdap`."""

    ratings: Path | None = option(
        "Ratings whose people and stars are replayed; left out: generated clicks.",
        default=None,
        argument="[RATINGS]",
    )
    vendors: int = option("Vendors.", default=4, least=1)
    videos: int = option("Videos of each vendor.", default=5, least=1)
    arrivals: int = option("Visits of each vendor's users.", default=5_000, least=2)
    dimensions: int = option("Features of a context.", default=2, least=1)
    epsilon: tuple[float, ...] = option(
        "Epsilon of a visit; several with commas; inf: no noise.", default=(1.0,)
    )
    policies: tuple[str, ...] = option(
        "With commas: cap, solo, dup, dap, p-dap, gp-dap, sound-context, sound-joint, "
        "private-linucb, uniform.",
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
    gamma: str = option(
        "Of p-dap and gp-dap: 'printed', Lemma 5's, or a number of visits.", default="printed"
    )
    split_after: float | None = option(
        "Published policies: A; by default from the setting.", default=None
    )
    report: Path | None = option(REPORT, default=None, writes=True)

    def __post_init__(self) -> None:
        if self.ratings is not None and (self.groups or self.test):
            raise ConfigError(
                "--groups and --test are for generated clicks: leave out the ratings."
            )
        _ = self.visits

    @property
    def visits(self) -> float | None:
        """gamma as a number; None as printed."""
        if self.gamma == "printed":
            return None
        try:
            number = float(self.gamma)
        except ValueError:
            number = -1.0
        if not (number >= 0 and math.isfinite(number)):
            raise ConfigError(f"--gamma is 'printed' or a number of visits; got {self.gamma!r}.")
        return number

    @property
    def generated(self) -> dict[str, Any]:
        """What is known of generated clicks."""
        return {"lipschitz": self.lipschitz, "groups": self.groups, "test": self.test}


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Simulate vendors that learn from clicks: accuracy and regret.

    Vendors forward visitors to one another by messages. What the published policies (cap to gp-dap)
    claim about privacy does not hold.
    """
    from tacit.designs.pdap.experiment.policies import NAMES, World

    if not settings.policies:
        raise ConfigError(f"--policies names one or more of {', '.join(NAMES)}.")
    if unknown := [name for name in settings.policies if name not in NAMES]:
        raise ConfigError(f"There is no policy '{unknown[0]}'. Policies: {', '.join(NAMES)}.")
    world = World(
        vendors=settings.vendors,
        videos=settings.videos,
        dimension=settings.dimensions,
        arrivals=settings.arrivals,
        published={"lipschitz": settings.lipschitz, "split_after": settings.split_after},
        private={"gamma": settings.visits},
    )
    log, data = _log(settings.ratings, world)
    rows = _simulated(settings, world, log, run)
    manifest = _manifest(settings, world, data)
    if settings.report is not None:
        from tacit.designs.pdap.experiment.report import page_of

        page_of(rows, world, manifest).write(settings.report)
    found = _found(rows, world) | {"manifest": manifest, "report": settings.report}
    return Result(found, _shown(found), "--report out.html  writes curves, and the paper's tables.")


def _log(path: Path | None, world: World) -> tuple[Log | None, dict[str, Any]]:
    if path is None:
        return None, {"generated": "clicks of tacit.data.clicks"}
    from tacit.data.clicks import log_of
    from tacit.data.tabular import load

    ratings = load(path)
    log = log_of(ratings, videos=world.vendors * world.videos, dimension=world.dimension)
    return log, {
        "sha256": ratings.digest,
        "users": ratings.n_users,
        "items": len(log.videos),
        "ratings": len(log),
    }


def _simulated(settings: SimulateSettings, world: World, log: Log | None, run: Run) -> list[Row]:
    from tacit.designs.pdap import experiment
    from tacit.designs.pdap.experiment.policies import WITH_EPSILON

    def one(name: str, epsilon: float, seed: int) -> Iterator[Row]:
        if log is None:
            return experiment.simulate(name, epsilon, world, seed=seed, **settings.generated)
        return experiment.replay_log(name, epsilon, world, log, seed=seed)

    tasks = [
        (name, epsilon, seed)
        for seed in range(settings.seeds)
        for name in settings.policies
        for epsilon in (settings.epsilon if name in WITH_EPSILON else (math.inf,))
    ]
    rows: list[Row] = []
    total = len(tasks) * len(experiment.checkpoints(world.arrivals))
    with run.progress("Simulating", total) as advance:
        for row in chain.from_iterable(one(*task) for task in tasks):
            rows.append(row)
            advance(1)
    return rows


def _manifest(settings: SimulateSettings, world: World, data: dict[str, Any]) -> dict[str, Any]:
    asked = {
        "vendors": world.vendors,
        "videos": world.videos,
        "arrivals": world.arrivals,
        "dimensions": world.dimension,
        "policies": ",".join(settings.policies),
        "epsilon": ",".join(f"{each:g}" for each in settings.epsilon),
        "seeds": settings.seeds,
        **settings.generated,
        "gamma": "printed" if settings.visits is None else settings.visits,
        "split_after": world.setting.first_split,
        **({"delta": world.delta} if "private-linucb" in settings.policies else {}),
    }
    return made_with("tacit simulate pdap", asked, _PACKAGES) | {"data": data}


def _found(rows: list[Row], world: World) -> dict[str, Any]:
    from tacit.designs.pdap.experiment.report import orderings, tables

    def laid_out(table: PaperTable) -> list[dict[str, Any]]:
        return [
            {"arrivals": n, "policy": policy, "epsilon": epsilon, "paper": paper, "here": here}
            for n, cells in table.lines.items()
            for (policy, epsilon), (paper, here) in zip(table.columns, cells, strict=True)
        ]

    return {
        "rows": rows,
        "orderings": orderings(rows),
        "tables": [
            {"table": one.number, "title": one.title, "rows": laid_out(one), "why": one.why}
            for one in tables(rows, world)
        ],
    }


def _shown(found: dict[str, Any]) -> list[Table | str]:
    rows: list[Row] = found["rows"]
    last = max(row.arrivals for row in rows)
    ended = [row for row in rows if row.arrivals == last]
    columns: dict[str, Callable[[list[Row]], object]] = {
        "policy": lambda some: some[0].policy,
        "epsilon": lambda some: "–" if math.isinf(some[0].epsilon) else f"{some[0].epsilon:g}",
        "accuracy": lambda some: _mean(some, "accuracy"),
        "tested": lambda some: _mean(some, "test_accuracy"),
        "average regret": lambda some: _mean(some, "average_regret"),
        "forwarded": lambda some: _mean(some, "forwarded"),
        "spent per visit": lambda some: _spent(some[0].epsilon_spent_per_visit),
    }
    settings = grouped(ended, lambda row: (row.policy, row.epsilon)).values()
    return [
        Table.of(f"after {last:,} visits of each vendor", columns, settings),
        *(
            f"{one.above} above {one.below}"
            + ("" if math.isinf(one.epsilon) else f" at epsilon {one.epsilon:g}")
            + f": {one.verdict} ({100 * one.difference.mean:+.2f} points)"
            for one in found["orderings"]
        ),
        *(
            f"Table {table['table']} of the paper: {table['why'][-1]}"
            for table in found["tables"]
            if table["table"] != "II"
        ),
    ]


def _spent(nats: float) -> str:
    return "nothing holds" if math.isinf(nats) else f"{nats:.3g}"


def _mean(rows: Sequence[Row], field: str) -> float | None:
    known = [value for row in rows if (value := getattr(row, field)) is not None]
    return sum(known) / len(known) if known else None


SIMULATE = Command(SimulateSettings, simulate)


def tour() -> Tour:
    """One screen: vendors that learn together, and what a neighbour learns of a visit."""
    import numpy as np

    from tacit.designs.pdap.experiment.policies import World
    from tacit.designs.pdap.forwarding import Agreement, Forwarder
    from tacit.randomness import secure

    vendors, arrivals, epsilon, draws = 4, 1000, 1.0, 2000
    world = World(vendors=vendors, videos=5, dimension=2, arrivals=arrivals)
    ours = _ended("sound-joint", epsilon, world)
    plain = _ended("sound-joint", math.inf, world)
    chance = _ended("uniform", math.inf, world)
    forwarder = Forwarder(Agreement(features=2, slices=2, epsilon=epsilon), randomness=secure())
    sent = [forwarder.forward(np.array([0.9, 0.1])) for _ in range(draws)]
    right = sum(each is not None and tuple(each.places) == (1, 0) for each in sent) / draws
    assert sent[0] is not None
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


def _ended(policy: str, epsilon: float, world: World) -> Row:
    from tacit.designs.pdap.experiment import simulate

    *_, row = simulate(policy, epsilon, world, seed=1)
    return row
