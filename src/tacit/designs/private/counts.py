"""Sum 1: how many people there are, and how often each item is used and liked.

Sees       all rows.
Releases   one entry for an item's weight among context items (across domains), one for its likes
           among target items, and one for the number of people.
Clips      one person's whole vector at norm 1: two unit vectors of items and the entry `presence`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private.people import People
from tacit.designs.private.settings import LEAST_PEOPLE, Settings, step
from tacit.engine import profile_sums_compiled as kernels
from tacit.engine.profile_sums_compiled import Clip, Profiles
from tacit.mechanisms.sums import SumRelease

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """What sum 1 released. context, targets: shares of people, unbiased, some may be negative.
    deviation: of the noise in each. people: noisy number, 1 or more."""

    context: Floats
    targets: Floats
    deviation: float
    people: float
    too_few: bool

    @property
    def means(self) -> Floats:
        """(target items,) shares for serving: at least half the noise."""
        return np.maximum(self.targets, self.deviation / 2)

    @property
    def floored(self) -> Floats:
        """(context items,) the same, for damping."""
        return np.maximum(self.context, self.deviation / 2)


def item_share(settings: Settings, joint: bool) -> float:
    """Norm of each unit vector of items in a person's contribution."""
    return math.sqrt((1 - settings.presence**2) / (1 if joint else 2))


def release(entries: int, noise: float) -> SumRelease:
    """The mechanism of sum 1."""
    return SumRelease(noise, entries, norm=1.0, resolution=step(1.0))


def clip_of(mechanism: SumRelease) -> Clip:
    """How the kernels clip for a mechanism."""
    most = mechanism.squared_norm if mechanism.noise_multiplier else -1
    return Clip(mechanism.norm, mechanism.resolution, most)


def total(
    people: Profiles, context: int, mechanism: SumRelease, settings: Settings
) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    summed = mechanism.empty()
    share = item_share(settings, people.joint)
    kernels.counts(people, context, share, settings.presence, clip_of(mechanism), summed[:, 0])
    return summed


def count(people: People, context: int, targets: int, noise: float, settings: Settings) -> Counts:
    """context, targets: how many items there are on each side."""
    separate = 0 if people.joint else context
    mechanism = release(separate + targets + 1, noise)
    add = partial(total, context=separate, mechanism=mechanism, settings=settings)
    noisy = mechanism.noisy(people.total(add))[:, 0]
    return counts_of(noisy, separate, mechanism, settings)


def counts_of(noisy: Floats, context: int, mechanism: SumRelease, settings: Settings) -> Counts:
    """Post-processing of the released vector."""
    raw = float(noisy[-1]) / settings.presence
    few = mechanism.noise_multiplier > 0 and raw <= LEAST_PEOPLE
    people = max(raw, float(LEAST_PEOPLE) if mechanism.noise_multiplier else 1.0)
    share = item_share(settings, not context) * people
    shares = noisy[:-1] / share
    first = shares[:context] if context else shares
    return Counts(first, shares[context:], mechanism.deviation / share, people, few)
