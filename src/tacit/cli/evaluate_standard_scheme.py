"""`tacit evaluate standard-scheme`: a panel of attackers on releases, and what hiding costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import hiding_tables, options, output
from tacit.cli.output import JSON

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.experiment.table import HidingTable


@options.reads_ratings
def standard_scheme(
    source: options.Source,
    attribute: options.Attribute = "gender",
    folds: options.Folds = 5,
    release: Annotated[
        list[str] | None,
        typer.Option(help="Measure this release; repeat for several; 'all' for every one."),
    ] = None,
    panel: options.Panel = "quick",
    attack: Annotated[
        list[str] | None,
        typer.Option(help="This attacker in place of the panel; repeat for several."),
    ] = None,
    variant: options.Variant = "sound",
    disclosure_epsilon: Annotated[
        float, typer.Option(help="Nats per training person for the public tables; inf: exact.")
    ] = math.inf,
    contributions: Annotated[
        int, typer.Option(min=1, help="Ratings a person counts with, if that epsilon is finite.")
    ] = 50,
    second_order: Annotated[
        str, typer.Option(help="'off', or 'taste': experimental chances that depend on taste.")
    ] = "off",
    profiles: Annotated[
        str, typer.Option(help="What describes an item: latent, features (genres, year) or both.")
    ] = "latent",
    factors: Annotated[int, typer.Option(min=1, help="Length of an item profile.")] = 20,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained page here.")] = None,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Run a panel of attacks on releases, once and over time.

    The strongest attacker comes first, with a bound for all together; errors and lists follow.
    """
    from tacit.designs.standard_scheme import RELEASES
    from tacit.designs.standard_scheme.experiment.experiment import DEFAULT_RELEASE
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.evaluation.manifest import manifest

    if report is not None:
        from tacit.writing import check_writable

        check_writable(report)
    chosen = tuple(release or ("none", DEFAULT_RELEASE))
    ratings = source.read()
    with output.progress("Evaluating", steps(folds), quiet=as_json) as advance:
        table = evaluate_hiding(
            ratings,
            attribute,
            folds=folds,
            releases=tuple(RELEASES) if "all" in chosen else chosen,
            panel=panel,
            attacks=attack,
            variant=variant,
            disclosure_epsilon=disclosure_epsilon,
            contributions=contributions,
            second_order=second_order,
            profiles=profiles,  # type: ignore[arg-type]  # checked there
            factors=factors,
            seed=seed,
            workers=workers,
            progress=advance,
        )
    made_with = manifest(
        ratings,
        seed=seed,
        command=output.command_line(),
        folds=folds,
        second_order=second_order,
        panel=panel if attack is None else attack,
        variant=variant,
        disclosure_epsilon=disclosure_epsilon,
        profiles=profiles,
        factors=factors,
    )
    if report is not None:
        from tacit.designs.standard_scheme.experiment.report import write_report

        write_report(table, made_with, report)
    result = table.to_dict() | {"manifest": made_with}

    def show(_: dict[str, Any]) -> None:
        _show(table, report)

    output.emit(result, as_json=as_json, render=show)


def _show(table: HidingTable, report: Path | None) -> None:
    result = table.to_dict()
    output.console.print(f"Guessing {table.attribute} of {table.people:,} people.")
    hiding_tables.worst(table)
    hiding_tables.attacks(result["rows"])
    hiding_tables.over_time(result["over_time"])
    hiding_tables.known(result["known_items"], result["counts"])
    hiding_tables.fractions(table.fractions)
    hiding_tables.accuracy(table.accuracy)
    hiding_tables.control(result["control"])
    if report is not None:
        output.console.print(f"Wrote {report}", soft_wrap=True, markup=False)
        return
    output.next_step("Next:  --report out.html draws it;  --json prints every fold.")
