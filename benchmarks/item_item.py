"""Item-item adjusted cosine, 50 neighbours for every item: the fast engine against implicit.

    python benchmarks/item_item.py [--shape 1m|20m] [--rounds N] [--json]

Three programs take turns in fresh processes: ours with similarities alone ("alone"), ours with
co-raters and agreements counted in the same pass ("fused"), and `implicit` on columns normalized
beforehand. The 20m shape takes several minutes, so by default it has 3 rounds (1m: 7).

Ours ranks by |similarity|, implicit by similarity. So our lists are compared twice: for all items,
their neighbours of positive similarity with the first ones of implicit's lists; for a sample, the
whole lists with SciPy's. Of neighbours whose similarities differ by 1e-9 at most, either may be in
a list.
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

K = 50
"""Neighbours of an item."""
SAMPLE = 200
"""Items whose lists are compared with SciPy's."""
TIE = 1e-9
"""Largest difference of similarities that count as equal."""
AGREEMENT = 0.999
"""Least share of equal lists."""
GOALS = {"ratio": 3.5, "fused_over_alone": 2.0, "memory_over_peer": 1.3}


def main() -> None:
    """Run the benchmark, or one of its programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1m")
    parser.add_argument("--rounds", type=int, help="default: 7 for 1m, 3 for 20m")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", choices=WORKERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORKERS[arguments.work](Path(arguments.folder))))
        return
    rounds = arguments.rounds or {"1m": 7, "20m": 3}[arguments.shape]
    show(measure(arguments.shape, rounds), arguments.json)


def measure(shape: str, rounds: int) -> dict[str, Any]:
    """Run all programs in turns, compare their lists, and return the figures."""
    peer = peer_python("implicit", "implicit>=0.7.2")
    with tempfile.TemporaryDirectory(prefix="tacit-bench-") as folder:

        def worker(python: str, name: str) -> tuple[str, ...]:
            """Return the command of one program."""
            return python, "--work", name, "--folder", folder

        generate(shape, Path(folder) / "ratings.npz")
        sizes = turn(*worker(sys.executable, "describe"))
        medians = take_turns(
            {
                "alone": worker(sys.executable, "alone"),
                "fused": worker(sys.executable, "fused"),
                "implicit": worker(peer, "implicit"),
            },
            rounds,
        )
        compared = turn(*worker(sys.executable, "compare"))
        peer_version = turn(*worker(peer, "version"))["implicit"]
    alone, fused, implicit = (medians[name] for name in ("alone", "fused", "implicit"))
    numbers = {
        "ratio": round(implicit["seconds"] / alone["seconds"], 2),
        "fused_over_alone": round(fused["seconds"] / alone["seconds"], 2),
        "memory_over_peer": round(
            max(alone["peak_mib"], fused["peak_mib"]) / implicit["peak_mib"], 2
        ),
    }
    met = numbers["ratio"] >= GOALS["ratio"] and all(
        numbers[name] <= GOALS[name] for name in ("fused_over_alone", "memory_over_peer")
    )
    return {
        "name": "item-item",
        "peer": f"implicit {peer_version}",
        "shape": shape,
        **numbers,
        "goals": GOALS,
        "goals_met": met,
        "agree": min(compared.values()) >= AGREEMENT,
        **compared,
        "seconds": {name: round(found["seconds"], 3) for name, found in medians.items()},
        "peak_mib": {name: found["peak_mib"] for name, found in medians.items()},
        "rounds": rounds,
        **sizes,
        "k": K,
        "versions": {name: version(name) for name in ("numpy", "scipy", "numba")},
    }


def describe(folder: Path) -> dict[str, Any]:
    """Return the size of the generated ratings; `products` is the sum of squared row lengths."""
    import numpy as np

    data, _, indptr, (people, items) = read(str(folder / "ratings.npz"))
    return {
        "people": people,
        "items": items,
        "ratings": len(data),
        "products": int((np.diff(indptr).astype(np.int64) ** 2).sum()),
    }


def centred(folder: Path) -> Any:
    """Return (people, items) ratings less each person's mean."""
    from scipy import sparse

    data, indices, indptr, shape = read(str(folder / "ratings.npz"))
    centre(data, indptr)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def make_our_program(counts: bool) -> Any:
    """Return the program that measures tacit's engine, with or without counts of agreements."""

    def work(folder: Path) -> dict[str, Any]:
        """Compile the engine, and then measure it on all items."""
        import numpy as np
        from scipy import sparse

        from tacit.engine import Engine, Table

        values = centred(folder)
        table = Table(values, values.data >= 0)
        items = np.arange(values.shape[1], dtype=np.int32)
        engine = Engine()
        few = sparse.csr_array(np.eye(3))
        small = Table(few, few.data > 0)
        engine.neighbours(
            small, items=items[:3], candidates=items[:3], k=1, counts=counts
        )  # compiles
        start = time.process_time()
        found = engine.neighbours(table, items=items, candidates=items, k=K, counts=counts)
        seconds = time.process_time() - start
        result = {"seconds": seconds, "peak_mib": peak_mib()}
        if not counts:  # with counts, pairs without an agreement are no neighbours
            np.savez(folder / "ours.npz", items=found.neighbours, similarities=found.similarities)
        return result

    return work


