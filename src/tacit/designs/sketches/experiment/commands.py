"""What `tacit simulate sketches` and `tacit evaluate sketches` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

from tacit.data.synthetic_worlds import Blocks
from tacit.design import Command, Run, option
from tacit.designs.sketches.commands import CLUSTERS, LIKES, UNIT, world
from tacit.errors import ConfigError
from tacit.evaluation import SEED, Result, Table, grouped, manifest

_SEEDS, _GROWN = 5, 20
_DRAWN = "tacit plan sketches --plot out.svg  draws what theory says."


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
        "maxsense, multi-maxsense, pairwise-preference or, not with --scaling, pairwise-rated; "
        "several with commas.",
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
    from tacit.designs.sketches.experiment import simulate as simulated

    tasks = list(product(settings.method, *settings.values, range(settings.seeds or _SEEDS)))
    kept: dict[str, Any] = {
        "users": settings.people or (),
        "blocks": blocks,
        "unit": settings.unit,
        "theta": settings.theta,
        "questions": settings.questions,
    }
    rows: list[dict[str, Any]] = []
    with run.progress("Simulating", len(tasks)) as advance:
        for name, items, rated, epsilon, seed in tasks:
            setting = {"items": items, "rated": rated, "epsilon": epsilon, "seed": seed}
            found = simulated(name, **(kept | setting))
            rows += [row.to_dict() for row in found]
            advance(1)
    return Result(
        {"rows": rows},
        (_means(rows), "Means over seeds; --json prints every one."),
        "tacit plan sketches  says how many people it takes.",
    )


def _means(rows: list[dict[str, Any]]) -> Table:
    columns = ("method", "items", "rated", "epsilon", "users")
    groups = grouped(rows, itemgetter(*columns))
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
    from tacit.designs.sketches.experiment import VARIED, scaling

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
    found: list[dict[str, Any]] = []
    with run.progress("Growing populations", len(settings.method)) as advance:
        for name in settings.method:
            found.append(scaling(name, varied, values[varied], **kept, seeds=seeds, blocks=blocks))
            advance(1)
    rows = [row.to_dict() for one in found for row in one.pop("rows")]
    data: dict[str, Any] = {"rows": rows, "scaling": found}
    shown: list[Table | str] = []
    for one in found:
        shown.append(f"{one['method']}:")
        shown.append(_needs(one["varied"], [(f"{need['value']:g}", need) for need in one["needs"]]))
        shown.append(
            f"Slope {one['slope']:.2f} (95 %: {one['low']:.2f} to {one['high']:.2f}): people "
            f"grow as {one['varied']} to this power. By the formula "
            f"{one['formula_slope']:.2f}; the mean population {one['mean_slope']:.2f}."
        )
    return Result(data, shown, _DRAWN)


def _compared(settings: SimulateSettings, seeds: int, blocks: Blocks, run: Run) -> Result:
    from tacit.designs.sketches.experiment import compare

    (items,), (rated,), (epsilon,) = settings.values
    one, other = settings.method
    with run.progress("Growing populations", 1) as advance:
        found = compare(
            (one, other), items=items, rated=rated, epsilon=epsilon, seeds=seeds, blocks=blocks
        )
        advance(1)
    rows = [row.to_dict() for row in found.pop("rows")]
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


@dataclass(frozen=True)
class EvaluateSettings:
    """Of `tacit evaluate sketches`."""

    users_curve: tuple[int, ...] = option(
        "Sizes of populations; the planner's own number is added.",
        default=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a report, with commas.", default=(1.0, math.inf)
    )
    rated: int = option(
        "Items a person is assumed to have rated; caps their likes.", default=50, least=1
    )
    clusters: int = option(CLUSTERS, default=2, least=2)
    liked_from: float = option("This many stars or more are a like.", default=4.0)
    seeds: int = option("How many splits.", default=5, least=1)
    plot: Path | None = option("Write an SVG: lists by population size.", default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Learn item clusters from private bits.

    Populations drawn from these people answer, and their devices recommend from the clusters.

    Shows lists by population and epsilon, next to spectral co-clustering, popularity and item kNN
    without privacy. People are drawn with replacement.
    """
    from tacit.designs.sketches.experiment.ratings import evaluate_ratings, steps

    asked: dict[str, Any] = {
        "users": settings.users_curve,
        "epsilons": settings.epsilon,
        "rated": settings.rated,
        "clusters": settings.clusters,
        "liked_from": settings.liked_from,
        "seeds": range(settings.seed, settings.seed + settings.seeds),
    }
    ratings = run.read()
    total = steps(settings.users_curve, settings.epsilon, settings.seeds)
    with run.progress("Evaluating", total) as advance:
        found = evaluate_ratings(ratings, **asked, progress=advance)
    if settings.plot is not None:
        from tacit.container import write_whole
        from tacit.evaluation.plots import lists_by_population

        write_whole(settings.plot, lists_by_population(found["points"]).encode())
    made_with = manifest(ratings, seed=settings.seed, command=run.command, **asked)
    columns = {
        "method": lambda point: point["method"],
        "epsilon": lambda point: None if point["epsilon"] is None else f"{point['epsilon']:g}",
        "people": lambda point: _population(point["users"]),
        "NDCG@10": lambda point: point["ndcg_at_10"][0],
        "95 %": lambda point: "{:.3f} to {:.3f}".format(*point["ndcg_at_10"][1:]),
        "recall@10": lambda point: point["recall_at_10"][0],
    }
    return Result(
        found | {"manifest": made_with},
        (Table.of("", columns, found["points"]), *found["sentences"]),
        "tacit plan sketches  says what theory asks for;  --json has every row.",
    )


def _population(users: float | None) -> str | None:
    if users is None:
        return None
    return "infinite" if math.isinf(users) else f"{users:,.0f}"


SIMULATE = Command(SimulateSettings, simulate)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
