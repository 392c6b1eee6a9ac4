"""The statements of one request, inside a transaction that holds the writer's place."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Update,
    bindparam,
    case,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from tacit.ledger.chain import Head, body_of, link
from tacit.ledger.refusals import BudgetExhausted, DrawFailed, KeyReused, UnitsDiffer, UnknownBudget
from tacit.ledger.requests import Charge, Holder, Release, Request
from tacit.ledger.schema import answers, budgets, head, log, requests
from tacit.ledger.states import LARGEST_STATE, KeptStates
from tacit.randomness import Source, secure

Draw = Callable[[Source], bytes]
StatefulDraw = Callable[[Source, bytes | None], tuple[bytes, bytes | None]]
"""Gets the kept state, None at first; gives the answer and the new state, None to leave it."""


@dataclass(frozen=True)
class Spending:
    """One request with what it costs, how its answer is drawn, and the state that this changes."""

    request: Request
    charges: tuple[Charge, ...]
    draw: StatefulDraw
    state: str | None = None


@dataclass(frozen=True)
class Stored:
    """A request as it stands in the store. answer: None if drawing failed, which was paid for."""

    sequence: int
    answer: bytes | None
    repeated: bool

    def released(self) -> Release:
        """DrawFailed where there is no answer, now and for every repetition."""
        if self.answer is None:
            raise DrawFailed
        return Release(self.answer, self.repeated, self.sequence)


@dataclass
class Place:
    """The writer's place: where the chain and the epoch stand in this transaction."""

    connection: Connection
    ledger: str
    operator: str | None
    epoch: int
    sequence: int
    hash: str
    states: KeptStates = field(init=False)

    def __post_init__(self) -> None:
        self.states = KeptStates(self.connection)

    @property
    def head(self) -> Head:
        """The last entry of the chain."""
        return Head(self.ledger, self.sequence, self.hash)


def take_place(connection: Connection) -> Place:
    """Lock the row that every writer locks first; others wait until this transaction ends."""
    row = connection.execute(_PLACE).one()
    return Place(connection, row.ledger, row.operator, row.epoch, row.sequence, row.hash)


def leave_place(place: Place) -> None:
    """Write the new states, then where the chain stands now: the transaction's last statements."""
    place.states.write()
    moved = {"to": place.sequence, "digest": place.hash, "now": place.epoch, "by": place.operator}
    place.connection.execute(_MOVE, moved)


def append(place: Place, kind: str, facts: dict[str, Any]) -> None:
    """Add an entry to the chain. The clock is only noted, never asked."""
    body = body_of({**facts, "at": int(time.time())})
    place.sequence += 1
    place.hash = link(place.hash, place.sequence, kind, body)
    row = {"sequence": place.sequence, "kind": kind, "body": body, "hash": place.hash}
    place.connection.execute(_ENTRY, row)


def spend(place: Place, spending: Spending) -> Stored:
    """Key, charges, draw, answer, entry: the caller undoes what was written if this raises."""
    request = spending.request
    number = place.sequence + 1
    if not _claim(place.connection, request, number):
        earlier = find(place.connection, request)
        assert earlier is not None
        return earlier
    paid = [_pay(place, charge) for charge in _in_order(spending.charges)]
    before = None if spending.state is None else place.states.read(spending.state)
    answer, after = _drawn(spending.draw, before)
    place.connection.execute(_ANSWER, {"sequence": number, "answer": answer})
    facts = {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "key": request.key,
        "payload": request.digest,
        "charges": paid,
        "epoch": place.epoch,
        "answer": fingerprint(answer),
    }
    if spending.state is None or after is None:
        append(place, "release", facts)
    else:
        append(place, "release", {**facts, "state": [spending.state, fingerprint(after)]})
        place.states.change(spending.state, after, number)
    return Stored(number, answer, repeated=False)


def find(connection: Connection, request: Request) -> Stored | None:
    """What is stored under this key; KeyReused if that was for another payload."""
    row = connection.execute(_STORED, _scope(request)).one_or_none()
    if row is None:
        return None
    if row.payload != request.digest:
        raise KeyReused
    answer = None if row.answer is None else bytes(row.answer)
    return Stored(row.sequence, answer, repeated=True)