def fit_implicit(folder: Path) -> dict[str, Any]:
    """Measure implicit's fit, on columns that were normalized before."""
    import numpy as np
    from implicit.nearest_neighbours import ItemItemRecommender
    from scipy import sparse

    values = sparse.csr_matrix(centred(folder))
    squares = np.zeros(values.shape[1])
    for begin in range(0, values.nnz, 2**20):
        part = slice(begin, begin + 2**20)
        squares += np.bincount(values.indices[part], values.data[part] ** 2, len(squares))
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    for begin in range(0, values.nnz, 2**20):
        part = slice(begin, begin + 2**20)
        values.data[part] /= lengths[values.indices[part]]
    model = ItemItemRecommender(K=K, num_threads=1)
    start = time.process_time()
    model.fit(values, show_progress=False)
    seconds = time.process_time() - start
    result = {"seconds": seconds, "peak_mib": peak_mib()}
    found = model.similarity
    np.savez(folder / "implicit.npz", data=found.data, indices=found.indices, indptr=found.indptr)
    return result


def compare(folder: Path) -> dict[str, Any]:
    """Return the shares of items whose lists agree: with implicit's, and with SciPy's."""
    import numpy as np

    with np.load(folder / "ours.npz") as saved:
        items, similarities = saved["items"], saved["similarities"]
    with np.load(folder / "implicit.npz") as saved:
        data, indices, indptr = saved["data"], saved["indices"], saved["indptr"]
    equal = 0
    for item, (numbers, values) in enumerate(zip(items, similarities, strict=True)):
        row = slice(indptr[item], indptr[item + 1])
        theirs = sorted(
            (-value, number)
            for value, number in zip(data[row].tolist(), indices[row].tolist(), strict=True)
            if number != item and value > 0
        )
        # implicit's K places may include the item itself, so a full list has K - 1 others at least.
        head = values[values > 0][: len(theirs)] if len(theirs) >= K - 1 else values[values > 0]
        equal += _same(
            dict(zip(numbers[values > 0][: len(head)].tolist(), head.tolist(), strict=True)),
            {number: -value for value, number in theirs[: len(head)]},
        )
    return {
        "equal_to_implicit": round(equal / len(items), 5),
        "equal_to_scipy": round(_sampled(centred(folder), items, similarities), 5),
    }


def _sampled(values: Any, items: Any, similarities: Any) -> float:
    """Return the share of items, out of a sample, whose lists are those that SciPy computes."""
    import numpy as np

    lengths = np.sqrt(np.bincount(values.indices, values.data**2, values.shape[1]))
    sample = np.random.default_rng(2).choice(len(items), min(SAMPLE, len(items)), replace=False)
    columns = values.tocsc()[:, sample]
    equal = 0
    for place, item in enumerate(sample):
        dots = columns[:, [place]].T @ values
        cosines = dots.toarray()[0] / np.where(lengths > 0, lengths, 1.0)
        cosines /= lengths[item] if lengths[item] > 0 else 1.0
        cosines[item] = 0.0
        best = np.argsort(-np.abs(cosines), kind="stable")[:K]
        best = best[cosines[best] != 0]
        kept = items[item] >= 0
        equal += _same(
            dict(zip(items[item][kept].tolist(), similarities[item][kept].tolist(), strict=True)),
            dict(zip(best.tolist(), cosines[best].tolist(), strict=True)),
        )
    return equal / len(sample)


def _same(first: dict[int, float], second: dict[int, float]) -> bool:
    """Say whether two lists have the same items, apart from ties at their ends.

    Args:
        first: Similarities of the first list by item.
        second: Similarities of the second list by item.
    """
    if len(first) != len(second):
        return False
    edge = min(map(abs, first.values()), default=0.0) + TIE
    both = {**first, **second}
    return all(abs(both[number]) <= edge for number in first.keys() ^ second.keys())


def peer_version(_: Path) -> dict[str, Any]:
    """Return the version of implicit."""
    return {"implicit": version("implicit")}


WORKERS = {
    "describe": describe,
    "alone": make_our_program(counts=False),
    "fused": make_our_program(counts=True),
    "implicit": fit_implicit,
    "compare": compare,
    "version": peer_version,
}

if __name__ == "__main__":
    main()
