"""Sum 1: how often each item is used and liked, and how many people there are.

Sees       all rows.
Releases   one entry for the weight of each context item (across domains only), one for the likes of
           each target item, and one for the number of people.
Clips      one person's whole vector at norm 1: a vector of context items (across domains only), one
           of likes, and the entry `presence`.
Makes      shares of likes, which are an item's popularity; and the damping and mean features by
           which profiles are computed.

An item's share of likes is the mean, over people, of its entry in the person's row of likes scaled
to norm 1: each of a person's |L| likes counts 1 / sqrt(|L|). If everybody likes 25 items, an item
that everybody likes has the share 1 / sqrt(25) = 0.2.
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
"""With this noisy number of people or fewer, no sum of lists is released after the counts."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """The release of sum 1 as it was drawn."""

    values: Floats
    """(context items + target items + 1,) noisy sums. The last one is the number of people times
    `Settings.presence`."""
    context_items: int
    """Number of entries of context items; 0 in one domain, where they have none of their own."""
    deviation: float
    """Standard deviation of the noise in each entry."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Shares of sum 1, made from its release by `make_counts`. Some may be negative."""

    context: Floats
    """(context items,) mean over people of w / |w|, with w the weights of their context items (1 if
    liked, else `other_weight`). In one domain the same as `targets`."""
    targets: Floats
    """(target items,) shares of likes, as the docstring of this file defines them."""
    deviation: float
    """Standard deviation of the noise in each share."""
    people: float
    """Noisy number of people, 1 or more."""
    too_few: bool
    """Whether there are too few people for further sums of lists."""
    deviations_by_item: Floats | None = None
    """(target items,) standard deviation of the noise in each share, in a plan whose items came at
    different fits; None: `deviation` for all."""

    @property
    def target_deviations(self) -> Floats:
        """(target items,) standard deviation of the noise in each share of likes."""
        if self.deviations_by_item is not None:
            return self.deviations_by_item
        return np.full(len(self.targets), self.deviation)

    @property
    def means(self) -> Floats:
        """(target items,) shares of likes for serving, at least half their noise's deviation."""
        return np.maximum(self.targets, self.target_deviations / 2)

    @property
    def floored_context(self) -> Floats:
        """(context items,) shares for damping, at least half the deviation of their noise."""
        return np.maximum(self.context, self.deviation / 2)


def norm_of_items(settings: Settings, *, one_domain: bool) -> float:
    """Return the norm to which a person's entries of items are scaled, in each domain by itself.

    These entries and the entry `presence` together have norm 1.
    """
    vectors = 1 if one_domain else 2
    return math.sqrt((1 - settings.presence**2) / vectors)


def counts_mechanism(entries: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of a sum of vectors of norm 1 with this number of entries."""
    return SumRelease(noise_multiplier, entries, norm=1.0, resolution=resolution_for(1.0))


def sum_counts(
    people: Profiles, context_items: int, mechanism: SumRelease, settings: Settings
) -> NDArray[Any]:
    """Sum everybody's clipped vector, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        context_items: Number of entries of context items; 0 in one domain.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
        settings: Choices of the fit.
    """
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
        context_items: Number of context items; not used in one domain.
        target_items: Number of target items.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
        settings: Choices of the fit.
    """
    own_entries = 0 if people.one_domain else context_items
    mechanism = counts_mechanism(own_entries + target_items + 1, noise_multiplier)
    add = partial(sum_counts, context_items=own_entries, mechanism=mechanism, settings=settings)
    released = mechanism.add_noise(people.total(add))[:, 0]
    return CountTable(released, own_entries, mechanism.deviation)


def make_counts(table: CountTable, settings: Settings) -> Counts:
    """Divide the released sum by the noisy number of people, and by `norm_of_items`.

    This is post-processing. A smaller number of people than 50 (without noise, than 1) is replaced
    by 50 (1).
    """
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
    """Compute the damping of context items and the mean features of a profile.

    With c = `counts.floored_context`, m the mean of c, and F (context items, f) features:

        damping_i = (max(c_i, median c, m / 1000) / m)^-settings.damping; 1 if m is 0
        w_i       = counts.context_i * damping_i
        mean      = F' w / max(sum w, 1e-6)
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
