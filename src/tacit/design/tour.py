"""The screen of `tacit demo` about one design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """A number between 0 and 1, to be drawn."""

    name: str
    """What was measured, in a few words."""
    value: float
    """Between 0 and 1."""


@dataclass(frozen=True)
class Tour:
    """Content of the screen about one design, from a real run on generated data."""

    headline: str
    """One or two sentences with the numbers that matter most."""
    bars: tuple[Bar, ...]
    """Two of these numbers, and perhaps one to compare them with."""
    trusted: str
    """Who must be trusted, in a few words."""
    real_data: str
    """How good its lists were on real data, compared with popular items, in a few words."""
    asked: str
    """Sentence: who asked for what."""
    left: str
    """Sentence: what left the device or the vendor, and who received it."""
    learned: str
    """Sentence: what an attacker learned."""
    cost: str
    """Sentence: what this cost in privacy and in accuracy."""
    read_on: str
    """Page of the documentation to read next."""
    figures: Mapping[str, Any]
    """The numbers in these sentences, by name."""
