"""`tacit ledger`: what was spent, whether the record of it is whole, and the record itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError, PrivacyError

if TYPE_CHECKING:
    from tacit.ledger import Balance, Inspection

app = typer.Typer(help="Show, verify or export what privacy was spent.", no_args_is_help=True)

Where = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://HOST/DATABASE.")
]
Second = Annotated[
    Path | None,
    typer.Option(help="The second place of the chain's head; by default LEDGER.head for a file."),
]


@app.callback()
def _commands() -> None:
    """None of them changes the ledger."""


@app.command()
def show(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Show every budget: its cap for life and what was spent."""
    found = _inspected(where, second)
    budgets = [_row(balance) for balance in found.balances]
    result = {**_summary(found), "budgets": budgets}
    output.emit(result, as_json=as_json, render=_show)


@app.command()
def verify(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Replay the log, and tell whether all tables agree with it.

    The second place of its head is compared as well. Exit code 5 if anything is wrong.
    """
    result = _summary(_inspected(where, second))
    output.emit(result, as_json=as_json, render=_report)
    if not result["sound"]:
        raise typer.Exit(PrivacyError.exit_code)


@app.command()
def export(
    where: Where,
    second: Second = None,
    to: Annotated[Path | None, typer.Option(help="The file to write, in JSON.")] = None,
    as_json: JSON = False,
) -> None:
    """Write the whole log with its hashes, for an auditor.

    Answers are not in it, names are.
    """
    if to is None and not as_json:
        raise ConfigError("Say where the log goes:  --to FILE, or --json for standard output.")
    found = _inspected(where, second)
    document = {**_summary(found), "entries": found.entries}
    if to is not None:
        from tacit.writing import write_whole

        write_whole(to, (json.dumps(output.plain(document), indent=1) + "\n").encode())
        document = {**_summary(found), "written": to}
    output.emit(document, as_json=as_json, render=_wrote)


def _inspected(where: str, second: Path | None) -> Inspection:
    from tacit.ledger import inspect_ledger

    return inspect_ledger(where, second=second)


def _summary(found: Inspection) -> dict[str, Any]:
    checked = found.verification
    return {
        "ledger": checked.head.ledger,
        "sound": checked.sound,
        "problems": checked.problems,
        "entries_read": checked.entries,
        "releases": checked.releases,
        "epoch": checked.epoch,
        "head": checked.head.hash,
    }


def _row(balance: Balance) -> dict[str, Any]:
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


def _show(result: dict[str, Any]) -> None:
    columns = ("tenant", "kind", "name", "unit", "cap", "spent", "in this epoch", "of at most")
    rows = [
        (
            *(row[name] for name in ("tenant", "kind", "name", "unit")),
            *(_amount(row["cap"], row["delta_cap"]), _amount(row["spent"], row["delta_spent"])),
            *(_amount(row["epoch_spent"]), _amount(row["epoch_cap"])),
        )
        for row in result["budgets"]
    ]
    output.table(f"Budgets, epoch {result['epoch']}", columns, rows)
    _report(result)


def _report(result: dict[str, Any]) -> None:
    if result["sound"]:
        output.console.print(
            f"Sound: {result['entries_read']} entries replayed, {result['releases']} releases, and "
            "the second place agrees."
        )
        return
    output.console.print("Not sound: this ledger must not be spent from.", style="bold red")
    for problem in result["problems"]:
        output.console.print(f"  - {problem}", soft_wrap=True)


def _wrote(result: dict[str, Any]) -> None:
    _report(result)
    output.console.print(f"The log is in {result['written']}.", soft_wrap=True)


def _amount(steps: int | None, delta: int = 0) -> str | None:
    """Exact decimals; with a delta as "1 (delta 1e-06)"."""
    if steps is None:
        return None
    from decimal import Decimal

    text = f"{Decimal(steps).scaleb(-6).normalize():f}"
    return f"{text} (delta {Decimal(delta).scaleb(-18):.3g})" if delta else text
