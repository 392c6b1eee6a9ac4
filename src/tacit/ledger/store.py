"""The ledger: the one place where privacy is paid for and answers come from.

Runs at    The curator, beside the service that answers.
Sees       Names of tenants, persons and data sets (use pseudonyms), hashes of requests, answers.
Releases   Answers whose cost is on disk, and nothing else.
Guarantee  What was charged to a budget never passes its cap, in every state the store can be found
           in; an answer leaves only after its charge and its bytes are durable.
Assumes    A disk that keeps what it says it wrote, and nobody who edits store and head together.
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
from tacit.ledger.postgres import give_back
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
"""Seconds between two portions of a replay."""


class Ledger:
    """Budgets of data sets and of persons, and the answers that were paid from them.

    Made by `open_ledger`. Threads may share one; of a ledger in a file one process is the owner.
    """

    def __init__(self, engine: Engine, heads: HeadStore, known: Head) -> None:
        self._engine = engine
        self._heads = heads
        self._known = known
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._stopped: TacitError | None = None
        self._checkpoints = CheckpointWriter(
            self.read_transaction, self._write, lambda: self._known
        )
        in_a_file = engine.dialect.name == "sqlite"
        self._log_emptier = sqlite.LogEmptier(self.empty_log) if in_a_file else None
        self._state_cache = states.StateCache(states.MOST_CACHED_BYTES if in_a_file else 0)

    @property
    def head(self) -> Head:
        """The newest entry that this process knows to be on disk in both places."""
        return self._known

    def open_budget(self, holder: Holder, cap: Cap) -> None:
        """Open a budget for life; again with the same cap changes nothing.

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
        """Charge every budget or none, draw and store, in one transaction.

        It returns after that is on disk.

        Args:
            request: The request.
            charges: One for each budget; empty for what costs nothing but must happen once. A
                budget that a charge opens stays open if the release is then refused.
            draw: Maps a source of secure randomness to the answer's bytes. It may be called again
                if the transaction is undone, so it changes nothing else; others wait meanwhile, so
                it is quick. What it raises is paid for as well, since it may depend on the data.
            state: Name of a stored state, 1 to 128 of a-z 0-9 / _ -. Then draw(source, before)
                gives the answer and the new state, at most 64 MiB, or None to leave it. Requests
                on one state come one after the other, each with what the one before it left.

        Raises:
            BudgetExhausted, UnknownBudget, UnitsDiffer, KeyReused: Nothing was spent or changed.
            DrawFailed: `draw` raised; the charge stands.
            ConfigError: A budget is charged twice, or is another tenant's, or the state has no such
                name.
        """
        if state is None:
            draw = _without_state(cast("Draw", draw))
        spending = SpendRequest(request, tuple(charges), cast("StatefulDraw", draw), state)
        (outcome,) = self.release_all([spending])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def release_all(self, requests: Sequence[SpendRequest]) -> list[Release | TacitError]:
        """Release requests, each for itself, in one transaction; return the outcome of each."""
        _refuse_simulation()

        def settle_all(transaction: WriteTransaction) -> list[Release | TacitError]:
            for request in requests:
                for charge in request.charges:
                    transactions.open_if_missing(transaction, charge)
            with pipeline_statements(transaction.connection):
                return [transactions.settle(transaction, request) for request in requests]

        return self._write(settle_all)

    def state(self, name: str) -> bytes | None:
        """Return a stored state; None if nothing was stored under that name."""
        states.check_state_name(name)
        self._check_usable()
        cached = self._state_cache.look_up(name)
        if cached is not None:
            return cached[0]
        with self.read_transaction() as connection:
            state = states.read_state(connection, name)
            self._state_cache.note({name: state})
            return state

    def size_in_memory(self, name: str) -> int | None:
        """Return the bytes of a state that is in memory now, 0 if nothing was stored.

        None: it is not, and reading it may wait for a commit or the disk.
        """
        cached = self._state_cache.look_up(name)
        return None if cached is None else len(cached[0] or b"")

    def balance(self, holder: Holder) -> Balance:
        """Return one budget. Show it to its holder and the operator only.

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
        """Return at most `limit` entries of the log after a number, oldest first."""
        question = select(log).where(log.c.sequence > after).order_by(log.c.sequence)
        with self.read_transaction() as connection:
            return tuple(map(dict, connection.execute(question.limit(limit)).mappings()))

    @property
    def epoch(self) -> int:
        """The epoch that spending counts in now."""
        with self.read_transaction() as connection:
            return int(connection.execute(select(head.c.epoch)).scalar_one())

    def advance_epoch(self, token: str) -> int:
        """Begin the next epoch with the operator's token; return its number. Lifetime caps stay.

        Raises:
            PrivacyError: It is not the next token.
            ConfigError: The ledger has no operator.
        """
        return self._write(lambda transaction: _advance_epoch(transaction, token))

    def verify(self) -> Verification:
        """Replay the whole log against all tables, whatever checkpoints there are.

        Nothing changes, and writers go on meanwhile.
        """

        @contextmanager
        def read_in_turn() -> Iterator[Connection]:
            time.sleep(_PAUSE)  # those who wait for the store go first
            with self.read_transaction() as connection:
                yield connection

        return replay(read_in_turn)

    def copy(self, to: Path) -> None:
        """Copy a ledger in a file, as it is at one moment, to a new file; commits go on meanwhile.

        Raises:
            OutputError: The copy cannot be written; no file is left.
        """
        self._check_usable()
        with self._failures():
            sqlite.copy_store(self._engine, to)

    def close(self) -> None:
        """Write a checkpoint if much was added, and give the store's connections back."""
        mine = os.getpid() == self._process
        if mine and self._stopped is None:
            self._checkpoints.end()
        if mine and self._log_emptier is not None:
            self._log_emptier.end()
        self._stopped = LedgerRefused("This ledger was closed. Open it again.")
        if mine and self._log_emptier is not None:
            sqlite.wait_for_connection(self._engine)
        give_back(self._engine, self._heads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A ledger is not copied or pickled: open it where it is needed.")

    def begin_checkpoints(self, replayed: LogState, *, before: Head | None) -> None:
        """Begin to write checkpoints, after the replay at the start.

        Args:
            replayed: The state after it.
            before: The head of the second place when it began.
        """
        try:
            self._checkpoints.begin(replayed, 0 if before is None else before.sequence)
        except LedgerUnavailable:
            if self._stopped is not None:
                raise

    def _write(self, work: Callable[[WriteTransaction], T]) -> T:
        """Do work in one write transaction; return when both places have it on disk."""
        self._check_usable()
        with (
            self._failures(),
            self._engine.connect() as connection,
            connection.begin() as database_transaction,
            self._failures(),  # notes a failed disk before another thread gets the place
        ):
            transaction = transactions.begin_write(connection, self._state_cache)
            self._check_usable()
            known = self._known
            entered = transaction.head
            if entered.sequence < known.sequence or entered.ledger != known.ledger:
                raise LedgerRefused(
                    "The store was exchanged for an older or another one while it was open. It is "
                    "not used any more. Nothing was spent."
                )
            result = work(transaction)
            if transaction.sequence > entered.sequence:
                transactions.finish_write(transaction)
            with transaction.states.note_after_commit():
                database_transaction.commit()
        if self._log_emptier is not None:
            self._log_emptier.note_commit()
        with self._failures():
            self._record_head(transaction.head, entered)
        self._checkpoints.note_write()
        return result

    def empty_log(self) -> None:
        """Move what was committed from a file's log into the file."""
        self._check_usable()
        with self._failures():
            sqlite.empty_write_ahead_log(self._engine)

    def _record_head(self, newest: Head, entered: Head) -> None:
        """Record the head in the second place: no one is answered before.

        Args:
            newest: The head after the transaction.
            entered: The head before it, which the second place mostly holds.
        """

        def hash_of(sequence: int) -> str | None:
            return entered.hash if sequence == entered.sequence else self.hash_at(sequence)

        if newest.sequence > self._known.sequence:
            self._heads.advance(newest, hash_of)
            with self._lock:
                self._known = max(self._known, newest, key=lambda head: head.sequence)

    def hash_at(self, sequence: int) -> str | None:
        """Read the hash of one entry from the store, not from the memory of this process."""
        with self.read_transaction() as connection:
            return hash_at(connection, sequence)

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """Open a transaction that changes nothing and sees one moment, for auditors."""
        self._check_usable()
        with self._failures(), read_transaction(self._engine) as connection:
            yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn the store's errors into sentences; after one that leaves doubt, stop for good."""
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
        """Refuse another process, or a stopped ledger, before any lock, which a fork may hold."""
        if os.getpid() != self._process:
            raise PrivacyError(
                "This ledger belongs to another process, whose connections a fork must not share. "
                "Open it in this process."
            )
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))


def _without_state(draw: Draw) -> StatefulDraw:
    """Make a stateful function from one that draws without a state."""
    return lambda source, _before: (draw(source), None)


def _advance_epoch(transaction: WriteTransaction, token: str) -> int:
    """Begin the next epoch, and return its number."""
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
    """Refuse to release inside `simulation()`: answers drawn there protect no one.

    A seeded stream works only there.
    """
    try:
        replayed_source(0)
    except PrivacyError:
        return
    raise PrivacyError(
        "A ledger releases nothing inside  with randomness.simulation():  because a seeded answer "
        "protects nobody. Nothing was spent."
    )
