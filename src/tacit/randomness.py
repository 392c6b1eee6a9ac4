"""Sources of randomness: `secure()` for releases, `replay(seed)` for simulations.

Source   Mironov, On significance of the least significant bits for differential privacy (CCS 2012)
         and Garfinkel and Leclerc, Randomness concerns when deploying differential privacy (2020):
         noise of a release comes from the operating system, in integers, and takes no seed.
Rule     A draw is an integer below an integer bound. A probability is a ratio of two integers: the
         event happens if `draw < numerator`. No float is compared with a probability here.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, PrivacyError

_WORD_VALUES = 1 << 64
"""Number of different 64-bit words."""


class Source(Protocol):
    """A stream of uniform integers."""

    @property
    def is_private(self) -> bool:
        """Whether its draws may protect a person, which they do not if a seed can replay them."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw (count,) independent uniform 64-bit words."""


class SecureSource:
    """The operating system's generator. It keeps no state that a forked process could repeat."""

    is_private = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw (count,) independent uniform 64-bit words."""
        return np.frombuffer(os.urandom(8 * count), dtype="<u8").astype(np.uint64)


class ReplaySource:
    """A seeded stream for tests and simulations; what it draws protects nobody."""

    is_private = False

    def __init__(self, seed: int | str) -> None:
        """Begin the stream of a seed; equal seeds give equal streams."""
        digest = hashlib.sha256(f"tacit replay {seed}".encode()).digest()
        self._generator = np.random.Philox(np.frombuffer(digest[:16], "<u8"))
        self._process = os.getpid()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw (count,) uniform 64-bit words of the stream.

        Raises:
            PrivacyError: Outside `simulation()`, or in another process than the stream's own.
        """
        _refuse_outside_simulation()
        if os.getpid() != self._process:
            raise PrivacyError(
                "A replayed random stream was carried into another process, where it would repeat. "
                "Make a new one there with its own seed."
            )
        return np.asarray(self._generator.random_raw(count))


class _Simulations(threading.local):
    """The number of `simulation()` blocks that surround this thread's present call."""

    depth = 0


_simulations = _Simulations()


@contextmanager
def simulation() -> Iterator[None]:
    """Allow `replay` in this thread inside the block: the results are experiments, not releases."""
    _simulations.depth += 1
    try:
        yield
    finally:
        _simulations.depth -= 1


def secure() -> Source:
    """Return the source for anything that leaves a device or a server."""
    return SecureSource()


def replay(seed: int | str) -> Source:
    """Return a seeded source for a simulation. Streams of different seeds are unrelated.

    Raises:
        PrivacyError: Outside `with simulation():`.
    """
    _refuse_outside_simulation()
    return ReplaySource(seed)


def _refuse_outside_simulation() -> None:
    """Raise PrivacyError unless this thread is inside a `simulation()` block."""
    if _simulations.depth == 0:
        raise PrivacyError(
            "A seeded random stream protects nobody, so it is refused here. "
            "Use randomness.secure(), or wrap an experiment in  with randomness.simulation():"
        )


def integers_below(source: Source, bound: int, count: int) -> NDArray[np.int64]:
    """Draw (count,) exact uniform integers in [0, bound), by rejection.

    Raises:
        ConfigError: The bound is not from 1 to 2**62.
    """
    if not 1 <= bound <= 1 << 62:
        raise ConfigError(f"A random integer needs a bound from 1 to 2**62; got {bound}.")
    # Among the words below a multiple of `bound`, each remainder is equally frequent. Words from
    # the largest such multiple on are rejected and drawn again.
    limit = _WORD_VALUES - _WORD_VALUES % bound
    words = source.words(count)
    if limit < _WORD_VALUES:
        while True:
            is_rejected = words >= np.uint64(limit)
            missing = int(is_rejected.sum())
            if missing == 0:
                break
            words[is_rejected] = source.words(missing)
    return (words % np.uint64(bound)).astype(np.int64)


def bernoulli(source: Source, numerator: NDArray[np.int64], denominator: int) -> NDArray[np.bool_]:
    """Draw one exact event per entry, each true with probability numerator / denominator.

    Args:
        source: Randomness of the draws.
        numerator: Integers from 0 to `denominator`, of any shape.
        denominator: From 1 to 2**62.

    Returns:
        Whether each event happened; the numerator's shape.
    """
    draws = integers_below(source, denominator, numerator.size).reshape(numerator.shape)
    return draws < numerator
