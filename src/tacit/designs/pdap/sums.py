"""Noisy sums over visits, of features times rewards: all that the joint learner releases.

Contribution  a visit with the features phi, M numbers, and a reward r in [0, 1] adds to two sums of
              the arm that was shown: like = phi r to L, and dislike = phi (1 - r) to D. Sums are
              whole numbers of grains, of which `GRAINS` make 1: q = phi in grains, rounded towards
              zero, R = r in 1024ths, like = sign(q) floor(|q| R / 1024), and dislike = q - like.
Clipping      |like|_1 + |dislike|_1 = |q|_1 <= B_g for every context, arm and reward:
              `features.py` scales phi down to this norm, and a visit with a larger norm is refused
              here.
Noise         each of the 2 M numbers of each arm gets discrete Laplace noise of scale B_g /
              epsilon grains. A visit is in one release of one arm, so it costs epsilon in all.
Use           `posterior.py` reads L and V = L + D, divided by `GRAINS`.
Source        Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import DiscreteLaplace, Event, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.designs.pdap.features import GRAINS, Floats, Ints, to_grains
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.runs import MechanismRun
from tacit.mechanisms.sensitive_values import finite_floats

REWARD_STEPS = 1024
"""Steps of a reward from 0 to 1."""


@dataclass(frozen=True)
class SumNoise:
    """The noise of every number that is released.

    Attributes:
        epsilon: nats of one visit; inf adds no noise.
        bound: B_g, the L1 sensitivity in grains: the most by which one visit changes all sums
            together.
    """

    epsilon: float
    bound: int

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("bound", self.bound, least=1)

    @property
    def noise_multiplier(self) -> Fraction:
        """Scale of the noise in multiples of `bound`: 1 / epsilon, for a finite epsilon.

        It is rounded up to a float, so that `event` never states a smaller loss than the real one.
        """
        return Fraction(float_above(1 / Fraction(self.epsilon)))

    @cached_property
    def scale(self) -> float:
        """Scale of the noise in grains, for a finite epsilon."""
        return float_above(self.noise_multiplier * self.bound)

    @property
    def event(self) -> Event:
        """The cost of one visit."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return DiscreteLaplace(float(self.noise_multiplier))

    def add_to(self, exact: Ints) -> Ints:
        """Return a copy of numbers in grains, with noise added to each; epsilon = inf adds none."""
        if math.isinf(self.epsilon) or exact.size == 0:
            return exact.copy()
        return samplers.discrete_laplace(exact, self.scale)


@dataclass(frozen=True, eq=False)
class Release:
    """The noisy sums that were released at the end of an epoch, converted from grains to numbers.

    Attributes:
        likes: (K, M) L, sums of phi r with noise.
        visits: (K, M) V = L + D, sums of phi with noise.
    """

    likes: Floats
    visits: Floats


class EpochSums(MechanismRun):
    """Exact sums (K, 2, M), in grains, of the visits since the last release.

    `release` adds noise, and sets the sums to zero, so each visit is in one release. `export_state`
    adds no noise: the state is for storage alone, and must never be released.

    Attributes:
        noise: the noise that a release adds to each number.
    """

    def __init__(self, arms: int, terms: int, noise: SumNoise) -> None:
        """Start with sums of zero.

        Args:
            arms: K, number of arms.
            terms: M, number of terms of phi.
            noise: the noise that a release adds to each number.
        """
        super().__init__()
        self.noise = noise
        self._exact = np.zeros((arms, 2, terms), dtype=np.int64)
        self._next_epoch = 0
        """The number of the first epoch that can still be released."""

    def add(self, arms: Ints, phi: Floats, rewards: Floats) -> None:
        """Add visits to the sums.

        Args:
            arms: (n,) rows of the sums.
            phi: (n, M) features of the contexts.
            rewards: (n,), each scaled so that its arm's public range is [0, 1]; clipped to it.

        Raises:
            PrivacyError: A visit would change the sums by more than `noise.bound`, or this is not
                the process that made the sums.
            DataError: A feature or a reward is not a finite number.
        """
        phi = finite_floats(phi)
        too_large = PrivacyError(
            "The features of a visit are larger than the bound that its noise is made for. "
            "Nothing was learned."
        )
        # Checked before the conversion, where larger features could overflow 64-bit grains.
        if np.abs(phi).max(initial=0) > self.noise.bound / GRAINS:
            raise too_large
        pairs = pairs_in_grains(phi, rewards)
        if np.abs(pairs).sum(axis=(1, 2)).max(initial=0) > self.noise.bound:
            raise too_large
        self._check_process()
        with self._lock:
            np.add.at(self._exact, arms, pairs)

    def release(self, epoch: int) -> Release:
        """Release, with noise, the sums since the last release, and set the exact sums to zero.

        Args:
            epoch: number of the epoch that is released, from 0.

        Raises:
            PrivacyError: This epoch or a later one was released already, or this is not the process
                that made the sums.
        """
        self._check_process()
        with self._lock:
            if epoch < self._next_epoch:
                raise PrivacyError(
                    "This epoch or a later one was released already: each epoch is released once, "
                    "in order."
                )
            self._next_epoch = epoch + 1
            noisy = self.noise.add_to(self._exact.copy())
            self._exact[:] = 0
        likes = noisy[:, 0] / GRAINS
        dislikes = noisy[:, 1] / GRAINS
        return Release(likes, likes + dislikes)

    def keep_arms(self, rows: list[int], joining: int) -> None:
        """Keep the sums of these rows in this order, and append `joining` rows of zeros."""
        with self._lock:
            kept_sums = self._exact[rows]
            self._exact = np.pad(kept_sums, ((0, joining), (0, 0), (0, 0)))

    def export_state(self) -> tuple[Ints, int]:
        """Return the exact sums (K, 2, M) since the last release, and the next epoch's number.

        The next epoch is the first that can still be released.
        """
        with self._lock:
            return self._exact.copy(), self._next_epoch

    def resume(self, exact: NDArray[np.int64], next_epoch: int) -> None:
        """Restore the exact sums and the next epoch's number that `export_state` returned."""
        with self._lock:
            self._exact = exact.copy()
            self._next_epoch = next_epoch


def pairs_in_grains(phi: Floats, rewards: Floats) -> Ints:
    """Compute what visits add to the sums L and D of their arms.

    Args:
        phi: (n, M).
        rewards: (n,), clipped to [0, 1].

    Returns:
        (n, 2, M) whole grains: like, then dislike of each visit. The L1 norms of both add up to
        that of phi in grains.

    Raises:
        DataError: A feature or a reward is not a finite number.
    """
    clipped = np.clip(finite_floats(rewards), 0.0, 1.0)
    steps = np.rint(REWARD_STEPS * clipped).astype(np.int64)
    q = to_grains(finite_floats(phi))
    # like = sign(q) floor(|q| R / 1024), where R are the `steps`: (n, M) times (n, 1)
    likes = np.sign(q) * (np.abs(q) * steps[:, None] // REWARD_STEPS)
    return np.stack([likes, q - likes], axis=1)
