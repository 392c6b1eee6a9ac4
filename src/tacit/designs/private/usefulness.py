"""Whether lists are worth making, before any data and from what was released. All free.

Source   rules of thumb, fitted on MovieLens and generated people: docs/private.md says how often
         they were right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from tacit.designs.private.releases import each_of
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
_PEOPLE, _ACROSS = 115.0, 88.0  # in one domain, where popularity is harder to beat, and across
_POPULAR = 20
_LIST = 10
_DRAWS = 2000
LEAST_POPULAR, LEAST_GAIN = 0.9, 0.02


@dataclass(frozen=True)
class Usefulness:
    """effective: people / sigma, the noise multiplier of the whole release; None without noise.
    needed: people from which lists are expected to beat popularity. popular: how far the most
    popular items stand above the largest noise. gain: of lists over popularity by the released
    numbers. The last two exist for taste lists alone."""

    people: float
    effective: float | None
    needed: int
    popular: float | None = None
    gain: float | None = None

    @property
    def missing(self) -> int:
        """People, until lists are expected to beat popularity."""
        return 0 if self.worthwhile else max(0, math.ceil(self.needed - self.people))

    @property
    def worthwhile(self) -> bool:
        """Whether lists are expected to beat private popularity."""
        if self.effective is None:
            return True
        if self.popular is None or self.gain is None:
            return self.people >= self.needed
        return self.popular >= LEAST_POPULAR and self.gain >= LEAST_GAIN


def people_needed(items: int, sigma: float, *, joint: bool = True) -> int:
    """From how many people lists beat exact, non-private popularity. sigma: of the release.
    joint: in one domain."""
    return math.ceil((_PEOPLE if joint else _ACROSS) * _largest_noise(items) * sigma)


def popular_above_noise(shares: Floats, deviation: float) -> float:
    """P: mean of the largest released shares of likes against the largest noise among them."""
    largest = np.sort(shares)[-min(_POPULAR, len(shares)) :]
    return float(largest.mean()) / deviation / _largest_noise(len(shares))


def people_needed_after(people: float, popular: float, items: int) -> int:
    """The number of people at which the popular items would stand out, from P below its bound."""
    tail = _POPULAR / items
    alone = float(norm.pdf(norm.isf(tail))) / tail if tail < 0.5 else 0.0  # what noise shows
    seen = (popular * _largest_noise(items)) ** 2 - alone**2
    return math.ceil(people * _largest_noise(items) / math.sqrt(max(seen, 0.25)))


def _largest_noise(items: int) -> float:
    """About the largest of so many standard normal numbers."""
    return math.sqrt(2 * math.log(max(items, 2)))


def list_gain(means: Floats, item_tastes: Floats) -> float | None:
    """L: what personal lists of ten add to popularity, for tastes as the release has them."""
    if len(means) < _LIST:
        return None
    draws = np.random.default_rng(0).standard_normal((_DRAWS, item_tastes.shape[1]))
    usual = float(np.sort(means)[-_LIST:].sum())
    blocks = [
        np.partition(means + part @ item_tastes.T, -_LIST, axis=1)[:, -_LIST:].sum(axis=1)
        for part in np.array_split(draws, 20)
    ]
    return float(np.concatenate(blocks).mean()) / usual - 1


@dataclass(frozen=True)
class Plan:
    """What to expect of `users` people and `items` items. epsilon, delta: of one release, and
    lifetime_epsilon of all `releases` at the same delta. sigma: noise multiplier of one release.
    effective: users / sigma. needed: people from which lists are expected to beat popularity."""

    users: int
    items: int
    epsilon: float
    delta: float
    releases: int
    lifetime_epsilon: float
    sigma: float
    effective: float
    needed: int

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.users)

    @property
    def worthwhile(self) -> bool:
        return self.users >= self.needed


def plan(
    users: int,
    items: int,
    epsilon: float,
    *,
    delta: float = 1e-6,
    releases: int = 1,
    across: bool = False,
) -> Plan:
    """Before any data. across: from one domain to another. epsilon: of all releases together,
    which share it alike; their Gaussian noise adds up in mu^2, also where a release looks at
    earlier ones."""
    if min(users, items) < 2 or releases < 1:
        raise ConfigError("A plan is for 2 or more people and items and 1 release or more.")
    settings = Settings(epsilon=epsilon, delta=delta)
    if not settings.private:
        raise ConfigError("A plan needs a finite epsilon: without noise any number of people does.")
    each = each_of(epsilon, delta, releases)
    sigma = overall(noise_multipliers(Settings(each, delta)))
    needed = people_needed(items, sigma, joint=not across)
    return Plan(users, items, each, delta, releases, epsilon, sigma, users / sigma, needed)
