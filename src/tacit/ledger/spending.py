"""From a charge to the disk, inside a transaction that holds the writer's place.

`take_place` locks the head's row; `open_budget` opens budgets; `settle` takes the key, pays, draws
and stores each request; `append` adds to the chain; `leave_place` writes where the chain stands.
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
from tacit.ledger import refusals, statements
from tacit.ledger.chain import Head, body_of, fingerprint, link
from tacit.ledger.refusals import DrawFailed
from tacit.ledger.requests import Balance, Cap, Charge, Holder, Release, Request, Unit
from tacit.ledger.schema import answers, budgets, head, log, requests
from tacit.ledger.statements import Asked, KeptStates, Remembered, Statement
from tacit.randomness import Source, secure

Draw = Callable[[Source], bytes]
StatefulDraw = Callable[[Source, bytes | None], tuple[bytes, bytes | None]]
"""Gets the kept state, None at first; gives the answer and the new state, None to leave it."""


@dataclass(frozen=True)
class Spending:
    """One request with what it costs, how its answer is drawn, and the state that this changes.
    ConfigError for a budget twice, one of another tenant, and a name that no state has."""

    request: Request
    charges: tuple[Charge, ...]
    draw: StatefulDraw
    state: str | None = None

    def __post_init__(self) -> None:
        holders = {charge.holder for charge in self.charges}
        if len(holders) != len(self.charges):
            raise ConfigError("A release charges each of its budgets once.")
        if any(holder.tenant != self.request.tenant for holder in holders):
            raise ConfigError("A release charges budgets of the request's own tenant only.")
        if self.state is not None:
            statements.check_state_name(self.state)


@dataclass
class Place:
    """The writer's place: where the chain and the epoch stand in this transaction."""

    states: KeptStates
    connection: sa.Connection
    ledger: str
    operator: str | None
    epoch: int
    sequence: int
    hash: str

    @property
    def head(self) -> Head:
        return Head(self.ledger, self.sequence, self.hash)


def take_place(connection: sa.Connection, remembered: Remembered) -> Place:
    """Lock the row that every writer locks first; others wait until this transaction ends."""
    (row,) = _PLACE.run(connection).rows()
    return Place(KeptStates(connection, remembered), connection, *row)


def leave_place(place: Place) -> None:
    """Write the new states, then where the chain stands now: the transaction's last statements."""
    place.states.write()
    moved = {"to": place.sequence, "digest": place.hash, "now": place.epoch, "by": place.operator}
    _MOVE.run(place.connection, moved)


def append(place: Place, kind: str, facts: dict[str, Any]) -> None:
    """Add an entry to the chain. The clock is only noted, never asked."""
    body = body_of({**facts, "at": int(time.time())})
    place.sequence += 1
    place.hash = link(place.hash, place.sequence, kind, body)
    row = {"sequence": place.sequence, "kind": kind, "body": body, "hash": place.hash}
    _ENTRY.run(place.connection, row)


def open_budget(place: Place, holder: Holder, cap: Cap) -> None:
    """Open a budget for life; CapChanged where it is open with another cap."""
    known = next(balances(place.connection, holder), None)
    if known is not None:
        if known.cap != cap:
            raise refusals.CapChanged
        return
    number = (_LAST.run(place.connection).rows()[0][0] or 0) + 1
    caps = {"cap": cap.amount, "delta_cap": cap.delta, "epoch_cap": cap.per_epoch}
    facts = {**vars(holder), "unit": cap.unit.value, **caps}
    empty = {"spent": 0, "delta_spent": 0, "epoch": 0, "epoch_spent": 0}
    _OPEN.run(place.connection, {"id": number, **facts, **empty})
    append(place, "budget", {"number": number, **facts})


def open_missing(place: Place, charge: Charge) -> None:
    """The budget of a charge that brings a cap. One that is open keeps the cap it has."""
    if charge.opens is not None and number_of(place.connection, charge.holder) is None:
        open_budget(place, charge.holder, charge.opens)


def settle(place: Place, spending: Spending) -> Release | TacitError:
    """One request among others of the transaction; if it is refused, only its part is undone."""
    _PART.run(place.connection)
    outcome: Release | TacitError
    try:
        outcome = spend(place, spending)
    except TacitError as refused:
        _UNDO.run(place.connection)
        outcome = refused
    _KEEP.run(place.connection)
    return outcome


def spend(place: Place, spending: Spending) -> Release | DrawFailed:
    """Key, charges, draw, answer, entry: the caller undoes what was written if this raises. Key and
    charges are sent together; without the key no charge is taken."""
    request = spending.request
    number = place.sequence + 1
    row = {"sequence": number, **_scope(request), "payload": request.digest}
    claimed = _CLAIM.run(place.connection, row)  # no row if the key is taken
    charges = sorted(  # persons by name, then data sets
        spending.charges, key=lambda charge: (charge.holder.kind == "dataset", charge.holder.name)
    )
    payments = [_pay(place, charge, number) for charge in charges]
    new, budgets_paid = claimed.rows(), [payment.rows() for payment in payments]
    if not new:
        return find(place.connection, request)
    paid = [_paid(place, *both) for both in zip(charges, budgets_paid, strict=True)]
    before = None if spending.state is None else place.states.read(spending.state)
    answer, after = _drawn(spending.draw, before)
    _ANSWER.run(place.connection, {"sequence": number, "answer": answer})
    spent = {"charges": paid, "epoch": place.epoch, "answer": fingerprint(answer)}
    facts = {**vars(request), "payload": request.digest, **spent}
    if spending.state is None or after is None:
        append(place, "release", facts)
    else:
        append(place, "release", {**facts, "state": [spending.state, fingerprint(after)]})
        place.states.change(spending.state, after, number)
    return _told(answer, number, repeated=False)


