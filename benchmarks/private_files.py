"""How large files of private lists are, and how long a list takes on a device.

    python benchmarks/private_files.py [--items N] [--people P] [--seed S]

A generated catalogue with titles, years and 18 genres; models with tastes in 12 directions (the
most), without and with pairs of likes (40 numbers for each of 800 items, the most). The device
reads the file and makes a list with Python's standard library alone, from a history of 165 rows, as
many as a person of MovieLens 1M has on average. Milliseconds of the processor, medians of 21.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit import Private
from tacit.data import generate
from tacit.data.ratings import Ratings
from tacit.designs.private.device import DeviceLists
from tacit.profile_sums.settings import Mode

HISTORY = 165
"""Rated items of the person."""
REPEATS = 21
"""Calls of which the median is taken."""
MODES: dict[str, Mode] = {"tastes": "taste", "tastes and pairs of likes": "auto"}
WORDS = ("Night", "River", "Garden", "Winter", "Letter", "Silent", "Journey", "City")


def make_world(items: int, people: int, seed: int) -> Ratings:
    """Generate ratings of items with genres, years and titles of about 25 letters."""
    world = generate(users=people, items=items, ratings=60 * people, labels=18, seed=seed)
    draws = np.random.default_rng(seed)
    titles = [" ".join(draws.choice(WORDS, 3)) + f" ({1930 + n % 70})" for n in range(items)]
    metadata = {
        **world.item_metadata,
        "title": np.array(titles, dtype=object),
        "year": draws.integers(1930, 2000, items),
    }
    return replace(world, item_metadata=metadata, catalogue_given=True)


def median_milliseconds(call: Callable[[], object]) -> float:
    """Return the median milliseconds of processor of a call."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return 1000 * statistics.median(times)


def measure_files(model: Private, world: Ratings, seed: int) -> None:
    """Print how large a model's files are, and how long lists take."""
    rows = np.random.default_rng(seed).permutation(world.n_items)[:HISTORY]
    history = {item: 1.0 + item % 5 for item in world.item_ids[rows].tolist()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lists.tacit"
        model.save(file)
        model_bytes = file.stat().st_size
    device_file = model.device_file()
    device = DeviceLists.decode(device_file)
    read = median_milliseconds(lambda: DeviceLists.decode(device_file))
    on_device = median_milliseconds(lambda: device.rank(history))
    by_model = median_milliseconds(lambda: model.recommend(history=history))
    print(f"model file           {model_bytes / 1000:8.1f} kB")
    print(f"device file          {len(device_file) / 1000:8.1f} kB")
    print(f"device reads it      {read:8.1f} ms")
    print(f"device makes a list  {on_device:8.1f} ms")
    print(f"model makes a list   {by_model:8.1f} ms")


def main() -> None:
    """Measure the files of each mode in one generated world."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=3700)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    world = make_world(options.items, options.people, options.seed)
    print(f"{world.n_items:,} items, a history of {HISTORY}")
    for name, mode in MODES.items():
        print(f"{name}:")
        measure_files(Private(float("inf"), mode=mode).fit(world), world, options.seed)


if __name__ == "__main__":
    main()
