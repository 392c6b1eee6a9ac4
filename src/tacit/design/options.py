"""Fields of settings that are also options of a command."""

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
        help: Sentence in `--help`.
        default: Value if the option is not given; without a default the option is required.
        least: Smallest allowed value.
        flag: Flags of the option, such as "--out -o"; "" makes the flag from the field's name.
        argument: Name, in the help, of a positional argument, which has no flag; "" for an option.
        writes: Whether the value is a file to write, which is checked before the command runs.
        repeat: Whether each entry of a tuple is typed as an option of its own; otherwise all
            entries are typed as one text with commas.
    """
    metadata = {"help": help, "least": least, "flag": flag, "argument": argument}
    return field(default=default, metadata={**metadata, "writes": writes, "repeat": repeat})


def options_of(settings: type[Any]) -> dict[str, Field[Any]]:
    """Return the fields of a settings class that are options, by name."""
    all_fields = fields(settings)
    return {entry.name: entry for entry in all_fields if "help" in entry.metadata}
