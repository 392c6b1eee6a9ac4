"""Processor time and memory of an import, beside polars that reads, groups and writes the file.

    python benchmarks/import_speed.py [--rows 20000000] [--rounds 3] [--folder FOLDER] [--json]

The file is CSV: user_id, item_id, rating, timestamp, drawn by a seed. Both programs take turns,
each time in a process of its own. Printed are the median of a program's processor seconds (user and
system), and its largest resident memory. `ratio` is polars' seconds over tacit's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

GOAL_OF_RATIO = 0.8
"""Least ratio."""
GOAL_OF_MEMORY = 3 * 2**30
"""Most bytes of tacit's resident memory."""
BLOCK = 2_000_000
"""Rows that are drawn and written together."""
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
    """Write drawn ratings of about rows / 130 people and at most 27,000 items."""
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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    programs = {"polars": POLARS, "tacit": TACIT}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    memory: dict[str, int] = dict.fromkeys(programs, 0)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        source = Path(scratch) / "ratings.csv"
        write_rows(source, options.rows)
        for turn in range(options.rounds):
            for name, program in programs.items():
                used, peak = measure(program, source, Path(scratch) / f"{name}-{turn}")
                seconds[name].append(used)
                memory[name] = max(memory[name], peak)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ratio = medians["polars"] / medians["tacit"]
    result = {
        "name": "import",
        "peer": f"polars {pl.__version__}",
        "rows": options.rows,
        "ratio": round(ratio, 3),
        "goal": GOAL_OF_RATIO,
        "seconds": {name: round(median, 2) for name, median in medians.items()},
        "peak_mib": {name: round(peak / 2**20) for name, peak in memory.items()},
        "rounds": options.rounds,
        "goals_met": ratio >= GOAL_OF_RATIO and memory["tacit"] <= GOAL_OF_MEMORY,
    }
    if options.json:
        print(json.dumps(result, sort_keys=True))
    else:
        for name, value in result.items():
            print(f"{name:<12} {value}")


if __name__ == "__main__":
    main()
