"""`tacit reproduce`: every table, figure and bound of the papers, and the command that makes it."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from tacit.cli.commands import command
from tacit.design import PaperResult, design, names, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

app = typer.Typer()
QUICK_COMMANDS = ("audit", "guarantee", "plan")
"""Commands that take seconds or a few minutes."""
_NUMBERED = re.compile(
    r"(?P<kind>[A-Z][a-z]+) (?P<numbers>[IVX\d.]+(?:(?:, | and | to )[IVX\d.]+)*)\b"
)
_RANGE = re.compile(r"(\d+\.)?(\d+) to (?:\d+\.)?(\d+)")


@command(app)
def reproduce(
    paper: str | None = option("A design, such as prec.", argument="paper"),
    item: str | None = option(
        "An item that --list shows, or a part of its name: 'Theorem 15'.", argument="item"
    ),
    listed: bool = option("Show all items, run nothing.", flag="--list"),
    everything: bool = option("Run all commands.", flag="--all"),
    quick: bool = option("With --all: only fast commands.", flag="--quick/--no-quick"),
    folder: Path | None = option("Folder that holds ml-100k; default: TACIT_DATA."),
    as_json: JSON = False,
) -> Result | None:
    """Make a figure of a paper again.

    Every table, figure and bound that the papers print: what became of it, the command that makes
    our figure, and the reason where there is none. `shows` names the quantities in the command's
    JSON.
    """
    chosen = [(name, result) for name, result in paper_results() if paper in (None, name)]
    if not chosen:
        known = ", ".join(dict.fromkeys(name for name, _ in paper_results()))
        raise ConfigError(f"No paper '{paper}'. Known: {known}.")
    if item is not None:
        chosen = _find_item(paper, item, chosen)
    if listed or not (everything or item):
        return _list_results(chosen)
    if everything and as_json:
        raise ConfigError("--json prints one object: name one ITEM, or leave --all out.")
    if item is not None:
        _run_item(*chosen, folder, as_json)
        return None
    commands = dict.fromkeys(result.command for _, result in chosen if result.command)
    for line in commands:
        if not quick or shlex.split(line)[1] in QUICK_COMMANDS:
            _run(line, folder)
    return None


def paper_results() -> list[tuple[str, PaperResult]]:
    """List the results of all papers, each with the name of its design."""
    designs = [design(name) for name in names()]
    return [
        (owner.name, result)
        for owner in designs
        if "reproduce" in owner.parts
        for result in owner.part("reproduce")
    ]


def index_row(paper: str, result: PaperResult) -> dict[str, Any]:
    """Write a result as `tacit reproduce --list --json` prints it."""
    return {
        "paper": paper,
        "item": result.item,
        "status": result.status,
        "command": result.command,
        "reason": result.reason,
        "printed": result.printed,
        "shows": list(result.shows),
    }


def numbered_items(item: str) -> set[str]:
    """Split the name of an item into what it covers.

    "Theorems 1 and 2, Lemmas 3 to 5" covers Theorem 1, Theorem 2, Lemma 3, Lemma 4 and Lemma 5.
    """
    covered = set()
    for match in _NUMBERED.finditer(item):
        kind = re.sub("ies$", "y", match["kind"]).removesuffix("s")
        numbers = match["numbers"]
        for number in re.split(r", | and | to ", numbers):
            covered.add(f"{kind} {number}")
        for chapter, first, last in _RANGE.findall(numbers):
            covered |= {f"{kind} {chapter}{n}" for n in range(int(first), int(last) + 1)}
    return covered


def _find_item(
    paper: str | None, item: str, results: list[tuple[str, PaperResult]]
) -> list[tuple[str, PaperResult]]:
    """Find the one result that is named so, covers this item, or has this in its name."""
    whole_words = re.compile(rf"(?<!\w){re.escape(item)}(?![\w.])", re.IGNORECASE)
    ways = (
        [each for each in results if each[1].item == item],
        [each for each in results if item in numbered_items(each[1].item)],
        [each for each in results if whole_words.search(each[1].item)],
    )
    for found in ways:
        if len(found) == 1:
            return found
        if found:
            several = ", ".join(f"{name} '{result.item}'" for name, result in found)
            raise ConfigError(f"'{item}' is a part of several items. Name one of: {several}.")
    listing = " ".join(["tacit reproduce", *([paper] if paper else []), "--list"])
    raise ConfigError(f"{paper or 'No paper'} has no item '{item}'. See: {listing}")


def _list_results(chosen: list[tuple[str, PaperResult]]) -> Result:
    rows = [index_row(name, result) for name, result in chosen]
    columns = ("paper", "item", "status", "reason")
    table = Table("", columns, [[row[name] for name in columns] for row in rows])
    after = "tacit reproduce PAPER ITEM  runs the command;  --json shows it."
    return Result({"rows": rows}, (table,), after)


def _run_item(found: tuple[str, PaperResult], folder: Path | None, as_json: bool) -> None:
    _, result = found
    if not result.command:
        raise ConfigError(f"{result.item} cannot be made here: {result.reason}.")
    if result.printed:
        typer.echo(f"The paper: {result.printed}.", err=True)
    if result.shows:
        typer.echo(f"Our figures, in its JSON: {', '.join(result.shows)}", err=True)
    line = result.command
    _run(f"{line} --json" if as_json and "--json" not in line else line, folder)


def _run(line: str, folder: Path | None) -> None:
    from tacit.cli.app import main

    data = str(folder or os.environ.get("TACIT_DATA", ""))
    if "FOLDER" in line and not data:
        raise ConfigError("This needs MovieLens: name its folder with --folder, or set TACIT_DATA.")
    if "two.csv" in line and not Path("two.csv").exists():
        _run_on_two_domains(line, folder, data)
        return
    typer.echo(f"$ {line}", err=True)
    code = main([word.replace("FOLDER", data) for word in shlex.split(line)[1:]])
    if code:
        raise typer.Exit(code)


def _run_on_two_domains(line: str, folder: Path | None, data: str) -> None:
    """Make two.csv of MovieLens latest-small in a temporary folder, and run the command on it."""
    if not data:
        raise ConfigError(
            "This needs two.csv, of two domains: name the folder of ml-latest-small with "
            "--folder, or set TACIT_DATA, or run  tacit data domains FOLDER -o two.csv"
        )
    with TemporaryDirectory() as temporary:
        two_domains = shlex.quote(f"{temporary}/two-domains.csv")
        with redirect_stdout(sys.stderr):
            _run(f"tacit data domains FOLDER/ml-latest-small -o {two_domains}", folder)
        _run(line.replace("two.csv", two_domains), folder)
