"""One person's device on the command line, with a model file in place of a service.

It is the device of `tacit.client`: it decides once about each item, and a letter is due by the
calendar alone. Nothing is sent anywhere; the file answers the letter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.client import Account, FileAccount, FileMemory, Kept, Memory
from tacit.client.device_memory import kept_at, replace
from tacit.client.letters import Letters
from tacit.client.transport import ServiceError, Transport
from tacit.designs.standard_scheme import Release, Scores, StandardScheme
from tacit.designs.standard_scheme.drawing import calendar
from tacit.designs.standard_scheme.memory import Log

_NAME = "model"


@dataclass(frozen=True)
class Answered:
    """letter: the last one; scores: its answer. Both are None before the first.

    due: when the next one may leave. notice: what the owner should know, "" for nothing.
    """

    letter: Release | None
    scores: Scores | None
    due: datetime
    notice: str


def answered(
    model: StandardScheme,
    history: Mapping[Any, float],
    values: Mapping[str, str],
    memory: Path,
    at: datetime | None,
) -> Answered:
    """What this person's device holds now, or would hold `at` another time; then nothing is kept.

    The account's secret lies beside the memory, in MEMORY.account.
    """
    model.device(values)  # an unknown value is refused before there are any files
    model.predict((), history=history)  # and so is a star off the scale
    now = int(time.time())
    _renew(memory)
    account = FileAccount(memory.with_name(memory.name + ".account"), now)
    kept = FileMemory(memory)
    made = _ask(model, account, kept, values, history, now)
    if at is None:
        return made
    trial, forgetful = Account(account.secret, account.created, account.spoken), Memory()
    with kept.turn() as held, forgetful.turn() as copy:
        vars(copy).update(vars(Kept(**vars(held))) | {"tried": 0})
    return _ask(model, trial, forgetful, values, history, int(at.timestamp()))


def _ask(
    model: StandardScheme,
    account: Account,
    memory: Memory,
    values: Mapping[str, str],
    history: Mapping[Any, float],
    now: int,
) -> Answered:
    with memory.turn() as kept:
        log = kept.state.log if kept.state else ()
    letters = Letters(_ModelFile(model, log, now), account, memory)
    try:
        spoken = letters.speak(_NAME, values, history, now)
        due, notice = spoken.due, spoken.notice
    except ServiceError as error:
        due, notice = now, str(error)
    with memory.turn() as kept:
        letter = kept.state.letter if kept.state else None
        scores = kept.answer[1]
    return Answered(
        None if letter is None else Release.decode(letter),
        Scores.decode(scores) if scores else None,
        datetime.fromtimestamp(due, UTC),
        notice,
    )


def _renew(memory: Path) -> None:
    """Earlier, this command wrote the rows of a memory without what is around them."""
    with kept_at(memory):
        if not memory.exists() or not memory.read_bytes().startswith(b"[["):
            return
        try:
            rows = json.loads(memory.read_bytes())
        except ValueError:
            return  # the memory says that it cannot be read
        replace(memory, json.dumps({"version": 1, "reports": {}, "releases": rows}).encode())


class _ModelFile(Transport):
    """Answers as the service of one disclosure would."""

    def __init__(self, model: StandardScheme, seen: Log, now: int) -> None:
        self._model = model
        digest = model.disclosure_.digest
        known = bool(seen) and seen[-1][1] == digest
        epoch = calendar(now, model.disclosure_.epoch_length)
        self._log = seen if known else (*seen, (epoch, digest))

    def get(self, path: str, *, own: bool = False) -> bytes:
        if own:
            return b'{"latest":-1}'  # a file knows of no letter
        if path.endswith("/log"):
            rows = [{"epoch": epoch, "digest": digest} for epoch, digest in self._log]
            return json.dumps({"log": rows}).encode()
        return self._model.disclosure_.encode()

    def post(self, path: str, body: bytes) -> bytes:
        try:
            return self._model.server_.score(Release.decode(body)).encode()
        except ValueError as error:
            raise ServiceError(f"This model does not answer the letter: {error}.", 422) from None
