"""Machine code has a place wherever the service is installed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tacit.engine import machine_code


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """No folder is named by the environment; what a test names is forgotten after it."""
    monkeypatch.setenv(machine_code.CACHE, "")  # so that it is removed at the end
    monkeypatch.delenv(machine_code.CACHE)


def test_a_place_of_its_own_where_nothing_else_can_be_written(monkeypatch, tmp_path):
    """A read-only root and no home: numba would refuse to compile. No one else may write there."""
    monkeypatch.setattr(machine_code.os, "access", lambda *_: False)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    made = Path(machine_code.make_private_cache())
    assert made.parent == tmp_path
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert machine_code.make_private_cache() is None  # it is named by now


def test_none_where_it_can_be_kept(monkeypatch):
    """Beside the code, or in the user's cache."""
    assert machine_code.make_private_cache() is None
    assert machine_code.CACHE not in machine_code.os.environ


@pytest.mark.parametrize(
    ("existing", "writable", "is_made"),
    [
        (["home/.cache"], ["home"], True),
        (["home/.cache/numba"], ["home", "home/.cache"], True),
        (["home/.cache"], ["home/.cache"], False),
        (["home"], ["home"], False),
        (["package/__pycache__"], ["package"], True),
        (["package"], ["package"], False),
    ],
)
def test_a_folder_counts_only_if_numba_can_write_to_it(
    monkeypatch, tmp_path, existing, writable, is_made
):
    """A parent that can be written to helps only where the folder below it is still to be made."""
    (tmp_path / "package").mkdir()
    for folder in existing:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    can_be_written = {tmp_path / folder for folder in writable}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    monkeypatch.setattr(machine_code, "__file__", str(tmp_path / "package" / "machine_code.py"))
    monkeypatch.setattr(machine_code.os, "access", lambda folder, _: folder in can_be_written)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    assert (machine_code.make_private_cache() is not None) == is_made


def test_a_home_that_cannot_be_looked_into_counts_for_nothing(monkeypatch, tmp_path):
    """As for a service under another user; the import goes on with a folder of its own."""

    def fail(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    with monkeypatch.context() as hidden:
        hidden.setattr(Path, "exists", fail)
        folder = machine_code.make_private_cache()
    assert folder is not None
    assert Path(folder).parent == tmp_path
