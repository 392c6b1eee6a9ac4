"""Where big joins run: a readable reference and a compiled fast path that equals it by test."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

CACHE = "NUMBA_CACHE_DIR"
"""The variable that names the folder of machine code."""


def machine_code() -> str | None:
    """A private folder for this process and those that it starts, if numba finds no other.

    Where it can write neither beside the code nor in the user's cache, it refuses to compile.
    """
    here = Path(__file__).parent
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    places = (here, here / "__pycache__", own, own.parent)
    if CACHE in os.environ or any(os.access(place, os.W_OK) for place in places):
        return None
    made = os.environ[CACHE] = tempfile.mkdtemp(prefix="tacit-compiled-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


for_this_run = machine_code()
"""That folder, or None: it goes with the process, so the next one compiles anew."""
