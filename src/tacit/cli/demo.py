"""`tacit demo`: a tour of all designs on generated data, one screen each, offline."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.text import Text

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

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


@app.command("demo")
def run(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="DESIGN", help="Designs; all if left out.")
    ] = None,
    as_json: JSON = False,
) -> None:
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
    for number, each in enumerate(chosen, 1):
        with output.progress(design(each).title, 1, quiet=as_json) as advance:
            tours.append(_made(each))
            advance(1)
        if not as_json:
            _show(tours[-1], f"{number} of {len(chosen)}")
    seconds = round(time.monotonic() - started, 1)
    output.emit({"tours": tours, "seconds": seconds}, as_json=as_json, render=_end)


def _made(name: str) -> dict[str, Any]:
    from tacit.design import design

    found = design(name)
    shown = output.plain(found.part("tour")())
    return {"design": name, "title": found.title, "works_from": found.works_from, **shown}


def _show(tour: dict[str, Any], place: str) -> None:
    say = output.console.print
    say(Text(f"{tour['title']} ({tour['design']}), {place}", style="bold"))
    for key, heading in _HEADINGS.items():
        say(Text(f"\n{heading}", style="cyan"))
        say(Text(tour[key]), width=min(_WIDEST, output.console.width))
    say()


def _end(result: dict[str, Any]) -> None:
    output.console.print(
        Text(f"{len(result['tours'])} designs in {result['seconds']:g} seconds.", style="dim")
    )
    output.next_step("Next:  tacit fit private ratings.csv --epsilon 1 -o m.tacit")
