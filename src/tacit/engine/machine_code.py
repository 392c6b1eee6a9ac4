"""A folder for numba's machine code, wherever the package is installed."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

CACHE = "NUMBA_CACHE_DIR"
"""Environment variable that names the folder."""


def make_private_cache() -> str | None:
    """Make a private folder for this process and those that it starts, if numba finds no other.

    Where numba can write neither beside the code nor in the user's cache, it refuses to compile.

    Returns:
        The folder, which goes with the process; None if there is another.
    """
    package = Path(__file__).parent
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folders = (package, package / "__pycache__", user_cache, user_cache.parent)
    if CACHE in os.environ or any(os.access(folder, os.W_OK) for folder in folders):
        return None
    made = os.environ[CACHE] = tempfile.mkdtemp(prefix="tacit-compiled-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


private_cache = make_private_cache()
"""That folder, or None. It goes with the process, so the next one compiles anew."""
