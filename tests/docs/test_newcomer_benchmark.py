"""`benchmarks/newcomer.py`: a path that fails makes it fail, with the reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "newcomer.py"
PATHS = ROOT / "examples" / "paths"
FAULTS = {
    "a flag that no command has": ("--seed 1", "--seeed 1", "No such option"),
    "a command that is not there": ("tacit data generate", "tacit data-generate", "data-generate"),
    "another step that fails": ("set -eu", "set -eu\nfalse", "shop's path failed (1)"),
    "a variable that is not set": ("set -eu", 'set -eu\necho "$UNSET_HERE"', "UNSET_HERE"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_path_that_fails_makes_the_benchmark_fail(tmp_path: Path, fault: str) -> None:
    """Each planted fault of the shop's script ends the program with its reason, and no figures."""
    old, new, reason = FAULTS[fault]
    folder = tmp_path / "paths"
    shutil.copytree(PATHS, folder)
    script = folder / "shop.sh"
    text = script.read_text("utf-8")
    assert old in text
    script.write_text(text.replace(old, new, 1), "utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = subprocess.run(
        [sys.executable, PROGRAM, "--json", "--only-paths", "--paths", folder],
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode != 0
    assert reason in ended.stderr
    assert ended.stdout == ""


def test_a_service_that_dies_ends_its_path(tmp_path: Path) -> None:
    """The scripts that wait for a service look whether it lives: they do not wait for ever."""
    for name in ("shop", "newspaper"):
        lines = (PATHS / f"{name}.sh").read_text("utf-8").splitlines()
        (waiting,) = [line for line in lines if line.startswith("until ")]
        program = tmp_path / f"{name}.sh"
        program.write_text(f"set -eu\nfalse &\nfirst=$!\nwait $first || true\n{waiting}\n")
        ended = subprocess.run(["sh", str(program)], cwd=tmp_path, check=False, timeout=30)
        assert ended.returncode != 0
