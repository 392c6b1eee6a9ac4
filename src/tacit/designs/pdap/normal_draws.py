"""Normal draws for exploration, from a generator that never goes back to an earlier state.

They protect nobody; a generator that was stored and opened twice, or copied by a fork, would only
show two visitors the same luck. So its key comes from the system in each process, and no state of
it is ever stored.
"""

from __future__ import annotations

import os

import numpy as np

from tacit.designs.pdap.features import Floats
from tacit.randomness import Source

_BLOCK = 4096
_forks = [0]
"""Forks between the first process and this one: a copy of a generator is renewed."""


def _count_fork() -> None:
    _forks[0] += 1


os.register_at_fork(after_in_child=_count_fork)


class NormalDraws:
    """Normal numbers, drawn in blocks."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._forks = _forks[0]
        self._generator = self._new_generator()
        self._block = np.empty(0)
        self._used = 0

    @property
    def generator(self) -> np.random.Generator:
        """The generator of this process, for many draws at once."""
        if self._forks != _forks[0]:
            self._forks = _forks[0]
            self._generator = self._new_generator()
            self._block = np.empty(0)
            self._used = 0
        return self._generator

    def take(self, count: int) -> Floats:
        """Return so many draws (count,)."""
        generator = self.generator
        if self._used + count > len(self._block):
            self._block = generator.standard_normal(max(_BLOCK, count))
            self._used = 0
        self._used += count
        return self._block[self._used - count : self._used]

    def _new_generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self._source.words(2)))
