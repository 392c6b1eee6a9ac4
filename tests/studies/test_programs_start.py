"""Programs of `benchmarks/` start from any folder, as their documented commands do."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tracked import ROOT

BENCHMARKS = ROOT / "benchmarks"
FILES = sorted((*BENCHMARKS.glob("*.py"), *BENCHMARKS.glob("studies/*.py")))
PROGRAMS = [path for path in FILES if "__main__" in path.read_text("utf-8")]


def starts(program, folder):
    """Whether the program says what it does, with the folder as the only one at hand."""
    called = [sys.executable, str(program), "--help"]
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0 and "usage" in done.stdout.lower()


def test_a_study_that_shares_code_with_tests_starts(tmp_path):
    """Of threshold faults."""
    assert starts(BENCHMARKS / "studies" / "threshold_faults.py", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_starts(program, tmp_path):
    """Its help is shown."""
    assert starts(program, tmp_path)
