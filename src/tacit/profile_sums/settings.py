"""Every choice of a fit. Those that a user can make are checked here. All choices are public.

The sums 1, 2a, 2b and 3 are those of docs/private-proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

from tacit.errors import ConfigError, PrivacyError

Mode = Literal["auto", "taste", "top-items"]

DEFAULT_EPSILON = 1.0
DEFAULT_DELTA = 1e-6
EPSILON_HELP = "Epsilon for a person's whole profile; inf: no privacy."
DELTA_HELP = "Probability by which any event may exceed the bound of epsilon, such as 1e-6."

STAR_SUM_SHARES = (0.25, 0.15, 0.6)
"""Shares of the three sums of stars (means, Gram matrix, factors) in the mu^2 of stars."""

LEAST_REFUSED_DELTA = 0.5
"""Least delta that is refused: to publish each person's rows with this chance would meet it."""


@dataclass(frozen=True)
class Settings:
    """The choices of one fit. Those that a user can make have the names of command-line options.

    Raises:
        ConfigError: A choice that a user can make is out of range.
    """

    epsilon: float = DEFAULT_EPSILON
    """Bound for one person's whole profile, added or removed; inf: the non-private variant."""
    delta: float = DEFAULT_DELTA
    """Delta of the guarantee."""
    mode: Mode = "auto"
    """Which sums are released: 'taste', 'top-items', or 'auto', which decides by the noisy counts.
    """
    like_at: float | None = None
    """Least rating that is a like; None: 70 % of the way up the scale."""
    stars: bool = False
    """Whether sums of stars are released, too."""
    star_share: float = 0.4
    """Share of the sums of stars in the mu^2 of all sums; unused without `stars`."""
    shares: tuple[float, float, float, float] = (0.25, 0.125, 0.125, 0.5)
    """Shares of sums 1, 2a, 2b and 3 in the mu^2 of lists."""
    presence: float = 0.5
    """What one person adds to the entry of sum 1 that counts people, before the clip at norm 1."""
    damping: float = 0.25
    """p: an item weighs frequency^-p in a profile, so that frequent items weigh less."""
    other_weight: float = 0.4
    """Weight in a profile of an item that is rated and not liked, above 0 to 1; a liked one has 1.
    """
    moment_clip: float = 0.2
    """Largest norm of one person's row in sum 2a."""
    feature_clip: float = 1.0
    """Largest norm of one person's table in sum 2b, divided by sqrt(number of features)."""
    item_clip: float = 0.6
    """Largest norm of one person's tastes in sum 3, divided by sqrt(number of directions)."""
    mean_row: float = 0.3
    """Weight of a person's tastes in the last row of sum 3, from which the mean taste is made."""
    directions: int = 12
    """Largest number of directions of taste."""
    edge: float = 0.8
    """A direction is kept if its singular value exceeds this share of the largest singular value of
    noise alone. Two directions are always kept."""
    personal_clip: float = 2.5
    """Largest norm of the tastes z V (`scoring.personal_scores`) that a list is made from, divided
    by sqrt(number of directions)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _as_float("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _as_float("delta", self.delta))
        if not self.epsilon > 0:
            raise ConfigError(f"epsilon is above 0, or inf without privacy; got {self.epsilon}.")
        if not 0 < self.delta < 1:
            raise ConfigError(
                f"delta is a chance above 0 and below 1, such as 1e-6; got {self.delta}."
            )
        if self.delta >= LEAST_REFUSED_DELTA:
            raise ConfigError(
                f"delta {self.delta:g} promises nothing: to publish each person's rows with this "
                "chance would meet it. Give one far below 1 divided by the number of people, such "
                "as 1e-6."
            )
        if self.mode not in get_args(Mode):
            raise ConfigError(f"mode is 'auto', 'taste' or 'top-items'; got {self.mode!r}.")
        if self.like_at is not None and not math.isfinite(self.like_at):
            raise ConfigError(f"like_at is a finite number of stars; got {self.like_at}.")
        are_four_positive = len(self.shares) == 4 and all(share > 0 for share in self.shares)
        if not are_four_positive or not math.isclose(math.fsum(self.shares), 1):
            raise ConfigError(
                f"shares are four numbers above 0 that add up to 1; got {self.shares}."
            )
        if not 0 < self.star_share < 1:
            raise ConfigError(f"star_share lies between 0 and 1; got {self.star_share}.")
        if not 0 < self.presence < 1 or self.directions < 2:
            raise ConfigError("presence lies between 0 and 1, and directions are 2 or more.")
        self._check_weights()

    def _check_weights(self) -> None:
        """Raise ConfigError for a weight or the norm of a clip that is out of its range."""
        if not 0 < self.other_weight <= 1:
            raise ConfigError(
                "other_weight lies above 0 and is at most 1, the weight of a liked item; got "
                f"{self.other_weight}."
            )
        clips = {
            "moment_clip": self.moment_clip,
            "feature_clip": self.feature_clip,
            "item_clip": self.item_clip,
            "personal_clip": self.personal_clip,
        }
        for name, norm in clips.items():
            if not 0 < norm < math.inf:
                raise ConfigError(f"{name} is a finite norm above 0; got {norm}.")
        weights = {"damping": self.damping, "mean_row": self.mean_row, "edge": self.edge}
        for name, weight in weights.items():
            if not 0 <= weight < math.inf:
                raise ConfigError(f"{name} is a finite number, 0 or more; got {weight}.")

    @property
    def all_shares(self) -> tuple[float, ...]:
        """Shares of all sums in the mu^2 of the fit, those of stars last; they add up to 1."""
        if not self.stars:
            return self.shares
        list_shares = [(1 - self.star_share) * share for share in self.shares]
        star_shares = [self.star_share * share for share in STAR_SUM_SHARES]
        return (*list_shares, *star_shares)

    @property
    def is_private(self) -> bool:
        """Whether epsilon is finite."""
        return math.isfinite(self.epsilon)


def _as_float(name: str, value: object) -> float:
    """Return a real number as a Python float, which JSON can store, unlike some numbers of NumPy.

    Raises:
        ConfigError: The value is no real number.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigError(f"{name} is a number; got {value!r}.")
    return float(value)


def refuse_filter(epsilon: float, *, per_item: int, per_user: int) -> None:
    """Raise PrivacyError for a private fit that leaves out items or people with few ratings.

    Args:
        epsilon: Epsilon of the fit; inf: not private.
        per_item: Least number of ratings of an item that stays; 0 or 1: all stay.
        per_user: Least number of ratings of a person who stays; 0 or 1: all stay.
    """
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
