"""`tacit demo`: a tour of designs on generated data, one screen each, without the network."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import option
from tacit.errors import ConfigError, OutputError
from tacit.evaluation import REPORT, Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.evaluation.page import Page

app = typer.Typer()
_WIDEST = 78
"""Most characters of a line of the tours' texts, so that a terminal of 80 columns does not break
it."""
_BAR = 30
"""Length of every bar in characters; dots fill the part above the value."""
_HEADINGS = {
    "asked": "What was asked",
    "left": "What was sent",
    "learned": "What an attacker learned",
    "cost": "What it cost",
    "works_from": "How many people it takes",
    "read_on": "Read on",
}
"""Heading of each text of a tour by its key, in the order in which they are shown."""
SHOP = "shop.csv"
"""File of a generated shop's purchases, which the demo writes to try commands on."""
SHOP_ITEMS = "shop-items.csv"
"""File of the shop's items, which the demo writes, too."""
SHOP_MODEL = "shop.tacit"
"""File of the model that the first of SHOP_LINES writes."""
SHOP_LINES = (
    f"tacit fit private {SHOP} --items {SHOP_ITEMS} --epsilon 1 -o {SHOP_MODEL}",
    f"tacit guarantee {SHOP_MODEL}",
    f"tacit recommend {SHOP_MODEL} --all {SHOP} -o shop-lists.parquet",
)
"""Commands that can be typed in the folder where the demo ran."""


@command(app, "demo")
def run(
    name: list[str] | None = option("Designs; all if left out.", argument="DESIGN"),
    report: Path | None = option(REPORT, default=None, writes=True),
    as_json: JSON = False,
) -> Result:
    """Tour the designs: what was asked and sent, what an attacker learned, and what it cost.

    Each tour runs now, on generated data. How many people a design takes, and how its lists compare
    with popular items on real data, was measured before. The purchases and items of a generated
    shop are written to this folder, shop.csv and shop-items.csv, to try commands on.
    """
    # OpenBLAS reads this when NumPy is imported. The tours' matrices are so small that its threads
    # would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tacit.design import design, names

    toured_names = [design_name for design_name in names() if "tour" in design(design_name).parts]
    chosen = name or toured_names
    for design_name in chosen:
        if design_name not in toured_names:
            raise ConfigError(f"No tour of '{design_name}'. There is: {', '.join(toured_names)}.")
    started = time.monotonic()
    tours = []
    for number, toured in enumerate(map(design, chosen), 1):
        tour_started = time.monotonic()
        tour: dict[str, Any] = {
            "design": toured.name,
            "title": toured.title,
            "works_from": toured.works_from,
        }
        with terminal.progress(toured.title, 1, quiet=as_json) as advance:
            tour |= terminal.to_json_types(toured.part("tour")())
            advance(1)
        tour["seconds"] = round(time.monotonic() - tour_started, 1)
        tours.append(tour)
        if not as_json:
            _print_tour(tour, f"{number} of {len(chosen)}")
    seconds = round(time.monotonic() - started, 1)
    shown: list[Table | str] = [
        f"{len(tours)} designs in {seconds:g} seconds.",
        _make_summary_table(tours),
    ]
    if report is not None:
        _make_page(tours).write(report)
        shown.append(f"{report} has all of it, with pictures.")
    has_shop, sentence = _write_shop(Path())
    shown.append(sentence)
    if has_shop:
        shown.append("Try these commands, line by line:")
        shown.append("\n".join(SHOP_LINES))
    return Result({"tours": tours, "seconds": seconds}, shown)


def _make_summary_table(tours: list[dict[str, Any]]) -> Table:
    """Make a table with a row for each tour.

    A row has the values of the tour's two bars, their names, who must be trusted, and how the
    design's lists compare with popular items on real data.

    Args:
        tours: What the parts "tour" of designs returned, as JSON.
    """
    rows = []
    for tour in tours:
        first_bar, second_bar = tour["bars"]
        values = f"{first_bar['value']:.2f} / {second_bar['value']:.2f}"
        bar_names = f"{first_bar['name']} / {second_bar['name']}"
        rows.append((tour["design"], values, bar_names, tour["trusted"], tour["real_data"]))
    columns = ("design", "two numbers", "of what", "who must be trusted", "popular items")
    return Table("", columns, rows)


