"""`tacit device`: what a person's device sends, byte by byte. `tacit sketches fold`: such reports,
from files, counted here or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.design import Where
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.designs.sketches import Campaign

app = typer.Typer(help="Show what a device sends, and what it means.", no_args_is_help=True)

_SHOWN = (
    ("method", "how it asks"),
    ("unit", "what epsilon is for: 'user' is everything a person rated"),
    ("items", "items of the catalogue"),
    ("rated", "items people are taken to have rated; sensed sets use at most so many likes"),
    ("questions", "bits of the answer"),
)
_ITEMS, _RATED = 40, 10
_HISTORY = {"film 3": 5.0, "film 8": 4.5, "film 12": 2.0, "film 19": 5.0, "film 33": 1.0}


app.callback()(lambda: None)  # without it, typer makes no group of one command


@app.command()
def explain(
    campaign: Annotated[
        Path | None, typer.Option(help="The bytes of a campaign; left out, one is made up.")
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option(help="Item ids of that campaign, one a line, in its order.")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="The person's own ratings: columns item and rating.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the made-up campaign.")] = 1.0,
    questions: Annotated[int, typer.Option(help="Questions of the made-up campaign.")] = 1,
    limit: Annotated[float, typer.Option(help="Largest epsilon that the device accepts.")] = 1.0,
    as_json: JSON = False,
) -> None:
    """Explain every byte of a sketch.

    A device answers a campaign, and the command explains what it would send.

    The device is new, has its own secret and forgets the answer. Nothing is sent.
    Exit code 5 if it refuses.
    """
    import numpy as np

    from tacit.data.tabular import read_history
    from tacit.designs.sketches import Device, Limits, Refused, new_secret
    from tacit.designs.sketches import explain as explained

    asked, items = _campaign(campaign, catalogue, epsilon, questions)
    if history is not None:
        own = read_history(history, item_ids=np.array(items))
    elif campaign is None:
        own = _HISTORY
    else:
        raise ConfigError("The device needs the person's own ratings: add --history FILE.")
    try:
        limits = Limits(epsilon=limit, lifetime=max(limit, Limits().lifetime))
    except ValueError:
        raise ConfigError(f"--limit is a number of nats from 0 up; got {limit}.") from None
    try:
        report = Device(new_secret(), {}, limits).report(asked, items, own)
    except Refused as refused:
        raise PrivacyError(f"The device does not answer: {refused}. Nothing was sent.") from None
    result = {
        "campaign": _fields(asked),
        "report": report.encode().hex(),
        "size": len(report.encode()),
        "bytes": [
            {"bytes": data, "meaning": meaning} for data, meaning in explained(asked, report, items)
        ],
    }
    terminal.emit(result, as_json=as_json, render=partial(_show, own=own))


def _campaign(
    path: Path | None, catalogue: Path | None, epsilon: float, questions: int
) -> tuple[Campaign, list[Any]]:
    """The campaign, and its ids: texts, or the integers they are written like."""
    from tacit.designs.sketches import new_campaign
    from tacit.designs.sketches.messages import catalogue_digest

    if path is None:
        if catalogue is not None:
            raise ConfigError("--catalogue belongs to a campaign: name one with --campaign FILE.")
        items: list[Any] = [f"film {number}" for number in range(1, _ITEMS + 1)]
        return new_campaign(items, rated=_RATED, epsilon=epsilon, questions=questions), items
    if catalogue is None:
        raise ConfigError("A campaign names its items by number: add --catalogue FILE.")
    asked = _decoded(path)
    texts: list[Any] = terminal.ids_in([f"@{catalogue}"])
    whole = [int(text) if text.lstrip("-").isdecimal() else text for text in texts]
    return asked, whole if catalogue_digest(whole) == asked.catalogue else texts


def _decoded(path: Path) -> Campaign:
    from tacit.designs.sketches.messages import Campaign, MessageError

    try:
        return Campaign.decode(path.read_bytes())
    except MessageError as error:
        raise DataError("is no campaign of sketches", path=path, fix=f"{error}.") from None


def _fields(asked: Campaign) -> dict[str, Any]:
    """For people and machines: bytes as hex, thousandths and millionths as the numbers meant."""
    from tacit.designs.sketches.messages import MICRO, WHOLE

    fields = asdict(asked) | {
        "theta": asked.theta / MICRO,
        "epsilon": asked.epsilon / MICRO,
        "liked_from": asked.liked_from / 1000,
        "truth": asked.truth / WHOLE,
        "bytes": asked.encode(),
    }
    return {name: one.hex() if isinstance(one, bytes) else one for name, one in fields.items()}


def _show(result: dict[str, Any], *, own: dict[Any, float]) -> None:
    asked = result["campaign"]
    from tacit.designs.sketches.device import shown

    rows = [
        *((name, str(asked[name]), meaning) for name, meaning in _SHOWN),
        ("epsilon", f"{asked['epsilon']:g}", "nats that the answer costs"),
        ("truth", f"{asked['truth']:.4f}", "chance that a bit is sent as it is"),
        ("seed", asked["seed"][:16] + "…", "from it and a ticket follow the questions"),
    ]
    terminal.table("What the recommender asks everybody", ("", "", ""), rows)

    rated = ", ".join(f"{shown(item)}: {stars:g}" for item, stars in list(own.items())[:8])
    more = f" and {len(own) - 8} more" if len(own) > 8 else ""
    terminal.say(f"On the device, and never sent: {rated}{more}.")
    terminal.table(
        f"All that leaves the device: {result['size']} bytes",
        ("bytes", "what they mean"),
        [(row["bytes"], row["meaning"]) for row in result["bytes"]],
    )
    terminal.next_step(
        f"Next:  tacit guarantee sketches --epsilon {asked['epsilon']:g}  says what that promises."
    )


_AT_ONCE = 1 << 17
counting = typer.Typer(help="Count reports of sketches.", no_args_is_help=True)


counting.callback()(lambda: None)


@counting.command()
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
    from tacit.container import check_writable
    from tacit.designs.sketches.fake_devices import inspect, manipulation
    from tacit.designs.sketches.messages import Campaign, MessageError
    from tacit.designs.sketches.server import TICKET, Server, counts_of, server_of

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
    crafted, warned = None, ""
    if known.senses and server.reports:
        crafted = inspect(server).suspicious
        bound = manipulation(known, people=server.reports, fakes=0.01)
        seen = "Some look crafted" if crafted else "No test says that some are crafted"
        warned = (
            f" {seen}. One per cent of fake devices moves an item's share of yes by at most "
            f"{bound.chosen:.2g}; two clusters are at most {bound.gap:.2g} apart."
        )
    terminal.answer(
        {"counts": str(out), "accepted": server.reports, "refused": refused, "crafted": crafted},
        f"Counted {server.reports:,} reports in {out}; refused: {said}.{warned}",
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
