"""`tacit ledger`: what may be spent, what was, whether the record is whole, and the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.ledger_changes import (
    Second,
    Where,
    advance,
    backup,
    budget_row,
    create,
    emit,
    open_budget,
    restore,
    show_budgets,
    token,
)
from tacit.errors import ConfigError, PrivacyError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.ledger import Inspection

app = typer.Typer(help="Set privacy budgets, and show what was spent.", no_args_is_help=True)

app.command()(create)
app.command()(open_budget)
app.command()(advance)
app.command()(token)
app.command()(backup)
app.command()(restore)


@app.callback()
def _commands() -> None:
    """Amounts are exact decimals: `--epsilon 0.1` is a tenth."""


@app.command()
def show(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Show every budget with what was spent, and the stored states."""
    found = _inspected(where, second)
    budgets = [budget_row(balance) for balance in found.balances]
    result = {**_summary(found), "budgets": budgets, "states": found.states}
    emit(result, where, second, as_json, lambda: _show(result))


@app.command()
def verify(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Replay the log from entry 1, and compare all tables with it.

    A start begins at a checkpoint and sees less. The second place of the head is compared as well.
    Exit code 5 if anything is wrong.
    """
    result = _summary(_inspected(where, second))
    emit(result, where, second, as_json, lambda: _report(result))
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

    It contains names, but no stored responses.
    """
    if to is None and not as_json:
        raise ConfigError("Say where the log goes:  --to FILE, or --json for standard output.")
    found = _inspected(where, second)
    document = {**_summary(found), "entries": found.entries}
    if to is not None:
        from tacit.container import write_whole

        write_whole(to, (json.dumps(terminal.plain(document), indent=1) + "\n").encode())
        document = {**_summary(found), "written": to}
    emit(document, where, second, as_json, lambda: _wrote(document))


def _inspected(where: str, second: str | None) -> Inspection:
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


def _show(result: dict[str, Any]) -> None:
    show_budgets(f"Budgets, epoch {result['epoch']}", result["budgets"])
    if result["states"]:
        rows = [(kept.name, kept.size, kept.sequence) for kept in result["states"]]
        terminal.table("Kept states", ("name", "bytes", "of entry"), rows)
    _report(result)


def _report(result: dict[str, Any]) -> None:
    if result["sound"]:
        terminal.say(
            f"Sound: {result['entries_read']} entries replayed, {result['releases']} releases, and "
            "the second place agrees."
        )
        return
    terminal.console.print("Not sound: this ledger must not be spent from.", style="bold red")
    for problem in result["problems"]:
        terminal.say(f"  - {problem}")


def _wrote(result: dict[str, Any]) -> None:
    _report(result)
    terminal.say(f"The log is in {result['written']}.")
