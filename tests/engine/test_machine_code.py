"""Machine code has a place wherever the service is installed."""

from __future__ import annotations

import stat
from pathlib import Path

from tacit import engine


def test_a_place_of_its_own_where_nothing_else_can_be_written(monkeypatch, tmp_path):
    """A read-only root and no home: numba would refuse to compile. No one else may write there."""
    monkeypatch.delenv(engine.CACHE, raising=False)
    monkeypatch.setattr(engine.os, "access", lambda *_: False)
    monkeypatch.setattr(engine.tempfile, "tempdir", str(tmp_path))
    made = Path(engine.machine_code())
    assert made.parent == tmp_path
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert engine.machine_code() is None  # it is named by now


def test_none_where_it_can_be_kept(monkeypatch):
    """Beside the code, or in the user's cache."""
    monkeypatch.delenv(engine.CACHE, raising=False)
    assert engine.machine_code() is None
    assert engine.CACHE not in engine.os.environ
