"""Setting up says what is missing, and does nothing when nothing changed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
import set_up


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with an environment, in which no command may be run."""
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("")
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    monkeypatch.setattr(set_up, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(set_up, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(set_up, "STAMP", tmp_path / ".venv" / "set-up-from")
    monkeypatch.setattr(set_up, "install", lambda: pytest.fail("installed"))
    return tmp_path


def test_second_run_does_nothing(checkout):
    """With the stamp of these very files nothing is installed."""
    set_up.STAMP.write_text(set_up.fingerprint())
    assert set_up.main() == 0


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_change_is_noticed(checkout, name):
    """A changed declaration or lock makes the environment stale."""
    set_up.STAMP.write_text(set_up.fingerprint())
    (checkout / name).write_text("changed")
    with pytest.raises(pytest.fail.Exception, match="installed"):
        set_up.main()


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 10, 13), (3, 14, 0)])
def test_wrong_python(checkout, monkeypatch, capsys, version):
    """A Python that is too old or too new is named in one sentence, with the way out."""
    monkeypatch.setattr(sys, "version_info", version)
    assert set_up.main() == 1
    assert "make setup PYTHON=" in capsys.readouterr().err


def test_missing_venv(checkout, monkeypatch, capsys):
    """A Python without venv is told how to get it."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert set_up.main() == 1
    assert "apt install python3-venv" in capsys.readouterr().err


def test_an_old_python_can_read_it():
    """The script parses under Python 3.7, or its sentence would be a SyntaxError."""
    source = Path(set_up.__file__).read_text()
    ast.parse(source, feature_version=(3, 7))