def fingerprint(answer: bytes | None) -> str | None:
    """SHA-256 of an answer or a state; None where there is none."""
    return None if answer is None else hashlib.sha256(answer).hexdigest()


def number_of(connection: Connection, holder: Holder) -> Any | None:
    """Row number and unit of a budget: public facts, not what is left of it."""
    whose = {"tenant": holder.tenant, "kind": holder.kind, "name": holder.name}
    return connection.execute(_NUMBER, whose).one_or_none()


def _scope(request: Request) -> dict[str, str]:
    """What a key is known by."""
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "request_key": request.key,
    }


def _claim(connection: Connection, request: Request, number: int) -> bool:
    """Take the key. False if somebody has it: the store decides, no look before the leap."""
    row = {"sequence": number, **_scope(request), "payload": request.digest}
    return connection.execute(_CLAIM[connection.dialect.name], row).first() is not None


def _pay(place: Place, charge: Charge) -> list[int]:
    row = number_of(place.connection, charge.holder)
    if row is None:
        raise UnknownBudget
    if row.unit != charge.cost.unit.value:
        raise UnitsDiffer
    cost = {"amount": charge.cost.amount, "delta": charge.cost.delta}
    paid = place.connection.execute(_PAY, {"number": row.id, **cost, "now": place.epoch})
    if paid.rowcount != 1:
        raise BudgetExhausted
    return [row.id, charge.cost.amount, charge.cost.delta]


def _in_order(charges: Sequence[Charge]) -> list[Charge]:
    """Persons by name, then data sets."""
    return sorted(charges, key=lambda charge: (charge.holder.kind == "dataset", charge.holder.name))


def _drawn(draw: StatefulDraw, before: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Answer and new state. No answer if drawing failed: what it raised may hold data, so it goes
    no further, and the state stays.
    """
    try:
        answer, after = draw(secure(), before)
    except Exception:
        return None, None
    keepable = after is None or (type(after) is bytes and len(after) <= LARGEST_STATE)
    return (answer, after) if type(answer) is bytes and keepable else (None, None)


def _payment() -> Update:
    """The condition and the addition are one statement, so that nothing comes between them."""
    row = budgets.c
    amount, delta = bindparam("amount", type_=BigInteger), bindparam("delta", type_=BigInteger)
    now = bindparam("now", type_=BigInteger)
    in_epoch = case((row.epoch == now, row.epoch_spent), else_=literal(0)) + amount
    added = {"spent": row.spent + amount, "delta_spent": row.delta_spent + delta}
    covered = (
        row.id == bindparam("number", type_=BigInteger),
        row.spent + amount <= row.cap,
        row.delta_spent + delta <= row.delta_cap,
        row.epoch <= now,
        or_(row.epoch_cap.is_(None), in_epoch <= row.epoch_cap),
    )
    return update(budgets).values(**added, epoch=now, epoch_spent=in_epoch).where(*covered)


def _same(columns: Iterable[Column[Any]]) -> list[ColumnElement[bool]]:
    return [column == bindparam(column.name) for column in columns]


_KEY = [requests.c.tenant, requests.c.subject, requests.c.operation, requests.c.request_key]

# Built once: putting a statement together costs more than running it.
_PLACE = select(head).with_for_update()
_MOVE = update(head).values(
    sequence=bindparam("to"),
    hash=bindparam("digest"),
    epoch=bindparam("now"),
    operator=bindparam("by"),
)
_ENTRY = insert(log)
_ANSWER = insert(answers)
_CLAIM = {
    "sqlite": sqlite.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
    "postgresql": postgresql.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
}
_NUMBER = select(budgets.c.id, budgets.c.unit).where(
    *_same([budgets.c.tenant, budgets.c.kind, budgets.c.name])
)
_PAY = _payment()
_STORED = (
    select(requests.c.payload, answers.c.sequence, answers.c.answer)
    .select_from(requests.join(answers, answers.c.sequence == requests.c.sequence))
    .where(*_same(_KEY))
)
