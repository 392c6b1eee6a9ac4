"""`tacit evaluate`: how well something is hidden, how good the lists are, and what both cost."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import hiding_tables, options, output
from tacit.cli.output import JSON

if TYPE_CHECKING:
    from tacit.evaluation.hiding import HidingTable

app = typer.Typer(help="Measure accuracy and attacks, release by release.", no_args_is_help=True)

Report = Annotated[Path | None, typer.Option(help="Write one self-contained page here.")]


@app.command("standard-scheme")
@options.reads_ratings
def standard_scheme(
    source: options.Source,
    attribute: options.Attribute = "gender",
    folds: options.Folds = 10,
    release: Annotated[
        list[str] | None, typer.Option(help="Only this release; repeat for several.")
    ] = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="Only this attack; repeat for several.")
    ] = None,
    variant: options.Variant = "sound",
    disclosure_epsilon: Annotated[
        float, typer.Option(help="Nats per training person for the public tables; inf: exact.")
    ] = math.inf,
    contributions: Annotated[
        int, typer.Option(min=1, help="Ratings a person counts with, if that epsilon is finite.")
    ] = 50,
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 20,
    report: Report = None,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Print the paper's table: releases against attacks.

    Attackers are frozen and retrained; errors and lists stand below.
    """
    from tacit.auditing.attacks import ATTACKS
    from tacit.evaluation.hiding import evaluate_hiding, steps
    from tacit.evaluation.manifest import manifest
    from tacit.recommenders.standard_scheme import RELEASES

    if report is not None:
        from tacit.writing import check_writable

        check_writable(report)
    ratings = source.read()
    with output.progress("Evaluating", steps(folds), quiet=as_json) as advance:
        table = evaluate_hiding(
            ratings,
            attribute,
            folds=folds,
            releases=release or tuple(RELEASES),
            attacks=attack or tuple(ATTACKS),
            variant=variant,
            disclosure_epsilon=disclosure_epsilon,
            contributions=contributions,
            factors=factors,
            seed=seed,
            workers=workers,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=seed,
        command=_command(),
        folds=folds,
        variant=variant,
        disclosure_epsilon=disclosure_epsilon,
        factors=factors,
    )
    if report is not None:
        from tacit.evaluation.report import write_report

        write_report(table, made_with, report)
    result = table.to_dict() | {"manifest": made_with}

    def show(_: dict[str, Any]) -> None:
        _show_hiding(table, report)

    output.emit(result, as_json=as_json, render=show)


@app.command()
@options.reads_ratings
def baselines(
    source: options.Source,
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the lists.")] = 10,
    seed: options.Seed = 0,
    as_json: JSON = False,
) -> None:
    """Measure the yardsticks, which have no privacy.

    They are popularity, item means and matrix factorisation.
    """
    from tacit.evaluation.holdout import evaluate_baselines
    from tacit.evaluation.manifest import manifest

    ratings = source.read()
    with output.progress("Evaluating", 3, quiet=as_json) as advance:
        split, rows = evaluate_baselines(ratings, n=n, seed=seed, progress=advance)
    made_with = manifest(ratings, seed=seed, command=_command(), split=split, n=n)
    output.emit({"rows": rows, "manifest": made_with}, as_json=as_json, render=_show_baselines)


def _command() -> str:
    return shlex.join(["tacit", *sys.argv[1:]])


def _show_hiding(table: HidingTable, report: Path | None) -> None:
    result = table.to_dict()
    output.console.print(f"Guessing {table.attribute} of {table.people:,} people.")
    hiding_tables.attacks(result["rows"])
    hiding_tables.fractions(table.fractions)
    hiding_tables.accuracy(table.accuracy)
    hiding_tables.watched(result["as_she_rates"])
    hiding_tables.control(result["control"])
    if report is not None:
        output.console.print(f"Wrote {report}", soft_wrap=True, markup=False)
        return
    output.next_step("Next:  --report out.html draws it;  --json prints every fold.")


def _show_baselines(result: dict[str, Any]) -> None:
    rows = result["rows"]
    columns = list(rows[0])
    output.table("", columns, [tuple(row[column] for column in columns) for row in rows])
    split = result["manifest"]["settings"]["split"]
    output.console.print(f"Split: {split}.")
    output.next_step("Next:  tacit fit matrix-factorization RATINGS -o m.tacit")
