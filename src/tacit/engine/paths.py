"""Layered path aggregation, readable: what every faster engine must equal to the last bit.

Paths are added one by one in the order of their edges (first stage first), and along a path
agreements, weighted similarities and shares are gathered from its start to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.engine.base import Floats, Numbers, Stage
from tacit.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Walks:
    """Paths walked so far, one per entry: whose row, where they stand, and what they gathered."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    weighted: Floats
    agreements: Floats
    certainties: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, entries: slice) -> Walks:
        return Walks(
            self.rows[entries],
            self.places[entries],
            self.weighted[entries],
            self.agreements[entries],
            self.certainties[entries],
        )


def paths(stages: Sequence[Stage], starts: Numbers, cells: int) -> tuple[Floats, Floats]:
    """`Engine.paths`, with about `cells` paths in memory at a time."""
    check(stages, starts)
    sums = np.zeros((2, len(starts), stages[-1].width))
    zeros, ones = np.zeros(len(starts)), np.ones(len(starts))
    begun = Walks(np.arange(len(starts)), starts.astype(np.int64), zeros, zeros, ones)
    _walk(begun, stages, cells, sums)
    return sums[0], sums[1]


def check(stages: Sequence[Stage], starts: Numbers) -> None:
    """Refuse stages that do not fit together."""
    if not stages:
        raise ConfigError("A path has at least one stage.")
    for stage, following in pairwise(stages):
        if stage.width != len(following.offsets) - 1:
            raise ConfigError(
                f"A stage leads to {stage.width} places; the next starts from "
                f"{len(following.offsets) - 1}."
            )
    for stage in stages:
        edges = {len(stage.targets), len(stage.similarities), len(stage.agreements)}
        if edges | {len(stage.shares)} != {int(stage.offsets[-1])}:
            raise ConfigError("A stage's arrays have one entry for each of its edges.")
        if len(stage.targets) and not 0 <= stage.targets.min() <= stage.targets.max() < stage.width:
            raise ConfigError(f"A stage leads to a place outside its {stage.width}.")
    first = len(stages[0].offsets) - 1
    if len(starts) and not 0 <= starts.min() <= starts.max() < first:
        raise ConfigError(f"A path starts outside the {first} places of the first layer.")


def _walk(walks: Walks, stages: Sequence[Stage], cells: int, sums: Floats) -> None:
    """Depth first in parts, so that no more than about `cells` paths of a stage exist at once."""
    if not stages:
        weights = walks.certainties
        np.add.at(
            sums[0], (walks.rows, walks.places), weights * (walks.weighted / walks.agreements)
        )
        np.add.at(sums[1], (walks.rows, walks.places), weights)
        return
    degrees = np.diff(stages[0].offsets)[walks.places]
    begin = 0
    while begin < len(walks):
        fitting = int(np.searchsorted(np.cumsum(degrees[begin:]), cells, side="right"))
        end = begin + max(1, fitting)
        _walk(_step(walks.part(slice(begin, end)), stages[0]), stages[1:], cells, sums)
        begin = end


def _step(walks: Walks, stage: Stage) -> Walks:
    """Every walk goes along every edge of its place, in their order."""
    degrees = np.diff(stage.offsets)[walks.places]
    parent = np.repeat(np.arange(len(walks)), degrees)
    first_edge = np.repeat(stage.offsets[walks.places] - (np.cumsum(degrees) - degrees), degrees)
    edge = first_edge + np.arange(len(parent))
    return Walks(
        walks.rows[parent],
        stage.targets[edge].astype(np.int64),
        walks.weighted[parent] + stage.agreements[edge] * stage.similarities[edge],
        walks.agreements[parent] + stage.agreements[edge],
        walks.certainties[parent] * stage.shares[edge],
    )
