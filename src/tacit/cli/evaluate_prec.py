"""`tacit evaluate prec`: a stream of votes made from real ratings, and clients served from it."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, options, output
from tacit.cli.output import JSON

if TYPE_CHECKING:
    from tacit.designs.prec.experiment.stream import StreamRow
    from tacit.evaluation.intervals import Interval


@options.reads_ratings
def prec(
    source: options.Source,
    objects: Annotated[int, typer.Option(min=2, help="Items of each round.")] = 2,
    rated_by: Annotated[
        int, typer.Option(min=1, help="Only items with at least this many ratings.")
    ] = 50,
    liked_from: Annotated[float, typer.Option(help="This many stars or more are a like.")] = 4.0,
    clients: Annotated[int, typer.Option(min=1, help="People served, who do not vote.")] = 64,
    epsilon: Annotated[float, typer.Option(help="Nats for each client's view.")] = 1.0,
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    diversity: Annotated[int, typer.Option(min=0, help="Rounds with several liked.")] = 0,
    radius: Annotated[str, typer.Option(help="Disliked objects a peer votes for; commas.")] = "0",
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="p-rec, p-rec-no-gate, exponential, majority, weighted-majority or uniform; "
            "repeat for several; default: all."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many draws of clients.")] = 5,
    seed: options.Seed = 0,
    workers: options.Workers = 0,
    as_json: JSON = False,
) -> None:
    """Recommend from other people's votes.

    Items come up in the order of time, a few a round; each voter votes for the one they gave most
    stars. Clients take part where they rated all items of a round, and liked some but not all.
    """
    from tacit.designs.prec.experiment.methods import METHODS
    from tacit.designs.prec.experiment.stream import evaluate_stream, steps, stream_points
    from tacit.evaluation.manifest import manifest

    settings: dict[str, Any] = {
        "methods": tuple(dict.fromkeys(method or METHODS)),
        "objects": objects,
        "per_item": rated_by,
        "liked_from": liked_from,
        "clients": clients,
        "epsilon": epsilon,
        "delta": delta,
        "diversity": diversity,
        "radius": numbers.integers(radius, "--radius"),
        "seeds": range(seed, seed + seeds),
    }
    ratings = source.read()
    total = steps(settings["methods"], settings["radius"], seeds)
    with output.progress("Evaluating", total, quiet=as_json) as advance:
        rows = evaluate_stream(ratings, **settings, workers=workers, progress=advance)
    points = stream_points(rows)
    command = shlex.join(["tacit", *sys.argv[1:]])
    result = {
        "rows": [row.to_dict() for row in rows],
        "points": [
            {"method": row.method, "radius": row.radius, "loss": list(loss), "stopped": stopped}
            for row, loss, stopped in points
        ],
        "manifest": manifest(ratings, seed=seed, command=command, **settings),
    }
    output.emit(result, as_json=as_json, render=partial(_show, points=points))


def _show(_: dict[str, Any], *, points: list[tuple[StreamRow, Interval, float]]) -> None:
    some = points[0][0]
    output.console.print(
        f"{some.rounds:,} rounds of {some.objects} items, {some.voters:,} voters, "
        f"{some.clients} clients. Abstainers' votes: {some.abstained:.0%}."
    )
    output.table(
        "",
        ("method", "radius", "disliked", "95 %", "gate shut"),
        [
            (
                row.method,
                row.radius,
                f"{loss.mean:.1%}",
                None if (loss.low, loss.high) == (0, 1) else f"{loss.low:.1%} to {loss.high:.1%}",
                f"{stopped:.0%}",
            )
            for row, loss, stopped in points
        ],
    )
    output.next_step(
        "Next:  tacit simulate prec  shows what it takes: voters who agree with the client."
    )
