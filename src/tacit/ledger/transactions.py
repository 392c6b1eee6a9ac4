"""A charge on its way to the disk, inside a write transaction.

`begin_write` locks the head's row; `open_budget` opens budgets; `settle` takes the key, pays, draws
and stores each request; `append_entry` adds to the chain; `finish_write` records the chain's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningUpdate

from tacit.errors import ConfigError, TacitError
from tacit.ledger import refusals, states
from tacit.ledger.amounts import Cap, Unit
from tacit.ledger.chain import Head, entry_body, entry_hash, fingerprint
from tacit.ledger.refusals import DrawFailed
from tacit.ledger.requests import Balance, Charge, Holder, Release, Request
from tacit.ledger.schema import answers, budgets, head, log, requests
from tacit.ledger.statements import SentStatement, Statement
from tacit.ledger.states import StateCache, TransactionStates
from tacit.randomness import Source, secure

Draw = Callable[[Source], bytes]
StatefulDraw = Callable[[Source, bytes | None], tuple[bytes, bytes | None]]
"""Maps the stored state, None at first, to the answer and the new state, None to leave it."""


@dataclass(frozen=True)
class SpendRequest:
    """One request with its price and the function that draws its answer."""

    request: Request
    """The request."""
    charges: tuple[Charge, ...]
    """One charge for each budget, of the request's own tenant."""
    draw: StatefulDraw
    """Draws the answer."""
    state: str | None = None
    """Name of the stored state that the answer changes; None for none."""

    def __post_init__(self) -> None:
        holders = {charge.holder for charge in self.charges}
        if len(holders) != len(self.charges):
            raise ConfigError("A release charges each of its budgets once.")
        if any(holder.tenant != self.request.tenant for holder in holders):
            raise ConfigError("A release charges budgets of the request's own tenant only.")
        if self.state is not None:
            states.check_state_name(self.state)


@dataclass
class WriteTransaction:
    """The transaction of the one writer, with the chain's end so far."""

    states: TransactionStates
    """Stored states, as this transaction reads and changes them."""
    connection: sa.Connection
    """Its connection."""
    ledger: str
    """Random name of the ledger."""
    operator: str | None
    """The last token, or the anchor; None without epochs."""
    epoch: int
    """The present epoch."""
    sequence: int
    """Number of the last entry."""
    hash: str
    """Hash of the last entry."""

    @property
    def head(self) -> Head:
        """The last entry."""
        return Head(self.ledger, self.sequence, self.hash)


def begin_write(connection: sa.Connection, cache: StateCache) -> WriteTransaction:
    """Lock the row that every writer locks first; others wait until this transaction ends."""
    (row,) = _LOCK_HEAD.run(connection).rows()
    return WriteTransaction(TransactionStates(connection, cache), connection, *row)


def finish_write(transaction: WriteTransaction) -> None:
    """Write the new states, then the chain's end: the transaction's last statements."""
    transaction.states.write()
    moved = {
        "to": transaction.sequence,
        "digest": transaction.hash,
        "now": transaction.epoch,
        "by": transaction.operator,
    }
    _MOVE_HEAD.run(transaction.connection, moved)


def append_entry(transaction: WriteTransaction, kind: str, facts: dict[str, Any]) -> None:
    """Add an entry to the chain. The clock is only noted, never asked."""
    body = entry_body({**facts, "at": int(time.time())})
    transaction.sequence += 1
    transaction.hash = entry_hash(transaction.hash, transaction.sequence, kind, body)
    row = {"sequence": transaction.sequence, "kind": kind, "body": body, "hash": transaction.hash}
    _ENTRY.run(transaction.connection, row)


def open_budget(transaction: WriteTransaction, holder: Holder, cap: Cap) -> None:
    """Open a budget for life; CapChanged where it is open with another cap."""
    known = next(read_balances(transaction.connection, holder), None)
    if known is not None:
        if known.cap != cap:
            raise refusals.CapChanged
        return
    number = (_LAST.run(transaction.connection).rows()[0][0] or 0) + 1
    caps = {"cap": cap.amount, "delta_cap": cap.delta, "epoch_cap": cap.per_epoch}
    facts = {**_holder_columns(holder), "unit": cap.unit.value, **caps}
    empty = {"spent": 0, "delta_spent": 0, "epoch": 0, "epoch_spent": 0}
    _OPEN.run(transaction.connection, {"id": number, **facts, **empty})
    append_entry(transaction, "budget", {"number": number, **facts})


def open_if_missing(transaction: WriteTransaction, charge: Charge) -> None:
    """Open the budget of a charge that brings a cap. One that is open keeps the cap it has."""
    if charge.opens is not None and find_budget(transaction.connection, charge.holder) is None:
        open_budget(transaction, charge.holder, charge.opens)


