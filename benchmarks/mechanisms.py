"""Draws in bulk against a peer: noise, selection, bits, steps of counters and gates.

    python benchmarks/mechanisms.py [--json]

Noise: discrete Gaussian and Laplace against OpenDP's call on a whole vector. Selection: 200
candidates, epsilon 1, against OpenDP's noisy maximum. Bits: epsilon ln 3, against randomized
response of OpenDP and, if it is installed, of diffprivlib. Steps: a counter or a gate is started
and used for a number of steps ("a life"), against OpenDP's noise alone, one call per step. Ours and
the peers take turns in one process on one thread. The time is that of the processor, so that other
programs on the machine matter little, and each number is the median of the turns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

CANDIDATES = 200
"""Candidates of one choice."""
# Draws in one turn: by tacit, and by a peer.
SELECTIONS, PEER_SELECTIONS = 20_000, 100
NOISE, PEER_NOISE = 1 << 20, 4_000
NOISE_SCALES = (0.5, 1.7, 30.0, 1000.5, 2.0**20, 2.0**40)
BITS, PEER_BITS, VECTOR_BITS = 1_000_000, 5_000, 100_000
LIVES = {1_000: (3, 8.0), 10: (100, 1.5)}
"""By the steps of a life: the lives in one turn, and the least ratio of rates."""
ROUNDS = 5
"""Turns that count, after one that warms up."""
# The least ratio of rates; of bits, the least bits a second.
GOAL_NOISE, GOAL_SELECTION, GOAL_BITS = 50.0, 20.0, 1_000_000.0
SIGNIFICANCE = 1e-6
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Draw = Callable[[], object]


def main() -> None:
    """Run all benchmarks on one thread, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in THREADS.items()):
        # Read when NumPy is loaded, so set before: start again with them.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | THREADS)
    rows = noise() + selection()
    bit_rows, skipped = bits()
    rows += bit_rows + steps()
    met = all(row["goal_met"] for row in rows)
    if arguments.json:
        versions = {name: version(name) for name in ("numpy", "opendp")}
        result = {"benchmarks": rows, "skipped": skipped, "goals_met": met, "versions": versions}
        print(json.dumps(result, sort_keys=True))
    else:
        for row in rows:
            print(
                f"{row['name']:<28} {row['ours_per_second']:>12,.0f}/s   {row['peer']:<42} "
                f"{row['peer_per_second']:>12,.0f}/s   ratio {row['ratio']:>8.1f}   "
                f"agree {row['agree']}   goal met {row['goal_met']}"
            )
        for line in skipped:
            print(line)
    if not all(row["agree"] for row in rows):
        sys.exit("Two samplers of the same distribution differ.")


def noise() -> list[dict[str, object]]:
    """Compare tacit's noise with OpenDP's, for each law and scale."""
    import numpy as np

    from tacit.mechanisms import samplers

    many = np.zeros(NOISE, dtype=np.int64)
    few = np.zeros(PEER_NOISE, dtype=np.int64)
    laws = {
        "gaussian": (samplers.discrete_gaussian, samplers.reference_gaussian),
        "laplace": (samplers.discrete_laplace, samplers.reference_laplace),
    }
    rows = []
    for kind, (ours, reference) in laws.items():
        for scale in NOISE_SCALES:
            draws = {
                "ours": lambda draw=ours, scale=scale: draw(many, scale),
                "peer": lambda draw=reference, scale=scale: draw(few, scale),
            }
            seconds = in_turns(draws)
            rate = NOISE / seconds["ours"]
            peer_rate = PEER_NOISE / seconds["peer"]
            edges = np.array([-1.5, -0.5, 0.5, 1.5]) * max(scale, 1.0)
            our_bins = np.searchsorted(edges, ours(many[:20_000], scale))
            peer_bins = np.searchsorted(edges, reference(few, scale))
            name = f"{kind} noise, scale {scale:g}"
            peer = "OpenDP, one call on a vector"
            goal_met = rate >= GOAL_NOISE * peer_rate
            rows.append(row(name, peer, rate, peer_rate, same(our_bins, peer_bins), goal_met))
    return rows


