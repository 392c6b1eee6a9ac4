"""What a fit guarantees, to whom, on what evidence; and whether its lists are worth making.

The latter is computed before any data and from what was released: it is free.

Source   rules of thumb, fitted on MovieLens and generated people; docs/private.md has their errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private.releases import Fit, each_of, total
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.recommenders.inputs import assumed, condition

Floats = NDArray[np.float64]
_PEOPLE, _ACROSS = 115.0, 88.0  # in one domain, where popularity is harder to beat, and across
_POPULAR = 20
_LIST = 10
_DRAWS = 2000
LEAST_POPULAR, LEAST_GAIN = 0.9, 0.02
_UNIT = Adjacency("user", "add or remove")
_NAME = "Private lists from noisy sums over people"
_SOURCES = (
    "docs/private.md, for the sums and the proof",
    "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the noise",
    "Dong, Roth, Su: Gaussian differential privacy (2022), for epsilon and delta",
    "Smith, Thakurta: Fully adaptive composition for GDP (2022), for several fits",
    "Kearns, Pai, Roth, Ullman: Mechanism design in large games (2014), for joint privacy",
)
_LIFETIME = "each further fit on the same people costs more: 1 / sigma^2 adds up over fits"


def without_noise() -> Guarantee:
    """The same at epsilon inf."""
    return Guarantee(
        name=f"{_NAME}, without noise",
        sentence="Nobody is protected: lists depend on everybody's rows without any noise.",
        protects="nobody",
        adjacency=_UNIT,
        against="other people, who see their lists and may have the model file",
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=f"per fit: {_LIFETIME}",
        assumptions=(),
        not_covered=("everything: this is the non-private variant, for comparison",),
        sources=_SOURCES,
    )


def card(
    settings: Settings, *, taken: Sequence[str] = (), useful: str = "", fits: Sequence[Fit] = ()
) -> Guarantee:
    """Of the last of some fits, and all before it; `fits` empty: of one. taken: `inputs.TAKEN`.
    useful: what was released about how useful lists are, in words: free, and none of the claim."""
    fits = fits or (Fit.new(settings),)
    if not all(all(fit.noises) for fit in fits):
        return without_noise()
    delta, several = settings.delta, len(fits) > 1
    epsilon, alone = total(fits, delta), total(fits[-1:], delta)
    sentence = (
        f"What all others get to see is ({epsilon:.6g}, {delta:g})-differentially private "
        "for each person's whole profile, in all domains together."
    )
    if several:
        sentence += (
            f" That is {len(fits)} fits together; the last one alone has epsilon {alone:.6g}."
        )
    sentence += condition(taken) + (f" {useful}" if useful else "")
    return Guarantee(
        name=_NAME,
        sentence=sentence,
        protects="one person's whole profile, present or absent",
        adjacency=_UNIT,
        against=(
            "all other people together, with their lists, explanations and the model file, which "
            "may be given to everybody: they may know everything but that person's rows"
        ),
        trust=Trust.PLATFORM,
        basis=Basis.CONDITIONAL if taken else Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=f"{f'all {len(fits)} fits' if several else 'one fit'}: {_LIFETIME}",
        assumptions=(
            *assumed("the catalogue, its domains and metadata, and the scale of stars", taken),
            "item metadata were made without these people's ratings or events",
            (
                f"{len(fits[-1].noises)} noisy sums over people, all charged before the first; in "
                "each, all that one person adds is clipped together, to integers, and Gaussian "
                "noise comes from the operating system's generator, by an exact integer sampler"
            ),
            "each sum's noise is drawn once: a fit that stops before its end publishes nothing",
            (
                "a person's own rows are used in the clear for their own list and nowhere else "
                "after the release"
            ),
        ),
        not_covered=(
            "a person's own list, seen by another person: it is made from their own rows",
            "the platform, which holds everybody's rows",
            "reactions of people to their lists that become rows of a later fit",
            "a profile that is changed rather than removed: at most twice the mu of a removal",
            "what other people's rows reveal about a person even without that person's rows",
        ),
        sources=_SOURCES,
    )


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
    earlier ones. ConfigError for no people, or for an epsilon that needs no noise."""
    if min(users, items) < 2 or releases < 1:
        raise ConfigError("A plan is for 2 or more people and items and 1 release or more.")
    settings = Settings(epsilon=epsilon, delta=delta)
    if not settings.private:
        raise ConfigError("A plan needs a finite epsilon: without noise any number of people does.")
    each = each_of(epsilon, delta, releases)
    sigma = overall(noise_multipliers(Settings(each, delta)))
    needed = people_needed(items, sigma, joint=not across)
    return Plan(users, items, each, delta, releases, epsilon, sigma, users / sigma, needed)
