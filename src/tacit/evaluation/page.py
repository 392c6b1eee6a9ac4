"""One self-contained page of an experiment, of the parts and words that a design gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.atomic_writes import check_writable, write_whole
from tacit.evaluation import Interval, Table, Verdict


@dataclass(frozen=True)
class Cell:
    """What stands in a table, and in small below it.

    level: its background, from 0 (good) to 5 (bad). tone: "better", "worse" or "none". spoken: what
    a screen reader adds. mark: of the first cell, how its row stands out: "judged" or "plain".
    """

    text: str
    small: str = ""
    level: int | None = None
    tone: str = ""
    spoken: str = ""
    mark: str = ""
    span: int = 1

    @classmethod
    def of(cls, value: object) -> Cell:
        """Any cell of a `Table`."""
        if isinstance(value, cls):
            return value
        if value is None:
            return cls("–", tone="none")
        return cls(f"{value:.3f}" if isinstance(value, float) else str(value))

    def __str__(self) -> str:
        """As a terminal shows it."""
        return f"{self.text}\n{self.small}" if self.small else self.text


def interval(
    value: Interval | None, form: str = ".3f", *, ends: bool = True, better: int = 0
) -> Cell | None:
    """A mean with the ends of its interval.

    form: how a number is written; with a sign ("+.3f") it is a difference. ends: whether there are
    any to show. better: 1 where more than 0 is better, -1 where less is, 0 where neither.
    """
    if value is None:
        return None
    signed = form.startswith("+")
    mean, low, high = (f"{end:{form}}" for end in value)
    if signed:
        mean, low, high = (each.replace("-", "\N{MINUS SIGN}") for each in (mean, low, high))
    side = better * ((value.low > 0) - (value.high < 0))
    tone = ("", "better", "worse")[side]
    spoken = (tone or "not distinguished") if better else ""
    return Cell(
        mean, f"{low}{' to ' if signed else '–'}{high}" if ends else "", tone=tone, spoken=spoken
    )


@dataclass(frozen=True)
class Mark:
    """One entry of a key: a stroke of this colour, or a sign in place of it, or a level's chip."""

    name: str
    colour: str = ""
    dash: Sequence[int] = ()
    sign: str = ""
    level: int | None = None


@dataclass(frozen=True)
class Figure:
    """drawn: plots, each below the name of its panel. alt: what they show, in words."""

    title: str
    alt: str
    drawn: Sequence[tuple[str, str]] = ()
    caption: str = ""
    key: Sequence[Mark] = ()
    table: Table | None = None


@dataclass(frozen=True)
class Section:
    """Tables one below the other, figures side by side. key: of all figures in it. notes: small
    print; a design's `words.html` has more of it, and leads, by the title."""

    title: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    key: Sequence[Mark] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Tile:
    """One large figure. share: of 1, drawn as a bar in the colour of its level; says: of it."""

    name: str
    value: str
    unit: str
    note: str
    share: float | None = None
    level: int = 0
    says: str = ""


@dataclass(frozen=True)
class Page:
    """design: its title. package: where a `words.html` extends ours with a heading, a lead, leads
    and notes of sections, what the page does not show and a glossary, filled with `facts`; "" if
    there is none."""

    title: str
    sections: Sequence[Section]
    manifest: Mapping[str, Any]
    verdict: Verdict | None = None
    tiles: Sequence[Tile] = ()
    lead: str = ""
    design: str = ""
    package: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def html(self) -> str:
        """No script, no address; every word of the data escaped."""
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

        own = [PackageLoader(self.package, "")] if self.package else []
        environment = Environment(
            loader=ChoiceLoader([*own, PackageLoader("tacit.evaluation")]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["cell"] = Cell.of
        template = environment.get_template("words.html" if self.package else "page.html")
        return template.render(self.facts, page=self, made_with=list(flat(self.manifest)))

    def write(self, path: str | Path) -> None:
        """The whole page or none: what was there stays until the new page is on disk."""
        check_writable(path)
        # A file name on the command line need not be Unicode; the rest of the page still counts.
        write_whole(path, self.html().encode("utf-8", errors="backslashreplace"))


@dataclass(frozen=True)
class Line:
    """A method's means by what moves; those under None hold wherever it moves."""

    name: str
    colour: str
    dash: tuple[int, ...]
    means: Mapping[float | None, Interval | None]
    small: str = ""
    mark: str = ""


def moving(
    title: str, lines: Sequence[Line], *, axis: str, unit: str, caption: str, bars: bool, ends: bool
) -> Figure | None:
    """Lines over what moves, and a table of the same figures; None where it stands still.

    axis, unit: titles. bars: whether intervals are drawn; ends: whether they are written.
    """
    from tacit.evaluation.plots import curves

    columns = sorted({x for line in lines for x in line.means if x is not None})
    if len(columns) < 2:
        return None
    rows = [
        (
            Cell(line.name, line.small, mark=line.mark),
            *(interval(line.means.get(x, line.means.get(None)), ends=ends) for x in columns),
        )
        for line in lines
    ]
    plot = curves(lines, x_title=axis, y_title=unit, bars=bars)
    heads = ("method", *(f"{x:g}" for x in columns))
    alt = f"Line plot: {title}; the table below holds the same figures."
    return Figure(title, alt, (("", plot),), caption, table=Table("", heads, rows))


def flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A manifest's lines: names of nested entries joined by dots."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            several = isinstance(value, list | tuple)
            yield f"{prefix}{key}", ", ".join(map(str, value)) if several else value


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated.

    auc_ranges, rmse_range: ends of the 95 % intervals over folds.
    """

    mix: float
    aucs: dict[str, float]
    rmse: float
    auc_ranges: dict[str, tuple[float, float]]
    rmse_range: tuple[float, float]
