"""Privacy cost of one fit's sums: their noise multipliers and events.

Guarantee   All events are declared before the first sum. Their noise multipliers are the same in
            every mode; only the question of a sum may depend on the answers before it. So Gaussian
            differential privacy composes the events as a list that is fixed in advance. One event
            may pay for two tables: sum 3 and pairs of likes each have sqrt(2) times the multiplier
            of their common event, so both together cost what the event says. docs/private-proof.md
            lists the sums by their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import DiscreteGaussianVector, Event, NonPrivate, compose
from tacit.profile_sums.settings import Settings

LIST_SUMS = 4
"""Number of sums that lists are made from: 1, 2a, 2b and 3. Where all sums stand in a sequence, the
sums of stars come after these."""
FEWEST_STEPS = 2048
"""Lower bound of the norm to which a person's table is clipped in any sum, in steps:
`resolution_for` chooses steps with which the norm is 4,096 of them or more."""
MOST_ENTRIES = 2**63 - 1
"""Upper bound of the number of entries of any sum: no array has more."""


def noise_multipliers(settings: Settings) -> list[float]:
    """Return the noise multiplier of each sum, those of lists first; zeros at epsilon inf.

    They are the smallest with which all sums together cost (epsilon, delta).
    """
    if not settings.is_private:
        return [0.0] * len(settings.all_shares)

    shares = tuple(settings.all_shares)
    return _divide(_smallest_noise(settings.epsilon, settings.delta, shares), shares)


@lru_cache(maxsize=8)  # the parts of one fit, its record and its file all ask for the same
def _smallest_noise(epsilon: float, delta: float, shares: tuple[float, ...]) -> float:
    """Return the smallest multiplier of one sum that costs what all sums may cost together."""
    return smallest_noise(
        lambda noise: compose_noises(_divide(noise, shares)),
        epsilon=epsilon,
        delta=delta,
        accountant=GDPAccountant,
    )


def _divide(whole_noise: float, shares: Sequence[float]) -> list[float]:
    """Return multipliers of the sums: their mu^2 add up to that of one sum of `whole_noise`."""
    return [whole_noise / math.sqrt(share) for share in shares]


def events(settings: Settings) -> tuple[Event, ...]:
    """List the events for which a fit is charged, in every mode (`Settings.mode`)."""
    return tuple(event_of_sum(noise) for noise in noise_multipliers(settings))


def event_of_sum(noise: float) -> Event:
    """Return the event of one sum with this noise multiplier; 0: without noise."""
    if noise == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise, FEWEST_STEPS * noise, MOST_ENTRIES)


def compose_noises(noises: Sequence[float]) -> Event:
    """Return the event of several sums together, from their noise multipliers."""
    sums = [event_of_sum(noise) for noise in noises]
    return compose(*sums)


def combined_noise(noises: Sequence[float]) -> float:
    """Return the multiplier of all sums together, (sum of noise^-2)^(-1/2).

    It is 0 if one of the sums has no noise.
    """
    if not all(noises):
        return 0.0
    return 1 / math.sqrt(math.fsum(noise**-2 for noise in noises))