def find(connection: sa.Connection, request: Request) -> Release | DrawFailed:
    """What is stored under a key that is taken; KeyReused if that was for another payload."""
    ((payload, sequence, answer),) = _STORED.run(connection, _scope(request)).rows()
    if payload != request.digest:
        raise refusals.KeyReused
    return _told(answer, sequence, repeated=True)


def _told(answer: bytes | None, sequence: int, *, repeated: bool) -> Release | DrawFailed:
    """Without an answer drawing failed, which was paid for: so now and for every repetition."""
    return DrawFailed() if answer is None else Release(bytes(answer), repeated, sequence)


def balances(connection: sa.Connection, holder: Holder | None = None) -> Iterator[Balance]:
    """All budgets, or the one of a holder."""
    ((now,),) = _EPOCH.run(connection).rows()
    asked = _EVERY.run(connection) if holder is None else _ONE.run(connection, vars(holder))
    for row in asked.rows():
        one = dict(zip(budgets.c.keys(), row, strict=True))
        yield Balance(
            number=one["id"],
            holder=Holder(one["tenant"], one["kind"], one["name"]),
            cap=Cap(Unit(one["unit"]), one["cap"], one["delta_cap"], one["epoch_cap"]),
            spent=one["spent"],
            delta_spent=one["delta_spent"],
            epoch_spent=one["epoch_spent"] if one["epoch"] == now else 0,
        )


def number_of(connection: sa.Connection, holder: Holder) -> tuple[int, str] | None:
    """Row number and unit of a budget: public facts, not what is left of it."""
    rows = _NUMBER.run(connection, vars(holder)).rows()
    return rows[0] if rows else None


def _scope(request: Request) -> dict[str, str]:
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "request_key": request.key,
    }


def _pay(place: Place, charge: Charge, number: int) -> Asked:
    """Take the price from the budget. No row if it does not cover it, or the key was taken."""
    cost = charge.cost
    price = {"in": cost.unit.value, "amount": cost.amount, "delta": cost.delta}
    by = {"now": place.epoch, "by": number}
    return _PAY.run(place.connection, {**vars(charge.holder), **price, **by})


def _paid(place: Place, charge: Charge, rows: list[Any]) -> list[int]:
    """Number of the budget, amount, delta; or the reason why nothing was paid."""
    cost = charge.cost
    if rows:
        return [rows[0][0], cost.amount, cost.delta]
    known = number_of(place.connection, charge.holder)
    if known is None:
        raise refusals.UnknownBudget
    if known[1] != cost.unit.value:
        raise refusals.UnitsDiffer
    raise refusals.BudgetExhausted


def _drawn(draw: StatefulDraw, before: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Answer and new state. No answer if drawing failed: what it raised may hold data, so it goes
    no further, and the state stays."""
    try:
        answer, after = draw(secure(), before)
    except Exception:
        return None, None
    keepable = after is None or (type(after) is bytes and len(after) <= statements.LARGEST_STATE)
    return (answer, after) if type(answer) is bytes and keepable else (None, None)


def _payment() -> ReturningUpdate[tuple[int]]:
    """The condition and the addition are one statement, so that nothing comes between them."""
    row = budgets.c
    names = ("amount", "delta", "now")
    amount, delta, now = (sa.bindparam(name, type_=sa.BigInteger) for name in names)
    in_epoch = sa.case((row.epoch == now, row.epoch_spent), else_=sa.literal_column("0")) + amount
    added = {"spent": row.spent + amount, "delta_spent": row.delta_spent + delta}
    covered = (
        *_same(_WHOSE),
        row.unit == sa.bindparam("in"),
        row.spent + amount <= row.cap,
        row.delta_spent + delta <= row.delta_cap,
        row.epoch <= now,
        sa.or_(row.epoch_cap.is_(None), in_epoch <= row.epoch_cap),
        _CLAIMED,
    )
    paid = sa.update(budgets).values(**added, epoch=now, epoch_spent=in_epoch).where(*covered)
    return paid.returning(row.id)


def _same(columns: Iterable[sa.Column[Any]]) -> list[sa.ColumnElement[bool]]:
    return [column == sa.bindparam(column.name) for column in columns]


_KEY = [requests.c.tenant, requests.c.subject, requests.c.operation, requests.c.request_key]
_CLAIMED = sa.exists().where(requests.c.sequence == sa.bindparam("by", type_=sa.BigInteger))
_WHOSE = [budgets.c.tenant, budgets.c.kind, budgets.c.name]

_PLACE = Statement(
    sa.select(
        head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash
    ).with_for_update()
)
_MOVE = Statement(
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
_ONE = Statement(sa.select(budgets).where(*_same(_WHOSE)))
_PART = Statement(sa.text("SAVEPOINT one_request"))
_UNDO = Statement(sa.text("ROLLBACK TO SAVEPOINT one_request"))
_KEEP = Statement(sa.text("RELEASE SAVEPOINT one_request"))
_ENTRY = Statement(sa.insert(log))
_ANSWER = Statement(sa.insert(answers))
_CLAIM = Statement(  # the store decides whether the key is free, without a read before
    *(
        store.insert(requests)
        .on_conflict_do_nothing(index_elements=_KEY)
        .returning(requests.c.sequence)
        for store in (sqlite, postgresql)
    )
)
_NUMBER = Statement(sa.select(budgets.c.id, budgets.c.unit).where(*_same(_WHOSE)))
_PAY = Statement(_payment())
_STORED = Statement(
    sa.select(requests.c.payload, answers.c.sequence, answers.c.answer)
    .select_from(requests.join(answers, answers.c.sequence == requests.c.sequence))
    .where(*_same(_KEY))
)
