"""`tacit sketches fold`: reports of devices, from files, counted here or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import terminal
from tacit.cli.terminal import JSON
from tacit.design import Where
from tacit.errors import DataError

_AT_ONCE = 1 << 17

app = typer.Typer(help="Count reports of sketches.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Count reports of sketches."""


@app.command()
def fold(
    campaign: Annotated[Path, typer.Argument(help="The campaign, as devices got it.")],
    reports: Annotated[
        Path,
        typer.Argument(help="Reports one behind the other, or Parquet with a column of them."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Counts to write.")],
    column: Annotated[str, typer.Option(help="Of Parquet: the binary column.")] = "report",
    engine: Annotated[str, typer.Option(help="'local', or 'spark' with --remote.")] = "local",
    remote: Annotated[
        str | None, typer.Option(help="Spark Connect server, sc://HOST:PORT.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="In how many tasks tickets are parted there.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Count reports. The file has counts and no report, and needs no further protection.

    Of reports with the same ticket one counts. A cluster keeps no tickets: what it has counted must
    not be sent to a server that goes on from its counts.
    """
    from tacit.designs.sketches.folding import TICKET, counts_of, server_of
    from tacit.designs.sketches.messages import Campaign, MessageError
    from tacit.designs.sketches.server import Server
    from tacit.writing import check_writable

    check_writable(out)
    where = Where(engine=engine, remote=remote, tasks=tasks)
    try:
        known = Campaign.decode(campaign.read_bytes())
    except (OSError, MessageError) as error:
        raise DataError("is no campaign of sketches", path=campaign, fix=f"{error}.") from None
    now, text = int(time.time()), known.encode()
    if where.remote is not None:
        from tacit.engine.spark import fold_reports

        work = partial(counts_of, campaign=text, now=now)
        counts = fold_reports(str(reports), where.remote, column, TICKET, work, tasks=tasks)
        server = server_of(text, counts)
    else:
        server = Server(known)
        for messages in _messages(reports, column, known.report_bytes):
            server.fold_each(messages, now=now)
    server.save(out)
    refused = {reason: count for reason, count in server.rejected.items() if count}
    said = ", ".join(f"{count:,} {reason}" for reason, count in refused.items()) or "none"
    terminal.answer(
        {"counts": str(out), "accepted": server.reports, "refused": refused},
        f"Counted {server.reports:,} reports in {out}; refused: {said}.",
        as_json=as_json,
    )


def _messages(path: Path, column: str, width: int) -> Iterator[list[bytes]]:
    """Reports of a file, many at a time."""
    from tacit.data.tables.buckets import column_of

    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            yield from column_of(path, column, _AT_ONCE)
            return
        file.seek(0)
        while data := file.read(width * _AT_ONCE):
            yield [data[start : start + width] for start in range(0, len(data), width)]
