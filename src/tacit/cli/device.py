"""`tacit device` explains what a person's device sends; `tacit sketches fold` counts reports.

`answer_letter` is for `tacit recommend --about`. It runs the device of `tacit.client` with a model
file in place of a service, so that nothing is sent anywhere.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_output_beside
from tacit.client import (
    Account,
    FileAccount,
    FileMemory,
    LetterResult,
    Memory,
    ServiceError,
)
from tacit.client.letters import Letters
from tacit.client.transport import Transport
from tacit.design import ExecutionOptions, option
from tacit.designs.standard_scheme.epochs import calendar_epoch
from tacit.designs.standard_scheme.messages import Release, Scores
from tacit.errors import ConfigError, DataError, OutputError, PrivacyError
from tacit.evaluation import Result, Table

if TYPE_CHECKING:
    from tacit.designs.sketches import Campaign
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.designs.standard_scheme.memory import Log

app = typer.Typer(help="Show what a device sends, and what it means.", no_args_is_help=True)
sketches_app = typer.Typer(help="Count reports of sketches.", no_args_is_help=True)
for group in (app, sketches_app):
    group.callback()(lambda: None)  # without it, typer makes no group of a single command

_SHOWN_FIELDS = (
    ("method", "how it asks"),
    ("unit", "what epsilon is for: 'user' is everything a person rated"),
    ("items", "items of the catalogue"),
    ("rated", "items a person is assumed to have rated; questions about sets use no more likes"),
    ("questions", "bits of the answer"),
)
"""Fields of a campaign that are shown as they are, each with its meaning. `_make_field_rows` adds
three that it formats."""
_MADE_UP_ITEMS = 40
"""Number of items of the made-up campaign."""
_MADE_UP_RATED = 10
"""Number of items that the made-up campaign assumes people to have rated."""
_INTEGER = re.compile("-?[0-9]{1,19}")
"""Pattern of an item id that looks like an integer."""
_MOST_RATINGS_SHOWN = 8
"""Most of the person's ratings that are shown."""
_REPORTS_AT_ONCE = 1 << 17
"""Most reports that are read from a file of Parquet at a time."""
_DISCLOSURE_NAME = "model"
"""Name of the model file's disclosure. (A service may have several disclosures.)"""
_MADE_UP_HISTORY = {"film 3": 5.0, "film 8": 4.5, "film 12": 2.0, "film 19": 5.0, "film 33": 1.0}
"""Stars by item, for the made-up campaign."""


@command(app)
def explain(
    campaign: Path | None = option("The bytes of a campaign; left out, one is made up."),
    catalogue: Path | None = option("Item ids of that campaign, one a line, in its order."),
    history: Path | None = option("The person's own ratings: columns item and rating."),
    epsilon: float = option("Epsilon of the made-up campaign.", default=1.0),
    questions: int = option("Questions of the made-up campaign.", default=1),
    limit: float = option("Largest epsilon that the device accepts.", default=1.0),
) -> Result:
    """Explain every byte of a sketch.

    A device answers a campaign, and the command explains the report that it would send: a sketch of
    the person's ratings. The device is new, draws a secret of its own and forgets the answer.
    Nothing is sent. Exit code 5 if the device refuses to answer.
    """
    import numpy as np

    from tacit.data.tabular import read_history
    from tacit.designs.sketches import Device, Limits, RefusalError, new_secret
    from tacit.designs.sketches import explain as explain_report

    explained_campaign, items = _read_or_make_campaign(campaign, catalogue, epsilon, questions)
    if history is not None:
        ratings = read_history(history, item_ids=np.array(items))
    elif campaign is None:
        ratings = _MADE_UP_HISTORY
    else:
        raise ConfigError("The device needs the person's own ratings: add --history FILE.")
    try:
        limits = Limits(epsilon=limit, lifetime=max(limit, Limits().lifetime))
    except ValueError:
        raise ConfigError(f"--limit is a number of nats from 0 up; got {limit}.") from None
    try:
        report = Device(new_secret(), {}, limits).report(explained_campaign, items, ratings)
    except RefusalError as refused:
        raise PrivacyError(f"The device does not answer: {refused}. Nothing was sent.") from None
    fields = _list_fields(explained_campaign)
    sent = report.encode()
    meanings = explain_report(explained_campaign, report, items)
    sent_title = f"All that leaves the device: {len(sent)} bytes"
    return Result(
        {
            "campaign": fields,
            "report": sent.hex(),
            "size": len(sent),
            "bytes": [{"bytes": data, "meaning": meaning} for data, meaning in meanings],
        },
        (
            Table("What the recommender asks everybody", ("", "", ""), _make_field_rows(fields)),
            f"On the device, and never sent: {_format_ratings(ratings)}.",
            Table(sent_title, ("bytes", "what they mean"), meanings),
        ),
        f"{_format_guarantee_command(fields)}  says what that promises.",
    )


