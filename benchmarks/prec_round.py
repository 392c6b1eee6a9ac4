"""One round of p-REC for 64 clients, answers applied and votes counted: compiled against NumPy.

    python benchmarks/prec_round.py [--voters N] [--objects M] [--alive SHARE] [--rounds N] [--json]

Everybody voted at random, for each client a share of the voters counts (half of them by default),
and each client disliked one object of the last round. In the round, this object's voters stop to
count for the client, and then the votes of the others are counted. The other answer, a like, would
leave hardly anybody, so that every way would be faster.

The peer is the best round that we could write in NumPy, in parts that stay in fast memory. It
serves client by client; eight clients are timed, and the seconds are multiplied by eight. After a
comparison with the disliked object, it counts by the fastest of three ways: `bincount` of
(vote + 1) * alive in 16 bits ("product"), of the survivors' votes ("survivors"), and with weights
("weights"). `ratio_together` compares with a way of NumPy that serves all 64 together ("together"):
it sorts the votes, and holds the counters of four clients in one word. `ratio_of_one_client`
compares tacit's round for one client with that peer's for one client.

All ways take turns in fresh processes on one thread; seconds are of the processor, for a round,
medians. `read_share` is the rate at which ours reads votes and states, over the rate of one pass
over 160 MB in NumPy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from turns import peak_mib, show, take_turns, turn

GOAL = 8.0
"""Least ratio for all clients."""
GOAL_OF_ONE = 3.9
"""Least ratio for one client."""
PART = 2**15
"""Voters that NumPy's ways handle at once."""
REPEATS = 3
"""How often a process measures its way."""
TIMED = 8
"""Clients that the ways of NumPy which go client by client serve."""
BLOCK = 64
"""Clients of a round."""


def main() -> None:
    """Run the benchmark, or one of its programs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--voters", type=int, default=2_500_000, help="default: 2.5 million")
    parser.add_argument("--objects", type=int, default=1000, help="2 to 65534 (default: 1000)")
    parser.add_argument("--alive", type=float, default=0.5, help="share that counts (default: 0.5)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not 2 <= arguments.objects <= 65534:
        parser.error(
            "--objects: 2 to 65534, as NumPy's way needs them in 16 bits with one to spare"
        )
    if arguments.work:
        work = {"compare": compare, "read": read}.get(arguments.work, timed)
        print(json.dumps(work(arguments)))
        return
    show(measure(arguments), arguments.json)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run all ways in turns, and return the figures."""

    def worker(name: str) -> tuple[str, ...]:
        """Return the command of one program."""
        given = ("voters", "objects", "alive")
        options = [part for key in given for part in (f"--{key}", str(getattr(arguments, key)))]
        return (sys.executable, "--work", name, *options)

    medians = take_turns({name: worker(name) for name in (*WAYS, "read")}, arguments.rounds)
    seconds = {name: found["seconds"] for name, found in medians.items()}
    best = min(ONE_BY_ONE, key=lambda name: seconds[name])
    ratio = seconds[best] / seconds["ours"]
    ratio_of_one = seconds[best] / BLOCK / seconds["one"]
    rate = arguments.voters * (2 + 2 + 8) / seconds["ours"]
    return {
        "name": "p-REC round",
        "peer": f"NumPy {version('numpy')}, {best}",
        "clients": BLOCK,
        "voters": arguments.voters,
        "objects": arguments.objects,
        "alive": arguments.alive,
        "ratio": round(ratio, 2),
        "ratio_together": round(seconds["together"] / seconds["ours"], 2),
        "goal": GOAL,
        "ratio_of_one_client": round(ratio_of_one, 2),
        "goal_of_one_client": GOAL_OF_ONE,
        "goals_met": ratio >= GOAL and ratio_of_one >= GOAL_OF_ONE,
        "agree": turn(*worker("compare"))["agree"],
        "voters_per_second": round(arguments.voters / seconds["ours"]),
        "read_share": round(rate * seconds["read"] / 160e6, 3),
        "read_bytes_per_second": round(160e6 / seconds["read"]),
        "seconds": {name: round(found, 5) for name, found in seconds.items()},
        "peak_mib": {name: found["peak_mib"] for name, found in medians.items()},
        "rounds": arguments.rounds,
        "versions": {name: version(name) for name in ("numpy", "numba")},
    }


