"""Estimates of the time, memory and traffic of a fit, made before there are data.

There are two kinds of fits: those that compute sums over people, and the published X-Map, which
finds item neighbours ("joins"). The coefficients were measured with 1 to 100 million ratings of
27,000 items, by `python benchmarks/scale.py`: see docs/results.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Copies of constants of tacit.engine.spark and tacit.engine.item_item_tiles, so that an estimate
# does not import them: the first needs pyarrow, which may be missing. A test compares them.
TASK_ROWS = 2_000_000
"""Number of ratings of one Spark task."""
PIECE = 1 << 16
"""Number of cells of a table that are sent together."""
RATINGS_PER_PART = 4_000_000
"""A part of the items, without its last item, has fewer ratings than this."""
ITEMS_PER_PART = 1 << 14
"""Largest number of items of one part."""
DIRECTIONS = 12
"""Number of columns of the largest table of sums with default settings. The table has a row for
each item, and one more."""
_PROCESS_BYTES = 0.45e9
"""Bytes of memory of a process that holds no rating."""
_TASK_BYTES = 150
"""Bytes of memory of a rating in a task."""
_SHUFFLED_BYTES = 22
"""Bytes of a rating that is moved to its task."""
_STRIP_BYTES = 14
"""Bytes of a rating that is moved to a tile."""
_DISK_BYTES = 44
"""Bytes of a rating on disk."""


@dataclass(frozen=True)
class Cost:
    """Estimate of the time, memory and traffic of a fit."""

    passes: int
    """Number of passes over all ratings."""
    tasks: int
    """Number of tasks into which a cluster divides the people."""
    tiles: int
    """Number of tiles, of 65,536 cells each, into which a cluster cuts the largest table of sums;
    for joins, number of pairs of parts of the items."""
    shuffle_bytes: int
    """Bytes that a cluster moves between machines."""
    task_bytes: int
    """Bytes of memory of one task."""
    disk_bytes: int
    """Bytes on disk while Parquet files are streamed; 0 for a fit that cannot stream."""
    one_machine_core_hours: float
    """Core hours on one machine, whether Parquet files are streamed or ratings are in memory."""
    cluster_core_hours: float
    """Core hours on a cluster."""

    @property
    def sentences(self) -> tuple[str, str]:
        """Two sentences: what the fit needs on a cluster, and on one machine."""
        cluster = (
            f"On a cluster: {self.passes} passes in {self.tasks:,} tasks and at most "
            f"{self.tiles:,} tiles; {_format_bytes(self.shuffle_bytes)} shuffled, "
            f"{_format_bytes(self.task_bytes)} of memory for each task at work, about "
            f"{self.cluster_core_hours:.2g} core hours."
        )
        hours = f"about {self.one_machine_core_hours:.2g} core hours"
        if self.disk_bytes:
            disk = _format_bytes(self.disk_bytes)
            return cluster, f"On one machine with --memory: {hours}, and {disk} of disk."
        return cluster, f"On one machine in memory: {hours}."


def estimate_cost(
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
        people: Number of people, above 0; used only for joins.
        items: Number of items; for joins, of both domains together. The two domains are assumed to
            be equally large.
        stars: Whether sums of stars are computed, too.
        pairs: Whether pairs of likes are counted, too.
        joins: Whether the fit is the published X-Map without noise; then `stars` and `pairs` are
            not used.
    """
    if joins:
        return _estimate_joins(ratings, people, items)
    return _estimate_sums(ratings, items, stars=stars, pairs=pairs)


def _count_tasks(ratings: float) -> int:
    """Count the tasks into which a cluster divides the people: at least 4."""
    return max(4, math.ceil(ratings / TASK_ROWS))


def _estimate_joins(ratings: float, people: float, items: float) -> Cost:
    """Estimate what the joins of items of the published X-Map need.

    Arguments are as in `estimate_cost`. The coefficients of the times were measured, in seconds.
    """
    ratings_per_domain = ratings / 2
    items_per_domain = items / 2
    parts = max(  # of each domain
        1,
        math.ceil(ratings_per_domain / RATINGS_PER_PART),
        math.ceil(items_per_domain / ITEMS_PER_PART),
    )
    # Each part of one domain meets each part of the other. Within one of the domains only, each
    # part also meets itself and, once, each other part.
    tiles = parts**2 + parts * (parts + 1) // 2
    sent_ratings = 3 * parts * ratings
    # Each rating meets all ratings of the same person: ratings / people of them.
    join_seconds = 17e-9 * ratings * ratings / people
    seconds = 5 + 0.8e-3 * items + 0.8e-6 * ratings + join_seconds
    cluster_seconds = seconds + 1e-6 * ratings + 0.25e-6 * sent_ratings + join_seconds
    ratings_in_memory = min(ratings, max(2 * RATINGS_PER_PART, TASK_ROWS))
    return Cost(
        passes=8,
        tasks=_count_tasks(ratings),
        tiles=tiles,
        shuffle_bytes=int(_SHUFFLED_BYTES * ratings + _STRIP_BYTES * sent_ratings),
        task_bytes=int(_PROCESS_BYTES + _TASK_BYTES * ratings_in_memory),
        disk_bytes=0,
        one_machine_core_hours=seconds / 3600,
        cluster_core_hours=cluster_seconds / 3600,
    )


def _estimate_sums(ratings: float, items: float, *, stars: bool, pairs: bool) -> Cost:
    """Estimate what a fit of sums over people needs: four passes, and more for stars and pairs.

    Arguments are as in `estimate_cost`. The coefficients of the times were measured, in seconds.
    """
    passes = (7 if stars else 4) + pairs
    tasks = _count_tasks(ratings)
    cells = (items + 1) * DIRECTIONS
    # In four passes, each task sends about one table of the largest size and one column of counts.
    sent_cells = passes / 4 * tasks * (cells + items + 1)
    seconds = 2 + passes * 0.15e-6 * ratings
    cluster_seconds = 2 + passes * 0.55e-6 * ratings + 2e-9 * sent_cells
    # A task holds its ratings and three copies of the largest table, of 8 bytes a cell.
    in_memory = _TASK_BYTES * min(ratings, TASK_ROWS) + 3 * 8 * cells
    return Cost(
        passes=passes,
        tasks=tasks,
        tiles=math.ceil(cells / PIECE),
        shuffle_bytes=int(_SHUFFLED_BYTES * ratings + 8 * sent_cells),
        task_bytes=int(_PROCESS_BYTES + in_memory),
        disk_bytes=int(_DISK_BYTES * ratings),
        one_machine_core_hours=seconds / 3600,
        cluster_core_hours=cluster_seconds / 3600,
    )


def _format_bytes(number: float) -> str:
    """Format a number of bytes with a unit, such as 3.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 999.5:  # larger numbers are rounded to 1000
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number * 1000:,.0f} TB"
