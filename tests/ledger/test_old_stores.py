"""Stores as earlier versions left them, in `stores/`: opened, brought up, and gone on with.

Each was made by the code of its time: two budgets, releases `a` of 0.5 and `b` of 0.25 charged to
both, and from version 3 a stored state. A new version of the schema adds a file; none is changed.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from tacit.ledger import Charge, Cost, Holder, LedgerRefused, Request, canonical, open_ledger

STORES = Path(__file__).parent / "stores"
NAMES = sorted(file.stem for file in STORES.glob("*.sql"))
FILMS, ANN = Holder.dataset("shop", "films"), Holder.subject("shop", "ann")


@pytest.fixture(params=NAMES)
def store(request, tmp_path):
    """The path of a ledger that an earlier version wrote."""
    path = tmp_path / "budgets.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((STORES / f"{request.param}.sql").read_text("utf-8"))
    connection.close()
    shutil.copy(STORES / f"{request.param}.head", tmp_path / "budgets.db.head")
    return path


def asked(ledger, key, cost):
    """The release of a key, charged to both."""
    request = Request("shop", "ann", "lists", key, canonical({"n": 10}))
    charges = [Charge(holder, Cost.pure(cost)) for holder in (FILMS, ANN)]
    return ledger.release(request, charges, lambda _: b"a new answer")


def test_an_old_store_goes_on(store):
    """What was spent is spent, what was answered is answered again, and the rest can be spent."""
    with open_ledger(store) as ledger:
        assert ledger.balance(ANN).spent == 750_000
        assert asked(ledger, "a", "0.5").answer == b"answer a"
        assert asked(ledger, "new", "0.25").answer == b"a new answer"
        assert ledger.balance(ANN).spent == 1_000_000
        assert ledger.verify().sound
    with open_ledger(store) as ledger:
        assert ledger.balance(FILMS).spent == 1_000_000


def test_an_older_copy_of_an_old_store_is_refused(store):
    """Its second place is compared before the tables are brought up."""
    before = store.read_bytes()
    with open_ledger(store) as ledger:
        asked(ledger, "new", "0.25")
    store.write_bytes(before)
    with pytest.raises(LedgerRefused, match="older"):
        open_ledger(store)


def test_the_newest_version_has_a_store(tmp_path):
    """A change of the schema adds the store that it has to open."""
    with open_ledger(tmp_path / "b.db") as ledger, ledger.reading() as connection:
        newest = connection.scalar(text("SELECT max(version) FROM ledger_schema"))
    assert f"version-{newest}" in NAMES
