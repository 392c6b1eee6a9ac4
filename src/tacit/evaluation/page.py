"""A self-contained HTML page of an experiment, and the parts that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tacit.atomic_writes import check_writable, write_whole
from tacit.evaluation.intervals import Interval
from tacit.evaluation.result import Table
from tacit.evaluation.verdict import Verdict

MINUS = "\N{MINUS SIGN}"
"""Sign of negative numbers, in place of the hyphen."""


@dataclass(frozen=True)
class Cell:
    """Content of a table's cell."""

    text: str
    """Text of the cell."""
    small: str = ""
    """Small print below the text."""
    level: int | None = None
    """Colour of the background, from 0 (good) to 5 (bad); None: no background."""
    tone: str = ""
    """Colour of the text: "better", "worse" or "none"; "" for the usual colour."""
    spoken: str = ""
    """Words after the text that only a screen reader speaks."""
    mark: str = ""
    """In the first cell of a row, how the row stands out: "judged" or "plain"; "": it does not."""
    span: int = 1
    """Number of columns that the cell covers."""

    @classmethod
    def from_value(cls, value: object) -> Cell:
        """Make a cell of any value in a `Table`: floats with three decimals, a dash for None."""
        if isinstance(value, cls):
            return value
        if value is None:
            return cls("–", tone="none")
        return cls(f"{value:.3f}" if isinstance(value, float) else str(value))

    def __str__(self) -> str:
        """Format the cell for a terminal."""
        return f"{self.text}\n{self.small}" if self.small else self.text


def interval_cell(
    value: Interval | None, form: str = ".3f", *, ends: bool = True, better: int = 0
) -> Cell | None:
    """Make a cell with a mean, and with the ends of its interval below it.

    Args:
        value: The interval; None for no cell.
        form: Format of a number, as `format` takes it. With a sign ("+.3f") the value is a
            difference.
        ends: Whether the cell has the ends.
        better: For a difference: 1 if a positive one is better, -1 if a negative one is; the cell
            gets a tone if the whole interval is on one side of 0. With 0 it has no tone.
    """
    if value is None:
        return None
    mean, low, high = (format(number, form) for number in value)
    dash = "–"
    if form.startswith("+"):
        mean, low, high = (text.replace("-", MINUS) for text in (mean, low, high))
        dash = " to "
    tone = ""
    if better:
        if value.low > 0:
            tone = "better" if better > 0 else "worse"
        elif value.high < 0:
            tone = "worse" if better > 0 else "better"
    spoken = ""
    if better:
        spoken = tone or "not distinguished"
    return Cell(mean, f"{low}{dash}{high}" if ends else "", tone=tone, spoken=spoken)


@dataclass(frozen=True)
class Mark:
    """One entry of a figure's key."""

    name: str
    """Text of the entry."""
    colour: str = ""
    """CSS colour of the stroke or sign."""
    dash: Sequence[int] = ()
    """Lengths of strokes and gaps."""
    sign: str = ""
    """Sign in place of the stroke."""
    level: int | None = None
    """Level, as `Cell.level`, whose background is drawn in place of the stroke."""


class Plot(NamedTuple):
    """One plot of a figure."""

    svg: str
    """The plot as SVG, with the page's colours as CSS variables."""
    panel: str = ""
    """Name above the plot, if the figure has several plots; "": no name."""


@dataclass(frozen=True)
class Figure:
    """Plots below one title, with a caption, a key and a table."""

    title: str
    """Title of the figure."""
    alt: str
    """Description of the plots in words, for a screen reader."""
    plots: Sequence[Plot] = ()
    """The plots, from top to bottom."""
    caption: str = ""
    """Sentence below the plots."""
    key: Sequence[Mark] = ()
    """Entries of the key."""
    table: Table | None = None
    """Table of the same figures."""


@dataclass(frozen=True)
class Section:
    """A section of a page.

    A design's template `words.html` may add a first paragraph and small print, by the section's
    title.
    """

    title: str
    """Heading of the section."""
    tables: Sequence[Table] = ()
    """Tables, one below the other."""
    figures: Sequence[Figure] = ()
    """Figures, side by side."""
    key: Sequence[Mark] = ()
    """Key of the colours in the section's tables and figures."""
    notes: Sequence[str] = ()
    """Small print."""


@dataclass(frozen=True)
class Tile:
    """One number in large print at the top of a page."""

    name: str
    """What is measured."""
    value: str
    """The number."""
    unit: str
    """Unit of the number."""
    note: str
    """Sentence below the number."""
    share: float | None = None
    """Length of a bar, as a share of its full length; None for no bar."""
    level: int = 0
    """Colour of the bar, as `Cell.level`."""
    says: str = ""
    """Description of the bar in words, which is put before the note."""


@dataclass(frozen=True)
class Page:
    """A page with a verdict, tiles and sections."""

    title: str
    """Title of the page."""
    sections: Sequence[Section]
    """Sections, from top to bottom."""
    manifest: Mapping[str, Any]
    """How the result was made."""
    verdict: Verdict | None = None
    """First sentences of the page; None: there are none."""
    tiles: Sequence[Tile] = ()
    """Numbers in large print below the verdict."""
    lead: str = ""
    """Paragraph above the sections."""
    design: str = ""
    """Title of the design."""
    package: str = ""
    """Package of the design whose template `words.html` extends `page.html`; "" if there is none.
    The template may give a heading, a first paragraph, leads and notes of sections, and a glossary.
    """
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Values that the template `words.html` names."""

    def html(self) -> str:
        """Return the page as HTML, without scripts and addresses, with all text escaped."""
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

        loaders = [PackageLoader("tacit.evaluation")]
        if self.package:
            loaders.insert(0, PackageLoader(self.package, ""))
        environment = Environment(
            loader=ChoiceLoader(loaders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["cell"] = Cell.from_value
        template = environment.get_template("words.html" if self.package else "page.html")
        made_with = list(flatten_manifest(self.manifest))
        return template.render(self.facts, page=self, made_with=made_with)

    def write(self, path: str | Path) -> None:
        """Write the page to a file, whole or not at all.

        Raises:
            OutputError: The file cannot be written. An existing file is not changed.
        """
        check_writable(path)
        # The page quotes the command line, in which a file name may be no valid Unicode: it is
        # escaped, so that encoding does not fail.
        write_whole(path, self.html().encode("utf-8", errors="backslashreplace"))


def flatten_manifest(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of a manifest as names and values.

    Nested names are joined by dots; the entries of a list become one text, with commas.

    Args:
        content: The manifest.
        prefix: Names of the outer entries, each with a dot.
    """
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from flatten_manifest(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{key}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{key}", value