def timed(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one way, after it is compiled.

    All repetitions do the same work, because voters who were removed stay removed.
    """
    way = WAYS[arguments.work]
    small = argparse.Namespace(**(vars(arguments) | {"voters": 1000}))
    way(small, inputs(small))()  # compiles
    run, times = way(arguments, inputs(arguments)), []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    share = BLOCK / TIMED if arguments.work in ONE_BY_ONE else 1
    return {"seconds": statistics.median(times) * share, "peak_mib": peak_mib()}


def read(_: argparse.Namespace) -> dict[str, Any]:
    """Measure one pass over 160 MB, to find the largest number."""
    import numpy as np

    words, times = np.ones(20_000_000, np.uint64), []
    for _ in range(REPEATS):
        start = time.process_time()
        np.maximum.reduce(words)
        times.append(time.process_time() - start)
    return {"seconds": min(times), "peak_mib": peak_mib()}


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Say whether each way counts as ours does, for the clients that it serves."""
    import numpy as np

    ours, *others = (way(arguments, inputs(arguments))() for way in WAYS.values())
    return {"agree": all(np.array_equal(ours[: len(found)], found) for found in others)}


def inputs(arguments: argparse.Namespace) -> tuple[Any, Any, Any, Any]:
    """Draw what a round works on.

    Returns:
        (voters,) votes of the last round; (voters,) votes of this round; (64,) the object that each
        client disliked; (voters,) a word for each voter, whose bit k says whether the voter counts
        for client k.
    """
    import numpy as np

    generator = np.random.default_rng(1)

    def votes() -> Any:
        """Draw one vote of each voter."""
        return generator.integers(0, arguments.objects, arguments.voters, dtype=np.uint16)

    last, now = votes(), votes()
    disliked = generator.integers(0, arguments.objects, BLOCK, dtype=np.uint16)
    # The share is rounded to sixteenths. From its lowest binary place of four to its highest, all
    # bits are or-ed with random bits where the place is 1, and and-ed where it is 0. In the end a
    # bit is 1 with a chance of the share. A share of 1 has a fifth place, so it is made by itself.
    sixteenths = round(arguments.alive * 16)
    state = np.zeros(arguments.voters, np.uint64)
    if sixteenths == 16:
        state[:] = 2**64 - 1
        return last, now, disliked, state
    for place in range(4):
        for part in parts(arguments.voters):
            drawn = generator.integers(0, 2**64, len(state[part]), dtype=np.uint64)
            if sixteenths >> place & 1:
                state[part] |= drawn
            else:
                state[part] &= drawn
    return last, now, disliked, state


def parts(voters: int) -> list[slice]:
    """Return slices of the voters that fit into fast memory."""
    return [slice(begin, min(voters, begin + PART)) for begin in range(0, voters, PART)]


def ours(arguments: argparse.Namespace, given: Any) -> Callable[[], Any]:
    """Return tacit's round for all clients."""
    from tacit.engine.votes_compiled import keep_and_tally

    last, now, disliked, alive = given
    kept = kept_words(arguments, disliked)
    return lambda: keep_and_tally(last, kept, now, alive, arguments.objects)


def one(arguments: argparse.Namespace, given: Any) -> Callable[[], Any]:
    """Return tacit's round for the first client alone."""
    import numpy as np

    from tacit.engine.votes_compiled import keep_and_tally_one

    last, now, disliked, state = given
    alive = (state & np.uint64(1)).astype(np.uint8)
    chosen = int(disliked[0])
    return lambda: keep_and_tally_one(last, chosen, False, now, alive, arguments.objects)


def kept_words(arguments: argparse.Namespace, disliked: Any) -> Any:
    """Return a word for each object, with a 1 for each client who did not dislike it."""
    import numpy as np

    kept = np.full(arguments.objects, 2**64 - 1, np.uint64)
    for client, number in enumerate(disliked):
        kept[number] &= ~(np.uint64(1) << np.uint64(client))
    return kept


def one_by_one(count: str) -> Any:
    """Return the way of NumPy that serves client by client, counting by `count`."""

    def way(arguments: argparse.Namespace, given: Any) -> Callable[[], Any]:
        """Return the round of this way."""
        import numpy as np

        last, now, disliked, state = given
        one = np.uint64(1)
        states = [(state >> np.uint64(c) & one).astype(np.uint8) for c in range(TIMED)]
        if count == "survivors":
            states = [state.view(bool) for state in states]

        def run() -> Any:
            """Serve the first clients one after the other."""
            return np.stack(
                [
                    numpy_round(count, last, now, number, state, arguments.objects)
                    for number, state in zip(disliked, states, strict=False)
                ]
            )

        return run

    return way


def numpy_round(count: str, last: Any, now: Any, disliked: Any, alive: Any, objects: int) -> Any:
    """Serve one client: remove voters of the disliked object, and count the others' votes.

    Args:
        count: "product", "survivors" or "weights", as in the description of this file.
        last: (voters,) votes of the last round.
        now: (voters,) votes of this round.
        disliked: The object that the client disliked.
        alive: (voters,) whether each voter counts; changed in place.
        objects: Number of objects.

    Returns:
        (objects,) counts.
    """
    import numpy as np

    counts, room = np.zeros(objects + 1, np.int64), np.empty(PART, np.uint16)
    for part in parts(len(now)):
        living, chosen = alive[part], now[part]
        living &= last[part] != disliked
        if count == "product":
            marked = np.add(chosen, 1, out=room[: len(chosen)])
            marked *= living
            counts += np.bincount(marked, minlength=objects + 1)
        elif count == "survivors":
            counts[1:] += np.bincount(chosen[living], minlength=objects)
        else:
            counts[1:] += np.bincount(chosen, living, objects).astype(np.int64)
    return counts[1:]


def together(arguments: argparse.Namespace, given: Any) -> Callable[[], Any]:
    """Return the way of NumPy that serves all clients together.

    Counters of 16 bits for clients k, k + 16, k + 32 and k + 48 lie in one word.
    """
    import numpy as np

    last, now, disliked, alive = given
    kept, places = kept_words(arguments, disliked), np.uint64(0x0001000100010001)

    def run() -> Any:
        """Serve all clients."""
        counts = np.zeros((BLOCK, arguments.objects), np.int64)
        for part in parts(len(now)):
            alive[part] &= np.take(kept, last[part], mode="clip")
            order = np.argsort(now[part], kind="stable")
            chosen, words = now[part][order], alive[part][order]
            begins = np.flatnonzero(np.diff(chosen, prepend=chosen[0] + np.uint16(1)))
            for client in range(16):
                bits = words >> np.uint64(client)
                bits &= places
                sums = np.add.reduceat(bits, begins).view(np.uint16).reshape(-1, 4)
                counts[client::16, chosen[begins]] += sums.T
        return counts

    return run


ONE_BY_ONE = {name: one_by_one(name) for name in ("product", "survivors", "weights")}
WAYS: dict[str, Any] = {"ours": ours, "one": one, **ONE_BY_ONE, "together": together}

if __name__ == "__main__":
    main()
