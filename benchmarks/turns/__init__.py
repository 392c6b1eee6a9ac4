"""Two programs take turns, each time in a process of its own, on the same generated ratings.

The time is that of the processor, on one thread, without loading and compiling; memory is the peak
of the whole process. Medians of the rounds are compared. A peer that is not installed beside tacit
lives in a virtual environment for peers, made on first use (`.venv-peers`, by pip).
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers"
SHAPES = {"1m": (6_000, 3_700, 1_000_000), "20m": (138_000, 27_000, 20_000_000)}
THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def peer_python(module: str, *requirements: str) -> str:
    """Find an interpreter that has a peer: this one, or that of an environment for peers.

    Args:
        module: Name by which the peer is imported.
        requirements: What pip installs into `.venv-peers` where neither has the module.
    """
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    python = str(PEERS / "bin" / "python")
    if not Path(python).exists():
        print(f"making {PEERS.name} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    if found.returncode:
        print(f"putting {module} into {PEERS.name} ...", file=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
    return python


def turn(python: str, *arguments: str) -> dict[str, Any]:
    """Run this benchmark's script once more with these arguments; the JSON it prints."""
    done = subprocess.run(
        [python, sys.argv[0], *arguments],
        env=os.environ | THREADS,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


def take_turns(workers: dict[str, tuple[str, ...]], rounds: int) -> dict[str, dict[str, float]]:
    """Medians of `seconds` and `peak_mib` of each worker (interpreter and arguments)."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    for _ in range(rounds):
        for name, command in workers.items():
            results[name].append(turn(*command))
    return {
        name: {key: statistics.median(one[key] for one in found) for key in ("seconds", "peak_mib")}
        for name, found in results.items()
    }


def peak_mib() -> float:
    """Of this process, since it was started."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there may be the parent's
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(int(line.split()[1]) / 1024, 1)
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1)


def generate(shape: str, file: Path) -> None:
    """Ratings on 1 to 5 stars: a few people and items have most of them, and tastes differ."""
    import numpy as np

    people, items, wanted = SHAPES[shape]
    generator = np.random.default_rng(1)
    activity = generator.lognormal(0, 1.2, people)
    drawn = np.maximum(30, 1.7 * wanted * activity / activity.sum()).astype(np.int64)
    fame = np.cumsum(generator.lognormal(0, 2.2, items))
    parts = []
    for begin in range(0, people, 2048):
        owners = np.arange(begin, min(people, begin + 2048), dtype=np.int64)
        keys = np.repeat(owners, drawn[owners]) * items
        keys += np.searchsorted(fame, fame[-1] * generator.random(len(keys))).clip(max=items - 1)
        parts.append(np.unique(keys))
    # Where there are too many, each one goes with the same chance.
    kept = min(1.0, wanted / sum(map(len, parts)))
    parts = [part[generator.random(len(part)) < kept] for part in parts]
    users, columns = np.divmod(np.concatenate(parts), items)
    tastes, traits = generator.normal(0, 0.4, (people, 4)), generator.normal(0, 0.8, (items, 4))
    stars = np.empty(len(users))
    for start in range(0, len(users), 2**18):
        part = slice(start, start + 2**18)
        fit = np.einsum("nd,nd->n", tastes[users[part]], traits[columns[part]])
        stars[part] = 3.5 + fit + generator.normal(0, 0.9, len(fit))
    counts = np.bincount(users, minlength=people)
    np.savez(
        file,
        data=np.clip(np.round(stars), 1, 5),
        indices=columns.astype(np.int32),
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        shape=(people, items),
    )


def read(file: str) -> tuple[Any, Any, Any, tuple[int, int]]:
    """data, indices, indptr and shape of generated ratings."""
    import numpy as np

    with np.load(file) as saved:
        people, items = saved["shape"].tolist()
        return saved["data"], saved["indices"], saved["indptr"], (people, items)


def centre(data: Any, indptr: Any) -> None:
    """Take each person's mean from their ratings, in place and in parts."""
    import numpy as np

    for begin in range(0, len(indptr) - 1, 4096):
        ends = indptr[begin : begin + 4097]
        row, counts = data[ends[0] : ends[-1]], np.diff(ends)
        owner = np.repeat(np.arange(len(counts)), counts)
        row -= (np.bincount(owner, row, len(counts)) / np.maximum(counts, 1))[owner]


def show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result, sort_keys=True))
    else:
        for name, value in result.items():
            print(f"{name:<24} {value}")
    if not result["agree"]:
        sys.exit("The answers differ.")
