"""`tacit reproduce`: lists the papers' tables, figures and bounds, and makes them again.

A result is one table, figure, theorem or bound of a paper, with what became of it here. The item is
its name, such as "Theorem 15". Several results may share an item.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from tacit.cli.commands import command
from tacit.design import PaperResult, design, names, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.evaluation.quantities import find_quantities
from tacit.terminal import JSON

app = typer.Typer()
QUICK_COMMANDS = ("audit", "guarantee", "plan")
"""Commands of tacit that count as quick: they run for a few minutes at most."""
_WIDEST_QUANTITY = 60
"""Most characters of a list or an object that is shown as a quantity."""


@command(app)
def reproduce(
    paper: str | None = option("A design, such as prec.", argument="paper"),
    item: str | None = option(
        "An item that --list shows, or a part of its name: 'Theorem 15'.", argument="item"
    ),
    listed: bool = option("Show all items, run nothing.", flag="--list"),
    everything: bool = option("Run the commands of all items.", flag="--all"),
    quick: bool = option("With --all: only quick commands.", flag="--quick/--no-quick"),
    folder: Path | None = option("Folder that holds ml-100k; default: TACIT_DATA."),
    as_json: JSON = False,
) -> Result | None:
    """Make a table, figure, theorem or bound of a paper again.

    Without ITEM or --all, every table, figure and bound of the paper is listed, or of all papers,
    with what became of it here and why. With ITEM, the command that makes it is run, and its
    quantities are shown with what the paper prints. With --json, the command's own JSON is printed
    instead. The output of --list --json has, under `shows`, the paths of these quantities in that
    JSON.
    """
    results = paper_results()
    chosen = [(name, result) for name, result in results if paper in (None, name)]
    if not chosen:
        known = ", ".join(dict.fromkeys(name for name, _ in results))
        raise ConfigError(f"No paper '{paper}'. Known: {known}.")
    if item is not None:
        chosen = _find_item(paper, item, chosen)
    if listed or not (everything or item):
        return _list_results(chosen)
    if everything and as_json:
        raise ConfigError("--json prints one object: name one ITEM, or leave --all out.")
    if item is not None:
        return _run_item([result for _, result in chosen], folder, as_json)
    commands = dict.fromkeys(result.command for _, result in chosen if result.command)
    for line in commands:
        if not quick or is_quick(line):
            _run(line, folder)
    return None


def paper_results() -> list[tuple[str, PaperResult]]:
    """List the results of all papers, each with the name of its design."""
    results: list[tuple[str, PaperResult]] = []
    for owner in map(design, names()):
        if "reproduce" in owner.parts:
            results += [(owner.name, result) for result in owner.part("reproduce")]
    return results


def index_row(paper: str, result: PaperResult) -> dict[str, Any]:
    """Make the row of a result that `tacit reproduce --list --json` prints."""
    return {
        "paper": paper,
        "item": result.item,
        "status": result.status,
        "command": result.command,
        "reason": result.reason,
        "printed": result.printed,
        "shows": list(result.shows),
    }


def _find_item(
    paper: str | None, item: str, results: list[tuple[str, PaperResult]]
) -> list[tuple[str, PaperResult]]:
    """Find the results of one item by its name, or by a part of it such as one theorem of several.

    Args:
        paper: Design that was named, for errors; None: none was.
        item: The name or part.
        results: The results among which to search, each with the name of its design.

    Returns:
        The results that are found, each with the name of its design. One command makes all of them,
        or none does.

    Raises:
        ConfigError: No item has this name or part; or several have it, and different commands make
            them.
    """
    matching = [(name, result) for name, result in results if result.item == item]
    if not matching:
        matching = [(name, result) for name, result in results if is_named_in(item, result.item)]
    if not matching:
        words = ["tacit reproduce", "--list"]
        if paper:
            words.insert(1, paper)
        problem = f"{paper} has no item" if paper else "No paper has the item"
        raise ConfigError(f"{problem} '{item}'. See: {' '.join(words)}")
    if len({result.command for _, result in matching}) > 1:
        candidates = "; ".join(f"{name}: {result.item}" for name, result in matching)
        raise ConfigError(f"Several items have '{item}': {candidates}. Name one of them.")
    return matching


def is_named_in(part: str, item: str) -> bool:
    """Say whether an item's name has a part, such as 'Theorem 15', as whole words or in a list.

    'Theorem 4' is in 'Theorems 2 to 4'. 'Theorem 1' is not in 'Theorem 15'. Capitals do not matter.
    An empty part is in no name.
    """
    words = part.strip().lower()
    if not words:
        return False
    # Whole words: no letter, digit or point before, no letter, digit or section number after.
    if re.search(rf"(?<![\w.]){re.escape(words)}(?![\w]|\.\d)", item.lower()):
        return True
    return words in list_members(item)


def list_members(item: str) -> set[str]:
    """Spell out the lists in an item's name, in lower case.

    'Lemmas 3 and 5 to 7' gives 'lemma 3', 'lemma 5', 'lemma 6' and 'lemma 7'.
    """
    members = set()
    number_pattern = r"(?:(?:\d+\.)?\d+|[ivx]+)"  # 3, 4.2 or iv
    # Lemmas 3, 4 to 6
    list_pattern = rf"([a-z]+)s ({number_pattern}(?:(?:, | and | to ){number_pattern})+)"
    range_pattern = r"(\d+\.)?(\d+) to (?:\d+\.)?(\d+)"  # 4 to 6, or 4.2 to 4.5
    for found_list in re.finditer(list_pattern, item.lower()):
        noun = found_list[1]
        numbers = found_list[2]
        for number in re.split(", | and | to ", numbers):
            members.add(f"{noun} {number}")
        for found_range in re.finditer(range_pattern, numbers):
            chapter = found_range[1] or ""
            first = int(found_range[2])
            last = int(found_range[3])
            members.update(f"{noun} {chapter}{number}" for number in range(first, last + 1))
    return members


def _list_results(chosen: list[tuple[str, PaperResult]]) -> Result:
    """Make the table of the results, and suggest to run one of those that have a command.

    A quick one is preferred. If no result has a command, none is suggested.
    """
    rows = [index_row(name, result) for name, result in chosen]
    cells = [(row["paper"], row["item"], row["status"], row["reason"]) for row in rows]
    table = Table("", ("paper", "item", "status", "reason"), cells)
    with_command = [(name, result) for name, result in chosen if result.command]
    quick = [(name, result) for name, result in with_command if is_quick(result.command)]
    next_command = ""
    if with_command:
        paper, result = (quick or with_command)[0]
        next_command = f"tacit reproduce {paper} {shlex.quote(result.item)}  runs one of these."
    return Result({"rows": rows}, (table,), next_command)


def is_quick(line: str) -> bool:
    """Say whether a command line is of one of QUICK_COMMANDS. The line "" is not quick."""
    return bool(line) and shlex.split(line)[1] in QUICK_COMMANDS


def _run_item(results: Sequence[PaperResult], folder: Path | None, as_json: bool) -> Result | None:
    """Run the command of an item once, and show its quantities with what the paper prints.

    Args:
        results: The results of the item, one or more, which have the same command.
        folder: Folder that holds ml-100k; None: the environment variable TACIT_DATA names it.
        as_json: Whether the command only prints its own JSON.

    Returns:
        The table and sentences; None where the command printed everything itself: with `as_json`,
        and where no result has quantities to show.

    Raises:
        ConfigError: No command makes the results, or it needs MovieLens and no folder is named.
        typer.Exit: The command failed.
    """
    first = results[0]
    if not first.command:
        raise ConfigError(f"{first.item} cannot be made here: {first.reason}.")
    line = first.command if "--json" in first.command else f"{first.command} --json"
    if as_json:
        _run(line, folder)
        return None
    if not any(result.shows for result in results):
        _run(first.command, folder)
        return None
    printed = io.StringIO()
    with redirect_stdout(printed):
        _run(line, folder)
    document = json.loads(printed.getvalue())
    shown: list[Table | str] = []
    for result in results:
        shown += _show_quantities(result, document)
    after = f"{first.command.removesuffix(' --json')}  shows all that it found."
    return Result({}, shown, after)


def _show_quantities(result: PaperResult, document: Any) -> list[Table | str]:
    """Make the table of a result's quantities, and sentences about them.

    Args:
        result: The result.
        document: What its command printed as JSON.
    """
    quantities: dict[str, Any] = {}
    for path in result.shows:
        quantities |= find_quantities(document, path)
    rows = [(path, _format_quantity(value)) for path, value in quantities.items()]
    table = Table(f"{result.item} ({result.status})", ("quantity", "here"), rows)
    shown: list[Table | str] = [table, f"Here: {result.reason}."]
    if result.printed:
        shown.append(f"The paper: {result.printed}.")
    return shown


def _format_quantity(value: Any) -> object:
    """Return a value for a cell of a table.

    None, numbers and texts are returned unchanged; a list or an object as JSON of at most
    _WIDEST_QUANTITY characters.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    return textwrap.shorten(json.dumps(value), _WIDEST_QUANTITY, placeholder=" …")


