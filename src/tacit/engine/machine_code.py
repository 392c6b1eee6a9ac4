"""A folder for Numba's machine code, where Numba finds no folder that it can write to."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

CACHE = "NUMBA_CACHE_DIR"
"""Environment variable that names the folder of Numba's machine code."""


def make_private_cache() -> str | None:
    """Make a folder for Numba's machine code, if there is no other that Numba can write to.

    Numba refuses to compile without a folder beside the code, in the user's cache or named by
    NUMBA_CACHE_DIR. If that variable is set, no folder is made. This process and its children use
    the new folder.

    Returns:
        The folder, which is deleted when the process ends; None if none was made.
    """
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folders = (Path(__file__).with_name("__pycache__"), user_cache / "numba")
    if CACHE in os.environ or any(_can_write(folder) for folder in folders):
        return None
    folder = tempfile.mkdtemp(prefix="tacit-compiled-")
    os.environ[CACHE] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _can_write(folder: Path) -> bool:
    """Return whether a folder can be written to or, if there is none, can be made."""
    existing = folder
    try:
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
    except PermissionError:  # a folder above it cannot be looked into
        return False
    return os.access(existing, os.W_OK)


private_cache = make_private_cache()
"""The folder that was made for this process, which the next process does not find; or None."""
