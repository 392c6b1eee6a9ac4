"""Many spenders at once, with retries and misused keys: nothing over, lost, or changed."""

from __future__ import annotations

import pytest

from tacit.ledger import open_ledger
from tests.support.ledger_crowds import crowd


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """Opens one and the same ledger, and how often at a time: a file has one owner."""
    if request.param == "sqlite":
        return lambda: open_ledger(tmp_path / "budgets.db", patience=300), 1
    address = request.getfixturevalue("postgres").database()
    return lambda: open_ledger(address, second=tmp_path / "head", patience=300), 2


def test_a_small_crowd(store):
    """Twenty spenders, ten requests each, every person's cap reached: exact to the step."""
    opened, openings = store
    found = crowd(opened, spenders=20, times=10, cap=3, openings=openings)
    assert found.sound, found
    assert min(found.granted, found.exhausted, found.retried, found.reused) > 0


@pytest.mark.long
def test_two_hundred_spenders(store):
    """Two hundred spenders, five hundred requests each: the same."""
    opened, openings = store
    found = crowd(opened, spenders=200, times=500, cap=1500, openings=openings)
    assert found.sound, found
    assert (found.granted, found.exhausted) == (75_000, 25_000)
