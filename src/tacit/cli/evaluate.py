"""`tacit evaluate`: measure how well a design hides, how good its lists are, and the cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import evaluate_prec, evaluate_standard_scheme, numbers, options, output, private
from tacit.cli.output import JSON
from tacit.cli.sketch_settings import Clusters

if TYPE_CHECKING:
    from tacit.designs.xmap.experiment.experiment import CrossDomainTable

app = typer.Typer(help="Measure accuracy and attacks, release by release.", no_args_is_help=True)

app.command("standard-scheme")(evaluate_standard_scheme.standard_scheme)
app.command("private")(private.evaluate)

Report = Annotated[Path | None, typer.Option(help="Write one self-contained page here.")]


@app.command()
@options.reads_ratings
def xmap(
    source: options.Source,
    from_domain: options.SourceDomain,
    to_domain: options.TargetDomain,
    k: Annotated[str, typer.Option("--k", help="Numbers of neighbours, with commas.")] = "10,20,50",
    overlap: Annotated[
        str, typer.Option(help="Shares of the people in both domains who stay in training.")
    ] = "1",
    profile_size: Annotated[
        str, typer.Option(help="Ratings in the target that a test person keeps; 0: cold start.")
    ] = "0",
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method; repeat for several.")
    ] = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="Of X-Map: sound, published, constant; repeat.")
    ] = None,
    epsilon: Annotated[
        str, typer.Option(help="Nats for a person's whole profile, with commas.")
    ] = "1",
    delta: Annotated[float, typer.Option(help="Of the sound variant, such as 1e-6.")] = 1e-6,
    surface: Annotated[
        str, typer.Option(help="Budgets of the published variant: every pair is measured.")
    ] = "",
    generated_users: Annotated[
        str | None,
        typer.Option(
            help="Measure the cost of privacy on this many generated people; 0: not at all. "
            "Default: 5000,20000 with --report, if the sound variant is measured."
        ),
    ] = None,
    generated_world: Annotated[
        str,
        typer.Option(
            help="What those people are like: default, where settings were chosen, or "
            "prototype, chosen before anything of the release was measured there."
        ),
    ] = "default",
    share: Annotated[float, typer.Option(help="Share of the people in both who are tested.")] = 0.2,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 5,
    report: Report = None,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Predict stars in a domain new to a person.

    Compares X-Map with and without privacy and its competitors on the same people: error by k,
    overlap, profile size and budget.
    """
    from tacit.designs.xmap.experiment.experiment import (
        DEFAULT_VARIANTS,
        evaluate_cross_domain,
        steps,
    )
    from tacit.designs.xmap.experiment.methods import METHODS
    from tacit.designs.xmap.experiment.price import check_world, measure_price
    from tacit.evaluation.manifest import manifest

    check_world(generated_world)
    if report is not None:
        from tacit.writing import check_writable

        check_writable(report)
    settings: dict[str, Any] = {
        "methods": tuple(method or METHODS),
        "ks": numbers.integers(k, "--k"),
        "overlaps": numbers.decimals(overlap, "--overlap"),
        "profile_sizes": numbers.integers(profile_size, "--profile-size"),
        "variants": tuple(variant or DEFAULT_VARIANTS),
        "epsilons": numbers.decimals(epsilon, "--epsilon"),
        "delta": delta,
        "surface": numbers.decimals(surface, "--surface") if surface else (),
        "share": share,
        "seeds": seeds,
    }
    ratings = source.read()
    total = steps(**{name: settings[name] for name in ("overlaps", "profile_sizes", "seeds")})
    with output.progress("Evaluating", total, quiet=as_json) as advance:
        table = evaluate_cross_domain(
            ratings,
            from_domain,
            to_domain,
            first_seed=seed,
            workers=workers,
            progress=advance,
            **settings,
        )
    sound = "x-map-ib" in settings["methods"] and "sound" in settings["variants"]
    sizes = _sizes(generated_users, by_default=report is not None and sound)
    if sizes:
        with output.progress("Generated people", len(sizes), quiet=as_json) as advance:
            price = measure_price(
                users=sizes,
                epsilons=settings["epsilons"],
                delta=delta,
                seeds=[seed],
                world=generated_world,
                workers=workers,
                progress=advance,
            )
        table = replace(table, price=price)
    made_with = manifest(
        ratings,
        seed=seed,
        command=output.command_line(),
        source=from_domain,
        target=to_domain,
        generated_users=sizes,
        generated_world=generated_world,
        **settings,
    )
    if report is not None:
        from tacit.designs.xmap.experiment.report import write_report

        write_report(table, made_with, report)

    def show(_: dict[str, Any]) -> None:
        _show_cross_domain(table, report)

    output.emit(table.to_dict() | {"manifest": made_with}, as_json=as_json, render=show)


