"""The steps of a write transaction of the ledger.

`begin_write` locks the head's row; `open_budget` opens a budget; `settle` claims a request's key,
pays its charges, and draws and stores its answer; `append_entry` adds an entry to the chain;
`finish_write` records the new head.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

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
"""Draws an answer."""
StatefulDraw = Callable[[Source, bytes | None], tuple[bytes, bytes | None]]
"""Draws an answer from the stored state (None at first); returns the answer, and the new state or
None to leave it as it is."""


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
    """Name of the stored state that `draw` reads and may change; None if it uses no state."""

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
    """A write transaction, and the last entry of the chain so far. One exists at a time."""

    states: TransactionStates
    """Stored states, as this transaction reads and changes them."""
    connection: sa.Connection
    """Its connection."""
    ledger: str
    """Random name of the ledger."""
    operator: str | None
    """The operator's last token, or their anchor; None for a ledger without epochs."""
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
    """Begin a write transaction by locking the head's row; other writers wait until it ends."""
    (row,) = _LOCK_HEAD.run(connection).rows()
    return WriteTransaction(TransactionStates(connection, cache), connection, *row)


def finish_write(transaction: WriteTransaction) -> None:
    """Write the changed states and the new head; the caller commits after that."""
    transaction.states.write()
    new_head = {
        "new_sequence": transaction.sequence,
        "new_hash": transaction.hash,
        "new_epoch": transaction.epoch,
        "new_operator": transaction.operator,
    }
    _MOVE_HEAD.run(transaction.connection, new_head)


def append_entry(transaction: WriteTransaction, kind: str, facts: dict[str, Any]) -> None:
    """Add an entry to the chain.

    The time of the clock is added to the facts for readers; the ledger itself never uses it.

    Args:
        transaction: The write transaction.
        kind: Kind of the entry, a key of `log_state._STEPS`.
        facts: Content of the entry, which can be written as JSON.
    """
    body = entry_body({**facts, "at": int(time.time())})
    transaction.sequence += 1
    transaction.hash = entry_hash(transaction.hash, transaction.sequence, kind, body)
    row = {"sequence": transaction.sequence, "kind": kind, "body": body, "hash": transaction.hash}
    _INSERT_ENTRY.run(transaction.connection, row)


def open_budget(transaction: WriteTransaction, holder: Holder, cap: Cap) -> None:
    """Open a budget for its lifetime, if it is not open.

    Raises:
        CapChanged: It is open with another cap.
    """
    balance = next(read_balances(transaction.connection, holder), None)
    if balance is not None:
        if balance.cap != cap:
            raise refusals.CapChanged
        return
    ((last_number,),) = _LAST_BUDGET.run(transaction.connection).rows()
    number = 1 if last_number is None else last_number + 1
    limits = {"cap": cap.amount, "delta_cap": cap.delta, "epoch_cap": cap.per_epoch}
    facts = {**_holder_columns(holder), "unit": cap.unit.value, **limits}
    nothing_spent = {"spent": 0, "delta_spent": 0, "epoch": 0, "epoch_spent": 0}
    _INSERT_BUDGET.run(transaction.connection, {"id": number, **facts, **nothing_spent})
    append_entry(transaction, "budget", {"number": number, **facts})


def open_if_missing(transaction: WriteTransaction, charge: Charge) -> None:
    """Open the budget of a charge with the cap that the charge brings, if it is not open yet."""
    if charge.opens is not None and find_budget(transaction.connection, charge.holder) is None:
        open_budget(transaction, charge.holder, charge.opens)


def settle(transaction: WriteTransaction, spending: SpendRequest) -> Release | TacitError:
    """Release one of several requests of a transaction.

    If it is refused, its changes alone are undone, and the error is returned, not raised. If
    drawing failed, DrawFailed is returned and nothing is undone.
    """
    _SAVE.run(transaction.connection)
    outcome: Release | TacitError
    try:
        outcome = spend(transaction, spending)
    except TacitError as refusal:
        _UNDO.run(transaction.connection)
        outcome = refusal
    _KEEP.run(transaction.connection)
    return outcome


