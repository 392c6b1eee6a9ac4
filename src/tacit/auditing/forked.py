"""Two processes, one the fork of the other, as a server's workers are."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import TacitError


def in_two_processes(
    here: Callable[[], NDArray[Any]], there: Callable[[], NDArray[Any]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The bits of `here`, and those of `there` as computed by a forked child. POSIX only."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold; the child draws, writes and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write, "wb") as pipe:
                pipe.write(there().astype(np.uint8).tobytes())
        finally:
            os._exit(0)  # nothing of the parent's is closed or flushed twice
    os.close(write)
    own = here().astype(np.bool_)
    with os.fdopen(read, "rb") as pipe:
        sent = np.frombuffer(pipe.read(), dtype=np.uint8).astype(np.bool_)
    os.waitpid(child, 0)
    if sent.shape != own.shape:
        raise TacitError("The forked process did not send its bits.")
    return own, sent
