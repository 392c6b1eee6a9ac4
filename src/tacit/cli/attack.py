"""`tacit attack`: try to read a hidden attribute from what a design releases."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from tacit.cli import hiding_tables, options, output
from tacit.cli.output import JSON

app = typer.Typer(
    help="Try to read a hidden attribute from what is released.", no_args_is_help=True
)


@app.callback()
def _designs() -> None:
    """One sub-command per design."""


@app.command("standard-scheme")
@options.reads_ratings
def standard_scheme(
    source: options.Source,
    attribute: options.Attribute = "gender",
    release: Annotated[
        str, typer.Option(help="What devices send; 'none' attacks true stars.")
    ] = "scheme+selection+rounding",
    panel: options.Panel = "quick",
    attack: Annotated[
        list[str] | None,
        typer.Option(help="This attacker in place of the panel; repeat for several."),
    ] = None,
    variant: options.Variant = "sound",
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Attack one release of people whose attribute is unknown.

    Their attribute is unknown to the attacker, fold by fold.
    """
    from tacit.auditing.attacks import distance
    from tacit.designs.standard_scheme.experiment.hiding import evaluate_hiding, steps
    from tacit.evaluation.manifest import manifest

    ratings = source.read()
    with output.progress("Attacking", steps(folds), quiet=as_json) as advance:
        table = evaluate_hiding(
            ratings,
            attribute,
            folds=folds,
            releases=tuple(dict.fromkeys(["none", release])),
            panel=panel,
            attacks=attack,
            variant=variant,
            seed=seed,
            workers=workers,
            progress=advance,
        )
    rows = [
        {
            "release": row.release,
            "view": row.view,
            "attack": row.attack,
            "trained_on": row.trained_on,
            "auc": row.auc,
            "low": row.low,
            "high": row.high,
            "distance": distance(row.auc),
        }
        for row in table.rows
        if row.release == release or row.trained_on == "raw"
    ]
    result = {
        "attribute": attribute,
        "values": list(table.values),
        "people": table.people,
        "worst": table.to_dict()["worst"],
        "sentence": table.sentence(release),
        "rows": rows,
        "control": table.to_dict()["control"],
        "manifest": manifest(
            ratings, seed=seed, command=shlex.join(["tacit", *sys.argv[1:]]), folds=folds
        ),
    }
    output.emit(result, as_json=as_json, render=_show)


def _show(result: dict[str, Any]) -> None:
    output.console.print(f"Guessing {result['attribute']} of {result['people']:,} people.")
    output.console.print(result["sentence"], soft_wrap=True, markup=False)
    hiding_tables.attacks(result["rows"])
    hiding_tables.control(result["control"])
    output.next_step("Next:  tacit evaluate standard-scheme RATINGS --report out.html")
