"""Settings that are also options of a command."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any


def option(
    help: str,  # noqa: A002
    *,
    default: Any = MISSING,
    least: float | None = None,
    flag: str = "",
    argument: str = "",
    writes: bool = False,
    repeat: bool = False,
) -> Any:
    """Declare a field of settings that is also an option of a command.

    Args:
        help: Sentence of `--help`.
        default: Value where the option is left out; without one it is required.
        least: Smallest value.
        flag: How the option is typed, where that is not the field's name: "--out -o".
        argument: Name in the help of a value that is typed by its place and has no flag.
        writes: Whether the value is a file to write; it is checked before anything else is done.
        repeat: Whether a tuple is typed as one option for each entry; else it is one text with
            commas.
    """
    metadata = {"help": help, "least": least, "flag": flag, "argument": argument}
    return field(default=default, metadata={**metadata, "writes": writes, "repeat": repeat})


def options_of(settings: type[Any]) -> dict[str, Field[Any]]:
    """List the fields of a settings class that are options, by name."""
    return {each.name: each for each in fields(settings) if "help" in each.metadata}
