"""A sentence on the terminal at the first use of an installation, when kernels are compiled."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

COMPILING_COMMANDS = frozenset(
    {"attack", "audit", "compare", "demo", "evaluate", "fit", "init", "replay", "serve", "simulate"}
)
"""Commands before which SENTENCE may be printed. Other commands may run compiled kernels, too."""
SENTENCE = (
    "First use: kernels are compiled once for this machine, about a minute; later runs start at "
    "once."
)
"""What is printed before a command compiles."""


def announce_compilation(words: Sequence[str]) -> None:
    """Print SENTENCE on a terminal, before a command that probably compiles kernels.

    That is one of COMPILING_COMMANDS, unless its help is asked for or machine code is stored
    already.

    Args:
        words: Words of the command line after `tacit`; at least one.
    """
    asks_help = "--help" in words or "-h" in words
    if words[0] not in COMPILING_COMMANDS or asks_help or not sys.stderr.isatty():
        return
    if not has_machine_code():
        typer.echo(SENTENCE, err=True)


def has_machine_code() -> bool:
    """Say whether numba has stored machine code, of any program, in one of its folders."""
    for folder in _list_cache_folders():
        index_files = folder.rglob("*.nbi")
        if next(index_files, None) is not None:
            return True
    return False


def _list_cache_folders() -> list[Path]:
    """List the folders in which numba may store machine code."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named)]
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [Path(__file__).parent.parent / "engine", user_cache / "numba"]
