"""Sum 1: how often each item is used and liked, and how many people there are.

Sees       all rows.
Releases   one entry for an item's weight among context items (across domains), one for its likes
           among target items, and one for the number of people.
Clips      one person's whole vector at norm 1: two unit vectors of items and the entry `presence`.
Makes      shares of likes, from which everybody's popularity is served; and the centre from which
           profiles are measured.

An item's share of likes is the mean over people of its entry in their unit row of likes: each of a
person's |L| likes counts 1 / sqrt(|L|). An item that everybody likes among 25 has the share 0.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.profile_kernels.types import ProfileCentre, Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

Floats = NDArray[np.float64]

FEWEST_PEOPLE = 50
"""At a noisy number of people of at most this, no sum of lists is made after the counts."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """The release of sum 1 as it was drawn."""

    values: Floats
    """(context items + target items + 1,) noisy sums, the number of people last."""
    context_items: int
    """How many entries context items have of their own; 0 in one domain."""
    deviation: float
    """Standard deviation of the noise in each entry."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The release of sum 1, over the number of people; unbiased, so that some may be negative."""

    context: Floats
    """(context items,) mean over people of their unit row of weights of context items: w / |w|. In
    one domain the same as `targets`."""
    targets: Floats
    """(target items,) shares of likes: mean over people of their unit row of likes, in which each
    of |L| likes is 1 / sqrt(|L|)."""
    deviation: float
    """Standard deviation of the noise in each share."""
    people: float
    """Noisy number of people, 1 or more."""
    too_few: bool
    """Whether there are too few people for further sums."""
    deviations_of_new: Floats | None = None
    """(target items,) standard deviation of each share where a plan has new items; None: all have
    `deviation`."""

    @property
    def target_deviations(self) -> Floats:
        """(target items,) standard deviation of the noise in each share of likes."""
        if self.deviations_of_new is not None:
            return self.deviations_of_new
        return np.full(len(self.targets), self.deviation)

    @property
    def means(self) -> Floats:
        """(target items,) shares for serving: at least half the noise."""
        return np.maximum(self.targets, self.target_deviations / 2)

    @property
    def floored_context(self) -> Floats:
        """(context items,) shares for damping: at least half the noise."""
        return np.maximum(self.context, self.deviation / 2)


def norm_of_items(settings: Settings, *, one_domain: bool) -> float:
    """Norm of the items in a person's vector, whose whole norm is 1; of each domain if two."""
    vectors = 1 if one_domain else 2
    return math.sqrt((1 - settings.presence**2) / vectors)


def counts_mechanism(entries: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the counts, at norm 1."""
    return SumRelease(noise_multiplier, entries, norm=1.0, resolution=resolution_for(1.0))


def sum_counts(
    people: Profiles, context_items: int, mechanism: SumRelease, settings: Settings
) -> NDArray[Any]:
    """Sum everybody's clipped vector, before noise. Not protected: never release it."""
    from tacit.engine.profile_kernels.counts import add_counts  # numba is only needed here

    total = mechanism.zero_table()
    items_norm = norm_of_items(settings, one_domain=people.one_domain)
    clip = clip_rule(mechanism)
    add_counts(people, context_items, items_norm, settings.presence, clip, total[:, 0])
    return total


def release_count_table(
    people: People,
    context_items: int,
    target_items: int,
    noise_multiplier: float,
    settings: Settings,
) -> CountTable:
    """Release sum 1.

    Args:
        people: Everybody's profile.
        context_items: How many context items there are.
        target_items: How many target items there are.
        noise_multiplier: Noise multiplier of the sum; 0 without noise.
        settings: Choices of the fit.
    """
    own_entries = 0 if people.one_domain else context_items
    mechanism = counts_mechanism(own_entries + target_items + 1, noise_multiplier)
    add = partial(sum_counts, context_items=own_entries, mechanism=mechanism, settings=settings)
    released = mechanism.add_noise(people.total(add))[:, 0]
    return CountTable(released, own_entries, mechanism.deviation)


def make_counts(table: CountTable, settings: Settings) -> Counts:
    """Divide the released sum by the noisy number of people: post-processing."""
    noisy_people = float(table.values[-1]) / settings.presence
    fewest = FEWEST_PEOPLE if table.deviation else 1
    n_people = max(noisy_people, float(fewest))
    scale = norm_of_items(settings, one_domain=not table.context_items) * n_people
    shares = table.values[:-1] / scale
    targets = shares[table.context_items :]
    return Counts(
        context=shares[: table.context_items] if table.context_items else targets,
        targets=targets,
        deviation=table.deviation / scale,
        people=n_people,
        too_few=table.deviation > 0 and noisy_people <= FEWEST_PEOPLE,
    )


def profile_centre(counts: Counts, features: FeatureTables, settings: Settings) -> ProfileCentre:
    """Damp frequent context items, and average the features of a profile.

    With c the floored shares of context items, m their mean and F their features:

        damping_i = (max(c_i, median c, m / 1000) / m)^-settings.damping
        mean      = F' (counts.context * damping), divided by the sum of these weights
    """
    floored = counts.floored_context
    mean = float(floored.mean())
    if mean > 0:
        least = max(float(np.median(floored)), 1e-3 * mean)
        damping = (np.maximum(floored, least) / mean) ** -settings.damping
    else:
        damping = np.ones(len(floored))
    weights = counts.context * damping
    total = max(float(weights.sum()), 1e-6)
    return ProfileCentre(damping, features.context.T @ (weights / total))