def selection() -> list[dict[str, object]]:
    """Compare tacit's selection with OpenDP's noisy maximum."""
    import numpy as np
    import opendp.prelude as dp

    from tacit.mechanisms.selection import Selection
    from tacit.randomness import secure

    dp.enable_features("contrib")
    source = secure()
    fields = {"sensitivity": 1.0, "lower": 0.0, "upper": 16.0, "resolution": 2.0**-8}
    ours = Selection(1.0, CANDIDATES, **fields)
    # Multiples of the resolution, so that both choose from the same numbers.
    scores = np.random.default_rng(1).integers(0, 16 * 256, (SELECTIONS, CANDIDATES)) / 256.0
    lists = scores[:PEER_SELECTIONS].tolist()
    space = (
        dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
        dp.linf_distance(T="f64"),
    )
    gumbel = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), 2.0)
    seconds = in_turns(
        {
            "ours": lambda: ours(scores, source),
            "gumbel": lambda: [gumbel(scores_of_choice) for scores_of_choice in lists],
        }
    )
    few_scores = np.arange(6.0)
    our_choices = Selection(1.0, 6, **fields)(np.tile(few_scores, (20_000, 1)), source)
    peer_choices = [gumbel(few_scores.tolist()) for _ in range(5_000)]
    agree = same(our_choices, peer_choices)
    rate = SELECTIONS / seconds["ours"]
    peer_rate = PEER_SELECTIONS / seconds["gumbel"]
    peer = "OpenDP noisy max, Gumbel, one call per draw"
    return [row("selection", peer, rate, peer_rate, agree, rate >= GOAL_SELECTION * peer_rate)]