@app.command()
@options.reads_ratings
def sketches(
    source: options.Source,
    users_curve: Annotated[
        str, typer.Option(help="Sizes of populations; the planner's own number is added.")
    ] = "1000,10000,100000,1000000,10000000",
    epsilon: Annotated[str, typer.Option(help="Nats for a report, with commas.")] = "1,inf",
    rated: Annotated[
        int, typer.Option(min=1, help="Items a person is assumed to have rated; caps their likes.")
    ] = 50,
    clusters: Clusters = 2,
    liked_from: Annotated[float, typer.Option(help="This many stars or more are a like.")] = 4.0,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 5,
    plot: Annotated[
        Path | None, typer.Option(help="Write an SVG: lists by population size.")
    ] = None,
    seed: options.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Learn item clusters from private bits.

    Populations drawn from these people answer, and their devices recommend from the clusters.

    Shows lists by population and epsilon, next to spectral co-clustering, popularity and item kNN
    without privacy. People are drawn with replacement.
    """
    from tacit.designs.sketches.experiment.ratings import evaluate_ratings, steps
    from tacit.evaluation.manifest import manifest

    if plot is not None:
        from tacit.writing import check_writable

        check_writable(plot)
    settings: dict[str, Any] = {
        "users": numbers.integers(users_curve, "--users-curve"),
        "epsilons": numbers.decimals(epsilon, "--epsilon"),
        "rated": rated,
        "clusters": clusters,
        "liked_from": liked_from,
        "seeds": range(seed, seed + seeds),
    }
    ratings = source.read()
    total = steps(settings["users"], settings["epsilons"], seeds)
    with output.progress("Evaluating", total, quiet=as_json) as advance:
        curve = evaluate_ratings(ratings, **settings, progress=advance)
    if plot is not None:
        from tacit.evaluation.plots import lists_by_population
        from tacit.writing import write_whole

        write_whole(plot, lists_by_population(curve.points()).encode())
    made_with = manifest(ratings, seed=seed, command=output.command_line(), **settings)
    output.emit(curve.to_dict() | {"manifest": made_with}, as_json=as_json, render=_show_sketches)


app.command()(evaluate_prec.prec)


@app.command()
@options.reads_ratings
def baselines(
    source: options.Source,
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the lists.")] = 10,
    seed: options.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Measure the baselines, which have no privacy.

    They are popularity, item means and matrix factorisation.
    """
    from tacit.evaluation.holdout import evaluate_baselines
    from tacit.evaluation.manifest import manifest

    ratings = source.read()
    with output.progress("Evaluating", 3, quiet=as_json) as advance:
        split, rows = evaluate_baselines(ratings, n=n, seed=seed, progress=advance)
    made_with = manifest(ratings, seed=seed, command=output.command_line(), split=split, n=n)
    output.emit({"rows": rows, "manifest": made_with}, as_json=as_json, render=_show_baselines)


def _sizes(generated_users: str | None, *, by_default: bool) -> tuple[int, ...]:
    """Numbers of generated people; none where it was not asked for."""
    if generated_users is None:
        return (5_000, 20_000) if by_default else ()
    sizes = numbers.integers(generated_users, "--generated-users")
    return () if sizes == (0,) else sizes


def _show_cross_domain(table: CrossDomainTable, report: Path | None) -> None:
    from tacit.cli import cross_domain_tables
    from tacit.designs.xmap.experiment.verdict import verdict

    found = verdict(table)
    output.console.print(f"{found.headline}. {found.sentence}", markup=False)
    cross_domain_tables.everybody(table)
    cross_domain_tables.moved(table)
    cross_domain_tables.price(table)
    output.console.print(
        "MAE in stars, predictions not rounded; ±: 95 % intervals, of means over splits and of "
        "differences over people.",
        style="dim",
    )
    if report is not None:
        output.console.print(f"Wrote {report}", soft_wrap=True, markup=False)
        return
    output.next_step("Next:  --report out.html draws it;  --json prints every row.")


def _show_sketches(result: dict[str, Any]) -> None:
    output.table(
        "",
        ("method", "epsilon", "people", "NDCG@10", "95 %", "recall@10"),
        [
            (
                point["method"],
                None if point["epsilon"] is None else f"{point['epsilon']:g}",
                _population(point["users"]),
                point["ndcg_at_10"][0],
                "{:.3f} to {:.3f}".format(*point["ndcg_at_10"][1:]),
                point["recall_at_10"][0],
            )
            for point in result["points"]
        ],
    )
    for sentence in result["sentences"]:
        output.console.print(sentence, soft_wrap=True)
    output.next_step(
        "Next:  tacit plan sketches  says what theory asks for;  --json has every row."
    )


def _population(users: float | None) -> str | None:
    if users is None:
        return None
    return "infinite" if math.isinf(users) else f"{users:,.0f}"


def _show_baselines(result: dict[str, Any]) -> None:
    rows = result["rows"]
    columns = list(rows[0])
    output.table("", columns, [tuple(row[column] for column in columns) for row in rows])
    split = result["manifest"]["settings"]["split"]
    output.console.print(f"Split: {split}.")
    output.next_step("Next:  tacit fit matrix-factorization RATINGS -o m.tacit")
