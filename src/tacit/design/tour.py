"""One design's screen of `tacit demo`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tour:
    """One screen about a design, of a real run on generated data."""

    asked: str
    """Who asked for what."""
    left: str
    """What was sent, and to whom."""
    learned: str
    """What an attacker learned."""
    cost: str
    """What it cost in privacy and in accuracy."""
    read_on: str
    """Page of the documentation to read next."""
    figures: Mapping[str, Any]
    """Numbers of the sentences above."""
