"""The closing line of a run of the tests: what was skipped, and what would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.skipped import closing_line

ROOT = Path(__file__).parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "tests.support.skipped")
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_data(n):
    pytest.skip("no data: set TACIT_DATA")

@pytest.mark.skipif(True, reason="no page: run `make page`")
def test_page():
    pass

def test_other():
    pass
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_the_last_line_says_what_was_skipped(tmp_path, workers):
    """One line, after the totals, with each reason and how often; also with several workers."""
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [*PYTEST, *workers, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == (
        "Not run: 3 because no data: set TACIT_DATA; 1 because no page: run `make page`."
    )


def test_nothing_skipped():
    """Then there is no line."""
    assert closing_line([]) == ""
