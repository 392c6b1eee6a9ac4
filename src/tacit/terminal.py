"""Terminal output of the commands, and the parsing of values of common options.

A command prints tables and sentences for people, or strict JSON for machines. Progress, warnings
and errors go to standard error.
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
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from rich.console import Console

    from tacit.evaluation import Result

T = TypeVar("T")
Number = TypeVar("Number", int, float)

JSON = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object to standard output and nothing else there."),
]

SECONDS_BETWEEN_LINES = 30.0
"""Seconds between two lines about progress, which replace a bar if there is no terminal."""
_PIPED_WIDTH = 100
"""Characters in a line of a table that is printed to a file or a program."""


@cache
def console() -> Console:
    """Return the console of standard output.

    Rich is imported here and in the functions that print with it, because the help of a command
    needs none of it and would wait for it.
    """
    from rich.console import Console

    return Console(highlight=False, emoji=False)


@cache
def _error_console() -> Console:
    """Return the console of standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


def emit(result: T, *, as_json: bool, render: Callable[[T], None]) -> None:
    """Print a result as JSON, or call `render(result)` for a person."""
    if as_json:
        _write_json(result)
    else:
        render(result)


def _write_json(value: object) -> None:
    """Write a value to standard output as JSON; NaN and infinities are null."""
    sys.stdout.write(json.dumps(to_json_types(value), indent=2, allow_nan=False) + "\n")


def show(result: Result, *, as_json: bool) -> None:
    """Show the result of a command, as JSON or as tables and sentences.

    Its warnings are a part of the JSON; otherwise they are printed to standard error.

    Raises:
        typer.Exit: With exit code 1, if the result says that the command failed.
    """
    if as_json:
        _write_json(result.data)
    else:
        for warning in result.data.get("warnings", ()):
            typer.echo(f"Warning: {warning}", err=True)
        render(result)
    if result.failed:
        raise typer.Exit(1)


def render(result: Result) -> None:
    """Print the tables and sentences of a result in their order, then the next step."""
    for part in result.shown:
        if isinstance(part, str):
            say(part)
        else:
            table(part.title, part.columns, part.rows)
    if result.after:
        show_next(result.after)


def say(text: str) -> None:
    """Print text as it is, without wrapping its lines, so that a path stays in one piece."""
    console().print(text, soft_wrap=True, markup=False)


def command_line() -> str:
    """Return the command line that is being run, quoted for a shell."""
    return shlex.join(["tacit", *sys.argv[1:]])


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON's own types.

    Dataclasses and mappings become objects, paths become texts, sets become sorted lists, NumPy
    values become numbers and lists, other iterables become lists; NaN and infinities become null.

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
    """Yield `advance(steps)`, which moves a progress bar on standard error.

    If standard error is a file or a pipe, a line is written to it every thirty seconds instead.

    Args:
        description: Words before the bar.
        total: Number of steps; None if it is not known.
        quiet: Whether nothing is shown, as for `--json`.
    """
    if quiet:
        yield lambda _: None
        return
    if not _error_console().is_terminal:
        with ProgressLines(description, total) as lines:
            yield lines.advance
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=_error_console(), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


class ProgressLines:
    """Writes a line about progress to standard error at intervals, while a `with` block runs.

    Args:
        description: Words before the numbers.
        total: Number of steps; None if it is not known.
        seconds: Seconds between two lines.
    """

    def __init__(
        self, description: str, total: int | None, seconds: float = SECONDS_BETWEEN_LINES
    ) -> None:
        self._description = description
        self._total = total
        self._seconds = seconds
        self._done = 0.0
        self._started_at = time.monotonic()
        self._block_ended = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, daemon=True)

    def __enter__(self) -> ProgressLines:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._block_ended.set()
        self._thread.join()

    def advance(self, steps: float) -> None:
        """Count `steps` more steps as done."""
        self._done += steps

    def _write_lines(self) -> None:
        """Write a line after each interval, until the block has ended."""
        while not self._block_ended.wait(self._seconds):
            elapsed = time.monotonic() - self._started_at
            note(describe_progress(self._description, self._done, self._total, elapsed))


def describe_progress(description: str, done: float, total: int | None, seconds: float) -> str:
    """Describe how far a command is, and about how much time is left at the same speed.

    If the time left is not known, the time so far is stated instead.

    Args:
        description: Words before the numbers.
        done: Steps that are done.
        total: Number of steps; None if it is not known.
        seconds: Seconds since the first step began.
    """
    if total is None:
        return f"{description}: {format_duration(seconds)} so far"
    text = f"{description}: {done:g} of {total}"
    if not 0 < done < total:
        return f"{text}, {format_duration(seconds)} so far"
    seconds_left = seconds * (total - done) / done
    return f"{text}, about {format_duration(seconds_left)} left"


