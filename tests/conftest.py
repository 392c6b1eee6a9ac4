"""Fixtures that every test folder shares."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import hypothesis
import pytest

from tests.support.garbage import pytest_collection as pytest_collection
from tests.support.skipped import pytest_unconfigure as pytest_unconfigure
from tests.support.tiers import pytest_addoption as pytest_addoption
from tests.support.tiers import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.support.tiers import pytest_configure as pytest_configure
from tests.support.tiers import pytest_ignore_collect as pytest_ignore_collect
from tests.support.tiers import pytest_runtest_call as pytest_runtest_call
from tests.support.tiers import pytest_runtest_protocol as pytest_runtest_protocol
from tests.support.tiers import pytest_sessionfinish as pytest_sessionfinish

if TYPE_CHECKING:
    from tests.support.postgres_server import Server

# Tests run side by side, so each has one thread: several would mostly spin and wait for each other.
# No library that reads it is imported yet; processes that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Hundreds of processes that tests start import the package: each would compile it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

FAULTS = Path(__file__).parent / "support" / "disk_faults.c"

# A shared machine stalls now and then: time is measured in benchmarks, not here.
hypothesis.settings.register_profile("tacit", deadline=None, print_blob=True)
hypothesis.settings.load_profile("tacit")


@pytest.fixture(autouse=True)
def fresh_count_of_fits() -> None:
    """Made-up people are fitted in many tests, and each test counts from its own first fit."""
    module = sys.modules.get("tacit.recommenders.fits_in_process")
    if module is not None:
        module.forget_fits()


@pytest.fixture(scope="session")
def ml_100k() -> Path:
    """The MovieLens 100K folder, under TACIT_DATA."""
    return _real_data("ml-100k")


@pytest.fixture(scope="session")
def ml_latest_small() -> Path:
    """The small current MovieLens folder, under TACIT_DATA."""
    return _real_data("ml-latest-small")


@pytest.fixture(scope="session")
def missing() -> Callable[[str], NoReturn]:
    """Says what a test needs and this machine lacks: a skip, or a failure where CI=true is set."""

    def stop(what: str) -> NoReturn:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(f"{what}; in continuous integration this is installed by .ci/run")
        pytest.skip(what)

    return stop


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Asks a question until it is true. The five minutes end a test that hangs; no machine is so
    slow."""

    def wait(question: Callable[[], bool]) -> None:
        end = time.monotonic() + 300
        while not question():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def shim(missing: Callable[[str], NoReturn], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls to the disk fail, compiled here."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        missing("no C compiler here: install Debian's package 'gcc'")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(FAULTS)]
    subprocess.run([*command, "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")
def postgres(missing: Callable[[str], NoReturn]) -> Iterator[Server]:
    """A running PostgreSQL of our own, or a skip that says what is missing."""
    from tests.support.postgres_server import programs, server

    if importlib.util.find_spec("psycopg") is None:
        missing("the extra 'postgres' is not installed")
    folder = programs()
    if folder is None:
        missing("no PostgreSQL server here: install Debian's package 'postgresql'")
    with server(folder) as running:
        yield running


@pytest.fixture(scope="session")
def chromium_path(missing: Callable[[str], NoReturn]) -> str:
    """Debian's Chromium, for Playwright's `executable_path`; a skip where there is none."""
    if importlib.util.find_spec("playwright") is None:
        missing("the extra 'dev' is not installed: no Playwright")
    path = "/usr/bin/chromium"
    if not os.access(path, os.X_OK):
        missing("no Chromium here: install Debian's package 'chromium'")
    return path


def _real_data(name: str) -> Path:
    root = os.environ.get("TACIT_DATA")
    if not root:
        pytest.skip(f"real data: set TACIT_DATA to a folder that holds {name} (tacit data get)")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.skip(f"real data: put {name} into the folder TACIT_DATA (tacit data get)")
    return folder