def _format_guarantee_command(fields: dict[str, Any]) -> str:
    """Format the command that prints the guarantee cards of a campaign.

    Args:
        fields: The campaign's fields, as `_list_fields` returns them.
    """
    command_words = ["tacit", "guarantee", "sketches", "--epsilon", f"{fields['epsilon']:.12g}"]
    for name in ("method", "questions", "rated", "unit"):
        command_words += [f"--{name}", str(fields[name])]
    return shlex.join(command_words)


def _make_field_rows(fields: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Make rows of a campaign's fields that are shown: name, value and meaning.

    Args:
        fields: The fields, as `_list_fields` returns them.
    """
    rows = [(name, str(fields[name]), meaning) for name, meaning in _SHOWN_FIELDS]
    rows += [
        ("epsilon", f"{fields['epsilon']:g}", "nats that the answer costs"),
        ("truth", f"{fields['truth']:.4f}", "chance that a bit is sent as it is"),
        ("seed", fields["seed"][:16] + "…", "the questions follow from it and from a ticket"),
    ]
    return rows


def _format_ratings(ratings: Mapping[Any, float]) -> str:
    """Format a person's ratings as "ITEM: STARS, ...", _MOST_RATINGS_SHOWN of them at most."""
    from tacit.designs.sketches.device import printable_id

    shown_ratings = []
    for item, stars in list(ratings.items())[:_MOST_RATINGS_SHOWN]:
        shown_ratings.append(f"{printable_id(item)}: {stars:g}")
    text = ", ".join(shown_ratings)
    if len(ratings) > _MOST_RATINGS_SHOWN:
        text += f" and {len(ratings) - _MOST_RATINGS_SHOWN} more"
    return text


def _read_or_make_campaign(
    path: Path | None, catalogue: Path | None, epsilon: float, questions: int
) -> tuple[Campaign, list[Any]]:
    """Read a campaign, or make one up where no file is named.

    Args:
        path: File of the campaign; None: make one up.
        catalogue: File of the item ids of a campaign that is read; None for one that is made up.
        epsilon: Epsilon of a campaign that is made up.
        questions: Number of questions of a campaign that is made up.

    Returns:
        The campaign, and its item ids. Ids that look like integers become integers if the list then
        has the digest that the campaign states for its catalogue; otherwise all ids are texts.

    Raises:
        ConfigError: Only one of the two files is named.
        DataError: The file holds no campaign, or the catalogue cannot be read.
    """
    from tacit.designs.sketches import new_campaign
    from tacit.designs.sketches.messages import catalogue_digest

    if path is None:
        if catalogue is not None:
            raise ConfigError("--catalogue belongs to a campaign: name one with --campaign FILE.")
        items: list[Any] = [f"film {number}" for number in range(1, _MADE_UP_ITEMS + 1)]
        made_up = new_campaign(items, rated=_MADE_UP_RATED, epsilon=epsilon, questions=questions)
        return made_up, items
    if catalogue is None:
        raise ConfigError("A campaign names its items by number: add --catalogue FILE.")
    campaign = _decode_campaign(path)
    texts: list[Any] = terminal.parse_ids([f"@{catalogue}"])
    with_integers = [int(text) if _INTEGER.fullmatch(text) else text for text in texts]
    if catalogue_digest(with_integers) == campaign.catalogue_digest:
        return campaign, with_integers
    return campaign, texts


def _decode_campaign(path: Path) -> Campaign:
    """Read a campaign from a file of its bytes.

    Raises:
        DataError: The file holds no campaign.
    """
    from tacit.designs.sketches.messages import Campaign, MessageError

    try:
        return Campaign.decode(path.read_bytes())
    except MessageError as error:
        raise DataError("is no campaign of sketches", path=path, fix=f"{error}.") from None


def _list_fields(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign's fields by name, and its encoded message as "bytes".

    Bytes are in hexadecimal digits. Numbers in fixed point are floats here.
    """
    from tacit.designs.sketches.messages import MICRO, WHOLE

    return {
        "method": campaign.method,
        "unit": campaign.unit,
        "items": campaign.n_items,
        "rated": campaign.rated,
        "theta": campaign.theta / MICRO,
        "questions": campaign.questions,
        "epsilon": campaign.epsilon / MICRO,
        "liked_from": campaign.liked_from / 1000,
        "truth": campaign.truth / WHOLE,
        "closes": campaign.closes,
        "seed": campaign.seed.hex(),
        "catalogue": campaign.catalogue_digest.hex(),
        "bytes": campaign.encode().hex(),
    }


@command(sketches_app)
def fold(
    campaign: Path = option("The campaign, as devices got it.", argument="campaign"),
    reports: Path = option(
        "A file of reports one after another, or a Parquet file with a column of reports.",
        argument="reports",
    ),
    out: Path | None = option(
        "Counts to write; reports.counts beside reports.bin.", flag="--out -o"
    ),
    column: str = option("Of Parquet: the binary column.", default="report"),
    engine: str = option("'local', or 'spark' with --remote.", default="local"),
    remote: str | None = option("Spark Connect server, sc://HOST:PORT."),
    tasks: int | None = option("Number of Spark tasks that hold the tickets.", least=1),
    force: bool = FORCE,
) -> Result:
    """Count reports, and write the counts to a file.

    Bytes that are no report to the campaign are refused, and the reports before and after them are
    counted. If devices sent the bytes themselves, a Parquet file with one message in each row shows
    best what was refused.

    The file holds the counts and the tickets of the reports, but no report. Of several reports with
    the same ticket one is counted. A cluster does not store tickets: reports that it has counted
    must not be sent again to a server that goes on from its counts.
    """
    from tacit.atomic_writes import check_writable
    from tacit.designs.sketches.fake_devices import inspect, manipulation
    from tacit.designs.sketches.server import TICKET, Server, count_messages, make_server

    out = out or name_output_beside(reports, ending=".counts", force=force)
    check_writable(out)
    execution = ExecutionOptions(engine=engine, remote=remote, tasks=tasks)
    decoded_campaign = _decode_campaign(campaign)
    now = int(time.time())
    campaign_bytes = decoded_campaign.encode()
    if execution.remote is not None:
        from tacit.engine.spark import fold_reports

        count_reports = partial(count_messages, campaign=campaign_bytes, now=now)
        counts = fold_reports(
            str(reports), execution.remote, column, TICKET, count_reports, tasks=tasks
        )
        server = make_server(campaign_bytes, counts)
    else:
        server = Server(decoded_campaign)
        for messages in _read_messages(reports, column, decoded_campaign):
            server.fold_each(messages, now=now)
    server.save(out)
    refused = {reason: count for reason, count in server.rejected.items() if count}
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in refused.items()) or "none"
    sentence = f"Counted {server.reports:,} reports; refused: {reasons}. The counts are in {out}."
    received = server.reports + sum(refused.values())
    # Duplicates and late reports are of this campaign: they are no sign of a wrong file.
    if server.rejected["malformed"] + server.rejected["another campaign"] > received / 2:
        sentence += " Most were refused: check that this file has reports to this campaign."
    looks_crafted = None  # reports of other methods are not tested
    if decoded_campaign.asks_about_sets and server.reports:
        looks_crafted = inspect(server).suspicious
        bound = manipulation(decoded_campaign, people=server.reports, fakes=0.01)
        finding = "Some look crafted" if looks_crafted else "No test says that some are crafted"
        sentence += (
            f" {finding}. One per cent of fake devices moves an item's share of yes by at most "
            f"{bound.chosen:.2g}; the expected shares of two clusters differ by at most "
            f"{bound.gap:.2g}."
        )
    return Result(
        {
            "counts": str(out),
            "accepted": server.reports,
            "refused": refused,
            "crafted": looks_crafted,
        },
        (sentence,),
    )


def _read_messages(path: Path, column: str, campaign: Campaign) -> Iterator[list[bytes]]:
    """Yield the messages of a file, some at a time.

    Args:
        path: A file of Parquet, or one with reports one after another.
        column: Column of the reports in Parquet.
        campaign: The campaign that the reports answer.
    """
    from tacit.data.tables.buckets import read_column_in_parts
    from tacit.designs.sketches.report_files import read_messages

    with path.open("rb") as file:
        if file.read(4) == b"PAR1":  # the first bytes of a Parquet file
            yield from read_column_in_parts(path, column, _REPORTS_AT_ONCE)
            return
        file.seek(0)
        yield from read_messages(file, campaign)


def answer_letter(
    model: StandardScheme,
    history: Mapping[Any, float],
    values: Mapping[str, str],
    memory: Path,
    trial_time: datetime | None,
) -> tuple[LetterResult, Scores | None]:
    """Let a person's device send the letter that is due now; a model file answers, not a service.

    Args:
        model: Model that answers the letter.
        history: The person's own stars by item.
        values: The person's value of each attribute that is hidden.
        memory: File of the device's memory; its secret is in MEMORY.account.
        trial_time: A later time, for a trial: after the letter that is due now, a copy of the
            device sends the letter that will be due at this time. That letter is not stored, and
            the result is the trial's. None: no trial.

    Returns:
        A result with the last letter, which is None before the first letter; and the scores that
        answered it, None before the first answer.

    Raises:
        DataError: An attribute, a value or a star is not one of the model's.
        OutputError: `memory` is a folder, or a file cannot be written.
    """
    # These raise for an unknown value or a star off the scale, before files are made.
    model.device(values)
    model.predict((), history=history)
    now = int(time.time())
    if not memory.name or memory.is_dir():
        raise OutputError(f"{memory}: this is a folder. Name a file with --memory.")
    account = FileAccount(memory.with_name(memory.name + ".account"), now)
    stored_memory = FileMemory(memory)
    answer = _exchange_letter(model, account, stored_memory, values, history, now)
    if trial_time is None:
        return answer
    trial_account = Account(account.secret, account.created, account.last_letter_epoch)
    with stored_memory.transaction() as content:
        # The copy has no last attempt, since after an attempt no letter is sent for some minutes.
        trial_memory = Memory(replace(content, last_attempt=0))
    trial_second = int(trial_time.timestamp())
    return _exchange_letter(model, trial_account, trial_memory, values, history, trial_second)


def _exchange_letter(
    model: StandardScheme,
    account: Account,
    memory: Memory,
    values: Mapping[str, str],
    history: Mapping[Any, float],
    now: int,
) -> tuple[LetterResult, Scores | None]:
    """Send a letter to a model if one is due, and read the last letter and its scores from memory.

    If the letter is refused, the result's notice says why, and no error is raised.

    Args:
        model: Model that answers letters.
        account: The device's account.
        memory: The device's memory.
        values: The person's value of each attribute that is hidden.
        history: The person's own stars by item.
        now: Unix seconds.

    Returns:
        A result with the last letter, which is None before the first letter; and the scores that
        answered it, None before the first answer.
    """
    with memory.transaction() as content:
        log = content.state.log if content.state else ()
    letters = Letters(_ModelFile(model, log, now), account, memory)
    try:
        result = letters.send_letter(_DISCLOSURE_NAME, values, history, now)
        due = result.due
        notice = result.notice
    except ServiceError as error:
        due = now
        notice = str(error)
    with memory.transaction() as content:
        letter = content.state.letter if content.state else None
        scores = content.last_answer[1]
    return LetterResult(letter, due, notice), Scores.decode(scores) if scores else None


class _ModelFile(Transport):
    """Transport that answers in place of a service with one disclosure. It sends nothing.

    Args:
        model: Model that answers letters.
        log: Log of disclosures that the device has seen. The model's disclosure is added to the log
            if it is not the latest in it.
        now: Unix seconds.
    """

    def __init__(self, model: StandardScheme, log: Log, now: int) -> None:
        self._model = model
        digest = model.disclosure_.digest
        is_latest = bool(log) and log[-1][1] == digest
        epoch = calendar_epoch(now, model.disclosure_.epoch_length)
        self._log = log if is_latest else (*log, (epoch, digest))

    def get(self, path: str, *, with_key: bool = False) -> bytes:
        """Answer with the log if the path ends in "/log", otherwise with the disclosure.

        A request with a key asks for the epoch of the latest letter. The answer is -1: none came.
        """
        if with_key:
            return b'{"latest":-1}'
        if path.endswith("/log"):
            rows = [{"epoch": epoch, "digest": digest} for epoch, digest in self._log]
            return json.dumps({"log": rows}).encode()
        return self._model.disclosure_.encode()

    def post(self, path: str, body: bytes) -> bytes:
        """Answer a letter with the model's scores.

        Raises:
            ServiceError: The letter is not one that this model answers (status 422).
        """
        try:
            return self._model.server_.score(Release.decode(body)).encode()
        except ValueError as error:
            raise ServiceError(f"This model does not answer the letter: {error}.", 422) from None
