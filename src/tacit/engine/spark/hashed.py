"""The hash by which people and tickets are partitioned: the same on every machine.

Runs at    workers, which see raw ids. It hides nothing: it only decides the task of a row.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

HASHES = 4096
"""Values of `marks`; far more than tasks."""


def hashes_of(keys: Any) -> NDArray[np.uint64]:
    """64 bits of each integer, text or bytes of an Arrow array."""
    import pyarrow as pa

    if pa.types.is_integer(keys.type):
        return _mixed(keys.to_numpy().astype(np.uint64))
    raw = keys.cast(pa.large_binary())
    _, places, cells = raw.buffers()
    ends = np.frombuffer(places, np.int64)[raw.offset : raw.offset + len(raw) + 1]
    return _mixed(_of_bytes(ends, np.frombuffer(cells or b"", np.uint8)))


def marks(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Their highest bits, below HASHES."""
    found: NDArray[np.int64] = (hashes >> np.uint64(52)).astype(np.int64)
    return found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _of_bytes(ends: Any, data: Any) -> Any:
    """FNV-1a."""
    found = np.empty(len(ends) - 1, np.uint64)
    for row in range(len(found)):
        word = np.uint64(0xCBF29CE484222325)
        for place in range(ends[row], ends[row + 1]):
            word = (word ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        found[row] = word
    return found


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """As MurmurHash3 ends, so that all bits hang on all."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words
