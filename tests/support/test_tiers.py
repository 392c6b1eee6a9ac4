"""Two tiers of tests: one of them only computes, and is held to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiers import COMPUTING_FILES, FILES, FOLDERS, SLOWEST_FILES, second

ROOT = Path(__file__).parents[2]
TESTS = """
import multiprocessing, os, socket, sqlite3, subprocess, sys
import pytest

def test_that_computes():
    assert 1 + 1 == 2

def test_process():
    subprocess.run([sys.executable, "-c", ""])

def test_fork():
    os.fork() or os._exit(0)

def test_spawn():
    multiprocessing.get_context("spawn").Process(target=print).start()

def test_socket():
    socket.socket().bind(("127.0.0.1", 0))

def test_database():
    sqlite3.connect(":memory:")

def test_swallowed():
    try:
        os.system("true")
    except Exception:
        pass

@pytest.fixture
def postgres():
    return None

def test_fixture(postgres):
    pass

@pytest.mark.long
def test_long():
    os.system("true")
"""


def run(path: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.tiers", *words, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=path if path.is_dir() else path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same tests in a file of each tier."""
    for place in ("data", "service"):
        (tmp_path / "tests" / place).mkdir(parents=True)
        (tmp_path / "tests" / place / f"test_{place}.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  pure: of the first tier\n  long: takes long\n"
    )
    return tmp_path


def test_what_does_not_only_compute_fails_in_the_first_tier(folder):
    """A process, a fork, a socket, a database and their fixtures, also where it is swallowed; a
    test that is marked long may."""
    said = run(folder, "--tier", "first")
    assert "7 failed, 2 passed" in said
    assert "It belongs to the second: name its file in tests/support/tiers.py." in said
    assert "test_service" not in said


def test_the_second_tier_may(folder):
    """The same tests pass there, and those of the first are not run."""
    assert "9 passed" in run(folder, "--tier", "second")


def test_without_a_tier_all_run_and_the_rule_holds(folder):
    """As `pytest` alone does."""
    assert "7 failed, 11 passed" in run(folder)


def test_a_tier_without_tests_is_no_failure(folder):
    """Words for one folder are passed to both tiers."""
    assert "no tests ran" in run(folder / "tests" / "data", "--tier", "second")
    one = folder / "tests" / "data" / "test_data.py"
    assert "9 deselected" in run(one, "--tier", "second")


def test_every_name_is_of_a_file_there_is():
    """A file or folder that went is named no more, and no file of a named folder is."""
    folders = {path.name for path in (ROOT / "tests").rglob("*") if path.is_dir()}
    assert folders >= FOLDERS
    for file in (*FILES, *COMPUTING_FILES, *SLOWEST_FILES):
        assert (ROOT / "tests" / file).is_file()
    assert all(second(Path(file)) for file in SLOWEST_FILES)
    assert not any(second(Path(*Path(file).parts[:-1]) / "test_x.py") for file in FILES)


def test_the_first_tier_runs_first(folder):
    """One command runs both: all files of the first tier stand before those of the second, and in
    each tier the files with the most tests come first, but for the slowest of the second."""
    (folder / "tests" / "data" / "test_one.py").write_text("def test_one():\n    assert True\n")
    slowest = folder / "tests" / SLOWEST_FILES[0]
    slowest.parent.mkdir()
    slowest.write_text("def test_one():\n    assert True\n")
    lines = run(folder, "--collect-only", "-m", "not long").splitlines()
    files = [line.partition("::")[0] for line in lines if "::" in line]
    assert list(dict.fromkeys(files)) == [
        "tests/data/test_data.py",
        "tests/data/test_one.py",
        f"tests/{SLOWEST_FILES[0]}",
        "tests/service/test_service.py",
    ]
