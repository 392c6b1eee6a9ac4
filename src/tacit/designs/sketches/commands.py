"""What `tacit plan|simulate|evaluate sketches` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.synthetic_blocks import Blocks, example
from tacit.design import Command, Run, option
from tacit.errors import ConfigError
from tacit.evaluation.result import Result, Table

if TYPE_CHECKING:
    from tacit.designs.sketches.experiment.scaling import Scaling
    from tacit.designs.sketches.planner import Plan

CLUSTERS = "How many item clusters there are."
LIKES = (
    "The assumed world: chances of a like by item cluster, one class of people after another, such "
    "as 0.9,0.2/0.3,0.8; all equally large. Left out, an example of the library."
)
UNIT = "What epsilon is for: 'user', 'rating' or 'moved rating'."
_SEEDS, _GROWN = 5, 20


def world(likes: str | None, clusters: int) -> Blocks:
    """Who likes what, from `--likes`."""
    if likes is None:
        return example(clusters)
    try:
        rows = [[float(chance) for chance in row.split(",")] for row in likes.split("/")]
    except ValueError:
        rows = []
    if not rows or any(len(row) != clusters for row in rows):
        raise ConfigError(
            f"--likes has a chance for each of {clusters} item clusters, in every class; got "
            f"{likes!r}. Name another number with --clusters."
        )
    people, items = np.full(len(rows), 1 / len(rows)), np.full(clusters, 1 / clusters)
    return Blocks(people, items, np.array(rows))


@dataclass(frozen=True)
class PlanSettings:
    """Of `tacit plan sketches`."""

    items: int = option("Items of the catalogue.")
    rated: int = option("Items that a person has rated.")
    epsilon: float = option("Epsilon of a whole report, for the unit.")
    clusters: int = option(CLUSTERS, default=2, least=2)
    eta: float = option("Chance that a label may be wrong.", default=0.1)
    unit: str = option(UNIT, default="user")
    likes: str | None = option(LIKES, default=None)
    plot: Path | None = option(
        "Write an SVG: people against epsilon, rated and items.", default=None, writes=True
    )


def plan(settings: PlanSettings, _: Run) -> Result:
    """Count the people that sketches need.

    Prints a lower bound for every method, and the need of each method here.

    Lower bounds hold whatever people like. What methods need depends on how different the clusters
    are: see --likes.
    """
    from tacit.designs.sketches import planner

    blocks = world(settings.likes, settings.clusters)
    planned = planner.plan(
        items=settings.items,
        rated=settings.rated,
        epsilon=settings.epsilon,
        clusters=settings.clusters,
        eta=settings.eta,
        unit=settings.unit,
        blocks=blocks,
    )
    if settings.plot is not None:
        from tacit.designs.sketches.experiment.needs import needs
        from tacit.evaluation.plots import people_needed
        from tacit.writing import write_whole

        write_whole(settings.plot, people_needed(needs(planned, blocks)).encode())
    columns = {
        "method": lambda one: one.method,
        "theta": lambda one: None if one.theta is None else f"{one.theta:g}",
        "questions": lambda one: one.questions,
        "people needed": lambda one: people(one.users_clt),
        "proved enough": lambda one: (
            "–" if one.users_theorem is None else people(one.users_theorem)
        ),
    }
    shown: list[Table | str] = [
        Table.of("", columns, planned.methods),
        advice(planned),
        "Needed: by the normal approximation, in the assumed world. Proved enough: by Chernoff.",
    ]
    unit = "" if planned.unit == "user" else f" --method multi-maxsense --unit '{planned.unit}'"
    after = (
        f"tacit simulate sketches --items {planned.items} --rated {planned.rated} "
        f"--epsilon {planned.epsilon:g} --people 1000,10000{unit}"
    )
    return Result(planned.to_dict(), shown, after)


def advice(planned: Plan) -> str:
    """In one sentence: at least so many, and what to use."""
    best, bounds = planned.best, planned.lower_bounds
    if bounds:
        any_learner = max(bounds["ldp"], bounds["adaptive"])
        fixed = max(any_learner, bounds["scarce"])
        least = f"Nobody can do with fewer than {at_least(any_learner)} people"
        if fixed > any_learner:
            least += f", or {at_least(fixed)} if questions do not depend on earlier answers"
    else:
        least = f"No lower bound is known for the unit {planned.unit}"
    if math.isinf(best.users_clt):
        return f"{least}; and no method here can tell these clusters apart."
    asked = (
        f"{best.questions} random pair{'s' if best.questions > 1 else ''}"
        if best.theta is None
        else f"theta {best.theta:g} and {best.questions} "
        f"question{'s' if best.questions > 1 else ''}"
    )
    needed = f"which takes about {people(best.users_clt)} people"
    return f"{least}; use {best.method} with {asked}, {needed}."


def people(number: float) -> str:
    """A number of people to two digits: no plan is exacter."""
    return "infinitely many" if math.isinf(number) else f"{int(float(f'{number:.2g}')):,}"


def at_least(bound: float) -> str:
    """A lower bound as a whole number of people."""
    return f"{math.ceil(bound):,}"


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate sketches`."""

    items: tuple[int, ...] = option("Items; several numbers with commas.", default=(60,))
    rated: tuple[int, ...] = option(
        "Items that a person rated; several with commas.", default=(20,)
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a report; several with commas; inf: no noise.", default=(1.0,)
    )
    method: tuple[str, ...] = option(
        "maxsense, multi-maxsense or pairwise-preference; several with commas.",
        default=("maxsense",),
    )
    people: tuple[int, ...] | None = option(
        "Numbers of people, with commas; not with --scaling.", default=None
    )
    scaling: bool = option(
        "Grow the population until all labels are right, at each of several --items, --rated or "
        "--epsilon, and fit the slope; with two of --method and one setting, compare them.",
        default=False,
    )
    clusters: int = option(CLUSTERS, default=2, least=2)
    likes: str | None = option(LIKES, default=None)
    unit: str = option(UNIT, default="user")
    theta: float | None = option("By default as planned.", default=None)
    questions: int | None = option("By default as planned.", default=None)
    seeds: int | None = option(
        "How many populations: 5, or 20 with --scaling, if left out.", default=None, least=1
    )

    def __post_init__(self) -> None:
        planned = (self.theta, self.questions, self.people) == (None, None, None)
        if self.scaling and not (planned and self.unit == "user"):
            raise ConfigError(
                "--scaling finds the people needed, with the plan's theta and questions for the "
                "unit user: leave out --people, --theta, --questions and --unit."
            )
        if not self.scaling and self.people is None:
            raise ConfigError(
                "Say how many people with --people, such as 1000,10000. "
                "tacit plan sketches  says how many it takes."
            )

    @property
    def values(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
        """Of items, rated and epsilon."""
        return self.items, self.rated, self.epsilon


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Learn item clusters from simulated reports.

    They are compared with the true ones.

    accuracy: share of right labels. ari: adjusted Rand index, 0 for labels at random.
    """
    blocks = world(settings.likes, settings.clusters)
    if settings.scaling:
        return _scaled(settings, blocks, run)
    from tacit.designs.sketches.experiment import simulation

    tasks = list(product(settings.method, *settings.values, range(settings.seeds or _SEEDS)))
    rows: list[dict[str, Any]] = []
    with run.progress("Simulating", len(tasks)) as advance:
        for name, items, rated, epsilon, seed in tasks:
            found = simulation.simulate(
                name,
                items=items,
                rated=rated,
                epsilon=epsilon,
                users=settings.people or (),
                seed=seed,
                blocks=blocks,
                unit=settings.unit,
                theta=settings.theta,
                questions=settings.questions,
            )
            rows += [row.to_dict() for row in found]
            advance(1)
    return Result(
        {"rows": rows},
        (_means(rows), "Means over seeds; --json prints every one."),
        "tacit plan sketches  says how many people it takes.",
    )


def _means(rows: list[dict[str, Any]]) -> Table:
    columns = ("method", "items", "rated", "epsilon", "users")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    cells = [
        (
            *key[:3],
            "inf" if key[3] is None else f"{key[3]:g}",
            f"{key[4]:,}",
            sum(row["accuracy"] for row in found) / len(found),
            sum(row["ari"] for row in found) / len(found),
        )
        for key, found in groups.items()
    ]
    return Table("", (*columns[:4], "people", "labels right", "adjusted Rand"), cells)


def _scaled(settings: SimulateSettings, blocks: Blocks, run: Run) -> Result:
    from tacit.designs.sketches.experiment.scaling import VARIED, scaling

    values = dict(zip(VARIED, settings.values, strict=True))
    several = [name for name in VARIED if len(values[name]) > 1]
    seeds = settings.seeds or _GROWN
    if not several and len(settings.method) == 2:
        return _compared(settings, seeds, blocks, run)
    if len(several) != 1:
        raise ConfigError(
            "--scaling takes several values of exactly one of --items, --rated and --epsilon, "
            "such as --rated 10,20,40; or one of each, and two of --method."
        )
    varied = several[0]
    kept: dict[str, Any] = {name: values[name][0] for name in VARIED if name != varied}
    found: list[Scaling] = []
    with run.progress("Growing populations", len(settings.method)) as advance:
        for name in settings.method:
            found.append(scaling(name, varied, values[varied], **kept, seeds=seeds, blocks=blocks))
            advance(1)
    data: dict[str, Any] = {
        "rows": [row.to_dict() for one in found for row in one.rows],
        "scaling": [one.to_dict() for one in found],
    }
    shown: list[Table | str] = []
    for one in data["scaling"]:
        shown.append(f"{one['method']}:")
        shown.append(_needs(one["varied"], [(f"{need['value']:g}", need) for need in one["needs"]]))
        shown.append(
            f"Slope {one['slope']:.2f} (95 %: {one['low']:.2f} to {one['high']:.2f}): people "
            f"grow as {one['varied']} to this power. By the formula "
            f"{one['formula_slope']:.2f}; the mean population {one['mean_slope']:.2f}."
        )
    return Result(data, shown, _DRAWN)


_DRAWN = "tacit plan sketches --plot out.svg  draws what theory says."


def _compared(settings: SimulateSettings, seeds: int, blocks: Blocks, run: Run) -> Result:
    from tacit.designs.sketches.experiment.scaling import compare

    (items,), (rated,), (epsilon,) = settings.values
    one, other = settings.method
    with run.progress("Growing populations", 1) as advance:
        made = compare(
            (one, other), items=items, rated=rated, epsilon=epsilon, seeds=seeds, blocks=blocks
        )
        advance(1)
    found = made.to_dict()
    rows = [row.to_dict() for row in made.rows]
    said = (
        f"{other} needs {found['ratio']:.2f} times the people of {one} (95 %: "
        f"{found['low']:.2f} to {found['high']:.2f}). By the formula "
        f"{found['formula_ratio']:.2f}."
    )
    table = _needs("method", [(need["method"], need) for need in found["needs"]])
    data = {"rows": rows, "scaling": [], "comparison": found}
    return Result(data, (table, said), _DRAWN)


def _needs(named: str, needs: list[tuple[str, dict[str, Any]]]) -> Table:
    return Table(
        "people until all labels are right, in nine of ten populations",
        (named, "people", "95 %", "by the formula", "mean", "never"),
        [
            (
                name,
                f"{need['users']:,.0f}",
                f"{need['low']:,.0f} to {need['high']:,.0f}",
                f"{need['users_clt']:,.0f}",
                f"{need['mean']:,.0f}",
                need["unreached"],
            )
            for name, need in needs
        ],
    )


PLAN = Command(PlanSettings, plan)
SIMULATE = Command(SimulateSettings, simulate)
