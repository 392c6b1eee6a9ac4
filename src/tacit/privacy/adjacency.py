"""When two inputs count as neighbouring. ("Neighbour" itself is kept for nearest neighbours.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["user", "rating", "attribute value", "vote history", "reward", "visit"]
Change = Literal["add or remove", "replace"]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """What two neighbouring inputs differ in, and how."""

    unit: Unit
    change: Change

    def __str__(self) -> str:
        return f"{self.change} one {self.unit}"
