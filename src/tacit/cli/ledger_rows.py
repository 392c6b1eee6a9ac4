"""What the commands of `tacit ledger` share: where a ledger is, and a budget as a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output

if TYPE_CHECKING:
    from tacit.ledger import Balance

Where = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://HOST/DATABASE.")
]
Second = Annotated[
    str | None,
    typer.Option(
        help="The second place of the chain's head: a file, or postgresql://HOST/DATABASE; by "
        "default LEDGER.head for a file."
    ),
]


def budget_row(balance: Balance) -> dict[str, Any]:
    """Amounts in millionths, deltas in steps of 1e-18."""
    return {
        "number": balance.number,
        "tenant": balance.holder.tenant,
        "kind": balance.holder.kind,
        "name": balance.holder.name,
        "unit": balance.cap.unit.value,
        "cap": balance.cap.amount,
        "spent": balance.spent,
        "delta_cap": balance.cap.delta,
        "delta_spent": balance.delta_spent,
        "epoch_cap": balance.cap.per_epoch,
        "epoch_spent": balance.epoch_spent,
    }


def show_budgets(title: str, budgets: Iterable[dict[str, Any]]) -> None:
    """A table with exact decimals."""
    columns = ("tenant", "kind", "name", "unit", "cap", "spent", "in this epoch", "of at most")
    rows = [
        (
            *(row[name] for name in ("tenant", "kind", "name", "unit")),
            *(_amount(row["cap"], row["delta_cap"]), _amount(row["spent"], row["delta_spent"])),
            *(_amount(row["epoch_spent"]), _amount(row["epoch_cap"])),
        )
        for row in budgets
    ]
    output.table(title, columns, rows)


def again(where: str, second: str | None) -> str:
    """The ledger as it is typed in the next command; an address may hold a password."""
    shown = where if "://" not in where else "LEDGER"
    if second is None:
        return shown
    return f"{shown} --second {second if '://' not in second else 'SECOND'}"


def emit(
    result: dict[str, Any],
    where: str,
    second: str | None,
    *,
    as_json: bool,
    render: Callable[[dict[str, Any]], None],
) -> None:
    """A command's result, with a warning where one restore moves store and second place back."""
    from tacit.ledger.opening import TOGETHER, together

    warnings = [TOGETHER] if together(where, second) else []
    for warning in () if as_json else warnings:  # with --json they stand in the object
        typer.echo(f"Warning: {warning}", err=True)
    output.emit({**result, "warnings": warnings}, as_json=as_json, render=render)


def _amount(steps: int | None, delta: int = 0) -> str | None:
    """Exact decimals; a delta to three digits: "1 (delta 1e-06)"."""
    if steps is None:
        return None
    from decimal import Decimal

    text = f"{Decimal(steps).scaleb(-6).normalize():f}"
    return f"{text} (delta {delta / 1e18:.3g})" if delta else text