def spend(transaction: WriteTransaction, spending: SpendRequest) -> Release | DrawFailed:
    """Claim the key, pay the charges, draw and store the answer, and append the entry.

    The statements of the claim and the payments are sent together; a payment takes nothing if the
    key was used before. If this raises, the caller must undo what was written.

    Returns:
        The new release, or that of an earlier request with this key; DrawFailed if drawing failed.

    Raises:
        KeyReused: The key was used with another payload.
        BudgetExhausted: A budget does not cover its charge.
        UnknownBudget: A budget was never opened.
        UnitsDiffer: A charge is not in its budget's unit.
    """
    request = spending.request
    number = transaction.sequence + 1
    row = {"sequence": number, **_request_columns(request), "payload": request.digest}
    claim = _CLAIM_KEY.run(transaction.connection, row)  # no row if the key was used before
    charges = sorted(spending.charges, key=_charge_order)
    payments = [_pay(transaction, charge, number) for charge in charges]
    is_new = bool(claim.rows())
    payment_rows = [payment.rows() for payment in payments]
    if not is_new:
        return find_release(transaction.connection, request)
    paid_charges = []
    for charge, rows in zip(charges, payment_rows, strict=True):
        paid_charges.append(_check_payment(transaction, charge, rows))
    old_state = None if spending.state is None else transaction.states.read(spending.state)
    answer, new_state = _draw_answer(spending.draw, old_state)
    _INSERT_ANSWER.run(transaction.connection, {"sequence": number, "answer": answer})
    facts: dict[str, Any] = {
        **_request_facts(request),
        "charges": paid_charges,
        "epoch": transaction.epoch,
        "answer": fingerprint(answer),
    }
    if spending.state is None or new_state is None:
        append_entry(transaction, "release", facts)
    else:
        facts["state"] = [spending.state, fingerprint(new_state)]
        append_entry(transaction, "release", facts)
        transaction.states.change(spending.state, new_state, number)
    return _make_outcome(answer, number, repeated=False)


def find_release(connection: sa.Connection, request: Request) -> Release | DrawFailed:
    """Return the outcome of the earlier request with this key, which must exist.

    Raises:
        KeyReused: That request had another payload.
    """
    ((payload, sequence, answer),) = _FIND_ANSWER.run(connection, _request_columns(request)).rows()
    if payload != request.digest:
        raise refusals.KeyReused
    return _make_outcome(answer, sequence, repeated=True)


def _make_outcome(answer: bytes | None, sequence: int, *, repeated: bool) -> Release | DrawFailed:
    """Return the release of an answer; DrawFailed for None, which says that drawing failed."""
    return DrawFailed() if answer is None else Release(bytes(answer), repeated, sequence)


def read_balances(connection: sa.Connection, holder: Holder | None = None) -> Iterator[Balance]:
    """Yield the budgets by number.

    Args:
        connection: A transaction's connection.
        holder: Only this holder's budget is yielded, if it is open; None yields all budgets.
    """
    ((present_epoch,),) = _READ_EPOCH.run(connection).rows()
    if holder is None:
        query = _ALL_BUDGETS.run(connection)
    else:
        query = _BUDGET_OF_HOLDER.run(connection, _holder_columns(holder))
    for values in query.rows():
        row = dict(zip(budgets.c.keys(), values, strict=True))
        yield Balance(
            number=row["id"],
            holder=Holder(row["tenant"], row["kind"], row["name"]),
            cap=Cap(Unit(row["unit"]), row["cap"], row["delta_cap"], row["epoch_cap"]),
            spent=row["spent"],
            delta_spent=row["delta_spent"],
            epoch_spent=row["epoch_spent"] if row["epoch"] == present_epoch else 0,
        )


class BudgetFacts(NamedTuple):
    """The facts of a budget that do not depend on what was spent."""

    number: int
    """Its number."""
    unit: str
    """Its unit, a value of `Unit`."""


def find_budget(connection: sa.Connection, holder: Holder) -> BudgetFacts | None:
    """Return number and unit of a holder's budget; None if it is not open."""
    rows = _BUDGET_FACTS.run(connection, _holder_columns(holder)).rows()
    return BudgetFacts(*rows[0]) if rows else None


def _charge_order(charge: Charge) -> tuple[bool, str]:
    """Return a sort key: persons by name, then data sets by name, whatever the caller's order."""
    return charge.holder.kind == "dataset", charge.holder.name


def _holder_columns(holder: Holder) -> dict[str, str]:
    """Return the columns by which a holder's budget is found."""
    return {"tenant": holder.tenant, "kind": holder.kind, "name": holder.name}


def _request_facts(request: Request) -> dict[str, str]:
    """Return the part of a release's log entry that describes its request."""
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "key": request.key,
        "payload": request.digest,
    }


def _request_columns(request: Request) -> dict[str, str]:
    """Return the columns that identify a request, by their names in the table."""
    return {
        "tenant": request.tenant,
        "subject": request.subject,
        "operation": request.operation,
        "request_key": request.key,
    }


def _pay(transaction: WriteTransaction, charge: Charge, number: int) -> SentStatement:
    """Send the payment of one charge.

    Args:
        transaction: The write transaction.
        charge: The charge.
        number: Number of the log entry for which the request's key was claimed.

    Returns:
        The sent statement, whose result has one row with the budget's number. It has no row, and
        nothing is paid, if the key was not claimed for that entry, if the budget does not cover the
        charge, or if there is no such budget in the charge's unit.
    """
    values: dict[str, Any] = {
        **_holder_columns(charge.holder),
        "price_unit": charge.cost.unit.value,
        "amount": charge.cost.amount,
        "delta": charge.cost.delta,
        "present_epoch": transaction.epoch,
        "entry": number,
    }
    return _PAY.run(transaction.connection, values)


