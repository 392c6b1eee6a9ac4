"""`tacit simulate prec`: clients served from generated voters, by p-REC and by what competes."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, options, output
from tacit.cli.output import JSON

if TYPE_CHECKING:
    from tacit.designs.prec.experiment.simulation import Point


def prec(
    world: Annotated[
        str,
        typer.Option(
            help="planted, opposed, adaptive, search, stubborn, one-round, both-ways, sybils or "
            "victim: who votes for what."
        ),
    ] = "planted",
    rounds: Annotated[str, typer.Option(help="Several with commas: the first is the base.")] = (
        "1000"
    ),
    objects: Annotated[int, typer.Option(min=2, help="Of each round.")] = 2,
    voters: Annotated[str, typer.Option(help="Several with commas.")] = "1000",
    peers: Annotated[
        str, typer.Option(help="Voters who agree with the client; several with commas.")
    ] = "300",
    diversity: Annotated[int, typer.Option(min=0, help="Rounds with two liked objects.")] = 0,
    radius: Annotated[int, typer.Option(min=0, help="Disliked objects a peer votes for.")] = 0,
    epsilon: Annotated[str, typer.Option(help="Nats; several with commas.")] = "1",
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    clients: Annotated[int, typer.Option(min=1, help="Of one taste, on the same votes.")] = 1,
    together: Annotated[
        int, typer.Option(min=1, help="Clients whom epsilon is for, all of them together.")
    ] = 1,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="p-rec, p-rec-no-gate, exponential, majority, weighted-majority or uniform; "
            "repeat for several; default: all."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs of each.")] = 5,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained page here.")] = None,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Serve clients from generated votes.

    Losses of p-REC, the exponential mechanism at equal epsilon and delta, and methods in the clear.
    Of --rounds, --voters, --peers and --epsilon one moves at a time; the others stay at their
    first value.
    """
    from tacit.designs.prec.experiment.methods import METHODS, Budget
    from tacit.designs.prec.experiment.simulation import (
        VARIED,
        Setting,
        points,
        runs,
        settings_of,
        simulate,
    )
    from tacit.designs.prec.experiment.worlds import Game

    if report is not None:
        from tacit.writing import check_writable

        check_writable(report)
    values: dict[str, Any] = {
        "rounds": numbers.integers(rounds, "--rounds"),
        "peers": numbers.integers(peers, "--peers"),
        "voters": numbers.integers(voters, "--voters"),
        "epsilon": numbers.decimals(epsilon, "--epsilon"),
    }
    first = {name: values[name][0] for name in VARIED}
    game = Game(first["rounds"], objects, first["voters"], first["peers"], diversity, radius)
    base = Setting(world, game, Budget(first["epsilon"], delta, clients, together))
    settings, methods = settings_of(base, values), tuple(dict.fromkeys(method or METHODS))
    with output.progress("Simulating", runs(settings, methods, seeds), quiet=as_json) as advance:
        rows = simulate(
            settings, methods, range(seed, seed + seeds), workers=workers, progress=advance
        )
    found = points(rows)
    if report is not None:
        from tacit.designs.prec.experiment.report import write_report
        from tacit.evaluation.manifest import generated

        command = shlex.join(["tacit", *sys.argv[1:]])
        write_report(base, found, generated(seed=seed, command=command, seeds=seeds), report)
    output.emit(
        {"rows": [row.to_dict() for row in rows]},
        as_json=as_json,
        render=partial(_show, found=found, report=report),
    )


def _show(_: dict[str, Any], *, found: list[Point], report: Path | None) -> None:
    from tacit.designs.prec.experiment.simulation import VARIED

    moved = [name for name in VARIED if len(_values(found, name)) > 1]
    (_show_moved if moved else _show_methods)(found, moved)
    some = found[0].row
    output.console.print(
        "Disliked recommendations, means over runs. Bound: on the expected number for "
        "p-rec, if the "
        "client has peers as assumed. Shut: runs whose gate closed, after which "
        "recommendations were uniform.",
        style="dim",
        soft_wrap=True,
    )
    if report is not None:
        output.console.print(f"Wrote {report}", soft_wrap=True, markup=False)
        return
    output.next_step(
        f"Next:  tacit plan prec --objects {some.objects} --rounds {some.rounds} "
        f"--peers {some.peers} --voters {some.voters}  says what theory promises."
    )


def _show_methods(found: list[Point], _: list[str]) -> None:
    output.table(
        "",
        ("method", "disliked", "95 %", "bound", "shut"),
        [
            (
                point.row.method,
                f"{point.loss.mean:.1f}",
                _ends(point),
                point.row.loss_bound and f"{point.row.loss_bound:.1f}",
                f"{point.stopped:.0%}",
            )
            for point in found
        ],
    )


def _show_moved(found: list[Point], moved: list[str]) -> None:
    """A row for each setting. Methods without privacy stand in those of every epsilon."""
    methods = list(dict.fromkeys(point.row.method for point in found))
    places = {
        (point.row.method, *(getattr(point.row, name) for name in moved)): point for point in found
    }
    spent = [name for name in moved if name == "epsilon"]
    settings = dict.fromkeys(
        place[1:] for place in places if not spent or place[1 + moved.index("epsilon")] is not None
    )
    rows = []
    for setting in settings:
        anywhere = tuple(
            None if name == "epsilon" else value for name, value in zip(moved, setting, strict=True)
        )
        here = {
            method: places.get((method, *setting)) or places.get((method, *anywhere))
            for method in methods
        }
        ours = here.get("p-rec")
        rows.append(
            (
                *(f"{value:g}" for value in setting),
                *(None if point is None else f"{point.loss.mean:.1f}" for point in here.values()),
                ours and ours.row.loss_bound and f"{ours.row.loss_bound:.1f}",
                ours and f"{ours.stopped:.0%}",
            )
        )
    heads = (_HEADS.get(method, method) for method in methods)
    output.table("", (*moved, *heads, "bound", "shut"), rows)


_HEADS = {
    "p-rec-no-gate": "no gate",
    "exponential": "exp.",
    "majority": "most",
    "weighted-majority": "weights",
    "uniform": "any",
}


def _values(found: list[Point], name: str) -> set[float]:
    return {value for point in found if (value := getattr(point.row, name)) is not None}


def _ends(point: Point) -> str | None:
    low, high = point.loss.low, point.loss.high
    return None if (low, high) == (0, point.row.rounds) else f"{low:.1f} to {high:.1f}"
