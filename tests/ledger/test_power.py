"""Simulated power cuts lose nothing that was acknowledged, and the simulation can tell."""

from __future__ import annotations

import pytest

pytest.importorskip("apsw", reason="no apsw here: run `make setup`")

from tests.support.ledger_faults import log_not_synced, planted
from tests.support.ledger_power import DELETED, UNSAFE, cut, record, shipped


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A store with a budget, and the statements of thirty releases on it."""
    return record(tmp_path_factory.mktemp("power"))


def test_acknowledged_releases_survive(recorded, quick_folder):
    """With the shipped settings no acknowledged release is lost and no file is broken."""
    found = cut(recorded, shipped(), quick_folder, images=60, seed=1)
    assert found.commits >= 30
    assert (found.lost, found.corrupt) == (0, 0)
    assert found.quick > 20


def test_the_simulation_finds_what_is_unsafe(recorded, quick_folder):
    """A write-ahead log that is not synced at each commit loses acknowledged releases."""
    assert cut(recorded, UNSAFE, quick_folder, images=20, seed=1).lost > 5


def test_a_ledger_that_does_not_sync_each_commit_is_noticed(recorded, quick_folder):
    """With `synchronous = 1` in the ledger's own code, the same power cuts lose releases."""
    with planted(log_not_synced):
        assert cut(recorded, shipped(), quick_folder, images=20, seed=1).lost > 5


@pytest.mark.long
def test_a_thousand_power_cuts(recorded, quick_folder):
    """The same a thousand times."""
    found = cut(recorded, shipped(), quick_folder, images=1000, seed=2)
    assert (found.lost, found.corrupt) == (0, 0)


@pytest.mark.long
def test_a_deleted_journal_can_come_back(recorded, quick_folder):
    """Why the journal is truncated: its deletion may be undone, and with it a commit."""
    assert cut(recorded, DELETED, quick_folder, images=200, seed=2).lost > 0
