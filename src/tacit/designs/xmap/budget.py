"""The public choices of the sound release, and what each of its sums costs.

Calibrated on generated ratings alone (tacit.data.synthetic_domains), never on people's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import DiscreteGaussianVector, Event, NonPrivate, compose
from tacit.errors import ConfigError

LEAST_STEPS = 2048
"""Less than what any sum lets one person add, in steps of its grid: whatever was released before,
clips are 3,600 steps or more. So its noise spans this many steps times the noise multiplier."""

MOST_ENTRIES = 2**63 - 1
"""Of a sum: no array has more."""


@dataclass(frozen=True)
class ReleaseSettings:
    """factors: latent tastes. head: items in the Gram matrix.

    counts, means, pairs, gram, sweeps: relative shares of the budget (mu^2) of each sum.
    usual_ratings: of one person. clip: norm of a person's table in a sweep, relative to what is
    usual. noise, mildness, taste: variances on five stars of one rating, of how mildly people
    judge, of what tastes add. lift: how much stronger the factors are than the head shows, for
    people's own means take some of them away. evenly: whether a sweep weighs all items alike
    instead of pouring the budget where it tells most. worth: how much more than by the noise of
    that sum alone an item is worth, for later sweeps add to it.
    """

    factors: int = 10
    head: int = 50
    counts: float = 0.03
    means: float = 0.16
    pairs: float = 0.01
    gram: float = 0.1
    sweeps: tuple[float, ...] = (0.15, 0.2, 0.35)
    usual_ratings: float = 30.0
    clip: float = 0.6
    noise: float = 0.4
    mildness: float = 0.2
    taste: float = 0.4
    lift: float = 3.0
    worth: float = 8.0
    evenly: bool = False

    def __post_init__(self) -> None:
        if self.factors < 1 or self.head < 2:
            raise ConfigError("The release needs one factor and two items in the head, or more.")
        if self.usual_ratings < 1:  # their root is the clip of a sum on a grid of its own
            raise ConfigError(f"usual_ratings is 1 or more; got {self.usual_ratings}.")
        for name, value in vars(self).items():
            if name not in ("sweeps", "evenly") and not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name} is a finite number above 0; got {value}.")
        if not all(math.isfinite(share) and share > 0 for share in self.sweeps):
            raise ConfigError(f"A sweep's share is a finite number above 0; got {self.sweeps}.")

    @property
    def shares(self) -> tuple[float, ...]:
        """Of mu^2, adding up to 1, in the order of the releases."""
        relative = (self.counts, self.means, self.pairs, self.gram, *self.sweeps)
        return tuple(share / math.fsum(relative) for share in relative)


def noise_multipliers(settings: ReleaseSettings, epsilon: float, delta: float) -> tuple[float, ...]:
    """One for each sum; zeros at epsilon inf. Together they cost (epsilon, delta)."""
    if epsilon == math.inf:
        return (0.0,) * len(settings.shares)
    if not (epsilon > 0 and 0 < delta < 1):
        raise ConfigError(
            "epsilon is above 0, or inf for the non-private variant, and delta lies "
            "between 0 and 1; got "
            f"{epsilon} and {delta}."
        )

    def whole(noise: float) -> Event:
        return compose(*map(_event, _parts(settings, noise)))

    noise = smallest_noise(whole, epsilon=epsilon, delta=delta, accountant=GDPAccountant)
    return _parts(settings, noise)


def events(settings: ReleaseSettings, epsilon: float, delta: float) -> tuple[Event, ...]:
    """What the release costs one person: an event for each of its sums, in their order."""
    return tuple(map(_event, noise_multipliers(settings, epsilon, delta)))


def _event(noise: float) -> Event:
    if noise == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise, LEAST_STEPS * noise, MOST_ENTRIES)


def _parts(settings: ReleaseSettings, noise: float) -> tuple[float, ...]:
    return tuple(noise / math.sqrt(share) for share in settings.shares)
