"""What `tacit evaluate sketches` asks, does and shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.design import Command, Run, option
from tacit.designs.sketches.commands import CLUSTERS
from tacit.evaluation.result import SEED, Result, Table, manifest


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
        curve = evaluate_ratings(ratings, **asked, progress=advance)
    if settings.plot is not None:
        from tacit.evaluation.plots import lists_by_population
        from tacit.writing import write_whole

        write_whole(settings.plot, lists_by_population(curve.points()).encode())
    made_with = manifest(ratings, seed=settings.seed, command=run.command, **asked)
    found = curve.to_dict()
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


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
