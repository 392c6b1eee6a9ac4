"""Command `tacit evaluate xmap`: options, runs, tables, page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.design import Command, Run, option, options_of
from tacit.designs.xmap.experiment.grid import Grid
from tacit.evaluation import REPORT, SEED, WORKERS, Result, manifest
from tacit.profile_sums.options import FEATURES_HELP

_LEGEND = (
    "MAE in stars, predictions not rounded; ±: 95 % intervals, for means over splits, for "
    "differences over people."
)


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Grid):
    """Options of `tacit evaluate xmap`."""

    from_domain: str = option("Domain that people have rated in.", flag="--source")
    to_domain: str = option("Domain to recommend from.", flag="--target")
    features: tuple[str, ...] | None = option(FEATURES_HELP, default=None)
    stars: bool = option(
        "The sound variant also releases mean stars, to predict stars.", default=False
    )
    similarities: bool = option(
        "Count the pairs of items with a similarity, at each overlap.", default=False
    )
    share: float = option(
        "Share of the people with ratings in both domains who are tested.", default=0.2
    )
    report: Path | None = option(REPORT, default=None, writes=True)
    seed: int = option(SEED, default=0, least=0)
    workers: int = option(WORKERS, default=0, least=0)


def evaluate(settings: EvaluateSettings, run: Run) -> Result:
    """Compare methods in a domain that is new to people.

    All methods make lists for the same people. All but popularity also predict stars; the sound
    variant of X-Map does so only with --stars. Prints the NDCG of lists and the error of
    predictions, by k, overlap, profile size, alpha and budget. --features and --stars are for the
    sound variant.
    """
    from tacit.data.domains import cross_domain_split
    from tacit.designs.xmap.experiment.evaluation import count_similarities, evaluate_cross_domain
    from tacit.designs.xmap.experiment.report import (
        page_of,
        table_of_points,
        tables_of_alpha,
        tables_of_similarities,
        verdict,
    )

    values = asdict(settings)
    grid_fields = {name: values[name] for name in options_of(Grid)}
    parameters = grid_fields | {
        "share": settings.share,
        "options": {"features": settings.features, "stars": settings.stars},
    }
    ratings = run.read_ratings()
    domains: dict[str, Any] = {"source": settings.from_domain, "target": settings.to_domain}
    with run.progress("Evaluating", settings.steps) as advance:
        table = evaluate_cross_domain(
            ratings,
            **domains,
            first_seed=settings.seed,
            workers=settings.workers,
            progress=advance,
            **parameters,
        )
    pair_counts = []
    if settings.similarities:
        for overlap in settings.overlaps:
            split = cross_domain_split(
                ratings, **domains, share=settings.share, overlap=overlap, seed=settings.seed
            )
            pair_counts.append({"overlap": overlap} | count_similarities(split.train, **domains))
    manifest_of_run = manifest(
        ratings, seed=settings.seed, command=run.command, **domains, **parameters
    )
    if settings.report is None:
        next_command = f"{run.command} --report xmap.html  draws it on one page."
    else:
        page_of(table, manifest_of_run).write(settings.report)
        next_command = "tacit guarantee xmap --epsilon 1  reads what each variant promises."
    outcome = verdict(table)
    data = table.to_dict()
    if pair_counts:
        data["similarities"] = pair_counts
    data["manifest"] = manifest_of_run
    return Result(
        data,
        (
            f"{outcome.headline}. {outcome.sentence}",
            table_of_points(table),
            *tables_of_alpha(table),
            *tables_of_similarities(pair_counts),
            _LEGEND,
        ),
        next_command,
    )


EVALUATE = Command(EvaluateSettings, evaluate, ratings=True)
