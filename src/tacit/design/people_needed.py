"""How many people each design needs, read from `people_needed.toml`, for all texts that say so."""

from __future__ import annotations

import pkgutil
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

_MILLION = 1_000_000


@dataclass(frozen=True)
class PeopleNeeded:
    """Number of people that a design needs, and the texts that say so."""

    people: int
    """The number, of people, consenting people, voters or visits."""
    made_by: str
    """Command that prints the number, or the page that it was taken from."""
    works_from: str
    """Sentence below a guarantee card."""
    real_data: str
    """Text in the last column of the table of `tacit demo`."""
    overview: str
    """Cell of the table in README.md."""
    choice: str
    """Cell of the table in docs/how-to-choose.md."""
    fewer: str
    """Next cell of that table: what happens with fewer people."""
    fewest: int | None = None
    """With fewer people than this, the design provably cannot learn; None if nothing is proved."""


def people_needed(design: str) -> PeopleNeeded:
    """Return the number of people that a design needs, and the texts with the numbers filled in.

    Raises:
        KeyError: The file has no such design.
    """
    entry: dict[str, Any] = _read_file()[design]
    numbers = {"people": _format_number(entry["people"])}
    if "fewest" in entry:
        numbers["fewest"] = _format_number(entry["fewest"])
    fields: dict[str, Any] = {}
    for name, value in entry.items():
        fields[name] = value.format(**numbers) if isinstance(value, str) else value
    return PeopleNeeded(**fields)


@cache
def _read_file() -> dict[str, Any]:
    """Read the entries of all designs, by name."""
    # Not with `importlib.resources`, whose import slows the help of some commands.
    content = pkgutil.get_data(__package__, "people_needed.toml")
    assert content is not None  # every loader of packages can read their files
    return tomllib.loads(content.decode("utf-8"))


def _format_number(number: int) -> str:
    """Format a number for a sentence: with commas, or "a million"."""
    return "a million" if number == _MILLION else f"{number:,}"
