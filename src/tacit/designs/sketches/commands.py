"""What `tacit plan`, `simulate` and `evaluate sketches` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, product
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.synthetic_worlds import Blocks, example
from tacit.design import Command, Run, option
from tacit.errors import ConfigError
from tacit.evaluation import SEED, WORKERS, Result, Table, group_by, manifest
from tacit.evaluation.runner import Runner

if TYPE_CHECKING:
    from tacit.designs.sketches.planner import Plan

CLUSTERS = "How many item clusters there are."
LIKES = (
    "The assumed world: chances of a like by item cluster, one class of people after another, such "
    "as 0.9,0.2/0.3,0.8; all equally large. Left out, an example of the library."
)
UNIT = "What epsilon is for: 'user', 'rating' or 'moved rating'."


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
    wrong: float = option(
        "Share of labels that may be wrong, for the lower bounds.", default=0.0, least=0
    )
    unit: str = option(UNIT, default="user")
    likes: str | None = option(LIKES, default=None)


def plan(settings: PlanSettings, _: Run) -> Result:
    """Count the people that sketches need.

    Prints a lower bound for every method, and the need of each method here.

    Lower bounds hold whatever people like. What methods need depends on how different the clusters
    are: see --likes.
    """
    from tacit.designs.sketches import planner

    blocks = world(settings.likes, settings.clusters)
    asked = {name: value for name, value in vars(settings).items() if name != "likes"}
    planned = planner.plan(**asked, blocks=blocks)
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
        Table.from_rows("", columns, planned.methods),
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
        any_learner = max(bounds["ldp"], bounds.get("adaptive", 0.0))
        fixed = max(any_learner, bounds["scarce"])
        least = f"Nobody can do with fewer than {math.ceil(any_learner):,} people"
        if fixed > any_learner:
            least += f", or {math.ceil(fixed):,} if questions do not depend on earlier answers"
    else:
        least = f"No lower bound is known for the unit {planned.unit}"
    if math.isinf(best.users_clt):
        return f"{least}; and no method here can tell these clusters apart."
    what = "random pair" if best.theta is None else "question"
    asked = f"{best.questions} {what}{'s' if best.questions > 1 else ''}"
    if best.theta is not None:
        asked = f"theta {best.theta:g} and {asked}"
    needed = f"which takes about {people(best.users_clt)} people"
    return f"{least}; use {best.method} with {asked}, {needed}."


def people(number: float) -> str:
    """A number of people to two digits: no plan is exacter."""
    return "infinitely many" if math.isinf(number) else f"{int(float(f'{number:.2g}')):,}"


@dataclass(frozen=True)
class SimulateSettings:
    """Of `tacit simulate sketches`."""

    people: tuple[int, ...] = option("Numbers of people, with commas.")
    items: tuple[int, ...] = option("Items; several numbers with commas.", default=(60,))
    rated: tuple[int, ...] = option(
        "Items that a person rated; several with commas.", default=(20,)
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a report; several with commas; inf: no noise.", default=(1.0,)
    )
    method: tuple[str, ...] = option(
        "maxsense, multi-maxsense, pairwise-preference or pairwise-rated; several with commas.",
        default=("maxsense",),
    )
    clusters: int = option(CLUSTERS, default=2, least=2)
    likes: str | None = option(LIKES, default=None)
    unit: str = option(UNIT, default="user")
    seeds: int = option("How many populations.", default=5, least=1)
    workers: int = option(WORKERS, default=1, least=0)


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Learn item clusters from simulated reports.

    They are compared with the true ones.

    accuracy: share of right labels. ari: adjusted Rand index, 0 for labels at random.
    """
    asked = (settings.method, settings.items, settings.rated, settings.epsilon)
    tasks = list(product(*asked, range(settings.seeds)))
    population = {
        "users": settings.people,
        "blocks": world(settings.likes, settings.clusters),
        "unit": settings.unit,
    }
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(population, workers=settings.workers) as runner,
    ):
        rows = [*chain.from_iterable(runner.run(_simulated, tasks, advance))]
    columns = {
        "method": lambda same: same[0]["method"],
        "items": lambda same: same[0]["items"],
        "rated": lambda same: same[0]["rated"],
        "epsilon": lambda same: "inf" if same[0]["epsilon"] is None else f"{same[0]['epsilon']:g}",
        "people": lambda same: f"{same[0]['users']:,}",
        "labels right": lambda same: fmean(row["accuracy"] for row in same),
        "adjusted Rand": lambda same: fmean(row["ari"] for row in same),
    }
    by_setting = group_by(rows, itemgetter("method", "items", "rated", "epsilon", "users")).values()
    return Result(
        {"rows": rows},
        (Table.from_rows("", columns, by_setting), "Means over seeds; --json prints every one."),
        "tacit plan sketches  says how many people it takes.",
    )


def _simulated(population: dict[str, Any], *task: Any) -> list[dict[str, Any]]:
    from tacit.designs.sketches.experiment import simulate as simulated

    names = ("method", "items", "rated", "epsilon", "seed")
    return simulated(**population, **dict(zip(names, task, strict=True)))


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
    seed: int = option(SEED, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Learn item clusters from private bits.

    Populations drawn from these people answer, and their devices recommend from the clusters.

    Shows lists by population and epsilon, next to methods without privacy. People are drawn with
    replacement.
    """
    from tacit.designs.sketches.experiment.ratings import evaluate_ratings

    asked: dict[str, Any] = {
        "users": settings.users_curve,
        "epsilons": settings.epsilon,
        "rated": settings.rated,
        "clusters": settings.clusters,
        "liked_from": settings.liked_from,
        "seeds": range(settings.seed, settings.seed + settings.seeds),
    }
    ratings = run.read()
    with run.progress("Evaluating", settings.seeds * len(settings.epsilon)) as advance:
        found = evaluate_ratings(ratings, **asked, progress=advance)
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
        (Table.from_rows("", columns, found["points"]), *found["sentences"]),
        "tacit plan sketches  says what theory asks for;  --json has every row.",
    )


def _population(users: float | None) -> str | None:
    if users is None:
        return None
    return "infinite" if math.isinf(users) else f"{users:,.0f}"


PLAN = Command(PlanSettings, plan)
SIMULATE = Command(SimulateSettings, simulate)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
