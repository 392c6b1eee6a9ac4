"""Checkpoints: the state of a sound replay, so that a start reads the entries after it only.

Source     The chain itself: a checkpoint is an entry of the log that holds the SHA-256 of the state
           before it; the state's text lies in a table beside.
Assumes    Nothing of that table. A state counts if its hash is in an entry that the second place's
           head covers; otherwise it is passed over, and the replay begins at the first entry.

When checkpoints are written: after a replay at the start, now and then, and at a calm stop.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import Connection, delete, insert, select

from tacit.errors import TacitError
from tacit.ledger.chain import Head
from tacit.ledger.refusals import LedgerRefused
from tacit.ledger.replaying import CHECKPOINT, LogState, Read, digest_of, entries_at_once
from tacit.ledger.schema import checkpoints, log
from tacit.ledger.spending import Place, append

_TRIED = 2
"""As many as `write` leaves: the newest may be one that the second place does not know of yet."""


def newest(connection: Connection, known: Head) -> LogState | None:
    """The newest checkpoint that `known`, a head of the second place, covers; None without one. It
    is believed for the time being: the replay that begins with it has to pass `known`."""
    rows = connection.execute(
        select(checkpoints)
        .where(checkpoints.c.sequence <= known.sequence)
        .order_by(checkpoints.c.sequence.desc())
        .limit(_TRIED)
    ).all()
    for number, text in rows:
        if not is_in_log(connection, number, text):
            continue
        replayed = LogState.from_text(text)
        if replayed and (replayed.ledger, replayed.sequence) == (known.ledger, number - 1):
            replayed.passes = known
            return replayed
    return None


def is_in_log(connection: Connection, number: int, text: str) -> bool:
    """Whether the entry of that number is in the log, and holds the hash of the text."""
    entry = (log.c.sequence == number) & (log.c.kind == CHECKPOINT)
    body = connection.scalar(select(log.c.body).where(entry))
    try:
        return body is not None and bool(json.loads(body)["replayed"] == digest_of(text))
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def store(place: Place, replayed: LogState) -> None:
    """Put the state into the table and its hash into the chain, in the caller's transaction.

    replayed: a sound replay up to the place's last entry. What it began with is left there as well.
    """
    text = replayed.text()
    append(place, CHECKPOINT, {"replayed": digest_of(text)})
    base = replayed.begun + 1 if replayed.begun else 0
    place.connection.execute(delete(checkpoints).where(checkpoints.c.sequence != base))
    place.connection.execute(insert(checkpoints).values(sequence=place.sequence, state=text))


LEAST = 1_000  # entries that are worth a checkpoint at a start or a stop
OFTEN = 10_000  # entries after which a process that goes on spending writes one
PORTION = 100  # entries read at once beside spending, which waits meanwhile
_REST = 3
"""Times as long as a portion needs nothing is read, so that spending gets most of the time."""
STOPS_WITHIN = 1.0  # seconds that a calm stop may take for it

Write = Callable[[Callable[[Place], bool]], bool]
"""Does work in the writer's place, and returns when it is on disk."""


class Keeping:
    """The checkpoints that one process writes. Threads may share it."""

    def __init__(self, read: Read, write: Write, known: Callable[[], Head]) -> None:
        """read, write: transactions of the ledger. known: the newest head that it knows of."""
        self._read, self._write, self._known = read, write, known
        self._last = known().sequence
        self._due = self._last + OFTEN
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def begin(self, replayed: LogState, before: int) -> None:
        """After a sound replay. before: the newest entry when it began."""
        self._last = replayed.begun
        self._due = replayed.sequence + OFTEN  # nobody else writes it meanwhile
        self._keep(replayed, before, LEAST)

    def grown(self) -> None:
        """Call it after every write: at times it sets a thread to work."""
        if self._known().sequence < self._due or self._ending.is_set():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._beside, name="ledger", daemon=True)
            with suppress(RuntimeError):  # the interpreter is on its way out
                self._thread.start()

    def end(self) -> None:
        """A calm stop: what was added since is worth a second at most."""
        self._ending.set()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(STOPS_WITHIN)
            return
        if self._known().sequence - self._last < LEAST:
            return
        with suppress(TacitError):  # the next start takes longer, and tells what is wrong
            self._catch_up(LEAST, until=time.monotonic() + STOPS_WITHIN)

    def _beside(self) -> None:
        """While others spend. Who stops others does so inside `_read` and `_write`."""
        try:
            self._catch_up(OFTEN, until=None)
        except TacitError:
            self._due = self._known().sequence + OFTEN

    def _catch_up(self, least: int, until: float | None) -> None:
        """From the newest checkpoint on. until: without rests, and given up at that time."""
        known = self._known()
        replayed = self._heard(known, until)
        if replayed is None:
            return
        if not _sound(replayed):  # found while others spend it is as bad as at the start
            with self._read():
                raise LedgerRefused(
                    f"{replayed.problems[0]} The ledger is not used any more. All that is wrong:  "
                    "tacit ledger verify."
                )
        self._keep(replayed, known.sequence, least)

    def _heard(self, known: Head, until: float | None) -> LogState | None:
        """Nearly up to the end of the log, or to a problem; None if there was no time. Spenders at
        full speed always add a few entries: the last are read in the writer's place."""
        with self._read() as connection:
            replayed = newest(connection, known) or LogState(passes=known)
        while True:
            worked = time.thread_time()
            with self._read() as connection:
                rows = entries_at_once(connection, replayed.last, PORTION)
            for row in rows:
                replayed.entry(row)
            if len(rows) < PORTION or replayed.problems:
                return replayed
            if until is None and self._ending.wait(_REST * (time.thread_time() - worked)):
                return None
            if until is not None and time.monotonic() > until:
                return None

    def _keep(self, replayed: LogState, before: int, least: int) -> None:
        """Write it, if so much was added, beside what there is to write, that it pays, and nobody
        else did since `before`."""

        def since() -> int:
            """The newest checkpoint that can be counted on: just written, or used."""
            return replayed.checkpoint if replayed.checkpoint > before else replayed.begun

        def pays() -> bool:
            return replayed.sequence - since() >= max(least, least_for(replayed))

        def write(place: Place) -> bool:
            while rows := entries_at_once(place.connection, replayed.last, PORTION):
                for row in rows:
                    replayed.entry(row)
            at_its_end = (replayed.sequence, replayed.hash) == (place.sequence, place.hash)
            due = _sound(replayed) and at_its_end and pays()
            if due:
                store(place, replayed)
            return due

        written = False
        if pays():
            replayed.text()  # most of it is ready when others begin to wait
            written = self._write(write)
        self._last = replayed.sequence if written else since()
        often = max(OFTEN, least_for(replayed))
        self._due = self._last + often + secrets.randbelow(often // 4 + 1)  # workers one by one


def least_for(replayed: LogState) -> int:
    """Entries, so that what is written for each of them stays bounded."""
    return len(replayed.budgets) // 4


def _sound(replayed: LogState) -> bool:
    return not replayed.problems