def _run(line: str, folder: Path | None) -> None:
    """Run a command line of tacit in this process.

    Args:
        line: The line. FOLDER in it stands for the folder that holds ml-100k, and two.csv for
            MovieLens 100K cut into two domains, unless the current folder has a file two.csv.
        folder: Folder that holds ml-100k; None: the environment variable TACIT_DATA names it.

    Raises:
        ConfigError: The line needs MovieLens, and no folder is named.
        typer.Exit: The line failed. It has the line's exit code.
    """
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
    """Cut MovieLens 100K into two domains in a temporary file, and run a command line on it.

    Args:
        line: The command line, in which two.csv stands for the file.
        folder: Value of --folder; None: not typed.
        data: Folder that holds ml-100k, of --folder or TACIT_DATA; "": none is named.

    Raises:
        ConfigError: No folder is named.
        typer.Exit: Cutting or the command line failed.
    """
    if not data:
        raise ConfigError(
            "This needs two.csv, of two domains: name the folder of ml-100k with "
            "--folder, or set TACIT_DATA, or run  tacit data domains FOLDER -o two.csv"
        )
    with TemporaryDirectory() as temporary:
        two_domains = shlex.quote(f"{temporary}/two-domains.csv")
        with redirect_stdout(sys.stderr):
            _run(f"tacit data domains FOLDER/ml-100k -o {two_domains}", folder)
        _run(line.replace("two.csv", two_domains), folder)
