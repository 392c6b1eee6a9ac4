"""Checkpoints: stored states of a replay, so that the next start reads only the later entries.

Source     The chain itself: a checkpoint is an entry of the log that holds the SHA-256 of the state
           before it. The text of the state is in a table of its own.
Assumes    Nothing about that table. A state is used only if its hash is in an entry that is not
           newer than the head in the second place; otherwise the replay begins at the first entry.

If enough entries are new, a checkpoint is written after the replay at the start, while a process
runs, and at an orderly stop; but never of a replay that found a problem.
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

_CHECKPOINTS_TRIED = 2
"""Number of checkpoints that a start tries, as many as `store_checkpoint` leaves: the newest may be
one that the second place does not know of yet."""


def newest_checkpoint(connection: Connection, known_head: Head) -> LogState | None:
    """Read the newest valid checkpoint that is not newer than a known head.

    Only the newest two are tried. A checkpoint is valid if the log holds the hash of its state.

    Args:
        connection: A transaction's connection.
        known_head: The head in the second place. The chain after the checkpoint has to lead to it,
            which the replay that begins with the result checks.

    Returns:
        The state of the checkpoint; None if there is no valid one.
    """
    rows = connection.execute(
        select(checkpoints)
        .where(checkpoints.c.sequence <= known_head.sequence)
        .order_by(checkpoints.c.sequence.desc())
        .limit(_CHECKPOINTS_TRIED)
    ).all()
    for number, text in rows:
        if not is_in_log(connection, number, text):
            continue
        log_state = LogState.from_text(text)
        if log_state is None or log_state.ledger != known_head.ledger:
            continue
        if log_state.sequence != number - 1:  # a checkpoint holds the state before its own entry
            continue
        log_state.head_to_match = known_head
        return log_state
    return None


def is_in_log(connection: Connection, number: int, text: str) -> bool:
    """Say whether entry `number` of the log is a checkpoint that holds the hash of this text."""
    is_entry = (log.c.sequence == number) & (log.c.kind == CHECKPOINT)
    body = connection.scalar(select(log.c.body).where(is_entry))
    try:
        return body is not None and bool(json.loads(body)["replayed"] == state_digest(text))
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def store_checkpoint(transaction: WriteTransaction, log_state: LogState) -> None:
    """Put a state into the table and its hash into the chain, in the caller's transaction.

    All older checkpoints are deleted from the table, except the one that the replay began with.

    Args:
        transaction: The writer's transaction.
        log_state: The state of a replay without problems, up to the transaction's last entry.
    """
    text = log_state.text()
    append_entry(transaction, CHECKPOINT, {"replayed": state_digest(text)})
    # A checkpoint is the entry after the last one of its state. No entry has the number 0.
    number_to_keep = log_state.start + 1 if log_state.start else 0
    is_dropped = checkpoints.c.sequence != number_to_keep
    transaction.connection.execute(delete(checkpoints).where(is_dropped))
    transaction.connection.execute(
        insert(checkpoints).values(sequence=transaction.sequence, state=text)
    )


ENTRIES_AT_START_OR_STOP = 1_000
"""Fewest new entries for which a start or a stop writes a checkpoint."""
ENTRIES_WHILE_RUNNING = 10_000
"""Fewest new entries after which a running process writes a checkpoint."""
ENTRIES_AT_ONCE = 100
"""Largest number of entries that are read in one transaction, during which releases wait."""
_PAUSE_FACTOR = 3
"""Pause after each such transaction, as a multiple of its processor time: so releases get most of
the time."""
STOP_SECONDS = 1.0
"""Seconds after which an orderly stop reads no further entries for its checkpoint."""

Write = Callable[[Callable[[WriteTransaction], bool]], bool]
"""Runs a function in one write transaction; returns its result when the commit is on disk."""


class CheckpointWriter:
    """Writes checkpoints for one process. Threads may share it."""

    def __init__(self, read: BeginReading, write: Write, newest_head: Callable[[], Head]) -> None:
        """Prepare a writer; it writes nothing before `begin`.

        Args:
            read: Begins a read transaction of the ledger.
            write: Runs a function in a write transaction of the ledger.
            newest_head: Returns the newest head that the ledger knows of.
        """
        self._read = read
        self._write = write
        self._newest_head = newest_head
        self._last_checkpoint = newest_head().sequence
        self._next_due = self._last_checkpoint + ENTRIES_WHILE_RUNNING
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_ending = threading.Event()

    def begin(self, log_state: LogState, newest_before: int) -> None:
        """Write a checkpoint after the replay at the start, if enough entries are new.

        Args:
            log_state: The state of a replay without problems.
            newest_before: Number of the newest entry that was known when the replay began.
        """
        self._last_checkpoint = log_state.start
        # Set first, so that no other thread writes the same checkpoint meanwhile.
        self._next_due = log_state.sequence + ENTRIES_WHILE_RUNNING
        self._store(log_state, newest_before, ENTRIES_AT_START_OR_STOP)

    def note_write(self) -> None:
        """Start a thread that writes a checkpoint, if one is due; called after each commit."""
        if self._newest_head().sequence < self._next_due or self._is_ending.is_set():
            return
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(
                target=self._write_in_thread, name="ledger", daemon=True
            )
            with suppress(RuntimeError):  # no thread starts while Python exits
                self._thread.start()

    def end(self) -> None:
        """Write a checkpoint at an orderly stop, if there are enough new entries.

        If a thread is writing one already, it is asked to give up, and awaited for `STOP_SECONDS`
        at most; then no other checkpoint is written.
        """
        self._is_ending.set()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(STOP_SECONDS)
            return
        if self._newest_head().sequence - self._last_checkpoint < ENTRIES_AT_START_OR_STOP:
            return
        with suppress(TacitError):  # without it the next start takes longer, and reports the error
            self._catch_up(ENTRIES_AT_START_OR_STOP, deadline=time.monotonic() + STOP_SECONDS)

    def _write_in_thread(self) -> None:
        """Write a checkpoint while releases go on; they wait only for this thread's transactions.

        After an error, the next checkpoint is due `ENTRIES_WHILE_RUNNING` entries later.
        """
        try:
            self._catch_up(ENTRIES_WHILE_RUNNING, deadline=None)
        except TacitError:
            self._next_due = self._newest_head().sequence + ENTRIES_WHILE_RUNNING

    def _catch_up(self, least_new_entries: int, deadline: float | None) -> None:
        """Replay the log after the newest checkpoint, and store the state as a new one.

        Args:
            least_new_entries: Fewest new entries for which a checkpoint is written.
            deadline: Value of `time.monotonic()` after which to give up; a replay with a deadline
                never pauses. With None, it pauses after each transaction, and gives up only after
                `end`.

        Raises:
            LedgerRefused: The replay found a problem; the ledger has stopped.
        """
        known_head = self._newest_head()
        log_state = self._replay_log(known_head, deadline)
        if log_state is None:
            return
        if not _is_sound(log_state):
            with self._read():  # an error inside this block stops the ledger
                raise LedgerRefused(
                    f"{log_state.problems[0]} The ledger is not used any more. Everything that is "
                    "wrong is listed by:  tacit ledger verify."
                )
        self._store(log_state, known_head.sequence, least_new_entries)

    def _replay_log(self, known_head: Head, deadline: float | None) -> LogState | None:
        """Replay the log to its end or to a problem; return None after giving up.

        Releases that go on meanwhile may add a few more entries: `_store` reads those in its write
        transaction.

        Args:
            known_head: The newest head that the ledger knows of.
            deadline: As in `_catch_up`.
        """
        with self._read() as connection:
            log_state = newest_checkpoint(connection, known_head) or LogState(
                head_to_match=known_head
            )
        while True:
            started_at = time.thread_time()
            with self._read() as connection:
                rows = read_entries_in_one_row(connection, log_state.last_row, ENTRIES_AT_ONCE)
            for row in rows:
                log_state.add_entry(row)
            if len(rows) < ENTRIES_AT_ONCE or log_state.problems:
                return log_state
            if deadline is None:
                pause = _PAUSE_FACTOR * (time.thread_time() - started_at)
                if self._is_ending.wait(pause):
                    return None
            elif time.monotonic() > deadline:
                return None

    def _store(self, log_state: LogState, newest_before: int, least_new_entries: int) -> None:
        """Write the state as a checkpoint, if enough entries are new since the last one.

        Args:
            log_state: The state of a replay; it is continued to the end of the log.
            newest_before: Number of the newest entry that was known when the replay began.
            least_new_entries: Fewest new entries for which a checkpoint is written.
        """

        def last_stored_checkpoint() -> int:
            """Return the entry from which new entries are counted.

            It is the checkpoint that another process wrote after the replay began, if there is one.
            Otherwise it is the last entry that the checkpoint with which the replay began covers;
            0 if the replay began at the first entry.
            """
            is_new = log_state.checkpoint > newest_before
            return log_state.checkpoint if is_new else log_state.start

        def has_enough_entries() -> bool:
            """Say whether enough entries are new since the last stored checkpoint."""
            new_entries = log_state.sequence - last_stored_checkpoint()
            return new_entries >= max(least_new_entries, least_entries(log_state))

        def write_if_due(transaction: WriteTransaction) -> bool:
            """Read the last entries, write the checkpoint if it is still due, and say if it was."""
            connection = transaction.connection
            rows = read_entries_in_one_row(connection, log_state.last_row, ENTRIES_AT_ONCE)
            while rows:
                for row in rows:
                    log_state.add_entry(row)
                rows = read_entries_in_one_row(connection, log_state.last_row, ENTRIES_AT_ONCE)
            is_at_end = log_state.sequence == transaction.sequence
            has_read_all = is_at_end and log_state.hash == transaction.hash
            is_due = has_read_all and _is_sound(log_state) and has_enough_entries()
            if is_due:
                store_checkpoint(transaction, log_state)
            return is_due

        was_written = False
        if has_enough_entries():
            log_state.text()  # caches the budgets' lines, so that the write transaction is short
            was_written = self._write(write_if_due)
        self._last_checkpoint = log_state.sequence if was_written else last_stored_checkpoint()
        interval = max(ENTRIES_WHILE_RUNNING, least_entries(log_state))
        # Up to a quarter is added at random, so that not all processes write at the same entry.
        self._next_due = self._last_checkpoint + interval + secrets.randbelow(interval // 4 + 1)


def least_entries(log_state: LogState) -> int:
    """Return the fewest new entries for which any checkpoint is written.

    It is a quarter of the number of budgets. A checkpoint writes one line for each budget, so it
    writes about four lines at most for each new entry.
    """
    return len(log_state.budgets) // 4


def _is_sound(log_state: LogState) -> bool:
    """Say whether a replay found no problem."""
    return not log_state.problems
