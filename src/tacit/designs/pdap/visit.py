"""One visit of a vendor's own user, between the choice and the click."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.base import Chosen


@dataclass(eq=False, slots=True)
class Visit:
    """video: what is shown; None while a neighbour is to be asked.

    peer: whose offer will be shown. asks: whom to send `forward`, which is the same for every peer
    and every retry; it holds `peer`.
    """

    context: NDArray[np.float64]
    choice: Chosen
    video: str | None
    peer: str | None = None
    asks: tuple[str, ...] = ()
    forward: bytes | None = None
    request: bytes = b""
    click: float | None = None
    word: float | None = None
    learned: bool = False
    number: int = 0
    """Of all visits here; public."""
    came: bool = False
    """Whether it is known whether an offer came."""
    allowed: frozenset[str] | None = None
    """Own videos that could be shown when it began; None: all."""

    def waits(self) -> bool:
        """Whether a neighbour is asked; no longer so once it turns out to have nothing."""
        return self.peer is not None
