"""Reports of sketches folded into item scores, against pure-ldp's aggregation of OUE reports.

    python benchmarks/sketch_aggregation.py [--json] [--peer PYTHON] [--people 100000000]

26,744 items, and 0.693 % of them in a sensed set. Measured of ours are all steps from bytes to
counts: reading reports, refusing invalid ones, looking for duplicates, drawing the questions of
each report again, and counting. pure-ldp adds one vector per person. Both run on one thread, in
turns. The time is that of the processor, so that other programs on the machine matter little, and
each number is the median of the turns. pure-ldp is put into `.venv-peers` on first use; --peer
names the interpreter of another environment that has it. With --people N, N more reports are
counted without a search for duplicates, to state how the memory of the process grows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

from turns import peer_python

ITEMS, SHARE, RATED, EPSILON = 26_744, 0.00693, 100, 1.0
"""Items, share of them in a sensed set, ratings of a person, and epsilon of the campaign."""
PEOPLE, PEER_PEOPLE = 1_000_000, 5_000
"""Reports of one turn, of tacit and of the peer."""
# Least reports a second, most bytes of the server for each report, and least ratio of the rates.
GOAL_RATE, GOAL_BYTES, GOAL_RATIO = 3_000_000, 16, 70
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PEER = f"""
import sys, time
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
client = UEClient({EPSILON}, {ITEMS}, use_oue=True)
server = UEServer({EPSILON}, {ITEMS}, use_oue=True)
reports = [client.privatise(number + 1) for number in range(50)]
print("ready", flush=True)
for line in sys.stdin:
    start = time.process_time()
    for number in range({PEER_PEOPLE}):
        server.aggregate(reports[number % 50])
    print(time.process_time() - start, flush=True)
"""


def main() -> None:
    """Run the benchmark on one thread; the exit code is 1 if counts are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peer", help="interpreter that has pure-ldp")
    parser.add_argument("--people", type=int, default=0, help="fold so many more, for the memory")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in THREADS.items()):
        # Read when NumPy is loaded, so set before: start again with them.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | THREADS)
    # pure-ldp imports two packages that it does not declare.
    installed = ("pure-ldp>=1.2", "scikit-learn", "statsmodels")
    peer = arguments.peer or peer_python("pure_ldp", *installed)
    result = measure(peer, arguments.people, arguments.rounds)
    if arguments.json:
        print(json.dumps(result, sort_keys=True))
    else:
        for name, value in result.items():
            print(f"{name:<24} {value}")
    if not result["agree"]:
        sys.exit("The compiled counts are not those of the questions.")


def measure(peer: str, people: int, rounds: int) -> dict[str, object]:
    """Fold reports by both in turns, and return the figures."""
    from tacit.designs.sketches.campaigns import new_campaign
    from tacit.designs.sketches.server import Server

    theta = SHARE * RATED
    campaign = new_campaign(range(ITEMS), rated=RATED, epsilon=EPSILON, theta=theta, seed=bytes(16))
    agree = agrees(campaign)  # also compiles and warms up
    other = start_peer(peer)
    server, seconds, their_seconds = Server(campaign), [], []
    for turn in range(rounds):
        data = reports(campaign, PEOPLE, turn)
        start = time.process_time()
        server.fold(data, now=0)
        seconds.append(time.process_time() - start)
        their_seconds.append(peer_turn(other))
    rate = PEOPLE / statistics.median(seconds)
    theirs = PEER_PEOPLE / statistics.median(their_seconds)
    ratio = round(rate / theirs, 1)
    result: dict[str, object] = {
        "name": "sketch aggregation",
        "items": ITEMS,
        "set_size": campaign.set_size,
        "people": rounds * PEOPLE,
        "rounds": rounds,
        "users_per_second": round(rate),
        "goal_users_per_second": GOAL_RATE,
        "bytes_per_user": round(server.nbytes / server.reports, 1),
        "goal_bytes_per_user": GOAL_BYTES,
        "agree": agree,
        "peer": "pure-ldp UEServer, OUE, aggregate",
        "peer_users_per_second": round(theirs),
        "ratio": ratio,
        "goal_ratio": GOAL_RATIO,
        "versions": {name: version(name) for name in ("numpy", "numba")},
    }
    other.terminate()
    other.wait()
    result["goals_met"] = bool(
        agree
        and rate >= GOAL_RATE
        and server.nbytes / server.reports <= GOAL_BYTES
        and ratio >= GOAL_RATIO
    )
    if people:
        result |= many(campaign, people)
    return result


def many(campaign: object, people: int) -> dict[str, object]:
    """Fold many distinct reports, and return how the memory of the process grows.

    Args:
        campaign: The campaign that the reports answer.
        people: Number of reports, which are made in parts as they are needed.
    """
    from tacit.designs.sketches.server import Server

    server, start = Server(campaign, keep_tickets=False), None
    for turn in range(-(-people // PEOPLE)):
        server.fold(reports(campaign, min(PEOPLE, people - turn * PEOPLE), 1000 + turn), now=0)
        start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if start is None else start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
    return {"many_people": server.reports, "many_growth_kib_after_first_million": grown}


def reports(campaign: object, people: int, seed: int) -> bytes:
    """Return the bytes of reports of people who like nothing, with random tickets and bits."""
    import numpy as np

    generator = np.random.default_rng(seed)
    records = np.empty(
        people,
        dtype=[("head", "u1", 2), ("campaign", "S8"), ("ticket", ">u8"), ("bits", ">u4")],
    )
    records["head"], records["campaign"] = (1, 2), campaign.id
    records["ticket"] = generator.integers(1, 2**64, size=people, dtype=np.uint64)
    records["bits"] = generator.random(people) < 1 - campaign.truth / 2**53
    return records.tobytes()


def agrees(campaign: object) -> bool:
    """Say whether the counts equal those of a loop over all questions in plain Python."""
    import numpy as np

    from tacit.designs.sketches.counting import item_counts
    from tacit.designs.sketches.messages import Report
    from tacit.designs.sketches.sensing import sensed_sets
    from tacit.designs.sketches.server import Server

    data, server = reports(campaign, 500, 99), Server(campaign)
    server.fold(data, now=0)
    asked, ones = np.zeros(ITEMS, dtype=int), np.zeros(ITEMS, dtype=int)
    for start in range(0, len(data), campaign.report_bytes):
        report = Report.decode(data[start : start + campaign.report_bytes])
        (members,) = sensed_sets(campaign, report.ticket)
        asked[members] += 1
        ones[members] += report.bits
    counts = item_counts(server)
    return bool((counts.asked == asked).all() and (counts.ones == ones).all())


def start_peer(python: str) -> subprocess.Popen[str]:
    """Start a process that has imported pure-ldp, and wait until it is ready."""
    process = subprocess.Popen(
        [python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        sys.exit(f"{python} did not start pure-ldp.")
    return process


def peer_turn(process: subprocess.Popen[str]) -> float:
    """Let the peer aggregate once, and return its processor seconds."""
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    main()
