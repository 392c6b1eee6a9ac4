"""Ridge regressions of many people: the compiled kernel against a NumPy loop over people.

    python benchmarks/ridge.py [--json]

Both solve the same 6,000 problems (about 1,000,000 generated ratings, 20 factors) on one thread, in
turns, in one process. The time is that of the processor, so that a busy machine does not decide.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

USERS, ITEMS, RATINGS, FACTORS, PENALTY = 6_000, 3_700, 1_000_000, 20, 0.1
ROUNDS = 7
"""Turns of which the median is taken."""
GOAL = 3.0
"""Least ratio of the seconds."""
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Run the benchmark on one thread; the exit code is 1 if the solutions differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in THREADS.items()):
        # Read when NumPy is loaded, so set before: start again with them.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | THREADS)
    result = measure()
    if arguments.json:
        print(json.dumps(result, sort_keys=True))
    else:
        for name, value in result.items():
            print(f"{name:<18} {value}")
    if not result["agree"]:
        sys.exit("The two solutions differ.")


def measure() -> dict[str, object]:
    """Solve the same problems by both in turns, and return the figures."""
    import numpy as np
    from scipy import sparse

    from tacit.engine.ridge import solve

    generator = np.random.default_rng(1)
    # As in real data, a few items and people have most of the ratings.
    people = generator.lognormal(0, 1, USERS)
    items = generator.lognormal(0, 1.5, ITEMS)
    pairs = np.unique(
        generator.choice(USERS, 2 * RATINGS, p=people / people.sum()) * ITEMS
        + generator.choice(ITEMS, 2 * RATINGS, p=items / items.sum())
    )
    pairs = generator.permutation(pairs)[:RATINGS]
    rows, columns = np.divmod(np.sort(pairs), ITEMS)
    ratings = sparse.csr_array(
        (generator.normal(0, 1, len(rows)), (rows, columns)), shape=(USERS, ITEMS)
    )
    factors = generator.normal(0, 0.3, (ITEMS, FACTORS))

    def peer() -> np.ndarray:
        """Solve the problems by NumPy, one person at a time."""
        solutions = np.empty((USERS, FACTORS))
        penalty = PENALTY * np.eye(FACTORS)
        for user in range(USERS):
            rated = slice(ratings.indptr[user], ratings.indptr[user + 1])
            own = factors[ratings.indices[rated]]
            solutions[user] = np.linalg.solve(own.T @ own + penalty, own.T @ ratings.data[rated])
        return solutions

    def compiled() -> np.ndarray:
        """Solve the problems by the compiled kernel."""
        return solve(ratings, factors, PENALTY)

    peer_solutions = peer()
    difference = np.abs(compiled() - peer_solutions).max()  # also compiles and warms up
    relative_difference = difference / np.abs(peer_solutions).max()
    seconds: dict[str, list[float]] = {"compiled": [], "peer": []}
    for _ in range(ROUNDS):
        seconds["compiled"].append(cpu_seconds(compiled))
        seconds["peer"].append(cpu_seconds(peer))
    ours, theirs = (statistics.median(times) for times in seconds.values())
    return {
        "name": "ridge",
        "peer": "NumPy, one person at a time",
        "ratio": round(theirs / ours, 2),
        "goal": GOAL,
        "agree": bool(relative_difference < 1e-8),
        "difference": float(relative_difference),
        "seconds": round(ours, 4),
        "peer_seconds": round(theirs, 4),
        "rounds": ROUNDS,
        "users": USERS,
        "items": ITEMS,
        "ratings": int(ratings.nnz),
        "factors": FACTORS,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "versions": {name: version(name) for name in ("numpy", "scipy", "numba")},
    }


def cpu_seconds(work: Callable[[], object]) -> float:
    """Call a function, and return the processor seconds that it took."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