def _check_payment(transaction: WriteTransaction, charge: Charge, rows: list[Any]) -> list[int]:
    """Return a paid charge as its log entry holds it: [number of the budget, amount, delta].

    Args:
        transaction: The write transaction.
        charge: The charge.
        rows: The rows of its payment; empty if nothing was paid.

    Raises:
        UnknownBudget, UnitsDiffer, BudgetExhausted: Nothing was paid, for this reason.
    """
    cost = charge.cost
    if rows:
        ((budget_number,),) = rows
        return [budget_number, cost.amount, cost.delta]
    budget = find_budget(transaction.connection, charge.holder)
    if budget is None:
        raise refusals.UnknownBudget
    if budget.unit != cost.unit.value:
        raise refusals.UnitsDiffer
    raise refusals.BudgetExhausted


def _draw_answer(draw: StatefulDraw, state: bytes | None) -> tuple[bytes | None, bytes | None]:
    """Draw the answer and the new state.

    An error of `draw` is neither raised nor logged, because its text may hold data.

    Args:
        draw: The function that draws.
        state: The stored state; None if nothing was stored yet or no state is used.

    Returns:
        The answer and the new state; a new state of None leaves the stored one. Both are None if
        drawing failed or returned something that cannot be stored.
    """
    try:
        answer, new_state = draw(secure(), state)
    except Exception:
        return None, None
    is_state = type(new_state) is bytes and len(new_state) <= states.LARGEST_STATE
    if type(answer) is not bytes or not (new_state is None or is_state):
        return None, None
    return answer, new_state


def _payment_statement() -> ReturningUpdate[tuple[int]]:
    """Return the statement of a payment, which checks the caps and adds the price.

    One statement does both, so that no other payment can come in between.
    """
    row = budgets.c
    amount = sa.bindparam("amount", type_=sa.BigInteger)
    delta = sa.bindparam("delta", type_=sa.BigInteger)
    epoch = sa.bindparam("present_epoch", type_=sa.BigInteger)
    spent_in_epoch = sa.case((row.epoch == epoch, row.epoch_spent), else_=sa.literal_column("0"))
    new_values = {
        "spent": row.spent + amount,
        "delta_spent": row.delta_spent + delta,
        "epoch": epoch,
        "epoch_spent": spent_in_epoch + amount,
    }
    conditions = (
        *_equal_parameters(_HOLDER),
        row.unit == sa.bindparam("price_unit"),
        row.spent + amount <= row.cap,
        row.delta_spent + delta <= row.delta_cap,
        row.epoch <= epoch,
        sa.or_(row.epoch_cap.is_(None), spent_in_epoch + amount <= row.epoch_cap),
        _CLAIMED,
    )
    return sa.update(budgets).values(**new_values).where(*conditions).returning(row.id)


def _equal_parameters(columns: Iterable[sa.Column[Any]]) -> list[sa.ColumnElement[bool]]:
    """Return for each column the condition that it equals the parameter of the same name."""
    return [column == sa.bindparam(column.name) for column in columns]


_KEY = [requests.c.tenant, requests.c.subject, requests.c.operation, requests.c.request_key]
_CLAIMED = sa.exists().where(requests.c.sequence == sa.bindparam("entry", type_=sa.BigInteger))
_HOLDER = [budgets.c.tenant, budgets.c.kind, budgets.c.name]

_LOCK_HEAD = Statement(
    sa.select(
        head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash
    ).with_for_update()
)
_MOVE_HEAD = Statement(
    sa.update(head).values(
        sequence=sa.bindparam("new_sequence"),
        hash=sa.bindparam("new_hash"),
        epoch=sa.bindparam("new_epoch"),
        operator=sa.bindparam("new_operator"),
    )
)
_LAST_BUDGET = Statement(sa.select(sa.func.max(budgets.c.id)))
_INSERT_BUDGET = Statement(sa.insert(budgets))
_READ_EPOCH = Statement(sa.select(head.c.epoch))
_ALL_BUDGETS = Statement(sa.select(budgets).order_by(budgets.c.id))
_BUDGET_OF_HOLDER = Statement(sa.select(budgets).where(*_equal_parameters(_HOLDER)))
# A savepoint begins before each request; undoing rolls back to it, and keeping removes it.
_SAVE = Statement(sa.text("SAVEPOINT one_request"))
_UNDO = Statement(sa.text("ROLLBACK TO SAVEPOINT one_request"))
_KEEP = Statement(sa.text("RELEASE SAVEPOINT one_request"))
_INSERT_ENTRY = Statement(sa.insert(log))
_INSERT_ANSWER = Statement(sa.insert(answers))
_CLAIM_KEY = Statement(  # inserts the request and returns a row, if the key was never used
    sqlite.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
    postgresql.insert(requests)
    .on_conflict_do_nothing(index_elements=_KEY)
    .returning(requests.c.sequence),
)
_BUDGET_FACTS = Statement(
    sa.select(budgets.c.id, budgets.c.unit).where(*_equal_parameters(_HOLDER))
)
_PAY = Statement(_payment_statement())
_FIND_ANSWER = Statement(
    sa.select(requests.c.payload, answers.c.sequence, answers.c.answer)
    .select_from(requests.join(answers, answers.c.sequence == requests.c.sequence))
    .where(*_equal_parameters(_KEY))
)
