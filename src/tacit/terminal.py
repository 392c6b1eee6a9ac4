"""Terminal of the commands: common options, and what is printed.

A command prints tables and sentences for people, strict JSON for machines, progress on stderr.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tacit.evaluation import Result

T = TypeVar("T")
Number = TypeVar("Number", int, float)

JSON = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object to standard output and nothing else there."),
]

SECONDS_BETWEEN_LINES = 30.0
"""Seconds between two lines about progress where no terminal is."""
_PIPED_WIDTH = 100
"""Columns of a table that is printed to a file or a program."""
console = Console(highlight=False, emoji=False)
_errors = Console(stderr=True, highlight=False, emoji=False)


def emit(result: T, *, as_json: bool, render: Callable[[T], None]) -> None:
    """Print a result as JSON, or call `render(result)` for a person."""
    if as_json:
        sys.stdout.write(json.dumps(to_json_types(result), indent=2, allow_nan=False) + "\n")
    else:
        render(result)


def show(result: Result, *, as_json: bool) -> None:
    """Show the result of a command; warnings are in the JSON, or else on standard error.

    Raises:
        typer.Exit: With exit code 1, where the result says that the command failed.
    """
    if not as_json:
        for warning in result.data.get("warnings", ()):
            typer.echo(f"Warning: {warning}", err=True)
    emit(result.data, as_json=as_json, render=lambda _: render(result))
    if result.failed:
        raise typer.Exit(1)


def render(result: Result) -> None:
    """Print the tables and sentences of a result in their order, and the next step."""
    for part in result.shown:
        if isinstance(part, str):
            say(part)
        else:
            table(part.title, part.columns, part.rows)
    if result.after:
        show_next(result.after)


def say(text: str) -> None:
    """Print a sentence, or lines, never broken inside a path."""
    console.print(text, soft_wrap=True, markup=False)


def command_line() -> str:
    """Return the line that was typed."""
    return shlex.join(["tacit", *sys.argv[1:]])


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON's own types.

    NumPy values and dataclasses are unpacked; NaN and infinities are null.

    Raises:
        TypeError: The value has no JSON form.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json_types(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_types(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(to_json_types(entry) for entry in value)
    if hasattr(value, "tolist"):
        return to_json_types(value.tolist())
    if isinstance(value, Iterable):
        return [to_json_types(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


@contextmanager
def progress(
    description: str, total: int | None, *, quiet: bool
) -> Iterator[Callable[[float], None]]:
    """Yield `advance(steps)`, which moves a bar on standard error of a terminal.

    Elsewhere, as in a file or a build, a line is written there each thirty seconds.

    Args:
        description: Words before the bar.
        total: Number of steps; None where nobody knows.
        quiet: Whether nothing is shown, as for `--json`.
    """
    if quiet:
        yield lambda _: None
        return
    if not _errors.is_terminal:
        with ProgressLines(description, total) as lines:
            yield lines.advance
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=_errors, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


class ProgressLines:
    """Writes a line about progress each so many seconds, for as long as a block runs.

    Args:
        description: Words before the numbers.
        total: Number of steps; None where nobody knows.
        seconds: Seconds between two lines.
    """

    def __init__(
        self, description: str, total: int | None, seconds: float = SECONDS_BETWEEN_LINES
    ) -> None:
        self._description = description
        self._total = total
        self._seconds = seconds
        self._done = 0.0
        self._begun = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, daemon=True)

    def __enter__(self) -> ProgressLines:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()

    def advance(self, steps: float) -> None:
        """Count further steps that are done."""
        self._done += steps

    def _write_lines(self) -> None:
        while not self._is_over.wait(self._seconds):
            note(
                describe_progress(
                    self._description, self._done, self._total, time.monotonic() - self._begun
                )
            )


def describe_progress(description: str, done: float, total: int | None, seconds: float) -> str:
    """Write how far a command is, and about how long the rest takes at the same speed.

    Args:
        description: Words before the numbers.
        done: Steps that are done.
        total: Number of steps; None where nobody knows.
        seconds: Seconds since the first step began.
    """
    if total is None:
        return f"{description}: {write_duration(seconds)} so far"
    text = f"{description}: {done:g} of {total}"
    if not 0 < done < total:
        return f"{text}, {write_duration(seconds)} so far"
    return f"{text}, about {write_duration(seconds * (total - done) / done)} left"


def write_duration(seconds: float) -> str:
    """Write a time in the largest unit that says enough, such as "40 s", "12 min" or "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: numbers on the right, floats with three decimals, None as a dash."""
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
        grid.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        texts = [Text(_cell(entry)) for entry in row]
        grid.add_row(*texts)
    console.print(grid, width=None if console.is_terminal else min(console.width, _PIPED_WIDTH))


def show_next(after: str) -> None:
    """Print what to type next: what it does, and the command on a line of its own.

    Args:
        after: A command, and after two spaces what it does.

    Raises:
        ValueError: It is no command of this program.
    """
    command, _, gloss = after.partition("  ")
    if not command.startswith("tacit "):
        raise ValueError(f"A next step is a command of tacit; got {after!r}.")
    names = [word for word in command.split() if word.isupper() and word.isalpha()]
    own = f" Put yours for {' and '.join(dict.fromkeys(names))}." if names else ""
    say_quietly(f"Next: {gloss.strip()}{own}".rstrip())
    say_quietly(f"  {command}")


def say_quietly(text: str) -> None:
    """Print a line beside what a command answers, such as what to type next."""
    console.print(Text(text), style="dim", soft_wrap=True)


def note(text: str) -> None:
    """Print one sentence on standard error, beside what a command answers."""
    _errors.print(text, style="dim", soft_wrap=True, markup=False)


def complain(message: str) -> None:
    """Print one paragraph about an error on standard error, never broken inside a path."""
    paragraph = Text.assemble(("Error: ", "bold red"), message)
    _errors.print(paragraph, soft_wrap=True)


def _cell(entry: object) -> str:
    if entry is None:
        return "–"
    return f"{entry:.3f}" if isinstance(entry, float) else str(entry)


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read `["gender=F"]` as `{"gender": "F"}`.

    Raises:
        ConfigError: A text is not written NAME=VALUE.
    """
    values = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise ConfigError(f"{option} is written NAME=VALUE, such as gender=F; got {text!r}.")
        values[name] = value
    return values


def ids_in(texts: Sequence[str]) -> list[str]:
    """Read ids given one by one, separated by commas, or as @FILE with one id a line.

    Raises:
        DataError: A file cannot be read.
    """
    ids: list[str] = []
    for text in texts:
        path = Path(text[1:])
        try:
            ids += path.read_text("utf-8").splitlines() if text[:1] == "@" else text.split(",")
        except (OSError, UnicodeDecodeError):
            raise DataError("cannot be read as a list of ids, one a line", path=path) from None
    return [each.strip() for each in ids if each.strip()]


def numbers(text: str, option: str, kind: type[Number]) -> tuple[Number, ...]:
    """Read `"0.5,1"` as (0.5, 1.0), in the order typed; inf counts as a number, nan does not.

    Raises:
        ConfigError: A part is no number.
    """
    try:
        values = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    if not values or any(value != value for value in values):
        example = "10,20,50" if kind is int else "0.2,0.5,1"
        raise ConfigError(f"{option} takes numbers with commas, such as {example}; got {text!r}.")
    return tuple(dict.fromkeys(values))
