"""The first use of an installation: kernels are compiled once, and that is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

COMPILING = frozenset(
    {"attack", "audit", "compare", "demo", "evaluate", "fit", "init", "replay", "serve", "simulate"}
)
"""Commands that run compiled kernels."""
SENTENCE = (
    "First use: kernels are compiled once for this machine, about a minute; later runs start at "
    "once."
)


def announce_compilation(words: Sequence[str]) -> None:
    """Say on a terminal that a command compiles first, where no machine code is stored yet.

    Args:
        words: Words of the command line.
    """
    asks_help = "--help" in words or "-h" in words
    if words[0] not in COMPILING or asks_help or not sys.stderr.isatty():
        return
    if not has_machine_code():
        typer.echo(SENTENCE, err=True)


def has_machine_code() -> bool:
    """Tell whether numba has stored any, beside the package or in a folder of the user."""
    return any(next(folder.rglob("*.nbi"), None) is not None for folder in _folders())


def _folders() -> list[Path]:
    """Folders that numba stores machine code in, the named one first."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named)]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [Path(__file__).parent.parent / "engine", cache / "numba"]