def settle(transaction: WriteTransaction, spending: SpendRequest) -> Release | TacitError:
    """Spend one request among others; if it is refused, only its part is undone."""
    _PART.run(transaction.connection)
    outcome: Release | TacitError
    try:
        outcome = spend(transaction, spending)
    except TacitError as refused:
        _UNDO.run(transaction.connection)
        outcome = refused
    _KEEP.run(transaction.connection)
    return outcome


def spend(transaction: WriteTransaction, spending: SpendRequest) -> Release | DrawFailed:
    """Take the key, pay the charges, draw and store the answer, and append the entry.

    Key and charges are sent together; without the key no charge is taken. The caller undoes what
    was written if this raises.

    Raises:
        KeyReused: The key was used with another payload.
        BudgetExhausted: A budget does not cover its charge.
        UnknownBudget: A budget was never opened.
        UnitsDiffer: A charge is not in its budget's unit.
    """
    request = spending.request
    number = transaction.sequence + 1
    row = {"sequence": number, **_scope(request), "payload": request.digest}
    claimed = _CLAIM.run(transaction.connection, row)  # no row if the key is taken
    charges = sorted(spending.charges, key=_charge_order)
    payments = [_pay(transaction, charge, number) for charge in charges]
    is_new = bool(claimed.rows())
    rows_paid = [payment.rows() for payment in payments]
    if not is_new:
        return find_release(transaction.connection, request)
    paid = []
    for charge, rows in zip(charges, rows_paid, strict=True):
        paid.append(_check_payment(transaction, charge, rows))
    before = None if spending.state is None else transaction.states.read(spending.state)
    answer, after = _draw_answer(spending.draw, before)
    _ANSWER.run(transaction.connection, {"sequence": number, "answer": answer})
    spent = {"charges": paid, "epoch": transaction.epoch, "answer": fingerprint(answer)}
    facts = {**_request_facts(request), **spent}
    if spending.state is None or after is None:
        append_entry(transaction, "release", facts)
    else:
        append_entry(
            transaction, "release", {**facts, "state": [spending.state, fingerprint(after)]}
        )
        transaction.states.change(spending.state, after, number)
    return _outcome(answer, number, repeated=False)


def find_release(connection: sa.Connection, request: Request) -> Release | DrawFailed:
    """Return the outcome stored under a key that is taken.

    Raises:
        KeyReused: It was for another payload.
    """
    ((payload, sequence, answer),) = _STORED.run(connection, _scope(request)).rows()
    if payload != request.digest:
        raise refusals.KeyReused
    return _outcome(answer, sequence, repeated=True)


def _outcome(answer: bytes | None, sequence: int, *, repeated: bool) -> Release | DrawFailed:
    """Return a release, or without an answer the refusal that stands for every repetition."""
    return DrawFailed() if answer is None else Release(bytes(answer), repeated, sequence)


def read_balances(connection: sa.Connection, holder: Holder | None = None) -> Iterator[Balance]:
    """Yield all budgets, or the one of a holder."""
    ((now,),) = _EPOCH.run(connection).rows()
    if holder is None:
        sent = _EVERY.run(connection)
    else:
        sent = _ONE.run(connection, _holder_columns(holder))
    for values in sent.rows():
        row = dict(zip(budgets.c.keys(), values, strict=True))
        yield Balance(
            number=row["id"],
            holder=Holder(row["tenant"], row["kind"], row["name"]),
            cap=Cap(Unit(row["unit"]), row["cap"], row["delta_cap"], row["epoch_cap"]),
            spent=row["spent"],
            delta_spent=row["delta_spent"],
            epoch_spent=row["epoch_spent"] if row["epoch"] == now else 0,
        )


def find_budget(connection: sa.Connection, holder: Holder) -> tuple[int, str] | None:
    """Return number and unit of a budget, public facts, and not its balance; None without one."""
    rows = _NUMBER.run(connection, _holder_columns(holder)).rows()
    return rows[0] if rows else None


def _charge_order(charge: Charge) -> tuple[bool, str]:
    """Sort persons by name, and then data sets."""
    return charge.holder.kind == "dataset", charge.holder.name


def _holder_columns(holder: Holder) -> dict[str, str]:
    """Return the columns that name a budget."""
    return {"tenant": holder.tenant, "kind": holder.kind, "name": holder.name}


def _request_facts(request: Request) -> dict[str, str]:
    """Return the facts of a request as an entry holds them."""
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "key": request.key,
        "payload": request.digest,
    }


def _scope(request: Request) -> dict[str, str]:
    """Return the columns that name a request."""
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "request_key": request.key,
    }


