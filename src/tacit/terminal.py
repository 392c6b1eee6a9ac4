"""What commands share: options, and what they print.

A command prints tables and sentences for people, strict JSON for machines, progress on stderr.
"""

from __future__ import annotations

import inspect
import json
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.evaluation import Result

T = TypeVar("T")
Number = TypeVar("Number", int, float)

JSON = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object to standard output and nothing else there."),
]

_PIPED = 100  # columns of a table that goes to a file or a program
console = Console(highlight=False, emoji=False)
_errors = Console(stderr=True, highlight=False, emoji=False)


def emit(result: T, *, as_json: bool, render: Callable[[T], None]) -> None:
    """Show a command's result once: as JSON, or by `render(result)` for a person."""
    if as_json:
        sys.stdout.write(json.dumps(plain(result), indent=2, allow_nan=False) + "\n")
    else:
        render(result)


def show(result: Result, *, as_json: bool) -> None:
    """Show what a command found; exit code 1 if it says so."""
    emit(result.data, as_json=as_json, render=lambda _: render(result))
    if result.failed:
        raise typer.Exit(1)


def render(result: Result) -> None:
    """Tables and sentences in their order, and the next step."""
    for part in result.shown:
        if isinstance(part, str):
            say(part)
        else:
            table(part.title, part.columns, part.rows)
    if result.after:
        next_step(f"Next:  {result.after}")


def answer(data: Mapping[str, Any], *said: str, after: str = "", as_json: bool) -> None:
    """Show a result of some sentences; after: the quiet last line."""

    def shown(_: object) -> None:
        for sentence in said:
            say(sentence)
        if after:
            next_step(after)

    emit(data, as_json=as_json, render=shown)


def say(text: str) -> None:
    """A sentence, or lines; never broken inside a path."""
    console.print(text, soft_wrap=True, markup=False)


def command_line() -> str:
    """What was typed."""
    return shlex.join(["tacit", *sys.argv[1:]])


def plain(value: Any) -> Any:
    """JSON's own types: NumPy values and dataclasses unpacked, NaN and infinities as null."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(plain(entry) for entry in value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


@contextmanager
def progress(
    description: str, total: int | None, *, quiet: bool
) -> Iterator[Callable[[float], None]]:
    """Yield `advance(steps)`. The bar stands on stderr of a terminal and leaves when it is done.

    quiet: no bar, for `--json`. total: steps to come; None where nobody knows.
    """
    if quiet or not _errors.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=_errors, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers stand right, floats with three decimals, None as a dash."""
    cells = [list(row) for row in rows]
    grid = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        show_header=any(columns),
        show_edge=False,  # two columns more for long names on a narrow terminal
        pad_edge=False,
    )
    for number, heading in enumerate(columns):
        numeric = all(isinstance(row[number], int | float | None) for row in cells)
        side: Literal["left", "right"] = "right" if numeric else "left"
        grid.add_column(Text(heading), justify=side, overflow="fold")
    for row in cells:
        grid.add_row(*(Text(_cell(entry)) for entry in row))
    console.print(grid, width=None if console.is_terminal else min(console.width, _PIPED))


def next_step(text: str) -> None:
    """A quiet last line: what to type next."""
    console.print(Text(text), style="dim", soft_wrap=True)


def complain(message: str) -> None:
    """One paragraph about an error, on stderr; never broken inside a path."""
    paragraph = Text.assemble(("Error: ", "bold red"), message)
    _errors.print(paragraph, soft_wrap=True)


def _cell(entry: object) -> str:
    if entry is None:
        return "–"
    return f"{entry:.3f}" if isinstance(entry, float) else str(entry)


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same folds and releases.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes; 0 for all cores.")]
Panel = Annotated[
    str, typer.Option(help="Attackers: 'quick', or 'full' for all eleven and those of packages.")
]


@dataclass(frozen=True)
class Source:
    """Where ratings are and how their file is to be read, as the person typed it."""

    path: Path
    columns: Mapping[str, Any]
    per_item: int = 1

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """The ratings; raises DataError with file, row and column.

        catalogue: a file of the only items that count; what is known of items comes from it and
        from the items file. domains: whether it must have them.
        """
        from tacit.data.ratings import RatingScale
        from tacit.data.tabular import load

        scale = self.columns["scale"]
        given = {**self.columns, "scale": None if scale is None else RatingScale.parse(scale)}
        if catalogue is not None:
            given |= {"domain": None, "items": None}
        ratings = load(self.path, **given)
        if catalogue is not None:
            ratings = self._listed(ratings, catalogue, domains)
        return ratings.at_least(per_item=self.per_item) if self.per_item > 1 else ratings

    def _listed(self, ratings: Ratings, path: Path, domains: bool) -> Ratings:
        from tacit.data.domains import DOMAIN, on_catalogue
        from tacit.data.tabular import items_beside, read_catalogue, with_items

        item, domain = self.columns["item"], self.columns["domain"]
        columns = read_catalogue(path, item=item, domain=domain, domains=domains)
        try:
            made = on_catalogue(ratings, columns.pop(DOMAIN), metadata=columns)
        except DataError as error:
            raise error.placed(path=error.path or path) from None
        items = self.columns["items"] or items_beside(self.path)
        return made if items is None else with_items(made, items, item=item)


