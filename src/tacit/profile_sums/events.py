"""Cost of one fit's sums: their noise multipliers and events.

Guarantee   All events are declared before the first sum. Their noise multipliers are the same
            whichever mode an earlier sum leads to; only what is asked may depend on earlier sums.
            So Gaussian differential privacy composes them as a list that was fixed in advance.
            An event may be spent on two tables: sum 3 and pairs of likes then have sqrt(2) of
            its multiplier each, by which one person adds no more to both than the event says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import DiscreteGaussianVector, Event, NonPrivate, compose
from tacit.profile_sums.settings import Settings

LIST_SUMS = 4
"""Number of sums of lists: 1, 2a, 2b and 3. Sums of stars follow them."""
FEWEST_STEPS = 2048
"""Lower bound of the steps of any norm here: `resolution_for` gives 4,096 or more."""
MOST_ENTRIES = 2**63 - 1
"""Upper bound of the entries of any sum: no array has more."""


def noise_multipliers(settings: Settings) -> list[float]:
    """Noise multiplier of each sum, 0 at epsilon inf. Together they cost (epsilon, delta)."""
    if not settings.is_private:
        return [0.0] * len(settings.all_shares)

    def divide(noise: float) -> list[float]:
        """Multipliers of the sums, whose mu^2 add up to that of one sum with `noise`."""
        return [noise / math.sqrt(share) for share in settings.all_shares]

    noise = smallest_noise(
        lambda noise: compose_noises(divide(noise)),
        epsilon=settings.epsilon,
        delta=settings.delta,
        accountant=GDPAccountant,
    )
    return divide(noise)


def events(settings: Settings) -> tuple[Event, ...]:
    """Events that a fit is charged, whatever it goes on to release."""
    return tuple(event_of_sum(noise) for noise in noise_multipliers(settings))


def event_of_sum(noise: float) -> Event:
    """Event of one sum with this noise multiplier."""
    if noise == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise, FEWEST_STEPS * noise, MOST_ENTRIES)


def compose_noises(noises: Sequence[float]) -> Event:
    """Event of several sums, by their noise multipliers."""
    sums = [event_of_sum(noise) for noise in noises]
    return compose(*sums)


def combined_noise(noises: Sequence[float]) -> float:
    """Return the multiplier of all sums together, (sum of noise^-2)^(-1/2); 0 without noise."""
    if not all(noises):
        return 0.0
    return 1 / math.sqrt(math.fsum(noise**-2 for noise in noises))
