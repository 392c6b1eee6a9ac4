"""Lists of ten for 5,000 people, what they rated left out: the fast engine against implicit.

    python benchmarks/predict.py [--shape 1m|20m] [--rounds N] [--json]

Both hold the same item neighbours (50 each, from the fast engine) and get all 5,000 histories in
one call; they take turns in fresh processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from turns import SHAPES, centre, generate, peak_mib, peer_python, read, show, take_turns, turn

PEOPLE, N, K = 5_000, 10, 50
GOAL = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1m")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORKERS[arguments.work](Path(arguments.folder))))
    else:
        show(measure(arguments.shape, arguments.rounds), arguments.json)


def measure(shape: str, rounds: int) -> dict[str, Any]:
    peer = peer_python()
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:

        def worker(python: str, name: str) -> tuple[str, ...]:
            return python, "--work", name, "--folder", folder

        generate(shape, Path(folder) / "ratings.npz")
        made = turn(*worker(sys.executable, "prepare"))
        medians = take_turns(
            {
                "ours": worker(sys.executable, "ours"),
                "implicit": worker(peer, "implicit"),
            },
            rounds,
        )
        compared = turn(*worker(sys.executable, "compare"))
        peer_version = turn(*worker(peer, "version"))["implicit"]
    ours, implicit = medians["ours"], medians["implicit"]
    ratio = implicit["seconds"] / ours["seconds"]
    return {
        "name": "predict",
        "peer": f"implicit {peer_version}",
        "shape": shape,
        "ratio": round(ratio, 2),
        "goal": GOAL,
        "goals_met": ratio >= GOAL,
        **compared,
        "lists_per_second": round(made["people"] / ours["seconds"]),
        "peer_lists_per_second": round(made["people"] / implicit["seconds"]),
        "peak_mib": {name: found["peak_mib"] for name, found in medians.items()},
        "rounds": rounds,
        **made,
        "n": N,
        "k": K,
        "versions": {name: version(name) for name in ("numpy", "scipy", "numba")},
    }


def prepare(folder: Path) -> dict[str, int]:
    """Neighbours of all items, and the histories of the first people."""
    import numpy as np
    from scipy import sparse

    from tacit.engine import Table
    from tacit.engine.local import CompiledEngine

    data, indices, indptr, shape = read(str(folder / "ratings.npz"))
    stars = sparse.csr_array((data.copy(), indices, indptr), shape=shape)[:PEOPLE]
    centre(data, indptr)
    table = Table(sparse.csr_array((data, indices, indptr), shape=shape), data >= 0)
    items = np.arange(shape[1], dtype=np.int32)
    found = CompiledEngine().neighbours(table, of=items, among=items, k=K, counts=False)
    kept = found.items >= 0
    lines = np.repeat(items, kept.sum(axis=1))
    # From a neighbour to the items it speaks for, as both engines read it.
    similar = sparse.csr_array(
        (found.similarities[kept], (found.items[kept], lines)), shape=(shape[1], shape[1])
    )
    for name, matrix in (("histories", stars), ("similar", similar)):
        sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(matrix))
    return {"people": stars.shape[0], "items": shape[1], "ratings": stars.nnz}


def ours(folder: Path) -> dict[str, float]:
    import numpy as np
    from scipy import sparse

    from tacit.engine.local import CompiledEngine

    histories, similar = (
        sparse.csr_array(sparse.load_npz(folder / f"{name}.npz"))
        for name in ("histories", "similar")
    )
    engine = CompiledEngine()
    engine.top(histories[:2], similar, n=N)  # compiles
    start = time.process_time()
    items, scores = engine.top(histories, similar, n=N)
    result = {"seconds": time.process_time() - start, "peak_mib": peak_mib()}
    np.savez(folder / "ours.npz", items=items, scores=scores)
    return result


def implicit_s(folder: Path) -> dict[str, float]:
    import numpy as np
    from implicit._nearest_neighbours import NearestNeighboursScorer
    from implicit.nearest_neighbours import ItemItemRecommender
    from scipy import sparse

    histories, similar = (
        sparse.load_npz(folder / f"{name}.npz") for name in ("histories", "similar")
    )
    model = ItemItemRecommender(K=K, num_threads=1)
    model.similarity, model.scorer = similar, NearestNeighboursScorer(similar)
    people = np.arange(histories.shape[0])
    model.recommend(people[:2], histories[:2], N=N)
    start = time.process_time()
    items, scores = model.recommend(people, histories, N=N)
    result = {"seconds": time.process_time() - start, "peak_mib": peak_mib()}
    np.savez(folder / "implicit.npz", items=items, scores=scores)
    return result


def compare(folder: Path) -> dict[str, Any]:
    """Share of lists with the same scores: items of one score may change places."""
    import numpy as np

    with np.load(folder / "ours.npz") as one, np.load(folder / "implicit.npz") as other:
        full = (one["items"] >= 0).all(axis=1)
        close = np.isclose(one["scores"][full], other["scores"][full], rtol=1e-9, atol=1e-9)
    share = float(close.all(axis=1).mean())
    return {"agree": share >= 0.999, "equal_lists": round(share, 5)}


def peer_version(_: Path) -> dict[str, str]:
    return {"implicit": version("implicit")}


WORKERS = {
    "prepare": prepare,
    "ours": ours,
    "implicit": implicit_s,
    "compare": compare,
    "version": peer_version,
}

if __name__ == "__main__":
    main()
