"""Machine code has a place wherever the service is installed."""

from __future__ import annotations

import stat
from pathlib import Path

from tacit.engine import machine_code


def test_a_place_of_its_own_where_nothing_else_can_be_written(monkeypatch, tmp_path):
    """A read-only root and no home: numba would refuse to compile. No one else may write there."""
    monkeypatch.delenv(machine_code.CACHE, raising=False)
    monkeypatch.setattr(machine_code.os, "access", lambda *_: False)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    made = Path(machine_code.make_private_cache())
    assert made.parent == tmp_path
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert machine_code.make_private_cache() is None  # it is named by now


def test_none_where_it_can_be_kept(monkeypatch):
    """Beside the code, or in the user's cache."""
    monkeypatch.delenv(machine_code.CACHE, raising=False)
    assert machine_code.make_private_cache() is None
    assert machine_code.CACHE not in machine_code.os.environ
