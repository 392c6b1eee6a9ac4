"""The rows of budgets: how one is opened inside a transaction, and how they stand."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, insert, select

from tacit.ledger.refusals import CapChanged
from tacit.ledger.requests import Balance, Charge, Holder
from tacit.ledger.schema import budgets, head
from tacit.ledger.spending import Place, append, number_of
from tacit.ledger.units import Cap, Unit


def open_missing(place: Place, charge: Charge) -> None:
    """The budget of a charge that brings a cap. One that is open keeps the cap it has."""
    if charge.opens is not None and number_of(place.connection, charge.holder) is None:
        open_row(place, charge.holder, charge.opens)


def open_row(place: Place, holder: Holder, cap: Cap) -> None:
    known = number_of(place.connection, holder)
    if known is not None:
        if next(balances(place.connection, known[0])).cap != cap:
            raise CapChanged
        return
    number = (place.connection.scalar(select(func.max(budgets.c.id))) or 0) + 1
    facts = {
        "tenant": holder.tenant,
        "kind": holder.kind,
        "name": holder.name,
        "unit": cap.unit.value,
        "cap": cap.amount,
        "delta_cap": cap.delta,
        "epoch_cap": cap.per_epoch,
    }
    empty = {"spent": 0, "delta_spent": 0, "epoch": 0, "epoch_spent": 0}
    place.connection.execute(insert(budgets).values(id=number, **facts, **empty))
    append(place, "budget", {"number": number, **facts})


def balances(connection: Connection, number: int | None = None) -> Iterator[Balance]:
    """All budgets, or the one of that number."""
    now = connection.execute(select(head.c.epoch)).scalar_one()
    question = select(budgets).order_by(budgets.c.id)
    if number is not None:
        question = question.where(budgets.c.id == number)
    for row in connection.execute(question):
        yield Balance(
            number=row.id,
            holder=Holder(row.tenant, row.kind, row.name),
            cap=Cap(Unit(row.unit), row.cap, row.delta_cap, row.epoch_cap),
            spent=row.spent,
            delta_spent=row.delta_spent,
            epoch_spent=row.epoch_spent if row.epoch == now else 0,
        )
