"""`tacit compare`: every design that fits the data beside all baselines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit import terminal
from tacit.terminal import JSON

app = typer.Typer()
SHOWN = {"ndcg@10": "NDCG", "recall@10": "recall", "rmse": "RMSE", "membership_auc": "AUC"}
"""What fits a narrow terminal."""


@app.command()
@terminal.reads_ratings
def compare(
    source: terminal.Source,
    epsilon: Annotated[
        str, typer.Option(help="Each in the design's own unit, with commas; inf: no noise.")
    ] = "0.5,1,3,inf",
    delta: Annotated[float, typer.Option(help="Delta of the designs that have one.")] = 1e-6,
    from_domain: Annotated[
        str | None, typer.Option("--source", help="Domain that people have rated in.")
    ] = None,
    to_domain: Annotated[
        str | None, typer.Option("--target", help="Domain of the items in lists.")
    ] = None,
    design: Annotated[
        list[str] | None, typer.Option(help="Only these designs and the baselines, with commas.")
    ] = None,
    attacks: Annotated[bool, typer.Option(help="Also attack each by membership.")] = True,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 3,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the rows.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write tables, one for each unit.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Add finished pieces to this file, and go on from it.")
    ] = None,
    seed: terminal.Seed = 0,
    workers: terminal.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Compare all designs on the same people, splits, metrics and seeds.

    Accuracy, who pays for privacy, and what a membership attack finds. An epsilon belongs to its
    unit and adversary: each has a table of its own. A design that does not fit says why.
    """
    from tacit.container import check_writable, write_whole
    from tacit.design import Comparison, names
    from tacit.design import design as design_of
    from tacit.errors import ConfigError
    from tacit.evaluation import compare as comparing
    from tacit.evaluation import manifest

    if (from_domain is None) != (to_domain is None):
        raise ConfigError("Name both --source and --target, or neither.")
    epsilons = terminal.decimals(epsilon, "--epsilon")
    for path in (report, csv, latex, resume):
        if path is not None:
            check_writable(path)
    chosen = [design_of(name) for name in (design or names())]
    ratings = source.read()
    entries, left_out = [*comparing.baselines(from_domain, to_domain)], {}
    asked = Comparison(ratings, epsilons, delta, from_domain, to_domain)
    for each in chosen:
        if "compare" not in each.parts:
            left_out[each.name] = "it does not say how it is compared"
            continue
        found = each.part("compare")(asked)
        if isinstance(found, str):
            left_out[each.name] = found
        else:
            entries += found
    total = comparing.steps(entries, seeds, attacks)
    with terminal.progress("Comparing", total, quiet=as_json) as advance:
        table = comparing.compare(
            ratings,
            entries,
            left_out=left_out,
            source=from_domain,
            target=to_domain,
            seeds=range(seed, seed + seeds),
            attacks=attacks,
            workers=workers,
            kept=resume,
            progress=advance,
        )
    made_with = manifest(
        ratings, seed=seed, command=terminal.command_line(), epsilon=epsilon, delta=delta,
        seeds=seeds, source=from_domain, target=to_domain, attacks=attacks,
    )  # fmt: skip
    for path, text in ((csv, table.to_csv()), (latex, table.to_latex())):
        if path is not None:
            write_whole(path, text.encode())
    if report is not None:
        from tacit.evaluation.compare_page import page_of

        page_of(table, made_with).write(report)
    rows = [row | {"epsilon": _written(row["epsilon"])} for row in table.rows]

    def show(_: dict[str, Any]) -> None:
        for unit, against, metrics, lines in table.tables():
            shown = [place for place, name in enumerate(metrics) if name in SHOWN]
            terminal.table(
                f"{unit}; against {against}" if against != "–" else unit,
                ("design", "variant", "epsilon", *(SHOWN[metrics[place]] for place in shown)),
                [[*line[:3], *(line[3 + p].split(" ")[0] for p in shown)] for line in lines],
            )
        for sentence in comparing.by_reason(table.left_out):
            terminal.say(sentence)
        terminal.next_step(
            "Next:  --report out.html draws one page;  --json has intervals and groups."
        )

    terminal.emit(
        {"rows": rows, "left_out": table.left_out, "manifest": made_with},
        as_json=as_json,
        render=show,
    )


def _written(epsilon: float | None) -> float | str | None:
    return "inf" if epsilon is not None and math.isinf(epsilon) else epsilon
