"""Time, memory and traffic of a fit, before any data.

The constants were measured with 1 to 100 million ratings of 27,000 items:
`python benchmarks/scale.py`, docs/results.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# As tacit.engine.spark, its workers and tacit.engine.item_item have them.
TASK_ROWS, PIECE, PART, MOST = 2_000_000, 1 << 16, 4_000_000, 1 << 14
DIRECTIONS = 12
"""Directions of an item at most, in the largest table of sums."""
_PROCESS, _TASK_ROW, _ROW, _STRIP, _ON_DISK = 0.45e9, 150, 22, 14, 44
"""Bytes: of a process without a rating; of a rating in a task, shuffled, in a tile and on disk."""


@dataclass(frozen=True)
class Cost:
    """Estimate of what a fit takes."""

    passes: int
    """Passes over everyone's rows."""
    tasks: int
    """Tasks that the people are divided into."""
    tiles: int
    """Tiles of the largest table, 65,536 cells each, or of two parts of the items."""
    shuffle_bytes: int
    """Bytes that a cluster moves between machines."""
    worker_bytes: int
    """Memory of one task."""
    disk_bytes: int
    """Disk while streaming; 0 where nothing streams."""
    streaming_hours: float
    """Hours of one processor core without a cluster."""
    cluster_core_hours: float
    """Hours of one processor core on a cluster."""

    @property
    def sentences(self) -> tuple[str, str]:
        """Say what it takes on a cluster, and on one machine."""
        streamed = f", and {_size(self.disk_bytes)} of disk" if self.disk_bytes else ""
        cluster = (
            f"On a cluster: {self.passes} passes in {self.tasks:,} tasks, the largest in "
            f"{self.tiles:,} tiles; {_size(self.shuffle_bytes)} shuffled, "
            f"{_size(self.worker_bytes)} of memory for each task at work, about "
            f"{self.cluster_core_hours:.2g} core hours."
        )
        alone = (
            f"On one machine {'with --memory' if streamed else 'in memory'}: about "
            f"{self.streaming_hours:.2g} core hours{streamed}."
        )
        return cluster, alone


def cost(
    ratings: float,
    people: float,
    items: float,
    *,
    stars: bool = False,
    pairs: bool = False,
    joins: bool = False,
) -> Cost:
    """Estimate a fit of sums over people, or of joins.

    Args:
        ratings: How many.
        people: How many.
        items: How many; of joins in both domains, which are about equally large.
        stars: Whether sums of stars are made, too.
        pairs: Whether pairs of likes are asked for, too.
        joins: Whether the fit is the published X-Map without noise.
    """
    tasks = max(4, math.ceil(ratings / TASK_ROWS))
    if joins:
        parts = max(1, math.ceil(ratings / 2 / PART), math.ceil(items / 2 / MOST))
        passes, tiles, sent = 8, parts**2 + parts * (parts + 1) // 2, 3 * parts * ratings
        joined = 17e-9 * ratings * ratings / people
        alone = 5 + 0.8e-3 * items + 0.8e-6 * ratings + joined
        cluster = alone + 1e-6 * ratings + 0.25e-6 * sent + joined
        shuffled, disk = _ROW * ratings + _STRIP * sent, 0.0
        held = _TASK_ROW * min(ratings, max(2 * PART, TASK_ROWS))
    else:
        passes, cells = 7 if stars else 4, (items + 1) * DIRECTIONS
        passes += pairs
        tiles, moved = math.ceil(cells / PIECE), passes / 4 * tasks * (cells + items + 1)
        alone = 2 + passes * 0.15e-6 * ratings
        cluster = 2 + passes * 0.55e-6 * ratings + 2e-9 * moved
        shuffled, disk = _ROW * ratings + 8 * moved, _ON_DISK * ratings
        held = _TASK_ROW * min(ratings, TASK_ROWS) + 3 * 8 * cells
    return Cost(
        passes,
        tasks,
        tiles,
        int(shuffled),
        int(_PROCESS + held),
        int(disk),
        alone / 3600,
        cluster / 3600,
    )


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