def bits() -> tuple[list[dict[str, object]], list[str]]:
    """Compare tacit's randomized response with that of each peer.

    Returns:
        A row for each peer, and a sentence for each that is not installed.
    """
    import numpy as np
    import opendp.prelude as dp

    from tacit.mechanisms.randomized_response import BitRelease
    from tacit.randomness import secure

    dp.enable_features("contrib")
    source, ours = secure(), BitRelease(math.log(3))
    ones = np.ones(BITS, dtype=np.bool_)
    truth = float(ours.truth)
    one = dp.m.make_randomized_response_bool(truth)
    vector = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=VECTOR_BITS), dp.discrete_distance(), 2 * (1 - truth)
    )
    packed = bytes([255]) * (VECTOR_BITS // 8)
    draws: dict[str, tuple[str, int, Draw]] = {
        "call": (
            "OpenDP, one call per bit",
            PEER_BITS,
            lambda: [one(True) for _ in range(PEER_BITS)],
        ),
        "vector": (
            "OpenDP, bit vector",
            VECTOR_BITS,
            lambda: np.unpackbits(np.frombuffer(vector(packed), dtype=np.uint8)),
        ),
    }
    skipped = []
    try:
        from diffprivlib.mechanisms import Binary
    except ImportError:
        skipped.append("diffprivlib is not installed: not compared with.")
    else:
        binary = Binary(epsilon=math.log(3), value0="0", value1="1")
        draws["diffprivlib"] = (
            "diffprivlib Binary, one call per bit",
            PEER_BITS,
            lambda: [binary.randomise("1") == "1" for _ in range(PEER_BITS)],
        )
    turns = {name: draw for name, (_, _, draw) in draws.items()}
    seconds = in_turns(turns | {"ours": lambda: ours(ones, source)})
    rate = BITS / seconds["ours"]
    mine = ours(ones, source)
    rows = [
        row("bits", what, rate, count / seconds[name], same(mine, draw()), rate >= GOAL_BITS)
        for name, (what, count, draw) in draws.items()
    ]
    return rows, skipped


def steps() -> list[dict[str, object]]:
    """Compare steps of counters and gates with one call of OpenDP for each step."""
    import numpy as np

    from tacit.mechanisms import samplers
    from tacit.mechanisms.counter import TreeCounter
    from tacit.mechanisms.gate import ThresholdGate

    counter, gate = TreeCounter(1.0, 1_000), ThresholdGate(1.0, 1 << 40)
    nothing = np.zeros(1, dtype=np.int64)

    def lives(start: Callable[[], Callable[[int], object]], length: int, count: int) -> Draw:
        """Return a function that runs `count` lives of `length` steps; `start` begins a life."""

        def run_lives() -> None:
            """Run the lives one after the other."""
            for _ in range(count):
                step = start()
                for _ in range(length):
                    step(1)

        return run_lives

    def noise_alone(scale: float) -> Callable[[], Callable[[int], object]]:
        """Return the start of a life whose steps only draw noise of this scale."""
        return lambda: lambda _: samplers.discrete_laplace(nothing, scale)

    few, close = [0, 0, 0], ThresholdGate(1.0, 4)
    agree = {
        "counter step": same(
            [total_after(counter, few) for _ in range(2_000)],
            [int(counter(few)[-1]) for _ in range(2_000)],
        ),
        "gate question": same(
            [passed_by(close, few) for _ in range(2_000)], [close(few) for _ in range(2_000)]
        ),
    }
    starts = {
        "counter step": (lambda: counter.start().add, counter.scale),
        "gate question": (lambda: gate.start().stops_at, gate.count_scale),
    }
    rows = []
    for length, (count, goal) in LIVES.items():
        for name, (start, scale) in starts.items():
            seconds = in_turns(
                {
                    "ours": lives(start, length, count),
                    "peer": lives(noise_alone(scale), length, count),
                }
            )
            rates = {who: length * count / taken for who, taken in seconds.items()}
            rows.append(
                row(
                    f"{name}, life of {length}",
                    "OpenDP, one call per step",
                    rates["ours"],
                    rates["peer"],
                    agree[name],
                    rates["ours"] >= goal * rates["peer"],
                )
            )
    return rows


def total_after(counter: Any, values: list[int]) -> int:
    """Run a new counter over values, and return the last total."""
    run = counter.start()
    return [run.add(value) for value in values][-1]


def passed_by(gate: Any, counts: list[int]) -> int:
    """Run a new gate over counts, and return how many it passes."""
    run = gate.start()
    return sum(not run.stops_at(count) for count in counts)


def in_turns(draws: dict[str, Draw]) -> dict[str, float]:
    """Return the median processor seconds of each function, after one turn that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in draws}
    for turn in range(ROUNDS + 1):
        for name, draw in draws.items():
            start = processor_seconds()
            draw()
            if turn > 0:
                seconds[name].append(processor_seconds() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def processor_seconds() -> float:
    """Return the processor seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def same(first_sample: object, second_sample: object) -> bool:
    """Say whether two samples may be of one distribution, by a chi-square test at 1e-6.

    Args:
        first_sample: Integers, or booleans.
        second_sample: The same of the other sampler; it may have another size.
    """
    import numpy as np
    from scipy.stats import chi2_contingency

    first = np.asarray(first_sample).astype(np.int64)
    second = np.asarray(second_sample).astype(np.int64)
    least = min(first.min(), second.min())
    size = max(first.max(), second.max()) - least + 1
    samples = (first - least, second - least)
    table = np.array([np.bincount(sample, minlength=size) for sample in samples])
    return bool(chi2_contingency(table[:, table.any(axis=0)]).pvalue > SIGNIFICANCE)


def row(
    name: str, peer: str, ours: float, theirs: float, agree: bool, goal_met: bool
) -> dict[str, object]:
    """Return the result of one comparison; rates are draws in a second."""
    return {
        "name": name,
        "peer": peer,
        "ours_per_second": round(ours),
        "peer_per_second": round(theirs),
        "ratio": round(ours / theirs, 1),
        "agree": agree,
        "goal_met": bool(goal_met),
    }


if __name__ == "__main__":
    main()
