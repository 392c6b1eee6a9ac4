"""What a fit costs in passes, memory, bytes and hours, before any data, from measured constants.

Constants   `python benchmarks/scale.py`, docs/results.md: 1 to 100 million ratings of 27,000 items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.designs.private.settings import Settings

TASK_ROWS, PIECE = 2_000_000, 1 << 16  # as tacit.engine.spark has them
_START = 2.0  # seconds of a process
_STREAMED, _OF_CLUSTER = 0.6e-6, 2.2e-6  # core seconds for a rating, of a fit of four passes
_OF_CELL = 2e-9  # for a cell of a task's table, made, sent and added
_STARS = 1.7  # a fit with stars over one without
_ROW, _ON_DISK = 22, 44  # bytes of a rating that is shuffled; that is parted on disk
_TASK_ROW, _PROCESS = 150, 0.45e9  # bytes of a rating in a task; of a process without any


@dataclass(frozen=True)
class Cost:
    """passes: over everyone's rows. tasks: that people are parted in. tiles: of the largest table,
    65,536 cells each. shuffle_bytes: on a cluster. worker_bytes: of one task. disk_bytes: while
    streaming. streaming_hours, cluster_core_hours: of a processor core, without a cluster and on
    one."""

    passes: int
    tasks: int
    tiles: int
    shuffle_bytes: int
    worker_bytes: int
    disk_bytes: int
    streaming_hours: float
    cluster_core_hours: float

    @property
    def sentences(self) -> tuple[str, str]:
        """On a cluster, and on one machine."""
        cluster = (
            f"On a cluster: {self.passes} passes in {self.tasks:,} tasks, the largest table in "
            f"{self.tiles:,} tiles; {_size(self.shuffle_bytes)} shuffled, "
            f"{_size(self.worker_bytes)} of memory for each task at work, about "
            f"{self.cluster_core_hours:.2g} core hours."
        )
        alone = (
            f"On one machine with --memory: about {self.streaming_hours:.2g} core hours, and "
            f"{_size(self.disk_bytes)} of disk."
        )
        return cluster, alone


def cost(ratings: float, items: int, *, stars: bool = False) -> Cost:
    """ratings: of everyone. items: that lists are made of."""
    widest = Settings().directions
    cells = (items + 1) * widest
    sums = cells + items + 1
    tasks = max(4, math.ceil(ratings / TASK_ROWS))
    more = _STARS if stars else 1.0
    table_seconds = more * tasks * sums * _OF_CELL
    return Cost(
        passes=7 if stars else 4,
        tasks=tasks,
        tiles=math.ceil(cells / PIECE),
        shuffle_bytes=int(_ROW * ratings + more * 8 * tasks * sums),
        worker_bytes=int(_PROCESS + _TASK_ROW * min(ratings, TASK_ROWS) + 3 * 8 * cells),
        disk_bytes=int(_ON_DISK * ratings),
        streaming_hours=(_START + more * _STREAMED * ratings) / 3600,
        cluster_core_hours=(_START + more * _OF_CLUSTER * ratings + table_seconds) / 3600,
    )


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
