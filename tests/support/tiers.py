"""A plugin of pytest: two tiers of tests, those that only compute first.

First    no process, no socket, no database, no browser, no real data, no sampling of many draws,
         and no file that computes for more than two seconds: all together take a minute.
         Such a test fails if it starts a process, connects or binds a socket, opens a database, or
         asks for a fixture that does. Tests marked `long` may.
Second   all others: the files that `FOLDERS`, `FILES` and `COMPUTING_FILES` name.

`--tier first` or `--tier second` runs one of them, and imports no file of the other. Without it
all tests run, the first tier before the second, and in each the files with the most tests first,
but for the slowest of the second, which come before all others of it:
with pytest-xdist add `--dist loadfile --no-loadscope-reorder`, which keeps this order.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from multiprocessing import util
from pathlib import Path
from typing import Any

import pytest

TESTS = "tests"
FOLDERS = frozenset(
    {
        "attacks",
        "audit",
        "cli",
        "client",
        "docs",
        "experiment",
        "golden",
        "ledger",
        "service",
        "studies",
        "tools",
    }
)
"""Wherever they lie below the tests."""
FILES = frozenset(
    {
        "accounting/test_pld.py",
        "auditing/test_empirical.py",
        "auditing/test_planted_bugs.py",
        "auditing/test_shipped_mechanisms.py",
        "auditing/test_sizes.py",
        "data/test_command.py",
        "data/test_download.py",
        "data/test_export.py",
        "data/test_genres.py",
        "data/test_import.py",
        "data/test_messy_files.py",
        "data/test_movielens.py",
        "designs/pdap/test_network.py",
        "designs/private/test_model.py",
        "designs/private/test_neighbouring_fits.py",
        "designs/private/test_plans.py",
        "designs/private/test_refits.py",
        "designs/sketches/test_fake_devices.py",
        "designs/sketches/test_killed.py",
        "designs/standard_scheme/test_certainty.py",
        "designs/standard_scheme/test_device.py",
        "designs/standard_scheme/test_model.py",
        "designs/standard_scheme/test_over_time.py",
        "designs/standard_scheme/test_privacy.py",
        "designs/xmap/test_model.py",
        "designs/xmap/test_real_ratings.py",
        "engine/test_conformance.py",
        "engine/test_ridge.py",
        "engine/test_spark_cluster.py",
        "engine/test_stored.py",
        "engine/test_stored_joins.py",
        "evaluation/test_lists.py",
        "evaluation/test_own_models.py",
        "evaluation/test_runner.py",
        "mechanisms/test_blocks.py",
        "mechanisms/test_conformance.py",
        "mechanisms/test_laplace.py",
        "mechanisms/test_noise_blocks.py",
        "mechanisms/test_runs.py",
        "mechanisms/test_selection.py",
        "mechanisms/test_sums.py",
        "mechanisms/test_gate.py",
        "profile_sums/test_release_privacy.py",
        "profile_sums/test_release_stars.py",
        "support/test_skipped.py",
        "support/test_tiers.py",
        "test_contracts.py",
        "test_example_design.py",
        "test_import.py",
        "test_randomness.py",
    }
)
"""Paths below the tests, of files that do what the first tier may not."""
COMPUTING_FILES = frozenset(
    {
        "accounting/test_conformance.py",
        "accounting/test_smoothing.py",
        "accounting/test_zcdp.py",
        "data/tables/test_encodings.py",
        "data/tables/test_layouts.py",
        "data/tables/test_written_format.py",
        "data/test_import_doubts.py",
        "data/test_import_forms.py",
        "data/test_synthetic.py",
        "data/test_tabular.py",
        "designs/pdap/test_features.py",
        "designs/pdap/test_forwarding.py",
        "designs/pdap/test_joint.py",
        "designs/pdap/test_local.py",
        "designs/pdap/test_trust_noisy.py",
        "designs/prec/test_curator.py",
        "designs/prec/test_exact.py",
        "designs/prec/test_output_distribution.py",
        "designs/prec/test_planner.py",
        "designs/prec/test_theory.py",
        "designs/private/test_device.py",
        "designs/sketches/test_audit.py",
        "designs/sketches/test_device.py",
        "designs/sketches/test_guarantees.py",
        "designs/standard_scheme/test_disclosure.py",
        "designs/standard_scheme/test_first_day.py",
        "designs/standard_scheme/test_messages_refused.py",
        "designs/standard_scheme/test_names.py",
        "designs/xmap/test_extender.py",
        "engine/test_best_items.py",
        "engine/test_memory.py",
        "evaluation/test_comparison_page.py",
        "evaluation/test_inference.py",
        "evaluation/test_metrics_lists.py",
        "profile_sums/sums/test_contributions.py",
        "recommenders/baselines/test_conformance.py",
        "recommenders/test_conformance.py",
        "recommenders/test_fits_in_process.py",
        "recommenders/test_hostile_files.py",
        "test_docstrings.py",
        "test_house.py",
    }
)
"""Paths below the tests, of files that compute for more than two seconds."""
SLOWEST_FILES = (
    "docs/test_tutorial.py",
    "service/test_faults.py",
    "service/page/test_visit.py",
    "tools/test_mutants.py",
    "service/test_serve.py",
    "evaluation/test_own_models.py",
    "service/page/test_ease.py",
    "designs/private/audit/test_bench.py",
    "ledger/test_disk_faults.py",
    "auditing/test_sizes.py",
    "docs/test_paths.py",
)
"""Paths below the tests, of files that take more than 40 seconds: they are begun first in the
second tier, so that none of them runs alone at the end."""
FIXTURES = frozenset({"chromium_path", "ml_100k", "ml_latest_small", "postgres"})
FORBIDDEN = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "socket.bind",
        "socket.connect",
        "sqlite3.connect",
        "subprocess.Popen",
    }
)
"""Audit events of Python, and `spawn` of multiprocessing, which raises none."""


def second(path: Path) -> bool:
    """Whether a whole file, or a whole folder, is of the second tier."""
    parts = _parts_below_tests(path)
    return not FOLDERS.isdisjoint(parts) or "/".join(parts) in FILES | COMPUTING_FILES


def _parts_below_tests(path: Path) -> tuple[str, ...]:
    return path.parts[path.parts.index(TESTS) + 1 :] if TESTS in path.parts else path.parts


def _place_among_slowest(path: Path) -> int:
    """Place in `SLOWEST_FILES`, or their number for every other file."""
    name = "/".join(_parts_below_tests(path))
    return SLOWEST_FILES.index(name) if name in SLOWEST_FILES else len(SLOWEST_FILES)


class _Guard:
    """What the running test of the first tier has done; `watching` is False outside of one."""

    def __init__(self) -> None:
        self.watching = False
        self.done: list[str] = []

    def heard(self, event: str, _: tuple[Any, ...] = ()) -> None:
        if self.watching and event in FORBIDDEN:
            self.done.append(event)
            raise RuntimeError(_refusal(event))


def _refusal(event: str) -> str:
    return (
        f"A test of the first tier used {event}. It belongs to the second: name its file in "
        "tests/support/tiers.py."
    )


_guard = _Guard()
_spawned = util.spawnv_passfds


def _spawn(*given: Any) -> Any:
    _guard.heard("subprocess.Popen")
    return _spawned(*given)


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--tier", choices=("first", "second"), help="run one tier of the tests alone")


def pytest_configure() -> None:
    sys.addaudithook(_guard.heard)
    util.spawnv_passfds = _spawn  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path, config: Any) -> bool | None:
    """True: not even imported."""
    tier, later = config.getoption("--tier"), second(collection_path)
    left_out = later if tier == "first" else tier == "second" and not later
    return True if left_out and (later or collection_path.is_file()) else None


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Mark the first tier, and order both. Files named one by one are collected in any tier."""
    counts = Counter(item.path for item in items)

    def place(item: Any) -> tuple[bool, int, int]:
        return second(item.path), _place_among_slowest(item.path), -counts[item.path]

    items.sort(key=place)
    tiers: dict[str, list[Any]] = {"first": [], "second": []}
    for item in items:
        tiers["second" if second(item.path) else "first"].append(item)
    for item in tiers["first"]:
        if item.get_closest_marker("long") is None:  # of no tier: `make test-long` runs these
            item.add_marker("pure")
    if (asked := config.getoption("--tier")) is not None:
        items[:] = tiers.pop(asked)
        config.hook.pytest_deselected(
            items=[item for left_out in tiers.values() for item in left_out]
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    _guard.watching = item.get_closest_marker("pure") is not None
    asked = FIXTURES.intersection(getattr(item, "fixturenames", ()))
    _guard.done[:] = sorted(asked) if _guard.watching else []
    try:
        return (yield)
    finally:
        _guard.watching = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """A test that swallowed the refusal fails as well."""
    found = yield
    if _guard.done:
        pytest.fail(_refusal(_guard.done[0]))
    return found


def pytest_sessionfinish(session: Any) -> None:
    """A tier without tests, such as of one folder, is no failure."""
    if (
        session.config.getoption("--tier")
        and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.OK