User = Annotated[str | None, typer.Option(help="Column of the person's id.")]
Item = Annotated[str | None, typer.Option(help="Column of the item's id.")]
Stars = Annotated[str | None, typer.Option(help="Column of the stars.")]
Plays = Annotated[
    str | None, typer.Option(help="Column of numbers of plays, read in place of stars.")
]
Time = Annotated[str | None, typer.Option(help="Column of the time.")]
Delimiter = Annotated[
    str | None, typer.Option(help="One character, 'tab' or '::'; detected if left out.")
]
Users = Annotated[Path | None, typer.Option(help="File of user attributes.")]
Items = Annotated[
    Path | None, typer.Option(help="File of item metadata: titles, genres, prices and so on.")
]
Out = Annotated[Path, typer.Argument(help="File to write: .csv, .tsv or .parquet.")]
_PATH = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS",
        help="A file of ratings, or a folder of  tacit data import  or of MovieLens.",
    ),
]
_COLUMNS = {
    "user": User,
    "item": Item,
    "rating": Stars,
    "plays": Plays,
    "least_plays": Annotated[
        float | None, typer.Option(help="This many plays or more are a like; 1 if left out.")
    ],
    "events": Annotated[
        bool | None,
        typer.Option("--events", help="Every row is an event, and so a like; no stars are read."),
    ],
    "time": Time,
    "domain": Annotated[
        str | None,
        typer.Option("--domain-column", help="Column of the item's domain, here or in --items."),
    ],
    "delimiter": Delimiter,
    "scale": Annotated[
        str | None, typer.Option(help="MIN:MAX:STEP, such as 1:5:1; detected if left out.")
    ],
    "users": Users,
    "items": Items,
}
_PER_ITEM = Annotated[int, typer.Option(min=1, help="Leave out items with fewer ratings.")]


def reads_ratings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments that describe ratings; it receives them as `source`."""

    @wraps(command)
    def with_source(**given: Any) -> None:
        columns = {name: given.pop(name) for name in _COLUMNS}
        source = Source(given.pop("path"), columns, given.pop("per_item"))
        command(source=source, **given)

    parameters = [
        _parameter("path", _PATH) if each.name == "source" else each.replace(kind=_KEYWORD)
        for each in inspect.signature(command, eval_str=True).parameters.values()
    ]
    parameters += [_parameter(name, kind, None) for name, kind in _COLUMNS.items()]
    parameters.append(_parameter("per_item", _PER_ITEM, 1))
    # Typer reads a command's options from its signature.
    with_source.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return with_source


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, _KEYWORD, annotation=kind, default=default)


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["gender=F"]` as `{"gender": "F"}`."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ConfigError(
                f"{option} is written NAME=VALUE, for example gender=F; got {text!r}."
            )
        found[name.strip()] = value.strip()
    return found


def names_in(texts: Sequence[str]) -> tuple[str, ...]:
    """`["a,b", "c"]` as `("a", "b", "c")`: names given one by one or separated by commas."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def ids_in(texts: Sequence[str]) -> list[str]:
    """Ids given one by one, separated by commas, or as @FILE with one id a line."""
    found: list[str] = []
    for text in texts:
        if text.startswith("@"):
            found += _lines(Path(text[1:]))
        else:
            found += text.split(",")
    return [entry.strip() for entry in found if entry.strip()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read as a list of ids, one a line", path=path) from None


def integers(text: str, option: str) -> tuple[int, ...]:
    """`"10,20"` as (10, 20), in the order typed."""
    return _numbers(text, option, int, "10,20,50")


def decimals(text: str, option: str) -> tuple[float, ...]:
    """`"0.5,1"` as (0.5, 1.0); inf is a number, nan is none."""
    return _numbers(text, option, float, "0.2,0.5,1")


def _numbers(
    text: str, option: str, kind: Callable[[str], Number], example: str
) -> tuple[Number, ...]:
    try:
        found = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or any(value != value for value in found):
        raise ConfigError(f"{option} takes numbers with commas, such as {example}; got {text!r}.")
    return tuple(dict.fromkeys(found))
