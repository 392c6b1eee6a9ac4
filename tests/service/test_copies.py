"""A running service hands copies of its ledger to other processes of its user."""

from __future__ import annotations

import json
import socket
import stat

import pytest

from tacit.cli.app import main


@pytest.fixture
def store(shop):
    """The ledger of a running service."""
    return shop.folder / "budgets.db"


def test_a_running_service_is_looked_at(store, capsys, tmp_path):
    """`show`, `verify` and `backup` go beside it, and nothing of the copies is left."""
    assert main(["ledger", "verify", str(store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sound"]
    assert main(["ledger", "show", str(store)]) == 0
    assert main(["ledger", "backup", str(store), "--out", str(tmp_path / "copy.db")]) == 0
    assert [file.name for file in store.with_name("budgets.db.owner").iterdir()] == ["socket"]
    assert main(["ledger", "advance", str(store), "--token", "x"]) == 1
    assert "in use" in capsys.readouterr().err


def test_the_socket_is_for_its_user(store):
    """Nobody else may enter its folder."""
    assert stat.S_IMODE(store.with_name("budgets.db.owner").stat().st_mode) == 0o700


def test_a_copy_that_no_one_fetches_is_removed(shop, store, wait_until):
    """It has every stored state. The service goes on."""
    place = store.with_name("budgets.db.owner")
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(place / "socket"))
    wait_until(lambda: [file.name for file in place.iterdir()] == ["socket"])
    assert shop.get("anonymous", "/readyz").is_success


def test_no_copy_is_said(shop, store, capsys, tmp_path, monkeypatch):
    """Where the service cannot make one, nothing is left, and its log says why."""
    monkeypatch.setattr(type(shop.service.ledger), "copy", _full)
    assert main(["ledger", "backup", str(store), "--out", str(tmp_path / "copy.db")]) == 1
    assert "see its log" in capsys.readouterr().err
    assert not (tmp_path / "copy.db").exists()
    assert '"copy"' in shop.logged.getvalue()


def _full(*_):
    raise OSError
