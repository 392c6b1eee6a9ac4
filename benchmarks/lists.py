"""Lists for many people: a model of `private` against implicit's batch of the same factors.

    python benchmarks/lists.py [--people 100000] [--items 27000] [--rounds 5] [--json]

Both rank 27,000 items by inner products of 64 numbers for 100,000 people, leave out what a person
rated, and list ten. The release is generated: 63 tastes and popularity. Ours also computes each
person's numbers from their ratings; the peer gets these 64 numbers of each person. Both take turns,
on one thread, in one process; times are the processor's.

ratio                 seconds of the peer's batch over those of ours
milliseconds_objects  of `recommend_many`, from dictionaries to lists of Python objects, per person
milliseconds_alone    of `recommend`, per person
agree                 share of our entries that the peer lists at the same rank
equal_to_alone        share of people whose list is the same by `recommend_many` and `recommend`
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
from typing import Any

FACTORS = 64
RATINGS_OF_A_PERSON = 40
GENRES = 20
LENGTH = 10
OBJECTS = 5_000
"""People whose lists are made as Python objects, and of whom a hundred are served alone."""
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Run the benchmark on one thread, and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=27_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in THREADS.items()):
        # Read when NumPy is loaded, so set before: start again with them.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | THREADS)
    result = measure(arguments.people, arguments.items, arguments.rounds)
    if arguments.json:
        print(json.dumps(result, sort_keys=True))
        return
    for name, value in result.items():
        print(f"{name:<22} {value}")


def measure(people: int, items: int, rounds: int) -> dict[str, Any]:
    """Make lists by tacit and by implicit in turns, compare them, and return the figures."""
    import numpy as np
    from implicit.cpu.topk import topk
    from scipy import sparse

    from tacit.profile_sums.batch_lists import best_of_people, read_factors

    model = generated_model(items)
    rows = generated_rows(people, items)
    factors = read_factors(rows, model.fitted_)
    of_people = factors.people.astype(np.float32)
    of_items = factors.items.astype(np.float32)
    rated = sparse.csr_matrix(rows.astype(np.float32))

    def ours() -> Any:
        """Make all lists by tacit."""
        return best_of_people(rows, model.fitted_, LENGTH).places

    def peer() -> Any:
        """Make all lists by implicit."""
        lists, _ = topk(of_items, of_people, LENGTH, filter_query_items=rated, num_threads=1)
        return lists

    seconds: dict[str, list[float]] = {"ours": [], "peer": []}
    best_of_people(rows[:10], model.fitted_, LENGTH)  # compiles
    agree = 0.0
    for _ in range(rounds):
        our_lists, taken = timed(ours)
        seconds["ours"].append(taken)
        peer_lists, taken = timed(peer)
        seconds["peer"].append(taken)
        agree = float((our_lists == peer_lists).mean())
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    histories = [
        dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows[:OBJECTS]
    ]
    many, seconds_of_many = timed(lambda: model.recommend_many(histories, n=LENGTH))
    alone, seconds_alone = timed(
        lambda: [model.recommend(history=own, n=LENGTH) for own in histories[:100]]
    )
    equal = [
        of_many.item_ids == of_one.item_ids for of_many, of_one in zip(many, alone, strict=False)
    ]
    return {
        "people": people,
        "items": items,
        "factors": FACTORS,
        "seconds": medians["ours"],
        "peer_seconds": medians["peer"],
        "ratio": medians["peer"] / medians["ours"],
        "peer": f"implicit {version('implicit')}",
        "agree": agree,
        "equal_to_alone": sum(equal) / len(equal),
        "milliseconds_objects": 1e3 * seconds_of_many / len(histories),
        "milliseconds_alone": 1e3 * seconds_alone / len(alone),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def generated_model(items: int) -> Any:
    """Make a model of tastes whose release is drawn, not learned."""
    from dataclasses import replace

    import numpy as np
    from scipy import sparse

    from tacit import Private, Ratings

    generator = np.random.default_rng(0)
    ids = np.arange(items)
    genres = {item: f"g{item % GENRES}|g{(item // GENRES) % GENRES}" for item in ids.tolist()}
    small = Ratings.from_arrays(
        np.repeat(np.arange(40), 30),
        generator.integers(0, 200, 1200),
        generator.integers(1, 6, 1200).astype(float),
        item_metadata={"genres": genres},
    )
    model = Private(epsilon=np.inf, mode="taste").fit(small)
    fitted = model.fitted_
    features = sparse.random_array((items, GENRES), density=0.1, format="csr", rng=generator)
    tastes = FACTORS - 1
    taste_model = replace(
        fitted.released.personal,
        features=features,
        centre=fitted.released.personal.centre._replace(
            damping=np.ones(items), mean=np.asarray(features.mean(axis=0)).ravel()
        ),
        directions=generator.normal(size=(GENRES, tastes)),
        items=generator.normal(size=(items, tastes)),
        own_likes=replace(
            fitted.released.personal.own_likes,
            matrix=0.1 * np.eye(tastes),
            mean=np.zeros(tastes),
        ),
    )
    released = replace(fitted.released, personal=taste_model, means=generator.random(items))
    model._hold(replace(fitted, released=released, item_ids=ids, context_ids=ids), None)
    return model


def generated_rows(people: int, items: int) -> Any:
    """Return (people, items) stars from 1 to 5, at most 40 of each person."""
    import numpy as np
    from scipy import sparse

    generator = np.random.default_rng(1)
    owners = np.repeat(np.arange(people), RATINGS_OF_A_PERSON)
    drawn = (items * generator.random(len(owners)) ** 3).astype(np.int64)
    pairs = np.unique(owners * items + drawn)
    stars = generator.integers(1, 6, len(pairs)).astype(float)
    return sparse.csr_array((stars, np.divmod(pairs, items)), shape=(people, items))


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """Call a function; return its result and the processor seconds that it took."""
    started_at = time.process_time()
    result = make()
    return result, time.process_time() - started_at


if __name__ == "__main__":
    main()
