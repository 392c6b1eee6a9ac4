"""`tacit demo`: a tour of all designs on generated data, one screen each, offline."""

from __future__ import annotations

import time
from typing import Any

import typer
from rich.text import Text

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import option
from tacit.errors import ConfigError
from tacit.evaluation import Result
from tacit.terminal import JSON

app = typer.Typer()
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
            tours.append(about | terminal.to_json_types(owner.part("tour")()))
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
