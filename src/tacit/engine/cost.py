"""Estimates of the time, memory and traffic of a fit, made before there are data.

The constants were measured with 1 to 100 million ratings of 27,000 items, by
`python benchmarks/scale.py`: see docs/results.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Copies of constants in tacit.engine.spark and tacit.engine.item_item_tiles, which need pyarrow.
TASK_ROWS = 2_000_000
"""Ratings of a task."""
PIECE = 1 << 16
"""Cells of a table that travel together."""
RATINGS_PER_PART = 4_000_000
"""Ratings of a part of the items."""
ITEMS_PER_PART = 1 << 14
"""Items of a part."""
DIRECTIONS = 12
"""Largest number of columns of an item in the largest table of sums."""
_PROCESS_BYTES = 0.45e9
"""Bytes of a process without a rating."""
_TASK_BYTES = 150
"""Bytes of a rating in a task."""
_SHUFFLED_BYTES = 22
"""Bytes of a rating that is moved to its task."""
_STRIP_BYTES = 14
"""Bytes of a rating that is moved to a tile."""
_DISK_BYTES = 44
"""Bytes of a rating on disk."""


@dataclass(frozen=True)
class Cost:
    """Estimate of what a fit needs."""

    passes: int
    """Passes over all ratings."""
    tasks: int
    """Tasks into which a cluster divides the people."""
    tiles: int
    """Tiles of the largest table: 65,536 cells each, or two parts of the items each."""
    shuffle_bytes: int
    """Bytes that a cluster moves between machines."""
    worker_bytes: int
    """Bytes of memory of one task."""
    disk_bytes: int
    """Bytes on disk while Parquet files are streamed; 0 for a fit that cannot stream."""
    streaming_hours: float
    """Core hours on one machine."""
    cluster_core_hours: float
    """Core hours on a cluster."""

    @property
    def sentences(self) -> tuple[str, str]:
        """Two sentences: what the fit needs on a cluster, and on one machine."""
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
    """Estimate what a fit of sums over people, or of joins of items, needs.

    Args:
        ratings: Number of ratings.
        people: Number of people.
        items: Number of items; for joins in both domains together, which are about equally large.
        stars: Whether sums of stars are computed, too.
        pairs: Whether pairs of likes are counted, too.
        joins: Whether the fit is the published X-Map without noise.
    """
    tasks = max(4, math.ceil(ratings / TASK_ROWS))
    if joins:
        parts = max(
            1, math.ceil(ratings / 2 / RATINGS_PER_PART), math.ceil(items / 2 / ITEMS_PER_PART)
        )
        passes = 8
        tiles = parts**2 + parts * (parts + 1) // 2
        sent_ratings = 3 * parts * ratings
        join_seconds = 17e-9 * ratings * ratings / people
        seconds = 5 + 0.8e-3 * items + 0.8e-6 * ratings + join_seconds
        cluster_seconds = seconds + 1e-6 * ratings + 0.25e-6 * sent_ratings + join_seconds
        shuffled = _SHUFFLED_BYTES * ratings + _STRIP_BYTES * sent_ratings
        on_disk = 0.0
        in_memory = _TASK_BYTES * min(ratings, max(2 * RATINGS_PER_PART, TASK_ROWS))
    else:
        passes = (7 if stars else 4) + pairs
        cells = (items + 1) * DIRECTIONS
        tiles = math.ceil(cells / PIECE)
        sent_cells = passes / 4 * tasks * (cells + items + 1)
        seconds = 2 + passes * 0.15e-6 * ratings
        cluster_seconds = 2 + passes * 0.55e-6 * ratings + 2e-9 * sent_cells
        shuffled = _SHUFFLED_BYTES * ratings + 8 * sent_cells
        on_disk = _DISK_BYTES * ratings
        in_memory = _TASK_BYTES * min(ratings, TASK_ROWS) + 3 * 8 * cells
    return Cost(
        passes=passes,
        tasks=tasks,
        tiles=tiles,
        shuffle_bytes=int(shuffled),
        worker_bytes=int(_PROCESS_BYTES + in_memory),
        disk_bytes=int(on_disk),
        streaming_hours=seconds / 3600,
        cluster_core_hours=cluster_seconds / 3600,
    )


def _size(number: float) -> str:
    """Format a number of bytes with a unit, such as 3.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