def _make_page(tours: list[dict[str, Any]]) -> Page:
    """Make the report: a tile for each bar, a table of all tours, and a section for each tour."""
    from tacit.evaluation import Verdict, describe_run
    from tacit.evaluation.page import Page, Section, Tile

    tiles = []
    sections = [Section("All designs", [_make_summary_table(tours)])]
    for tour in tours:
        for bar in tour["bars"]:
            value = bar["value"]
            tiles.append(
                Tile(
                    name=tour["title"],
                    value=f"{value:.2f}",
                    unit="of 1",
                    note=bar["name"],
                    share=value,
                    says=f"{bar['name']}: {value:.2f}",
                )
            )
        notes = [f"{heading}. {tour[key]}" for key, heading in _HEADINGS.items()]
        sections.append(Section(tour["title"], notes=[tour["headline"], *notes]))
    return Page(
        title="A tour of the designs",
        sections=sections,
        manifest=describe_run("tacit demo", {"designs": [tour["design"] for tour in tours]}),
        verdict=Verdict("ok", f"{len(tours)} designs", "Each ran on generated data, made now."),
        tiles=tiles,
    )


def _write_shop(folder: Path) -> tuple[bool, str]:
    """Write a generated shop into a folder: files of purchases and of items.

    It stops at the first file that cannot be written, or that already exists with other content.

    Returns:
        Whether both files of the shop are in the folder now, and a sentence about them.
    """
    from tacit.atomic_writes import write_whole
    from tacit.data.synthetic import generate

    ratings = generate(users=4_000, items=200, ratings=100_000, labels=8, seed=5)
    purchases = ratings.where(ratings.likes)
    assert purchases.timestamps is not None  # generated ratings have times
    days = purchases.timestamps.astype("datetime64[s]").astype("datetime64[D]")
    purchase_lines = ["customer,product,date"]
    for person, item, day in zip(
        purchases.users.tolist(), purchases.items.tolist(), days.tolist(), strict=True
    ):
        purchase_lines.append(f"c{person},p{item},{day}")
    genres = ratings.item_metadata["genres"].tolist()
    item_lines = ["product,categories"]
    item_lines += [f"p{number},{names or ''}" for number, names in enumerate(genres)]
    lines_of_files = {SHOP: purchase_lines, SHOP_ITEMS: item_lines}
    for file, lines in lines_of_files.items():
        content = ("\n".join(lines) + "\n").encode()
        path = folder / file
        if path.exists() and path.read_bytes() != content:
            return False, f"There is another {shlex.quote(file)} here already: it stays unchanged."
        try:
            write_whole(path, content)
        except OutputError as error:
            return False, f"The shop to try commands on was not written: {error}"
    return True, f"{SHOP} and {SHOP_ITEMS}, a generated shop to try, are in this folder."


def _print_tour(tour: dict[str, Any], position: str) -> None:
    """Print a tour on the terminal.

    Args:
        tour: The tour's texts and numbers.
        position: Which of the tours it is, such as "2 of 6".
    """
    from rich.text import Text

    print_text = terminal.console().print
    width = min(_WIDEST, terminal.console().width)
    print_text(Text(f"{tour['title']} ({tour['design']}), {position}", style="bold"))
    for key, heading in _HEADINGS.items():
        print_text(Text(f"\n{heading}", style="cyan"))
        print_text(Text(tour[key]), width=width)
    print_text()
    print_text(Text(tour["headline"], style="bold"), width=width)
    for bar in tour["bars"]:
        length = round(_BAR * bar["value"])  # values are from 0 to 1
        drawing = "#" * length + "." * (_BAR - length)
        print_text(Text(f"  {bar['name']:<22} {drawing} {bar['value']:.2f}"))
    print_text(Text(f"Trusted: {tour['trusted']}."), width=width)
    print_text()