def _pay(transaction: WriteTransaction, charge: Charge, number: int) -> SentStatement:
    """Take the price from the budget: no row if it does not cover it, or the key was taken."""
    cost = charge.cost
    price = {"in": cost.unit.value, "amount": cost.amount, "delta": cost.delta}
    by = {"now": transaction.epoch, "by": number}
    return _PAY.run(transaction.connection, {**_holder_columns(charge.holder), **price, **by})


def _check_payment(transaction: WriteTransaction, charge: Charge, rows: list[Any]) -> list[int]:
    """Return number of the budget, amount, delta; or raise the reason why nothing was paid."""
    cost = charge.cost
    if rows:
        return [rows[0][0], cost.amount, cost.delta]
    known = find_budget(transaction.connection, charge.holder)
    if known is None:
        raise refusals.UnknownBudget
    if known[1] != cost.unit.value:
        raise refusals.UnitsDiffer
    raise refusals.BudgetExhausted


def _draw_answer(draw: StatefulDraw, before: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Draw the answer and the new state; no answer if drawing failed, and then the state stays.

    The error may hold data, so it goes no further.
    """
    try:
        answer, after = draw(secure(), before)
    except Exception:
        return None, None
    is_storable = after is None or (type(after) is bytes and len(after) <= states.LARGEST_STATE)
    return (answer, after) if type(answer) is bytes and is_storable else (None, None)


def _payment() -> ReturningUpdate[tuple[int]]:
    """Return one statement that checks the caps and adds the price: nothing comes between."""
    row = budgets.c
    amount = sa.bindparam("amount", type_=sa.BigInteger)
    delta = sa.bindparam("delta", type_=sa.BigInteger)
    now = sa.bindparam("now", type_=sa.BigInteger)
    in_epoch = sa.case((row.epoch == now, row.epoch_spent), else_=sa.literal_column("0")) + amount
    added = {"spent": row.spent + amount, "delta_spent": row.delta_spent + delta}
    covered = (
        *_equal_parameters(_HOLDER),
        row.unit == sa.bindparam("in"),
        row.spent + amount <= row.cap,
        row.delta_spent + delta <= row.delta_cap,
        row.epoch <= now,
        sa.or_(row.epoch_cap.is_(None), in_epoch <= row.epoch_cap),
        _CLAIMED,
    )
    paid = sa.update(budgets).values(**added, epoch=now, epoch_spent=in_epoch).where(*covered)
    return paid.returning(row.id)


def _equal_parameters(columns: Iterable[sa.Column[Any]]) -> list[sa.ColumnElement[bool]]:
    """Return conditions that each column equals the parameter of its name."""
    return [column == sa.bindparam(column.name) for column in columns]


_KEY = [requests.c.tenant, requests.c.subject, requests.c.operation, requests.c.request_key]
_CLAIMED = sa.exists().where(requests.c.sequence == sa.bindparam("by", type_=sa.BigInteger))
_HOLDER = [budgets.c.tenant, budgets.c.kind, budgets.c.name]

_LOCK_HEAD = Statement(
    sa.select(
        head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash
    ).with_for_update()
)
_MOVE_HEAD = Statement(
    sa.update(head).values(
        sequence=sa.bindparam("to"),
        hash=sa.bindparam("digest"),
        epoch=sa.bindparam("now"),
        operator=sa.bindparam("by"),
    )
)
_LAST = Statement(sa.select(sa.func.max(budgets.c.id)))
_OPEN = Statement(sa.insert(budgets))
_EPOCH = Statement(sa.select(head.c.epoch))
_EVERY = Statement(sa.select(budgets).order_by(budgets.c.id))
_ONE = Statement(sa.select(budgets).where(*_equal_parameters(_HOLDER)))
_PART = Statement(sa.text("SAVEPOINT one_request"))
_UNDO = Statement(sa.text("ROLLBACK TO SAVEPOINT one_request"))
_KEEP = Statement(sa.text("RELEASE SAVEPOINT one_request"))
_ENTRY = Statement(sa.insert(log))
_ANSWER = Statement(sa.insert(answers))
_CLAIM = Statement(  # the store decides whether the key is free, without a read before
    sqlite.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
    postgresql.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
)
_NUMBER = Statement(sa.select(budgets.c.id, budgets.c.unit).where(*_equal_parameters(_HOLDER)))
_PAY = Statement(_payment())
_STORED = Statement(
    sa.select(requests.c.payload, answers.c.sequence, answers.c.answer)
    .select_from(requests.join(answers, answers.c.sequence == requests.c.sequence))
    .where(*_equal_parameters(_KEY))
)
