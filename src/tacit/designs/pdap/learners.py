"""Policies as far as their vendor is concerned: one for its own users, and one for guests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policy import Choice


class Chosen(Protocol):
    """A decision as far as a vendor is concerned: the rest is its policy's business."""

    @property
    def arm(self) -> int: ...

    @property
    def phase(self) -> str: ...


C = TypeVar("C", bound=Chosen)


class Learns(Protocol[C]):
    """A policy as far as its vendor is concerned."""

    @property
    def n_own(self) -> int: ...

    @property
    def n_neighbours(self) -> int: ...

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> C: ...

    def update(self, choice: C, reward: float) -> None: ...

    def add_arm(self, *, neighbour: bool = False) -> int: ...

    def remove_arm(self, arm: int) -> None: ...


@runtime_checkable
class Settles(Protocol):
    """A policy for which a second choice of one visit is not the same as one more visit.

    Those that promise something at a finite epsilon have this, and no others.
    """

    @property
    def epsilon(self) -> float: ...

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Any = None
    ) -> Chosen:
        """instead: of this choice; both are answered as one visit."""


class Hosts(Protocol):
    """A policy for guests."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice: ...

    def answer(self, choice: Choice, reward: float) -> float:
        """What is sent for a reward of 0 or 1."""
