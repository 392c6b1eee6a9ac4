"""`tacit reproduce`: every table, figure and bound of the papers, and the command that makes it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

app = typer.Typer()
HEAD = """`tacit reproduce --list` prints this index, `tacit reproduce PAPER ITEM` runs the command,
and `tacit reproduce --all --quick` those that take minutes at most. Figures of both sides are in
[results](results.md). This page is generated: a test compares it with the index.

*exact*: computed without sampling. *bound*: a bound with its constants. *measured*: our figure
beside the paper's, on other data where the paper's are not public. *refuted*: a claim that is
false. FOLDER is where MovieLens lies."""
QUICK = ("audit", "guarantee", "plan")
"""Commands that take seconds or a few minutes."""


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help="A design, such as prec.")] = None,
    item: Annotated[str | None, typer.Argument(help="As --list has it.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show all items, run nothing.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run all commands.")] = False,
    quick: Annotated[bool, typer.Option(help="Of --all, those that take minutes at most.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Where ml-100k lies; default: TACIT_DATA.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Make a figure of a paper again.

    Every table, figure and bound that the papers print: what became of it, the command that makes
    our figure, and the reason where there is none. docs/results.md has both figures.
    """
    rows = [row for row in index() if paper is None or row["paper"] == paper]
    if not rows:
        known = ", ".join(dict.fromkeys(row["paper"] for row in index()))
        raise ConfigError(f"No paper '{paper}'. Known: {known}.")
    if item is not None:
        rows = [row for row in rows if row["item"] == item]
        if not rows:
            raise ConfigError(f"{paper} has no item '{item}'. See: tacit reproduce {paper} --list")
    if listed or not (everything or item):
        output.emit({"rows": rows}, as_json=as_json, render=_show)
        return
    commands = [row["command"] for row in rows if row["command"]]
    if item is not None and not commands:
        raise ConfigError(f"{item} cannot be made here: {rows[0]['reason']}.")
    for command in dict.fromkeys(commands):
        if everything and quick and shlex.split(command)[1] not in QUICK:
            continue
        _run(command, folder)


def index() -> list[dict[str, str]]:
    """Rows of all designs that have a paper."""
    from tacit.design import design, names

    found = [(name, design(name)) for name in names()]
    return [
        {"paper": name, **vars(printed)}
        for name, each in found
        if "reproduce" in each.parts
        for printed in each.part("reproduce")
    ]


def page() -> str:
    """The index as a page of the docs."""
    lines = ["# Reproduce the papers", "", HEAD, ""]
    for paper in dict.fromkeys(row["paper"] for row in index()):
        lines += [f"## {paper}", "", "| item | status | command | reason |", "|---|---|---|---|"]
        for row in index():
            if row["paper"] == paper:
                command = f"`{row['command']}`" if row["command"] else "–"
                lines.append(f"| {row['item']} | {row['status']} | {command} | {row['reason']} |")
        lines.append("")
    return "\n".join(lines)


def _run(command: str, folder: Path | None) -> None:
    from tacit.cli.app import main

    data = str(folder or os.environ.get("TACIT_DATA", ""))
    if "FOLDER" in command and not data:
        raise ConfigError("This needs MovieLens: name its folder with --folder, or set TACIT_DATA.")
    if "two.csv" in command and not Path("two.csv").exists():
        raise ConfigError(
            "This needs two.csv here: tacit data domains FOLDER/ml-latest-small -o two.csv"
        )
    typer.echo(f"$ {command}", err=True)
    code = main(shlex.split(command.replace("FOLDER", data))[1:])
    if code:
        raise typer.Exit(code)


def _show(result: dict[str, Any]) -> None:
    columns = ("paper", "item", "status", "reason")
    rows = [[row[name] for name in columns] for row in result["rows"]]
    output.table("", columns, rows)
    output.next_step("Next:  tacit reproduce PAPER ITEM  runs the command;  --json shows it.")
