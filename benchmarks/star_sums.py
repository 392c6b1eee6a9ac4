"""The sum of people's tastes of `Private(stars=True)`: the kernel against the readable function.

    python benchmarks/star_sums.py [--ratings 1e6] [--rounds N] [--json]

The readable function is that of the tests, compiled without a change. Both take turns on the same
generated people, who have about 145 ratings each, of 27,000 items. There are ten tastes; only the
100 most rated items have loadings. Seconds are of the processor on one thread, without compiling,
medians. `agree`: both sums are the same whole numbers. Both clip by the same compiled function.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
from turns import show

from tacit.engine.profile_kernels.clip import clip_person
from tacit.engine.profile_kernels.star_factors import add_star_factors
from tacit.engine.profile_kernels.types import StarRows, StarTable
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.profile_reference import star_table  # the bits that the kernel is held to

ITEMS, OF_PERSON, TASTES, HEAD, NORM = 27_000, 145, 10, 100, 1.5
person_table = numba.njit(nogil=True, error_model="numpy")(star_table)
"""The readable function, compiled: it makes the table of one person."""


@numba.njit(nogil=True, error_model="numpy")
def readable(rows: Any, known: Any, clip: Any, total: Any) -> None:
    """Add the clipped tables of all people to `total`, by the readable function."""
    for u in range(len(rows.offsets) - 1):
        values, places = person_table(rows, u, known)
        flat = values.ravel()
        clip_person(flat, len(flat), clip)
        for j in range(len(places)):
            for a in range(total.shape[1]):
                total[places[j], a] += values[j, a]


def world(people: int) -> tuple[StarRows, StarTable]:
    """Generate people's rows, and the table of items that they are read with."""
    draws = np.random.default_rng(1)
    sizes = np.maximum(1, OF_PERSON * draws.lognormal(-0.5, 1, people)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = (ITEMS * draws.random(offsets[-1]) ** 2.5).astype(np.int64)
    loadings, variances = np.zeros((ITEMS, TASTES)), np.full(ITEMS, 0.8)
    loadings[:HEAD] = draws.normal(0, 0.4, (HEAD, TASTES))
    rows = StarRows(offsets, places, draws.normal(0, 1, offsets[-1]))
    return rows, StarTable(loadings, variances, 5.0, 0.05)


def main() -> None:
    """Run both in turns, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    rows, known = world(int(options.ratings / OF_PERSON))
    few = rows._replace(offsets=rows.offsets[:3])
    mechanism = SumRelease(3.0, ITEMS + TASTES, TASTES, NORM, resolution_for(NORM))
    ways = {"kernel": add_star_factors, "readable": readable}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    totals = {}
    for way in ways.values():
        way(few, known, clip_rule(mechanism), mechanism.zero_table())  # compiles
    for _ in range(options.rounds):
        for name, way in ways.items():
            totals[name], start = mechanism.zero_table(), time.process_time()
            way(rows, known, clip_rule(mechanism), totals[name])
            seconds[name].append(time.process_time() - start)
    ratios = [slow / fast for fast, slow in zip(*seconds.values(), strict=True)]
    result = {
        "name": "sum of tastes",
        "ratings": len(rows.places),
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "seconds": {name: round(statistics.median(times), 3) for name, times in seconds.items()},
        "agree": np.array_equal(totals["kernel"], totals["readable"]),
    }
    show(result, options.json)


if __name__ == "__main__":
    main()