def format_duration(seconds: float) -> str:
    """Format a time: "40 s" up to 90 seconds, "12 min" up to 90 minutes, and "3.5 h" above."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: floats have three decimals, None is a dash, columns of numbers align right."""
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    grid = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        show_header=any(columns),
        show_edge=False,  # two characters more for long names on a narrow terminal
        pad_edge=False,
    )
    for number, heading in enumerate(columns):
        is_numeric = all(isinstance(row[number], int | float | None) for row in cells)
        grid.add_column(Text(heading), justify="right" if is_numeric else "left", overflow="fold")
    for row in cells:
        texts = [Text(_cell_text(entry)) for entry in row]
        grid.add_row(*texts)
    width = None if console().is_terminal else min(console().width, _PIPED_WIDTH)
    console().print(grid, width=width)


def show_next(next_step: str) -> None:
    """Print what to type next: a sentence about a command, and the command on a line of its own.

    Words in capitals, such as RATINGS, are placeholders: the sentence asks the user to replace them
    by their own words.

    Args:
        next_step: A command of tacit, two spaces, and what the command does.

    Raises:
        ValueError: The text is not a command of tacit.
    """
    command, _, explanation = next_step.partition("  ")
    if not command.startswith("tacit "):
        raise ValueError(f"A next step is a command of tacit; got {next_step!r}.")
    placeholders = [word for word in command.split() if word.isupper() and word.isalpha()]
    sentence = f"Next: {explanation.strip()}"
    if placeholders:
        sentence += f" Put yours for {' and '.join(dict.fromkeys(placeholders))}."
    say_quietly(sentence.rstrip())
    say_quietly(f"  {command}")


def say_quietly(text: str) -> None:
    """Print a line to standard output, dim, so that it differs from a command's answer."""
    console().print(text, style="dim", soft_wrap=True, markup=False)


def note(text: str) -> None:
    """Print one sentence to standard error, dim, so that it differs from a command's answer."""
    _error_console().print(text, style="dim", soft_wrap=True, markup=False)


def print_error(message: str) -> None:
    """Print an error message to standard error without line breaks, so that paths stay whole."""
    from rich.text import Text

    paragraph = Text.assemble(("Error: ", "bold red"), message)
    _error_console().print(paragraph, soft_wrap=True)


def _cell_text(entry: object) -> str:
    """Format a cell's value: three decimals for floats, a dash for None."""
    if entry is None:
        return "–"
    return f"{entry:.3f}" if isinstance(entry, float) else str(entry)


def parse_name_values(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse `["gender=F"]` as `{"gender": "F"}`.

    Args:
        texts: What was typed.
        option: The option's name, for error messages.

    Raises:
        ConfigError: A text is not written NAME=VALUE, or two have the same name.
    """
    values: dict[str, str] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise ConfigError(f"{option} is written NAME=VALUE, such as gender=F; got {text!r}.")
        if name in values:
            raise ConfigError(f"{option} names {name} twice. Give one value for each name.")
        values[name] = value
    return values


def parse_ids(texts: Sequence[str]) -> list[str]:
    """Parse ids that were typed with commas between them, or as @FILE, which has one id a line.

    Raises:
        DataError: A file cannot be read.
    """
    ids: list[str] = []
    for text in texts:
        if not text.startswith("@"):
            ids += text.split(",")
            continue
        path = Path(text.removeprefix("@"))
        try:
            ids += path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise DataError("cannot be read as a list of ids, one a line", path=path) from None
    return [text.strip() for text in ids if text.strip()]


def parse_numbers(text: str, option: str, kind: type[Number]) -> tuple[Number, ...]:
    """Parse `"0.5,1"` as (0.5, 1.0), each number once, in the order typed.

    Args:
        text: What was typed.
        option: The option's name, for error messages.
        kind: `int` or `float`, the type of the numbers.

    Raises:
        ConfigError: A part is not such a number or is NaN, or there is no part.
    """
    try:
        values = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    has_nan = any(value != value for value in values)
    if not values or has_nan:
        example = "10,20,50" if kind is int else "0.2,0.5,1"
        raise ConfigError(f"{option} takes numbers with commas, such as {example}; got {text!r}.")
    return tuple(dict.fromkeys(values))
