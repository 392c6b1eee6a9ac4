"""The first command of an installation says that it compiles."""

from __future__ import annotations

import sys

import pytest

from tacit.cli import first_use


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for machine code, still empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def announce_on_a_terminal(monkeypatch, words):
    """Announce a command where standard error is a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    first_use.announce_compilation(words)


def test_first_use_is_announced(folder, capsys, monkeypatch):
    """Without stored machine code, a command that computes says that it compiles."""
    announce_on_a_terminal(monkeypatch, ["fit", "private", "shop.csv"])
    assert capsys.readouterr().err.strip() == first_use.SENTENCE


@pytest.mark.parametrize("words", [["guarantee", "m.tacit"], ["fit", "private", "--help"]])
def test_what_compiles_nothing_says_nothing(folder, capsys, monkeypatch, words):
    """Commands that read, and help, say nothing."""
    announce_on_a_terminal(monkeypatch, words)
    assert not capsys.readouterr().err


def test_later_uses_say_nothing(folder, capsys, monkeypatch):
    """With machine code there, nothing is said."""
    (folder / "engine").mkdir()
    (folder / "engine" / "kernel.nbi").write_text("")
    announce_on_a_terminal(monkeypatch, ["fit", "private", "shop.csv"])
    assert not capsys.readouterr().err


def test_files_and_pipes_get_nothing(folder, capsys):
    """Where standard error is no terminal, nothing is written to it."""
    first_use.announce_compilation(["demo"])
    assert not capsys.readouterr().err
