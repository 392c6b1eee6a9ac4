"""`tacit demo`: a tour of all designs on generated data, one screen each, offline."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import option
from tacit.errors import ConfigError, OutputError
from tacit.evaluation import REPORT, Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.evaluation.page import Page

app = typer.Typer()
_WIDEST = 78  # letters of a line: a screen of 80 columns never breaks one by itself
_BAR = 30  # letters of the longest bar
_HEADINGS = {
    "asked": "What was asked",
    "left": "What left",
    "learned": "What an attacker learned",
    "cost": "What it cost",
    "works_from": "How many people it takes",
    "read_on": "Read on",
}
SHOP, SHOP_ITEMS, SHOP_MODEL = "shop.csv", "shop-items.csv", "shop.tacit"
SHOP_LINES = (
    f"tacit fit private {SHOP} --items {SHOP_ITEMS} --epsilon 1 -o {SHOP_MODEL}",
    f"tacit guarantee {SHOP_MODEL}",
    f"tacit recommend {SHOP_MODEL} --all {SHOP} -o shop-lists.parquet",
)
"""Commands that run in the folder where the demo ran."""


@command(app, "demo")
def run(
    name: list[str] | None = option("Designs; all if left out.", argument="DESIGN"),
    report: Path | None = option(REPORT, default=None, writes=True),
    as_json: JSON = False,
) -> Result:
    """Tour the designs: what was asked, what left, what an attacker learned, and what it cost.

    Every number is of a run on generated data, made now. It leaves a generated shop to try on in
    this folder, shop.csv and shop-items.csv.
    """
    # OpenBLAS reads it when NumPy is imported: on matrices this small, threads wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tacit.design import design, names

    known = [each for each in names() if "tour" in design(each).parts]
    chosen = name or known
    for each in chosen:
        if each not in known:
            raise ConfigError(f"No tour of '{each}'. There is: {', '.join(known)}.")
    started = time.monotonic()
    tours = []
    for number, owner in enumerate(map(design, chosen), 1):
        began = time.monotonic()
        with terminal.progress(owner.title, 1, quiet=as_json) as advance:
            about = {"design": owner.name, "title": owner.title, "works_from": owner.works_from}
            tour = about | terminal.to_json_types(owner.part("tour")())
            advance(1)
        tours.append(tour | {"seconds": round(time.monotonic() - began, 1)})
        if not as_json:
            _show(tours[-1], f"{number} of {len(chosen)}")
    seconds = round(time.monotonic() - started, 1)
    shown: list[Table | str] = [f"{len(tours)} designs in {seconds:g} seconds.", _summary(tours)]
    if report is not None:
        _page_of(tours).write(report)
        shown.append(f"{report} has all of it, with pictures.")
    can_be_tried, sentence = _leave_shop(Path())
    shown.append(sentence)
    if can_be_tried:
        shown.append("Try it on them, line by line:")
        shown.append("\n".join(SHOP_LINES))
    return Result({"tours": tours, "seconds": seconds}, shown)


def _summary(tours: list[dict[str, Any]]) -> Table:
    """Make one row for each design: its two numbers, who is trusted, and how real data went."""
    rows = []
    for tour in tours:
        first, second = tour["bars"]
        numbers = f"{first['value']:.2f} / {second['value']:.2f}"
        what = f"{first['name']} / {second['name']}"
        rows.append((tour["design"], numbers, what, tour["trusted"], tour["real_data"]))
    return Table(
        "", ("design", "two numbers", "of what", "who must be trusted", "popular items"), rows
    )


def _page_of(tours: list[dict[str, Any]]) -> Page:
    """Lay out the report: a row for each design, then a section with bars for each."""
    from tacit.evaluation import describe_run
    from tacit.evaluation.page import Page, Section, Tile, Verdict

    tiles = []
    sections = [Section("All designs", [_summary(tours)])]
    for tour in tours:
        for bar in tour["bars"]:
            value = bar["value"]
            tiles.append(
                Tile(
                    tour["title"],
                    f"{value:.2f}",
                    "of 1",
                    bar["name"],
                    share=value,
                    says=f"{bar['name']}: {value:.2f}",
                )
            )
        notes = [f"{heading}. {tour[key]}" for key, heading in _HEADINGS.items()]
        sections.append(Section(tour["title"], notes=[tour["headline"], *notes]))
    return Page(
        "A tour of the designs",
        sections,
        describe_run("tacit demo", {"designs": [tour["design"] for tour in tours]}),
        Verdict("ok", f"{len(tours)} designs", "Each ran on generated data, made now."),
        tiles,
    )


def _leave_shop(folder: Path) -> tuple[bool, str]:
    """Write a generated shop into a folder, unless other files of these names are there.

    Returns:
        Whether it is there, and a sentence.
    """
    from tacit.atomic_writes import write_whole
    from tacit.data.synthetic import generate

    ratings = generate(users=4_000, items=200, ratings=100_000, labels=8, seed=5)
    bought = ratings.where(ratings.likes)
    rows = ["customer,product,date"]
    assert bought.timestamps is not None  # generated ratings have times
    days = bought.timestamps.astype("datetime64[s]").astype("datetime64[D]")
    columns = bought.users.tolist(), bought.items.tolist(), days.tolist()
    for person, item, day in zip(*columns, strict=True):
        rows.append(f"c{person},p{item},{day}")
    labels = ratings.item_metadata["genres"].tolist()
    items = ["product,categories"]
    items += [f"p{number},{names or ''}" for number, names in enumerate(labels)]
    contents = {SHOP: rows, SHOP_ITEMS: items}
    for file, lines in contents.items():
        content = ("\n".join(lines) + "\n").encode()
        path = folder / file
        if path.exists() and path.read_bytes() != content:
            return False, f"There is a {shlex.quote(file)} here already: it was left as it is."
        try:
            write_whole(path, content)
        except OutputError as error:
            return False, f"No files to try on were left: {error}"
    return True, f"{SHOP} and {SHOP_ITEMS} are generated purchases to try on, in this folder."


def _show(tour: dict[str, Any], place: str) -> None:
    write = terminal.console.print
    width = min(_WIDEST, terminal.console.width)
    write(Text(f"{tour['title']} ({tour['design']}), {place}", style="bold"))
    for key, heading in _HEADINGS.items():
        write(Text(f"\n{heading}", style="cyan"))
        write(Text(tour[key]), width=width)
    write()
    write(Text(tour["headline"], style="bold"), width=width)
    for bar in tour["bars"]:
        length = round(_BAR * bar["value"])
        drawn = "#" * length + "." * (_BAR - length)
        write(Text(f"  {bar['name']:<22} {drawn} {bar['value']:.2f}"))
    write(Text(f"Trusted: {tour['trusted']}."), width=width)
    write()
