"""What `tacit simulate sketches` and `tacit evaluate sketches` ask, do and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

from tacit.design import Command, Run, option
from tacit.designs.sketches.commands import CLUSTERS, LIKES, UNIT, world
from tacit.evaluation import SEED, Result, Table, grouped, manifest


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


def simulate(settings: SimulateSettings, run: Run) -> Result:
    """Learn item clusters from simulated reports.

    They are compared with the true ones.

    accuracy: share of right labels. ari: adjusted Rand index, 0 for labels at random.
    """
    from tacit.designs.sketches.experiment import simulate as simulated

    names = ("method", "items", "rated", "epsilon")
    asked = [getattr(settings, name) for name in names]
    tasks = list(product(*asked, range(settings.seeds)))
    kept: dict[str, Any] = {
        "users": settings.people,
        "blocks": world(settings.likes, settings.clusters),
        "unit": settings.unit,
    }
    rows: list[dict[str, Any]] = []
    with run.progress("Simulating", len(tasks)) as advance:
        for task in tasks:
            rows += simulated(**kept, **dict(zip((*names, "seed"), task, strict=True)))
            advance(1)
    cells = [
        (
            *key[:3],
            "inf" if key[3] is None else f"{key[3]:g}",
            f"{key[4]:,}",
            sum(row["accuracy"] for row in found) / len(found),
            sum(row["ari"] for row in found) / len(found),
        )
        for key, found in grouped(rows, itemgetter(*names, "users")).items()
    ]
    return Result(
        {"rows": rows},
        (
            Table("", (*names, "people", "labels right", "adjusted Rand"), cells),
            "Means over seeds; --json prints every one.",
        ),
        "tacit plan sketches  says how many people it takes.",
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
    seed: int = option(SEED, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Learn item clusters from private bits.

    Populations drawn from these people answer, and their devices recommend from the clusters.

    Shows lists by population and epsilon, next to popularity without privacy. People are drawn with
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
        (Table.of("", columns, found["points"]), *found["sentences"]),
        "tacit plan sketches  says what theory asks for;  --json has every row.",
    )


def _population(users: float | None) -> str | None:
    if users is None:
        return None
    return "infinite" if math.isinf(users) else f"{users:,.0f}"


SIMULATE = Command(SimulateSettings, simulate)
EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
