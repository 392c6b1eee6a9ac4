"""How many people each design needs, read from `people_needed.toml`: one number, many places."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_MILLION = 1_000_000


@dataclass(frozen=True)
class PeopleNeeded:
    """Number of people that a design needs, and how each place says so."""

    people: int
    """The number: people, consenting people, voters or visits."""
    made_by: str
    """Command that prints it, or the page that it was read off."""
    works_from: str
    """Sentence below a guarantee card."""
    real_data: str
    """Words in the last column of the demo's table."""
    overview: str
    """Cell of README.md."""
    choice: str
    """Cell of docs/how-to-choose.md."""
    fewer: str
    """Cell beside it: what happens with fewer."""
    fewest: int | None = None
    """With fewer than so many it is proved to be impossible; None where nothing is proved."""


def people_needed(design: str) -> PeopleNeeded:
    """Return the number of a design, with its sentences filled in.

    Raises:
        KeyError: The file has no such design.
    """
    entry: dict[str, Any] = _read_file()[design]
    numbers = {"people": _write(entry["people"])}
    if "fewest" in entry:
        numbers["fewest"] = _write(entry["fewest"])
    filled: dict[str, Any] = {}
    for name, value in entry.items():
        filled[name] = value.format(**numbers) if isinstance(value, str) else value
    return PeopleNeeded(**filled)


@cache
def _read_file() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("people_needed.toml").read_text("utf-8"))


def _write(number: int) -> str:
    return "a million" if number == _MILLION else f"{number:,}"
