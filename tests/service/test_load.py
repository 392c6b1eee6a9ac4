"""The benchmark of the service under load, short: what it prints is there and holds together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = Path(__file__).parents[2] / "benchmarks" / "service_load.py"
_TIMES = ("p50_ms", "p99_ms", "cpu_ms")


@pytest.mark.long
def test_one_object_with_hello_world_beside_it():
    """Times and processor of the service and of a hello-world, and no error, in one JSON object."""
    words = ["--seconds", "2", "--warm-up", "0.5", "--rate", "40", "--workers", "1", "--json"]
    words += ["--refits", "1"]
    done = subprocess.run([sys.executable, _PROGRAM, *words], capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: a goal was missed, on a busy machine
    found = json.loads(done.stdout)
    for side in (found, found["hello"]):
        assert all(side[name] > 0 for name in _TIMES)
        assert side["calm"]["count"] + side["busy"]["count"] <= side["count"]
    assert found["count"] == 80
    assert (found["errors"], found["overspent"], found["charged_as_reported"]) == (0, 0, True)
    assert found["hello"]["cpu_ms"] < found["cpu_ms"]
    assert found["replaced"] == 1
    assert 0 <= found["host_share"] < 2
    assert abs(found["growth"]) < 50
