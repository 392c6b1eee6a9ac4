"""`tacit demo`: a tour of all designs on generated data, one screen each, offline.

`tacit reproduce`: every table, figure and bound of the papers, and the command that makes it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from rich.text import Text

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

app, reproducing = typer.Typer(), typer.Typer()
QUICK = ("audit", "guarantee", "plan")
"""Commands that take seconds or a few minutes."""
_WIDEST = 78  # letters of a line: a screen of 80 columns never breaks one by itself
_HEADINGS = {
    "asked": "What was asked",
    "left": "What left",
    "learned": "What an attacker learned",
    "cost": "What it cost",
    "works_from": "How many people it takes",
    "read_on": "Read on",
}


@command(app, "demo")
def run(
    name: list[str] | None = option("Designs; all if left out.", argument="DESIGN"),
    as_json: JSON = False,
) -> Result:
    """Tour the designs: what was asked, what left, what an attacker learned, and what it cost.

    Every number is of a run on generated data, made now.
    """
    from tacit.design import design, names

    known = [each for each in names() if "tour" in design(each).parts]
    chosen = name or known
    for each in chosen:
        if each not in known:
            raise ConfigError(f"No tour of '{each}'. There is: {', '.join(known)}.")
    started = time.monotonic()
    tours = []
    for number, owner in enumerate(map(design, chosen), 1):
        with terminal.progress(owner.title, 1, quiet=as_json) as advance:
            about = {"design": owner.name, "title": owner.title, "works_from": owner.works_from}
            tours.append(about | terminal.plain(owner.part("tour")()))
            advance(1)
        if not as_json:
            _show(tours[-1], f"{number} of {len(chosen)}")
    seconds = round(time.monotonic() - started, 1)
    sentence = f"{len(tours)} designs in {seconds:g} seconds."
    after = "tacit fit private ratings.csv --epsilon 1 -o m.tacit"
    return Result({"tours": tours, "seconds": seconds}, (sentence,), after)


def _show(tour: dict[str, Any], place: str) -> None:
    write = terminal.console.print
    write(Text(f"{tour['title']} ({tour['design']}), {place}", style="bold"))
    for key, heading in _HEADINGS.items():
        write(Text(f"\n{heading}", style="cyan"))
        write(Text(tour[key]), width=min(_WIDEST, terminal.console.width))
    write()


@command(reproducing)
def reproduce(
    paper: str | None = option("A design, such as prec.", argument="paper"),
    item: str | None = option(
        "An item that --list shows, or a part of its name: 'Theorem 15'.", argument="item"
    ),
    listed: bool = option("Show all items, run nothing.", flag="--list"),
    everything: bool = option("Run all commands.", flag="--all"),
    quick: bool = option("With --all: only fast commands.", flag="--quick/--no-quick"),
    folder: Path | None = option("Where ml-100k lies; default: TACIT_DATA."),
    as_json: JSON = False,
) -> Result | None:
    """Make a figure of a paper again.

    Every table, figure and bound that the papers print: what became of it, the command that makes
    our figure, and the reason where there is none. docs/results.md has both figures.
    """
    every = index()
    rows = [row for row in every if paper in (None, row["paper"])]
    if not rows:
        known = ", ".join(dict.fromkeys(row["paper"] for row in every))
        raise ConfigError(f"No paper '{paper}'. Known: {known}.")
    if item is not None:
        rows = find_item(rows, item, paper)
    if listed or not (everything or item):
        columns = ("paper", "item", "status", "reason")
        table = Table("", columns, [[row[name] for name in columns] for row in rows])
        after = "tacit reproduce PAPER ITEM  runs the command;  --json shows it."
        return Result({"rows": rows}, (table,), after)
    if everything and as_json:
        raise ConfigError("--json prints one object: name one ITEM, or leave --all out.")
    commands = [row["command"] for row in rows if row["command"]]
    if item is not None and not commands:
        raise ConfigError(f"{item} cannot be made here: {rows[0]['reason']}.")
    if item is not None and rows[0]["printed"]:
        typer.echo(f"The paper: {rows[0]['printed']}.", err=True)
    for line in dict.fromkeys(commands):
        if not (everything and quick) or shlex.split(line)[1] in QUICK:
            _run(line if not as_json or "--json" in line else f"{line} --json", folder)
    return None


def index() -> list[dict[str, str]]:
    """Rows of all designs that have a paper."""
    from tacit.design import design, names

    return [
        {"paper": each.name, **vars(printed)}
        for each in map(design, names())
        if "reproduce" in each.parts
        for printed in each.part("reproduce")
    ]


def find_item(rows: list[dict[str, str]], item: str, paper: str | None) -> list[dict[str, str]]:
    """Find the rows of one item by its name or by a part of it, such as one theorem of several.

    Raises:
        ConfigError: no item has this part, or several items that different commands make have it.
    """
    found = [row for row in rows if row["item"] == item]
    if not found:
        found = [row for row in rows if is_named_in(item, row["item"])]
    if not found:
        raise ConfigError(f"{paper} has no item '{item}'. See: tacit reproduce {paper} --list")
    if len({row["command"] for row in found}) > 1:
        several = "; ".join(dict.fromkeys(row["item"] for row in found))
        raise ConfigError(f"{paper} has several items '{item}': {several}. Name one of them.")
    return found


def is_named_in(part: str, item: str) -> bool:
    """Whether a part, such as 'Theorem 15', is whole words of an item's name or one of its list.

    'Theorem 4' is one of 'Theorems 2 to 4'; 'Theorem 1' is no part of 'Theorem 15'.
    """
    asked = part.strip().lower()
    if not asked:
        return False
    if re.search(rf"(?<![\w.]){re.escape(asked)}(?![\w]|\.\d)", item.lower()):
        return True
    return asked in list_members(item)


def list_members(item: str) -> set[str]:
    """Spell out the lists of an item's name: 'Lemmas 3 to 5' is {'lemma 3', 'lemma 4', ...}."""
    members = set()
    number = r"(\d+\.)?(\d+)"
    lists = rf"([a-z]+)s ({number}(?:(?:, | and | to ){number})+)"
    for found in re.finditer(lists, item.lower()):
        kind, numbers = found[1], found[2]
        for one in re.finditer(number, numbers):
            members.add(f"{kind} {one[0]}")
        for ends in re.finditer(rf"{number} to {number}", numbers):
            chapter, first, last = ends[1] or "", int(ends[2]), int(ends[4])
            members.update(f"{kind} {chapter}{one}" for one in range(first, last + 1))
    return members


def _run(command: str, folder: Path | None) -> None:
    from tacit.cli.app import main

    data = str(folder or os.environ.get("TACIT_DATA", ""))
    if "FOLDER" in command and not data:
        raise ConfigError("This needs MovieLens: name its folder with --folder, or set TACIT_DATA.")
    if "two.csv" in command and not Path("two.csv").exists():
        if not data:
            raise ConfigError(
                "This needs two.csv, of two domains: name the folder of ml-latest-small with "
                "--folder, or set TACIT_DATA, or run  tacit data domains FOLDER -o two.csv"
            )
        with TemporaryDirectory() as made:
            two = shlex.quote(f"{made}/two-domains.csv")
            with redirect_stdout(sys.stderr):
                _run(f"tacit data domains FOLDER/ml-latest-small -o {two}", folder)
            _run(command.replace("two.csv", two), folder)
        return
    typer.echo(f"$ {command}", err=True)
    code = main([word.replace("FOLDER", data) for word in shlex.split(command)[1:]])
    if code:
        raise typer.Exit(code)
