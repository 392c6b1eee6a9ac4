"""Processor time and memory of an import, beside polars that reads, groups and writes the file.

python benchmarks/import_speed.py [--rows 20000000] [--folder FOLDER]

The file is CSV: user_id, item_id, rating, timestamp, drawn by a seed. Both run in a process of
their own; printed are its processor seconds (user and system) and its largest resident memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

GOAL_OF_TIME, GOAL_OF_MEMORY = 1.25, 3 * 2**30
BLOCK = 2_000_000
POLARS = """
import sys
import polars as pl
frame = pl.read_csv(sys.argv[1])
last = pl.col("rating", "timestamp").last()
frame = frame.group_by("user_id", "item_id").agg(last)
frame.write_parquet(sys.argv[2])
"""
TACIT = """
import sys
from tacit.cli.app import main
sys.exit(main(["data", "import", sys.argv[1], "-o", sys.argv[2], "--yes", "--json"]))
"""


def write_rows(path: Path, rows: int) -> None:
    """Write drawn ratings of rows / 130 people and 27,000 items."""
    generator = np.random.default_rng(1)
    with path.open("wb") as stream:
        for start in range(0, rows, BLOCK):
            size = min(BLOCK, rows - start)
            frame = pl.DataFrame(
                {
                    "user_id": generator.integers(1, max(2, rows // 130), size),
                    "item_id": (27_000 * generator.random(size) ** 3).astype(np.int64) + 1,
                    "rating": generator.choice([1, 2, 3, 4, 5], size, p=[0.1, 0.1, 0.2, 0.4, 0.2]),
                    "timestamp": generator.integers(800_000_000, 1_600_000_000, size),
                }
            )
            frame.write_csv(stream, include_header=start == 0)


def measure(program: str, source: Path, target: Path) -> tuple[float, int]:
    """Run a program in a process of its own.

    Returns:
        Its processor seconds, and the bytes of its largest resident memory.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(source), str(target)], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the process ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    """Measure both, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        source = Path(scratch) / "ratings.csv"
        write_rows(source, asked.rows)
        seconds, memory = measure(POLARS, source, Path(scratch) / "grouped.parquet")
        own_seconds, own_memory = measure(TACIT, source, Path(scratch) / "imported")
    print(f"{asked.rows:,} rows")
    print(f"polars: {seconds:.1f} s of processor time, {memory / 2**30:.2f} GiB")
    print(f"tacit:  {own_seconds:.1f} s of processor time, {own_memory / 2**30:.2f} GiB")
    print(f"ratio:  {own_seconds / seconds:.2f} (goal {GOAL_OF_TIME})")
    if own_memory > GOAL_OF_MEMORY:
        print("more than 3 GiB of memory")


if __name__ == "__main__":
    main()
