"""Planted faults: each breaks one rule of the ledger, and something has to notice."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest

from tacit.errors import TacitError
from tacit.ledger import LedgerRefused, LedgerUnavailable, open_ledger
from tests.support.ledger_crowds import crowd
from tests.support.ledger_faults import (
    CROWDED,
    NOTICED,
    acknowledged_before_commit,
    planted,
    sum_under_repeatable_read,
    synchronous_commit_off,
)
from tests.support.ledger_kills import kill_server, kill_spenders
from tests.support.ledger_suite import LedgerConformance


class Suite(LedgerConformance):
    """The shared suite by hand: its tests are called by name."""

    __test__ = False

    def __init__(self, path, open_at):
        self.path, self.open_at = path, open_at

    def fresh(self):
        return self.open_at(self.path)

    def reopened(self):
        return self.open_at(self.path, create=False)

    def beside(self, ledger):
        return nullcontext(ledger)


def name(value):
    return getattr(value, "__name__", value)


@pytest.mark.parametrize(("fault", "test"), NOTICED.items(), ids=name)
def test_the_shared_suite_notices(quick_folder, ledger_at, fault, test):
    """The suite's test passes without the fault and fails with it."""
    getattr(Suite(quick_folder / "sound.db", ledger_at), test)()
    with planted(fault), pytest.raises((AssertionError, TacitError)) as noticed:
        getattr(Suite(quick_folder / "faulty.db", ledger_at), test)()
    assert noticed.type is not LedgerUnavailable, "the fault itself is broken"


@pytest.mark.parametrize("fault", CROWDED, ids=name)
def test_a_crowd_notices(quick_folder, fault):
    """Spenders at once, with retries and reused keys: their counts do not agree."""
    with planted(fault):
        found = crowd(
            lambda: open_ledger(quick_folder / "b.db"), spenders=8, times=12, cap=2, openings=1
        )
    assert not found.sound
    assert "LedgerUnavailable" not in " ".join(found.errors), "the fault itself is broken"


def test_a_crowd_notices_sums_in_a_moment_of_ones_own(postgres, tmp_path):
    """Budgets as sums under REPEATABLE READ, without a lock: alone it works, several are in the
    way of each other, because the chain has one place.
    """
    found = {}
    with planted(sum_under_repeatable_read):
        for spenders in (1, 8):
            address, head = postgres.database(), tmp_path / f"head{spenders}"
            opened = partial(open_ledger, address, second=head)
            found[spenders] = crowd(opened, spenders=spenders, times=12, cap=2, openings=1)
    assert found[1].sound
    assert not found[8].sound


def test_answers_before_the_commit_are_noticed(quick_folder):
    """A killed process had told what no disk holds."""
    found = kill_spenders(lambda: open_ledger(quick_folder / "b.db"), 4, acknowledged_before_commit)
    assert found.lost > 0


def test_commits_that_nobody_waits_for_are_noticed(postgres, tmp_path):
    """A killed server forgets what it acknowledged, and the second place knows it."""
    address = postgres.database()

    def opened():
        return open_ledger(address, second=tmp_path / "head", patience=60)

    postgres.stop()
    postgres.start("wal_writer_delay=10s")
    try:
        found = kill_server(opened, postgres, 3, synchronous_commit_off)
    finally:
        postgres.stop()
        postgres.start()
    assert not found.sound
    assert "older" in " ".join(found.problems)
    with pytest.raises(LedgerRefused, match="older"):
        opened()


def test_commits_that_nobody_waits_for_are_refused_at_the_start(postgres, tmp_path):
    """The check at the start, which the fault goes around, refuses the setting."""
    address = postgres.database() + "%20-csynchronous_commit%3Doff"
    with pytest.raises(LedgerRefused, match="synchronous_commit"):
        open_ledger(address, second=tmp_path / "head")
