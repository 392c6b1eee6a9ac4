"""The ledger: it charges privacy budgets, and returns answers that were paid from them.

Runs at    The curator, beside the service that answers.
Sees       Names of tenants, persons and data sets (use pseudonyms), hashes of requests, answers,
           stored states.
Releases   Answers whose cost is on disk, and nothing else.
Guarantee  The charges to a budget never exceed its cap, even after a crash at any moment; an answer
           is returned only after its charge and its bytes are on disk.
Assumes    A disk that keeps what it says it wrote, and nobody who edits the store together with the
           second place that keeps its newest head.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self, SupportsIndex, TypeVar, cast

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from tacit.errors import ConfigError, PrivacyError, TacitError
from tacit.ledger import refusals, sqlite, states, transactions
from tacit.ledger.amounts import Cap
from tacit.ledger.chain import Head
from tacit.ledger.checkpoints import CheckpointWriter
from tacit.ledger.heads import HeadStore
from tacit.ledger.log_state import LogState
from tacit.ledger.postgres import close_connections
from tacit.ledger.refusals import LedgerFailed, LedgerRefused, LedgerUnavailable
from tacit.ledger.replay import Verification, hash_at, read_transaction, replay
from tacit.ledger.requests import Balance, Charge, Holder, Release, Request
from tacit.ledger.schema import head, log
from tacit.ledger.statements import pipeline_statements
from tacit.ledger.tokens import is_next_token
from tacit.ledger.transactions import Draw, SpendRequest, StatefulDraw, WriteTransaction
from tacit.randomness import replay as replayed_source

T = TypeVar("T")

_PAUSE = 0.001
"""Seconds between two read transactions of `verify`, so that waiting writers go first."""


class Ledger:
    """Budgets of data sets and of persons, and the answers that were paid from them.

    `open_ledger` makes it. Threads may share it. Only one process at a time can have a ledger in a
    file open.
    """

    def __init__(self, engine: Engine, heads: HeadStore, known_head: Head) -> None:
        """Use a store whose log was replayed; `open_ledger` calls this.

        Args:
            engine: The store.
            heads: Where the newest head of its hash chain is also kept, outside the store.
            known_head: The newest head in both.
        """
        self._engine = engine
        self._heads = heads
        self._known_head = known_head
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._stopped: TacitError | None = None
        self._checkpoints = CheckpointWriter(
            self.read_transaction, self._write, lambda: self._known_head
        )
        is_file = engine.dialect.name == "sqlite"
        self._wal_checkpointer = sqlite.WalCheckpointer(self.checkpoint_wal) if is_file else None
        self._state_cache = states.StateCache(states.MAX_CACHED_BYTES if is_file else 0)

    @property
    def head(self) -> Head:
        """The newest entry that this process knows to be on disk, and in the second place."""
        return self._known_head

    def open_budget(self, holder: Holder, cap: Cap) -> None:
        """Open a budget for its lifetime; opening it again with the same cap changes nothing.

        Raises:
            CapChanged: The budget is open with another cap.
        """
        self._write(lambda transaction: transactions.open_budget(transaction, holder, cap))

    def release(
        self,
        request: Request,
        charges: Sequence[Charge],
        draw: Draw | StatefulDraw,
        *,
        state: str | None = None,
    ) -> Release:
        """Charge the budgets, draw the answer and store it, in one transaction: all or nothing.

        It returns after the commit is on disk. A request whose key was answered before gets the
        stored answer, without a charge.

        Args:
            request: The request.
            charges: One for each budget; empty for a release that costs nothing but must be drawn
                only once. A budget that a charge opens stays open if the release is then refused.
            draw: Maps a source of secure randomness to the answer's bytes. It has no other effect,
                since it may be called again if the transaction is undone; and it is quick, since
                other requests wait. If it raises, the charge is paid nevertheless, since whether it
                raises may depend on the data.
            state: Name of a stored state, 1 to 128 of a-z 0-9 / _ -. Then `draw` is called with the
                source and the state's bytes (None at first), and returns the answer and the new
                state, at most 64 MiB, or None to leave the state. Requests on one state come one
                after the other.

        Raises:
            BudgetExhausted, UnknownBudget, UnitsDiffer, KeyReused: Nothing was spent.
            DrawFailed: `draw` raised, or returned what cannot be stored; the charge stands.
            ConfigError: A budget is charged twice, or is another tenant's, or the state's name is
                not valid.
            PrivacyError: It is called inside `simulation()`, or in a forked process.
            LedgerUnavailable: The store cannot be used now; ask again with the same key.
            LedgerRefused: The store must not be used any more.
        """
        if state is None:
            draw = _without_state(cast("Draw", draw))
        spending = SpendRequest(request, tuple(charges), cast("StatefulDraw", draw), state)
        (outcome,) = self.release_all([spending])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def release_all(self, requests: Sequence[SpendRequest]) -> list[Release | TacitError]:
        """Release several requests in one transaction, with one commit to wait for.

        Returns:
            For each request, in order, its release or its error. What a refused request changed is
            undone; after DrawFailed the charge stands.

        Raises:
            PrivacyError, LedgerUnavailable, LedgerRefused: As in `release`, for all requests.
        """
        _refuse_simulation()

        def settle_all(transaction: WriteTransaction) -> list[Release | TacitError]:
            """Open missing budgets, and then settle each request."""
            for spending in requests:
                for charge in spending.charges:
                    transactions.open_if_missing(transaction, charge)
            with pipeline_statements(transaction.connection):
                return [transactions.settle(transaction, spending) for spending in requests]

        return self._write(settle_all)

    def state(self, name: str) -> bytes | None:
        """Return a stored state; None if nothing was stored under that name."""
        states.check_state_name(name)
        self._check_usable()
        cached = self._state_cache.look_up(name)
        if cached is not None:
            return cached.content
        with self.read_transaction() as connection:
            state = states.read_state(connection, name)
            self._state_cache.note({name: state})
            return state

    def cached_state_size(self, name: str) -> int | None:
        """Return the size in bytes of a state that is in memory; None if it is not.

        The size is 0 if nothing was stored under the name. Reading a state that is not in memory
        takes a disk access, and may wait for a commit.
        """
        cached = self._state_cache.look_up(name)
        if cached is None:
            return None
        return 0 if cached.content is None else len(cached.content)

    def balance(self, holder: Holder) -> Balance:
        """Return one budget, to be shown to its holder and the operator only.

        Raises:
            UnknownBudget: It was never opened.
        """
        with self.read_transaction() as connection:
            balance = next(transactions.read_balances(connection, holder), None)
        if balance is None:
            raise refusals.UnknownBudget
        return balance

    def balances(self) -> tuple[Balance, ...]:
        """Return all budgets in the order they were opened, for the operator."""
        with self.read_transaction() as connection:
            return tuple(transactions.read_balances(connection))

    def entries(self, after: int, limit: int) -> tuple[dict[str, Any], ...]:
        """Return the first `limit` entries of the log whose number is above `after`, in order."""
        query = select(log).where(log.c.sequence > after).order_by(log.c.sequence).limit(limit)
        with self.read_transaction() as connection:
            return tuple(dict(row) for row in connection.execute(query).mappings())

    @property
    def epoch(self) -> int:
        """Number of the present epoch."""
        with self.read_transaction() as connection:
            return int(connection.execute(select(head.c.epoch)).scalar_one())

    def advance_epoch(self, token: str) -> int:
        """Begin the next epoch with the operator's token; return its number.

        Caps per epoch begin anew; caps over a lifetime do not.

        Raises:
            PrivacyError: It is not the next token.
            ConfigError: The ledger has no operator.
        """
        return self._write(lambda transaction: _advance_epoch(transaction, token))

    def verify(self) -> Verification:
        """Replay the whole log, without checkpoints, and compare the tables with it.

        It changes nothing, and writers go on meanwhile.
        """

        @contextmanager
        def pause_and_read() -> Iterator[Connection]:
            """Pause for waiting writers, and then open a read transaction."""
            time.sleep(_PAUSE)
            with self.read_transaction() as connection:
                yield connection

        return replay(pause_and_read)

    def copy(self, target: Path) -> None:
        """Copy the ledger's SQLite file, as it is at one moment, to a new file; commits continue.

        Raises:
            OutputError: There is a file at the target, or the copy did not succeed; then no file is
                left.
        """
        self._check_usable()
        with self._explain_failures():
            sqlite.copy_store(self._engine, target)

    def close(self) -> None:
        """Write a checkpoint if there are many new entries, and close the connections.

        In a forked process it writes nothing, and its copy of SQLite's connection stays open,
        because the parent still uses the file.
        """
        is_own_process = os.getpid() == self._process
        if is_own_process and self._stopped is None:
            self._checkpoints.end()
        if is_own_process and self._wal_checkpointer is not None:
            self._wal_checkpointer.end()
        self._stopped = LedgerRefused("This ledger was closed. Open it again.")
        if is_own_process and self._wal_checkpointer is not None:
            sqlite.wait_for_connection(self._engine)
        close_connections(self._engine, self._heads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A ledger is not copied or pickled: open it where it is needed.")

    def begin_checkpoints(self, log_state: LogState, *, head_before: Head | None) -> None:
        """Begin to write checkpoints of the log, after the replay at the start.

        Args:
            log_state: The state at the end of the replay.
            head_before: The head in the second place when the replay began; None if there was none.

        Raises:
            LedgerUnavailable: A disk failed, so that the ledger has stopped.
        """
        newest_before = 0 if head_before is None else head_before.sequence
        try:
            self._checkpoints.begin(log_state, newest_before)
        except LedgerUnavailable:  # a start works without a new checkpoint
            if self._stopped is not None:
                raise

    def _write(self, work: Callable[[WriteTransaction], T]) -> T:
        """Run a function in one write transaction, and commit it.

        Args:
            work: Makes the changes. If it raises, nothing is written.

        Returns:
            The result of `work`, when the store and the second place have the commit on disk.
        """
        self._check_usable()
        with (
            self._explain_failures(),
            self._engine.connect() as connection,
            connection.begin() as database_transaction,
            self._explain_failures(),  # once more inside, to stop before another thread may write
        ):
            transaction = transactions.begin_write(connection, self._state_cache)
            self._check_usable()
            known_head = self._known_head
            head_before = transaction.head
            if (
                head_before.sequence < known_head.sequence
                or head_before.ledger != known_head.ledger
            ):
                raise LedgerRefused(
                    "The store was exchanged for an older or another one while it was open. It is "
                    "not used any more. Nothing was spent."
                )
            result = work(transaction)
            if transaction.sequence > head_before.sequence:
                transactions.finish_write(transaction)
            with transaction.states.note_after_commit():
                database_transaction.commit()
        if self._wal_checkpointer is not None:
            self._wal_checkpointer.note_commit()
        with self._explain_failures():
            self._record_head(transaction.head, head_before)
        self._checkpoints.note_write()
        return result

    def checkpoint_wal(self) -> None:
        """Move all commits from SQLite's write-ahead log into the ledger's file."""
        self._check_usable()
        with self._explain_failures():
            sqlite.checkpoint_wal(self._engine)

    def _record_head(self, newest: Head, head_before: Head) -> None:
        """Record the head in the second place, if it is newer; no answer is returned before that.

        Args:
            newest: The head after a transaction.
            head_before: The head before that transaction. The second place mostly holds this one,
                whose hash then need not be read from the store.
        """

        def read_hash(sequence: int) -> str | None:
            """Return the hash of an entry, which for `head_before` is known without the store."""
            if sequence == head_before.sequence:
                return head_before.hash
            return self.hash_at(sequence)

        if newest.sequence > self._known_head.sequence:
            self._heads.advance(newest, read_hash)
            with self._lock:
                self._known_head = max(self._known_head, newest, key=lambda head: head.sequence)

    def hash_at(self, sequence: int) -> str | None:
        """Read the hash of one entry from the store; None if there is no such entry."""
        with self.read_transaction() as connection:
            return hash_at(connection, sequence)

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """Open a transaction that changes nothing and sees the store at one moment."""
        self._check_usable()
        with self._explain_failures(), read_transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        """Raise SQLAlchemy's errors inside the block as the ledger's own.

        After LedgerRefused or LedgerFailed it is not known what is on disk. Then the ledger stops:
        every later call raises the same error.
        """
        try:
            yield
        except SQLAlchemyError as error:
            reason = refusals.explain_store_error(error)
            if isinstance(reason, LedgerRefused | LedgerFailed):
                self._stopped = self._stopped or reason
            raise reason from None
        except (LedgerRefused, LedgerFailed) as refused:
            self._stopped = self._stopped or refused
            raise

    def _check_usable(self) -> None:
        """Raise an error in another process than the ledger's own, or if the ledger has stopped.

        Called before any lock is taken, because a fork may have copied a lock while it was held.
        """
        if os.getpid() != self._process:
            raise PrivacyError(
                "This ledger belongs to another process, whose connections a fork must not share. "
                "Open it in this process."
            )
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))


def _without_state(draw: Draw) -> StatefulDraw:
    """Wrap a draw function that uses no stored state: the state is ignored and not changed."""
    return lambda source, _old_state: (draw(source), None)


def _advance_epoch(transaction: WriteTransaction, token: str) -> int:
    """Begin the next epoch with the operator's token, as `Ledger.advance_epoch` describes."""
    if transaction.operator is None:
        raise ConfigError("This ledger was made without an operator's anchor: it has one epoch.")
    if not is_next_token(token, transaction.operator):
        raise PrivacyError(
            "This is not the operator's token for the next epoch. The epoch stays as it is."
        )
    transaction.epoch += 1
    transaction.operator = token
    transactions.append_entry(transaction, "epoch", {"epoch": transaction.epoch, "token": token})
    return transaction.epoch


def _refuse_simulation() -> None:
    """Raise PrivacyError inside `simulation()`, where answers are drawn that protect nobody."""
    try:
        replayed_source(0)  # raises outside `simulation()`
    except PrivacyError:
        return
    raise PrivacyError(
        "A ledger releases nothing inside  with randomness.simulation():  because a seeded answer "
        "protects nobody. Nothing was spent."
    )
