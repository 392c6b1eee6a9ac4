"""The rows of budgets: how one is opened inside a transaction, and how they stand."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from tacit.ledger.refusals import CapChanged
from tacit.ledger.requests import Balance, Cap, Charge, Holder, Unit
from tacit.ledger.schema import budgets, head
from tacit.ledger.spending import Place, append, number_of
from tacit.ledger.statements import Statement


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
    number = (_LAST.run(place.connection).rows()[0][0] or 0) + 1
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
    _OPEN.run(place.connection, {"id": number, **facts, **empty})
    append(place, "budget", {"number": number, **facts})


def balances(connection: sa.Connection, number: int | None = None) -> Iterator[Balance]:
    """All budgets, or the one of that number."""
    ((now,),) = _EPOCH.run(connection).rows()
    found = _EVERY.run(connection) if number is None else _ONE.run(connection, {"number": number})
    for row in found.rows():
        one = dict(zip(_COLUMNS, row, strict=True))
        yield Balance(
            number=one["id"],
            holder=Holder(one["tenant"], one["kind"], one["name"]),
            cap=Cap(Unit(one["unit"]), one["cap"], one["delta_cap"], one["epoch_cap"]),
            spent=one["spent"],
            delta_spent=one["delta_spent"],
            epoch_spent=one["epoch_spent"] if one["epoch"] == now else 0,
        )


_COLUMNS = [column.name for column in budgets.c]
_LAST = Statement(sa.select(sa.func.max(budgets.c.id)))
_OPEN = Statement(sa.insert(budgets))
_EPOCH = Statement(sa.select(head.c.epoch))
_EVERY = Statement(sa.select(budgets).order_by(budgets.c.id))
_ONE = Statement(sa.select(budgets).where(budgets.c.id == sa.bindparam("number")))
