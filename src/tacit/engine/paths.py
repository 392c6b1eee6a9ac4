"""Layered path aggregation, readable: what every faster engine must equal to the last bit.

Along a path agreements, weighted similarities and shares are gathered from its start to its end.
Paths that end with the same edge are added one by one, in the order of their edges (first stage
first); the sums of the last edges, times their shares, are added in the order of those edges.
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
    """`Engine.paths`, with about `cells` paths, or sums of last edges, in memory at a time."""
    check(stages, starts)
    last = stages[-1]
    sums = np.zeros((2, len(starts), last.width))
    sources = np.repeat(np.arange(len(last.offsets) - 1), np.diff(last.offsets))
    height = max(1, cells // max(1, len(last.targets)))
    for begin in range(0, len(starts), height):
        part = starts[begin : begin + height].astype(np.int64)
        rows = np.arange(len(part))
        by_edge = np.zeros((len(part), len(last.targets)))
        by_place = np.zeros((len(part), len(last.offsets) - 1))
        zeros, ones = np.zeros(len(part)), np.ones(len(part))
        _walk(Walks(rows, part, zeros, zeros, ones), stages, cells, by_edge, by_place)
        ends = begin + rows[:, None], last.targets
        np.add.at(sums[0], ends, by_edge * last.shares)
        np.add.at(sums[1], ends, by_place[:, sources] * last.shares)
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


def _walk(
    walks: Walks, stages: Sequence[Stage], cells: int, by_edge: Floats, by_place: Floats
) -> None:
    """Depth first in parts, so that no more than about `cells` paths of a stage exist at once."""
    if len(stages) == 1:
        np.add.at(by_place, (walks.rows, walks.places), walks.certainties)
    degrees = np.diff(stages[0].offsets)[walks.places]
    begin = 0
    while begin < len(walks):
        fitting = int(np.searchsorted(np.cumsum(degrees[begin:]), cells, side="right"))
        part = walks.part(slice(begin, begin + max(1, fitting)))
        parent, edge = _edges(part, stages[0])
        if len(stages) == 1:
            weighted, agreements = _gathered(part, stages[0], parent, edge)
            terms = part.certainties[parent] * (weighted / agreements)
            np.add.at(by_edge, (part.rows[parent], edge), terms)
        else:
            _walk(_step(part, stages[0], parent, edge), stages[1:], cells, by_edge, by_place)
        begin += len(part)


def _edges(walks: Walks, stage: Stage) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every edge of every walk's place, in their order: which walk, and which edge."""
    degrees = np.diff(stage.offsets)[walks.places]
    parent = np.repeat(np.arange(len(walks)), degrees)
    first = np.repeat(stage.offsets[walks.places] - (np.cumsum(degrees) - degrees), degrees)
    return parent, first + np.arange(len(parent))


def _gathered(
    walks: Walks, stage: Stage, parent: NDArray[np.int64], edge: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Weighted similarities and agreements after the edge."""
    weighted: Floats = stage.agreements[edge] * stage.similarities[edge]
    return walks.weighted[parent] + weighted, walks.agreements[parent] + stage.agreements[edge]


def _step(walks: Walks, stage: Stage, parent: NDArray[np.int64], edge: NDArray[np.int64]) -> Walks:
    weighted, agreements = _gathered(walks, stage, parent, edge)
    return Walks(
        walks.rows[parent],
        stage.targets[edge].astype(np.int64),
        weighted,
        agreements,
        walks.certainties[parent] * stage.shares[edge],
    )
