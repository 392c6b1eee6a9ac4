"""Normal draws for exploration, from a generator that never goes back to an earlier state.

Privacy does not depend on these draws. But if the state of the generator were stored and restored
twice, or copied by a fork, different visitors would get the same draws. So each process draws a new
key from a `Source`, and the state is never stored.
"""

from __future__ import annotations

import os

import numpy as np

from tacit.designs.pdap.features import Floats
from tacit.randomness import Source

_BLOCK = 4096
"""Number of normal numbers that are drawn at once."""
_forks = [0]
"""One element: the number of forks between the first process and this one."""


def _count_fork() -> None:
    """Note in a child process that generators copied from its parent have to be renewed."""
    _forks[0] += 1


os.register_at_fork(after_in_child=_count_fork)


class NormalDraws:
    """Standard normal numbers, drawn in blocks."""

    def __init__(self, source: Source) -> None:
        """Start a generator whose key is drawn from `source`, here and in each forked process."""
        self._source = source
        self._forks = _forks[0]
        self._generator = self._new_generator()
        self._block = np.empty(0)
        """The block of numbers that was drawn last."""
        self._used = 0
        """How many numbers at the beginning of the block were returned already."""

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
        """Return the next `count` draws, (count,)."""
        generator = self.generator
        if self._used + count > len(self._block):
            self._block = generator.standard_normal(max(_BLOCK, count))
            self._used = 0
        self._used += count
        return self._block[self._used - count : self._used]

    def _new_generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self._source.words(2)))
