"""Every public choice of the release, and what its sums cost.

Guarantee   The four events are declared before the first sum. Their noise multipliers are the same
            whichever mode an earlier sum leads to; only what is asked may depend on earlier sums.
            So Gaussian differential privacy composes them as a list that was fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import DiscreteGaussianVector, Event, NonPrivate, compose
from tacit.errors import ConfigError, PrivacyError

Mode = Literal["auto", "taste", "top-items"]

LEAST_STEPS = 2048
"""Fewer than the steps of any norm here (`step` gives 4,096 or more)."""
MOST_ENTRIES = 2**63 - 1
"""No array has more."""
STAR_SHARES = (0.25, 0.15, 0.6)
"""Of means, Gram matrix and factors in mu^2 of stars."""
LEAST_PEOPLE = 50
"""At a noisy number of people of at most this, no sum of lists after the counts is made."""


@dataclass(frozen=True)
class Settings:
    """epsilon: inf for the non-private variant. mode: 'auto' decides from the noisy number of
    people. like_at: the least rating that is a like; None: 70 % of the way up the scale.

    stars: whether stars are released, too; star_share: of the whole mu^2, for them, divided
    by `STAR_SHARES`.
    shares: of the four sums of lists in mu^2. presence: norm of the entry for being there. damping:
    how much less frequent items weigh in a profile. other_weight: of an item rated and not liked.
    moment_clip, feature_clip, item_clip: norms of sums 2a, 2b, 3 (times sqrt(f), sqrt(k)).
    mean_row: weight of a person's tastes themselves in sum 3. directions: most of them. edge: of
    the largest singular value of noise, what counts as a direction. personal_clip: largest norm of
    the tastes that a list is made from, times sqrt(k).
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    mode: Mode = "auto"
    like_at: float | None = None
    stars: bool = False
    star_share: float = 0.4
    shares: tuple[float, float, float, float] = (0.25, 0.125, 0.125, 0.5)
    presence: float = 0.5
    damping: float = 0.25
    other_weight: float = 0.4
    moment_clip: float = 0.2
    feature_clip: float = 1.0
    item_clip: float = 0.7
    mean_row: float = 0.3
    directions: int = 12
    edge: float = 0.8
    personal_clip: float = 2.5

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))  # numpy's numbers are no JSON
        for wrong, message in (
            (not self.epsilon > 0,
             f"epsilon is above 0, or inf without privacy; got {self.epsilon}."),
            (not 0 < self.delta < 1,
             f"delta is a chance above 0 and below 1, such as 1e-6; got {self.delta}."),
            (self.mode not in get_args(Mode),
             f"mode is 'auto', 'taste' or 'top-items'; got {self.mode!r}."),
            (self.like_at is not None and not math.isfinite(self.like_at),
             f"like_at is a finite number of stars; got {self.like_at}."),
            (len(self.shares) != 4 or not all(share > 0 for share in self.shares)
             or not math.isclose(math.fsum(self.shares), 1),
             f"shares are four numbers above 0 that add up to 1; got {self.shares}."),
            (not 0 < self.star_share < 1,
             f"star_share lies between 0 and 1; got {self.star_share}."),
            (not 0 < self.presence < 1 or self.directions < 2,
             "presence lies between 0 and 1, and directions are 2 or more."),
        ):  # fmt: skip
            if wrong:
                raise ConfigError(message)

    @property
    def all_shares(self) -> tuple[float, ...]:
        """Of every sum in mu^2, those of stars last if there are any; they add up to 1."""
        if not self.stars:
            return self.shares
        of_lists = ((1 - self.star_share) * share for share in self.shares)
        return (*of_lists, *(self.star_share * share for share in STAR_SHARES))

    @property
    def private(self) -> bool:
        return math.isfinite(self.epsilon)


def noise_multipliers(settings: Settings) -> list[float]:
    """One for each sum; zeros at epsilon inf. Together they cost (epsilon, delta)."""
    if not settings.private:
        return [0.0] * len(settings.all_shares)

    def parts(noise: float) -> list[float]:
        return [noise / math.sqrt(share) for share in settings.all_shares]

    noise = smallest_noise(
        lambda noise: compose(*map(event, parts(noise))),
        epsilon=settings.epsilon,
        delta=settings.delta,
        accountant=GDPAccountant,
    )
    return parts(noise)


def events(settings: Settings) -> tuple[Event, ...]:
    """What a fit costs each person, whatever it goes on to release."""
    return tuple(map(event, noise_multipliers(settings)))


def event(noise: float) -> Event:
    if noise == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise, LEAST_STEPS * noise, MOST_ENTRIES)


def overall(noises: Sequence[float]) -> float:
    """sigma: the noise multiplier of all sums together, 0 without noise."""
    if not all(noises):
        return 0.0
    return 1 / math.sqrt(math.fsum(noise**-2 for noise in noises))


def step(size: float) -> float:
    """A resolution: a power of two, `size` being 4,096 to 8,191 of it."""
    return 2.0 ** (math.floor(math.log2(size)) - 12)


def refuse_filter(epsilon: float, *, per_item: int, per_user: int) -> None:
    """Raise PrivacyError for a private fit to items or people chosen by their ratings' number."""
    if math.isfinite(epsilon) and per_user > 1:
        raise PrivacyError(
            "--per-user leaves people out by how many ratings they have, and an item that only "
            "such people rated goes with them: no noise hides that. Leave it out."
        )
    if math.isfinite(epsilon) and per_item > 1:
        raise PrivacyError(
            "--per-item leaves items out by how many people rated them: one person can decide "
            "that, and no noise hides it. Leave it out; a private fit serves every item."
        )
