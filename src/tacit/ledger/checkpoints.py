"""Checkpoints: the state of a replay without problems, so that a start reads later entries only.

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
from tacit.ledger.log_state import CHECKPOINT, LogState, state_digest
from tacit.ledger.refusals import LedgerRefused
from tacit.ledger.replay import BeginReading, read_entries_in_one_row
from tacit.ledger.schema import checkpoints, log
from tacit.ledger.transactions import WriteTransaction, append_entry

_MOST_TRIED = 2
"""Checkpoints that a start tries, as many as a write leaves: the newest may be one that the second
place does not know of yet."""


def newest_checkpoint(connection: Connection, known: Head) -> LogState | None:
    """Read the newest checkpoint that `known`, a head of the second place, covers; else None.

    It is believed for the time being: the replay that begins with it has to pass `known`.
    """
    rows = connection.execute(
        select(checkpoints)
        .where(checkpoints.c.sequence <= known.sequence)
        .order_by(checkpoints.c.sequence.desc())
        .limit(_MOST_TRIED)
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
    """Say whether the entry of that number is in the log, and holds the hash of the text."""
    entry = (log.c.sequence == number) & (log.c.kind == CHECKPOINT)
    body = connection.scalar(select(log.c.body).where(entry))
    try:
        return body is not None and bool(json.loads(body)["replayed"] == state_digest(text))
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def store_checkpoint(transaction: WriteTransaction, replayed: LogState) -> None:
    """Put the state into the table and its hash into the chain, in the caller's transaction.

    Args:
        transaction: The writer's transaction.
        replayed: A replay without problems up to the transaction's last entry. The checkpoint that
            it began with is left there as well.
    """
    text = replayed.text()
    append_entry(transaction, CHECKPOINT, {"replayed": state_digest(text)})
    base = replayed.begun + 1 if replayed.begun else 0
    transaction.connection.execute(delete(checkpoints).where(checkpoints.c.sequence != base))
    transaction.connection.execute(
        insert(checkpoints).values(sequence=transaction.sequence, state=text)
    )


LEAST = 1_000
"""Entries that are worth a checkpoint at a start or a stop."""
OFTEN = 10_000
"""Entries after which a process that goes on spending writes one."""
PORTION = 100
"""Entries read at once beside spending, which waits meanwhile."""
_REST = 3
"""Times as long as a portion took nothing is read, so that spending gets most of the time."""
STOPS_WITHIN = 1.0
"""Seconds that a calm stop may take for it."""

Write = Callable[[Callable[[WriteTransaction], bool]], bool]
"""Does work in one write transaction, and returns when it is on disk."""


class CheckpointWriter:
    """The checkpoints that one process writes. Threads may share it."""

    def __init__(self, read: BeginReading, write: Write, known: Callable[[], Head]) -> None:
        """read, write: transactions of the ledger. known: the newest head that it knows of."""
        self._read, self._write, self._known = read, write, known
        self._last = known().sequence
        self._due = self._last + OFTEN
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()

    def begin(self, replayed: LogState, before: int) -> None:
        """Write a checkpoint after the replay at the start, if that is worth it.

        Args:
            replayed: A replay without problems.
            before: The newest entry when it began.
        """
        self._last = replayed.begun
        self._due = replayed.sequence + OFTEN  # nobody else writes it meanwhile
        self._store(replayed, before, LEAST)

    def note_write(self) -> None:
        """Take note of a write: at times a thread begins to write a checkpoint."""
        if self._known().sequence < self._due or self._ending.is_set():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
            with suppress(RuntimeError):  # the interpreter is on its way out
                self._thread.start()

    def end(self) -> None:
        """Write a checkpoint of what was added, at a calm stop, within a second at most."""
        self._ending.set()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(STOPS_WITHIN)
            return
        if self._known().sequence - self._last < LEAST:
            return
        with suppress(TacitError):  # the next start takes longer, and tells what is wrong
            self._catch_up(LEAST, until=time.monotonic() + STOPS_WITHIN)

    def _work(self) -> None:
        """Catch up while others spend; they wait inside `_read` and `_write` only."""
        try:
            self._catch_up(OFTEN, until=None)
        except TacitError:
            self._due = self._known().sequence + OFTEN

    def _catch_up(self, least: int, until: float | None) -> None:
        """Replay from the newest checkpoint on, and store the state.

        Args:
            least: Entries that are worth a checkpoint.
            until: Time to give up at, without rests before; None rests between portions.
        """
        known = self._known()
        replayed = self._replay_log(known, until)
        if replayed is None:
            return
        if not _has_no_problem(replayed):  # found while others spend it is as bad as at the start
            with self._read():
                raise LedgerRefused(
                    f"{replayed.problems[0]} The ledger is not used any more. All that is wrong:  "
                    "tacit ledger verify."
                )
        self._store(replayed, known.sequence, least)

    def _replay_log(self, known: Head, until: float | None) -> LogState | None:
        """Replay nearly up to the end of the log, or to a problem; None if there was no time.

        Spenders at full speed always add a few entries: the last are read in the write transaction.
        """
        with self._read() as connection:
            replayed = newest_checkpoint(connection, known) or LogState(passes=known)
        while True:
            worked = time.thread_time()
            with self._read() as connection:
                rows = read_entries_in_one_row(connection, replayed.last, PORTION)
            for row in rows:
                replayed.add_entry(row)
            if len(rows) < PORTION or replayed.problems:
                return replayed
            if until is None and self._ending.wait(_REST * (time.thread_time() - worked)):
                return None
            if until is not None and time.monotonic() > until:
                return None

    def _store(self, replayed: LogState, before: int, least: int) -> None:
        """Write the state, if enough was added to pay for it and nobody else did since `before`."""

        def last_checkpoint() -> int:
            """Return the newest checkpoint that can be counted on: just written, or used."""
            return replayed.checkpoint if replayed.checkpoint > before else replayed.begun

        def pays() -> bool:
            added = replayed.sequence - last_checkpoint()
            return added >= max(least, least_entries(replayed))

        def write(transaction: WriteTransaction) -> bool:
            rows = read_entries_in_one_row(transaction.connection, replayed.last, PORTION)
            while rows:
                for row in rows:
                    replayed.add_entry(row)
                rows = read_entries_in_one_row(transaction.connection, replayed.last, PORTION)
            is_at_end = replayed.sequence == transaction.sequence
            is_same = is_at_end and replayed.hash == transaction.hash
            is_due = _has_no_problem(replayed) and is_same and pays()
            if is_due:
                store_checkpoint(transaction, replayed)
            return is_due

        written = False
        if pays():
            replayed.text()  # most of it is ready when others begin to wait
            written = self._write(write)
        self._last = replayed.sequence if written else last_checkpoint()
        often = max(OFTEN, least_entries(replayed))
        self._due = self._last + often + secrets.randbelow(often // 4 + 1)  # workers one by one


def least_entries(replayed: LogState) -> int:
    """Return how many new entries pay for a checkpoint, so that its cost for each is bounded."""
    return len(replayed.budgets) // 4


def _has_no_problem(replayed: LogState) -> bool:
    return not replayed.problems
