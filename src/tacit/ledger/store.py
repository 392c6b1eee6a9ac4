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
from tacit.ledger import refusals, spending, sqlite, statements
from tacit.ledger.chain import Head, HeadStore, follows
from tacit.ledger.checkpoints import Keeping
from tacit.ledger.postgres import give_back
from tacit.ledger.refusals import LedgerFailed, LedgerRefused, LedgerUnavailable
from tacit.ledger.replaying import LogState, Verification, hash_at, reading, replay
from tacit.ledger.requests import Balance, Cap, Charge, Holder, Release, Request
from tacit.ledger.schema import head, log
from tacit.ledger.spending import Draw, Place, Spending, StatefulDraw
from tacit.randomness import replay as replayed_source

T = TypeVar("T")

_PAUSE = 0.001  # seconds


class Ledger:
    """Budgets of data sets and of persons, and the answers that were paid from them. Made by
    `open_ledger`. Threads may share one; of a ledger in a file one process is the owner."""

    def __init__(self, engine: Engine, heads: HeadStore, known: Head) -> None:
        self._engine = engine
        self._heads = heads
        self._known = known
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._stopped: TacitError | None = None
        self._keeping = Keeping(self.reading, self._write, lambda: self._known)
        in_a_file = engine.dialect.name == "sqlite"
        self._emptying = sqlite.Emptying(self.empty_log) if in_a_file else None
        self._remembered = statements.Remembered(statements.MOST_REMEMBERED if in_a_file else 0)

    @property
    def head(self) -> Head:
        """The newest entry that this process knows to be on disk in both places."""
        return self._known

    def open_budget(self, holder: Holder, cap: Cap) -> None:
        """Open a budget for life. Again with the same cap changes nothing; CapChanged otherwise."""
        self._write(lambda place: spending.open_budget(place, holder, cap))

    def release(
        self,
        request: Request,
        charges: Sequence[Charge],
        draw: Draw | StatefulDraw,
        *,
        state: str | None = None,
    ) -> Release:
        """Charge every budget or none, draw, store: one transaction; returns after it is on disk.

        charges: may be empty, for what costs nothing but must happen once. A budget that a charge
        opens stays open if the release is then refused.
        draw: takes a source of secure randomness and gives the answer's bytes. It may be called
        again if the transaction is undone, so it changes nothing else; others wait meanwhile, so it
        is quick. What it raises is paid for as well (DrawFailed), since it may depend on the data.
        state: the name of a kept state, 1 to 128 of a-z 0-9 / _ -. Then draw(source, before) gives
        the answer and the new state, at most 64 MiB, or None to leave it. Requests on one state
        come one after the other, each with what the one before it left.
        BudgetExhausted, UnknownBudget, UnitsDiffer, KeyReused: nothing was spent or changed.
        """
        if state is None:
            plain = cast("Draw", draw)
            draw = lambda source, _: (plain(source), None)  # noqa: E731
        asked = Spending(request, tuple(charges), cast("StatefulDraw", draw), state)
        (outcome,) = self.release_all([asked])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def release_all(self, asked: Sequence[Spending]) -> list[Release | TacitError]:
        """Many of them, each for itself, in one transaction: what came of each."""
        _refuse_simulation()

        def settled(place: Place) -> list[Release | TacitError]:
            for charge in (charge for one in asked for charge in one.charges):
                spending.open_missing(place, charge)
            with statements.queued(place.connection):
                return [spending.settle(place, one) for one in asked]

        return self._write(settled)

    def state(self, name: str) -> bytes | None:
        """A kept state as it stands; None if nothing was kept under that name."""
        statements.check_state_name(name)
        self._check_usable()
        remembered = self._remembered.known(name)
        if remembered is not None:
            return remembered[0]
        with self.reading() as connection:
            state = statements.read_state(connection, name)
            self._remembered.note({name: state})
            return state

    def balance(self, holder: Holder) -> Balance:
        """One budget as it stands; UnknownBudget. Show it to its holder and the operator only."""
        with self.reading() as connection:
            balance = next(spending.balances(connection, holder), None)
        if balance is None:
            raise refusals.UnknownBudget
        return balance

    def balances(self) -> tuple[Balance, ...]:
        """All budgets in the order they were opened, for the operator."""
        with self.reading() as connection:
            return tuple(spending.balances(connection))

    def entries(self, after: int, limit: int) -> tuple[dict[str, Any], ...]:
        """Entries of the log after a number, oldest first, for the operator and auditors."""
        question = select(log).where(log.c.sequence > after).order_by(log.c.sequence)
        with self.reading() as connection:
            return tuple(map(dict, connection.execute(question.limit(limit)).mappings()))

    @property
    def epoch(self) -> int:
        """The epoch that spending counts in now."""
        with self.reading() as connection:
            return int(connection.execute(select(head.c.epoch)).scalar_one())

    def advance_epoch(self, token: str) -> int:
        """Begin the next epoch with the operator's token; gives its number. Lifetime caps stay."""
        return self._write(lambda place: _advance(place, token))

    def verify(self) -> Verification:
        """Replay the whole log against all tables, whatever checkpoints there are. Changes nothing,
        and writers go on meanwhile."""

        @contextmanager
        def in_turn() -> Iterator[Connection]:
            time.sleep(_PAUSE)  # those who wait for the store go first
            with self.reading() as connection:
                yield connection

        return replay(in_turn)

    def copy(self, to: Path) -> None:
        """Copy a ledger in a file, as it is at one moment, to a new file; commits go on meanwhile.
        OutputError if it cannot be written: then no file is left."""
        self._check_usable()
        with self._failures():
            sqlite.copy(self._engine, to)

    def close(self) -> None:
        """Write a checkpoint if much was added, and give the store's connections back."""
        mine = os.getpid() == self._process
        if mine and self._stopped is None:
            self._keeping.end()
        if mine and self._emptying is not None:
            self._emptying.end()
        self._stopped = LedgerRefused("This ledger was closed. Open it again.")
        if mine and self._emptying is not None:
            sqlite.returned(self._engine)
        give_back(self._engine, self._heads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A ledger is not copied or pickled: open it where it is needed.")

    def _begin(self, replayed: LogState, *, before: Head | None) -> None:
        """After the replay at the start. before: what the second place held when it began."""
        try:
            self._keeping.begin(replayed, 0 if before is None else before.sequence)
        except LedgerUnavailable:
            if self._stopped is not None:
                raise

    def _write(self, work: Callable[[Place], T]) -> T:
        """One transaction in the writer's place; returns when both places have it on disk."""
        self._check_usable()
        with (
            self._failures(),
            self._engine.connect() as connection,
            connection.begin() as transaction,
            self._failures(),  # notes a failed disk before another thread gets the place
        ):
            place = spending.take_place(connection, self._remembered)
            self._check_usable()
            known, entered = self._known, place.head
            if entered.sequence < known.sequence or entered.ledger != known.ledger:
                raise LedgerRefused(
                    "The store was exchanged for an older or another one while it was open. It is "
                    "not used any more. Nothing was spent."
                )
            result = work(place)
            if place.sequence > entered.sequence:
                spending.leave_place(place)
            with place.states.noted():
                transaction.commit()
        if self._emptying is not None:
            self._emptying.grown()
        with self._failures():
            self._tell(place.head, entered)
        self._keeping.grown()
        return result

    def empty_log(self) -> None:
        """Of a ledger in a file: move what was committed from its log into the file."""
        self._check_usable()
        with self._failures():
            sqlite.empty(self._engine)

    def _tell(self, newest: Head, entered: Head) -> None:
        """Record the head in the second place: nobody is answered before. entered: the head that
        the transaction began with. The second place mostly holds that one."""

        def hash_of(sequence: int) -> str | None:
            return entered.hash if sequence == entered.sequence else self._hash_at(sequence)

        if newest.sequence > self._known.sequence:
            self._heads.advance(newest, hash_of)
            with self._lock:
                self._known = max(self._known, newest, key=lambda head: head.sequence)

    def _hash_at(self, sequence: int) -> str | None:
        """By the store: what this process remembers says nothing about what lies there now."""
        with self.reading() as connection:
            return hash_at(connection, sequence)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that changes nothing and sees one moment, for auditors."""
        self._check_usable()
        with self._failures(), reading(self._engine) as connection:
            yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """The store's own errors as sentences; after one that leaves doubt nothing more is done."""
        try:
            yield
        except SQLAlchemyError as error:
            reason = refusals.explained(error)
            if isinstance(reason, LedgerRefused | LedgerFailed):
                self._stopped = self._stopped or reason
            raise reason from None
        except (LedgerRefused, LedgerFailed) as refused:
            self._stopped = self._stopped or refused
            raise

    def _check_usable(self) -> None:
        """Before any lock, which a fork may have copied while it was held."""
        if os.getpid() != self._process:
            raise PrivacyError(
                "This ledger belongs to another process, whose connections a fork must not share. "
                "Open it in this process."
            )
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped))


def _advance(place: Place, token: str) -> int:
    if place.operator is None:
        raise ConfigError("This ledger was made without an operator's anchor: it has one epoch.")
    if not follows(token, place.operator):
        raise PrivacyError(
            "This is not the operator's token for the next epoch. The epoch stays as it is."
        )
    place.epoch += 1
    place.operator = token
    spending.append(place, "epoch", {"epoch": place.epoch, "token": token})
    return place.epoch


def _refuse_simulation() -> None:
    """A seeded stream works only inside `simulation()`, and answers drawn there protect nobody."""
    try:
        replayed_source(0)
    except PrivacyError:
        return
    raise PrivacyError(
        "A ledger releases nothing inside  with randomness.simulation():  because a seeded answer "
        "protects nobody. Nothing was spent."
    )
