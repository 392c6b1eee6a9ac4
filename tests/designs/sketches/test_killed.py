"""A run that is really killed goes on from its checkpoint and ends with the same clusters."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np

from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import publish, score_clusters
from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.messages import Report
from tacit.designs.sketches.server import Server

BATCHES, IN_A_BATCH = 6, 500
RUN = """
import sys, pathlib
from tacit.designs.sketches.messages import Campaign
from tacit.designs.sketches.server import Server
folder = pathlib.Path(sys.argv[1])
server = Server(Campaign.decode((folder / "campaign").read_bytes()))
for number in range(int(sys.argv[2])):
    server.fold((folder / f"batch{number}").read_bytes(), now=0)
    server.save(folder / "counts")
    print(number, flush=True)
    sys.stdin.readline()
"""


def published(server):
    return publish(server.campaign, score_clusters(item_counts(server), 2))


def test_a_process_killed_between_checkpoints(tmp_path):
    """Killed after three of six batches, everything is sent again: the same counts, the same
    published bytes, and nobody counts twice."""
    made = new_campaign(range(40), rated=4, epsilon=1.0, seed=bytes(16))
    (tmp_path / "campaign").write_bytes(made.encode())
    rng = np.random.default_rng(0)
    alone = Server(made)
    for number in range(BATCHES):
        tickets = rng.integers(1, 2**64, size=IN_A_BATCH, dtype=np.uint64).tolist()
        bits = rng.integers(0, 2, size=IN_A_BATCH).tolist()
        batch = b"".join(
            Report(made.id, *each).encode() for each in zip(tickets, bits, strict=True)
        )
        (tmp_path / f"batch{number}").write_bytes(batch)
        alone.fold(batch, now=0)

    words = [sys.executable, "-c", RUN, str(tmp_path), str(BATCHES)]
    run = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdin is not None
    assert run.stdout is not None
    with run:
        for number in range(3):
            assert run.stdout.readline() == f"{number}\n"
            if number < 2:
                run.stdin.write("\n")
                run.stdin.flush()
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL

    resumed = Server.load(tmp_path / "counts")
    assert resumed.reports == 3 * IN_A_BATCH
    for number in range(BATCHES):
        resumed.fold((tmp_path / f"batch{number}").read_bytes(), now=0)
    assert resumed.rejected["duplicate"] == 3 * IN_A_BATCH
    assert resumed.reports == alone.reports
    assert np.array_equal(resumed.totals, alone.totals)
    assert published(resumed).encode() == published(alone).encode()
