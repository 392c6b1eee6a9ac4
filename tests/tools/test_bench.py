"""`make bench`: every hot path beside its peer, and what counts as a failure."""

from __future__ import annotations

import shlex

import bench
import pytest
import results
from results import RecordDefinition
from tracked import ROOT

BENCHMARKS = [each for each in results.read_definitions().records.values() if each.small]


def benchmark(ratio, *, small_ratio=None, code=0):
    """Define a benchmark that prints a ratio, and ends with an exit code."""

    def command(value):
        return f'python -c "import sys; print(\'{{\\"ratio\\": {value}}}\'); sys.exit({code})"'

    return RecordDefinition(
        "bench-nothing",
        command(ratio),
        "None",
        keep=("ratio",),
        at_least={"ratio": 2.0},
        small=command(ratio if small_ratio is None else small_ratio),
    )


@pytest.fixture
def written(monkeypatch):
    """Records that are written, in place of files."""
    records = []
    monkeypatch.setattr(bench, "write_record", records.append)
    return records


def test_benchmarks_are_defined():
    """Ten hot paths at least, each with a claim, and both of its commands run one file."""
    assert len(BENCHMARKS) >= 10
    for definition in BENCHMARKS:
        full, small = shlex.split(definition.command), shlex.split(definition.small)
        assert definition.at_least, definition.name
        assert full[:2] == small[:2], definition.name
        assert (ROOT / full[1]).is_file(), definition.name
        assert full[-1] == small[-1] == "--json", definition.name


def test_a_small_ratio_is_only_shown(written, capsys):
    """At a small shape nothing is claimed, and nothing is written."""
    assert bench.run_benchmark(benchmark(1.5), full=False) == []
    assert "ratio 1.5" in capsys.readouterr().out
    assert written == []


def test_a_full_ratio_below_its_claim_fails(written):
    """It is written all the same: the record is what was measured."""
    assert bench.run_benchmark(benchmark(1.5), full=True) == ["ratio: 1.5 is below 2.0"]
    assert [each["values"]["ratio"] for each in written] == [1.5]


def test_the_full_command_is_measured(written):
    """Not the small one."""
    assert bench.run_benchmark(benchmark(3.0, small_ratio=1.0), full=True) == []
    assert [each["values"]["ratio"] for each in written] == [3.0]


@pytest.mark.parametrize("full", [True, False])
def test_answers_that_differ_fail(written, full):
    """A benchmark that ends with an error has no figure."""
    (problem,) = bench.run_benchmark(benchmark(3.0, code=1), full=full)
    assert "exit code 1" in problem
    assert written == []
