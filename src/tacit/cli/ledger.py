"""`tacit ledger`: show what was spent, check the record, copy and restore it; and the changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli import ledger_changes
from tacit.cli.ledger_changes import Second, Where, again, budget_row, emit, show_budgets
from tacit.errors import PrivacyError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.ledger import Inspection

app = typer.Typer(help="Set privacy budgets, and show what was spent.", no_args_is_help=True)
for change in ("create", "open_budget", "advance", "token"):
    app.command()(getattr(ledger_changes, change))


@app.callback()
def _commands() -> None:
    """Amounts are exact decimals: `--epsilon 0.1` is a tenth."""


@app.command()
def backup(
    where: Where,
    to: Annotated[Path, typer.Option(help="The new file to write.")],
    as_json: JSON = False,
) -> None:
    """Copy a ledger in a file while it is in use.

    The copy holds data that people sent to the service. Only its owner can read it.
    """
    from tacit.ledger import inspection

    inspection.backup(where, to)
    lost = f"If the ledger is lost:  tacit ledger restore {where} --source {to}"
    terminal.answer({"ledger": where, "written": to}, after=f"Wrote {to}. {lost}", as_json=as_json)


@app.command()
def restore(
    where: Where,
    source: Annotated[Path, typer.Option(help="The backup.")],
    second: Second = None,
    as_json: JSON = False,
) -> None:
    """Restore a ledger that is gone from a backup.

    A backup that lacks spending which the second place remembers is refused: it would give that
    budget back.
    """
    from tacit.ledger import inspection

    checked = inspection.restore(source, where, second=second).verification
    result = {"ledger": checked.head.ledger, "head": checked.head.hash, "entries": checked.entries}
    verify = f"tacit ledger verify {again(where, second)}"
    said = f"Restored {checked.entries} entries. Next:  {verify}"
    emit(result, where, second, as_json, lambda: terminal.next_step(said))


@app.command()
def show(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Show every budget with what was spent, and the stored states."""
    from tacit.ledger import inspect_ledger

    found = inspect_ledger(where, second=second)
    budgets = [budget_row(balance) for balance in found.balances]
    result = {**_summary(found), "budgets": budgets, "states": found.states}

    def show() -> None:
        show_budgets(f"Budgets, epoch {result['epoch']}", budgets)
        if found.states:
            rows = [(kept.name, kept.size, kept.sequence) for kept in found.states]
            terminal.table("Kept states", ("name", "bytes", "of entry"), rows)
        _report(result)

    emit(result, where, second, as_json, show)


@app.command()
def verify(where: Where, second: Second = None, as_json: JSON = False) -> None:
    """Replay the log from entry 1, and compare all tables with it.

    A start begins at a checkpoint and sees less. The second place of the head is compared as well.
    Exit code 5 if anything is wrong.
    """
    from tacit.ledger import inspect_ledger

    result = _summary(inspect_ledger(where, second=second))
    emit(result, where, second, as_json, lambda: _report(result))
    if not result["sound"]:
        raise typer.Exit(PrivacyError.exit_code)


@app.command()
def export(
    where: Where,
    to: Annotated[Path, typer.Option(help="The file to write, in JSON.")],
    second: Second = None,
    as_json: JSON = False,
) -> None:
    """Write the whole log with its hashes, for an auditor.

    It contains names, but no stored responses.
    """
    from tacit.container import write_whole
    from tacit.ledger import inspect_ledger

    found = inspect_ledger(where, second=second)
    document = terminal.plain({**_summary(found), "entries": found.entries})
    write_whole(to, (json.dumps(document, indent=1) + "\n").encode())
    result = {**_summary(found), "written": to}

    def show() -> None:
        _report(result)
        terminal.say(f"The log is in {to}.")

    emit(result, where, second, as_json, show)


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
