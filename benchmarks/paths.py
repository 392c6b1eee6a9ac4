"""Paths through layers of items, ten edges each: the fast engine against the readable one.

    python benchmarks/paths.py [--shape 1m|20m] [--rounds N] [--json]

Six layers as X-Map has them, of about 3,700 items together (1m) or 19,000 (20m). Counted are the
paths from at most 1,000 items of the first layer through the five stages between the layers. No
other library does this, so the peer is the readable engine (NumPy), on 20 starts; both take turns
in fresh processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from turns import peak_mib, show, take_turns, turn

ITEMS = {"1m": 3_700, "20m": 19_000}
ROOT = Path(__file__).parents[1]
LAYERS = 6
"""Layers of items."""
K = 10
"""Edges of an item to the next layer."""
STARTS, PEER_STARTS = 1_000, 20
"""Most items from which paths begin, for the fast engine and for the readable one."""
GOAL = 0.25
"""Least rate of the fast engine, in thousand million paths a second."""


def main() -> None:
    """Run the benchmark, or one of its programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=ITEMS, default="1m")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", choices=WORKERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORKERS[arguments.work](ITEMS[arguments.shape] // LAYERS)))
    else:
        show(measure(arguments.shape, arguments.rounds), arguments.json)


def measure(shape: str, rounds: int) -> dict[str, Any]:
    """Run both engines in turns, and return the figures."""
    workers = {name: (sys.executable, "--work", name, "--shape", shape) for name in WORKERS}
    compared = turn(*workers.pop("compare"))
    medians = take_turns(workers, rounds)
    width = ITEMS[shape] // LAYERS
    paths = min(STARTS, width) * K ** (LAYERS - 1)
    rate = paths / medians["compiled"]["seconds"]
    peer_rate = PEER_STARTS * K ** (LAYERS - 1) / medians["readable"]["seconds"]
    return {
        "name": "paths",
        "peer": "the readable engine (NumPy)",
        "shape": shape,
        "ratio": round(rate / peer_rate, 1),
        "giga_paths_per_second": round(rate / 1e9, 3),
        "goal": GOAL,
        "goals_met": rate >= GOAL * 1e9,
        **compared,
        "paths": paths,
        "seconds": round(medians["compiled"]["seconds"], 3),
        "peer_giga_paths_per_second": round(peer_rate / 1e9, 4),
        "peak_mib": {name: found["peak_mib"] for name, found in medians.items()},
        "rounds": rounds,
        "items": width * LAYERS,
        "k": K,
        "versions": {name: version(name) for name in ("numpy", "numba")},
    }


def stages(width: int) -> list[Any]:
    """Generate the five stages between layers of `width` items, with K edges from each item."""
    import numpy as np

    from tacit.engine import Stage

    generator = np.random.default_rng(1)
    made = []
    for _ in range(LAYERS - 1):
        # Famous items are in many lists.
        fame = generator.lognormal(0, 1, width)
        keys = generator.exponential(size=(width, width)) / fame
        targets = np.sort(np.argpartition(keys, K, axis=1)[:, :K], axis=1).ravel()
        edges = len(targets)
        made.append(
            Stage(
                np.arange(0, edges + 1, K),
                targets.astype(np.int32),
                generator.uniform(-1, 1, edges),
                generator.integers(1, 200, edges).astype(np.float64),
                generator.uniform(0.01, 1, edges),
                width,
            )
        )
    return made


def compiled(width: int) -> dict[str, float]:
    """Measure the fast engine, after it is compiled."""
    import numpy as np

    from tacit.engine import Engine

    engine, layers = Engine(), stages(width)
    engine.paths(layers[:1], starts=np.zeros(1, dtype=np.int32))  # compiles
    starts = np.arange(min(STARTS, width), dtype=np.int32)
    start = time.process_time()
    engine.paths(layers, starts=starts)
    return {"seconds": time.process_time() - start, "peak_mib": peak_mib()}


def readable(width: int) -> dict[str, float]:
    """Measure the readable engine, on fewer starts."""
    import numpy as np

    sys.path.append(str(ROOT))
    from tests.support.readable_engine import LocalEngine

    layers, starts = stages(width), np.arange(PEER_STARTS, dtype=np.int32)
    start = time.process_time()
    LocalEngine().paths(layers, starts=starts)
    return {"seconds": time.process_time() - start, "peak_mib": peak_mib()}


def compare(width: int) -> dict[str, Any]:
    """Say whether both engines find the same paths from two starts."""
    import numpy as np

    sys.path.append(str(ROOT))
    from tacit.engine import Engine
    from tests.support.readable_engine import LocalEngine

    layers, starts = stages(width), np.arange(2, dtype=np.int32)
    pairs = zip(
        Engine().paths(layers, starts=starts),
        LocalEngine().paths(layers, starts=starts),
        strict=True,
    )
    return {"agree": all(np.array_equal(one, other) for one, other in pairs)}


WORKERS = {"compiled": compiled, "readable": readable, "compare": compare}

if __name__ == "__main__":
    main()
