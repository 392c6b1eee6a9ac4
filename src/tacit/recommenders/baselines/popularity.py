"""Popularity from exact counts, without privacy, and from noisy counts.

`PrivatePopularity` makes the same list for everybody, apart from the items that a person has rated.
A personalised private recommender has to be better than this one.

Sees       all ratings.
Releases   at each fit, one scaled count of likes of each item, with Gaussian noise.
Clips      each of a person's n likes is counted as 1 / sqrt(n), so that the person's contribution
           has Euclidean length 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import Event
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.mechanisms.sums import Contributions, SumRelease
from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound
from tacit.recommenders.base import Floats, History, without_people
from tacit.recommenders.baselines.baseline import Baseline
from tacit.recommenders.fits_in_process import UNCOUNTED_FITS, CountedFit, FitCounter
from tacit.recommenders.headers import Arrays, names_from_header, read_floats
from tacit.recommenders.public_facts import (
    CONDITIONS,
    ONE_ID_EACH,
    TYPES_ARE_PUBLIC,
    UNKNOWN_SPENDING,
    describe_assumptions,
    describe_condition,
    facts_read_off,
)


@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Baseline):
    """An item's score is the number of its ratings or likes, the same for everybody. No privacy.

    Args:
        likes: Whether likes alone are counted, and not all ratings.
    """

    likes: bool = False

    kind = "popularity"

    def fit(self, ratings: Ratings) -> Popularity:
        """Count the ratings, or the likes, of each item."""
        self._learn_items(ratings)
        counted = ratings.items[ratings.likes] if self.likes else ratings.items
        self.counts_ = np.bincount(counted, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        return np.broadcast_to(self.counts_, rows.shape)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.counts_ = read_floats(arrays, "counts", len(self.item_ids_))


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePopularity(Baseline):
    """An item's score is a noisy count of scaled likes (see the module), the same for everybody.

    Each fit is one release. The card states the cost of all fits of this object and all fits of
    the same ratings object in this process together.

    Args:
        epsilon: Epsilon of one fit, for adding or removing a person's whole profile; inf: no noise.
        delta: Delta of the guarantee.
        domain: The only domain whose items are counted and recommended; None: all domains.
    """

    epsilon: float
    delta: float = 1e-6
    domain: str | None = None

    fits_: tuple[CountedFit, ...] = field(default=(), init=False)
    """All fits whose cost the card states, the newest last. Their costs are noise multipliers."""

    kind = "private-popularity"
    unsaved = ("epsilon",)
    __getstate__ = without_people

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise ConfigError(
                "epsilon is above 0, or inf for no privacy, and delta lies between 0 and 1; got "
                f"{self.epsilon} and {self.delta}."
            )

    def fit(self, ratings: Ratings) -> PrivatePopularity:
        """Release one noisy count of likes for each item."""
        chosen = self._learn_items(ratings, self.domain)
        self.assumed_public_ = facts_read_off(chosen)
        if self.is_clone and not self.fits_:
            self.assumed_public_ = (*self.assumed_public_, UNKNOWN_SPENDING)
        likes = chosen.where(chosen.likes)
        # (likes,) for each like, the number of likes of its person
        likes_of_person = np.diff(likes.offsets)[likes.users]
        values = 1 / np.sqrt(likes_of_person)[:, None]
        mechanism = self._mechanism(chosen.n_items)
        if mechanism.noise_multiplier > 0:
            new_fit = CountedFit.of_cost(mechanism.noise_multiplier)
            self.fits_ = FITS_IN_PROCESS.add(ratings, new_fit, self.fits_)
        else:
            self.fits_ = ()
        self.spent_ = self.epsilon, self.delta
        released = mechanism([Contributions(likes.users, likes.items, values)])
        self.counts_: Floats = released[:, 0]
        return self

    def event(self, items: int) -> Event:
        """Return the event of one fit to this number of items, for a privacy accountant."""
        return self._mechanism(items).event

    def _mechanism(self, items: int) -> SumRelease:
        """Make the mechanism with the smallest noise for this epsilon; without noise for inf."""
        if math.isinf(self.epsilon):
            return SumRelease(0.0, items)
        noise = smallest_noise(
            lambda noise: SumRelease(noise, items).event,
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=GDPAccountant,
        )
        return SumRelease(noise, items)

    def _score(self, history: History) -> Floats:
        return self.counts_

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        return np.broadcast_to(self.counts_, rows.shape)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card, which states the epsilon of all counted fits together."""
        self._require_fitted()
        epsilon, delta = self.spent_
        if math.isinf(epsilon):
            return (_card_without_noise(),)
        if len(self.fits_) > 1:
            epsilon = total_epsilon(self.fits_, delta)
        return (_card_with_noise(epsilon, delta, self.assumed_public_, len(self.fits_)),)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts_}

    def _header(self) -> dict[str, Any]:
        """Return epsilon (None for infinity), delta, the counted fits and the assumptions."""
        epsilon, delta = self.spent_  # as fitted: the parameters may have changed since
        return {
            "epsilon": epsilon if math.isfinite(epsilon) else None,
            "delta": delta,
            "fits": [fit.to_row() for fit in self.fits_],
            "taken": list(self.assumed_public_),
        }

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.counts_ = read_floats(arrays, "counts", len(self.item_ids_))

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Make the fitted model that a file's header and arrays describe.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: Header and arrays do not fit
                together, or name a condition that this version does not know.
        """
        stored_epsilon = header["epsilon"]  # None for infinity
        delta = header["delta"]
        # The check of types accepts only a finite epsilon, so infinity is set below.
        finite_epsilon = 1.0 if stored_epsilon is None else stored_epsilon
        settings = header["settings"] | {"epsilon": finite_epsilon, "delta": delta}
        model = super().from_parts(header | {"settings": settings}, arrays)
        epsilon = math.inf if stored_epsilon is None else stored_epsilon
        model.epsilon = epsilon
        model.spent_ = (epsilon, delta)
        model.fits_ = tuple(CountedFit.from_row(row) for row in header["fits"])
        if math.isfinite(epsilon) != bool(model.fits_):
            raise ValueError("a finite epsilon has counted fits, an infinite one has none")
        model.assumed_public_ = names_from_header(header["taken"])
        if not set(model.assumed_public_) <= set(CONDITIONS):
            raise ValueError("it assumes something to be public that this tacit does not know")
        return model


FITS_IN_PROCESS: FitCounter[CountedFit] = FitCounter()
"""Fits of all objects of `PrivatePopularity` in this process."""


def total_epsilon(fits: Sequence[CountedFit], delta: float) -> float:
    """Compute the epsilon at `delta` of all fits together, by Gaussian differential privacy."""
    accountant = GDPAccountant()
    for fit in fits:
        accountant.add(SumRelease(fit.cost, 1).event)
    return accountant.epsilon(delta)


# Texts of both cards.
_NAME = "Private popularity: one noisy count of likes"
_UNIT = Adjacency("user", "add or remove")
_AGAINST = "everybody who has the list or the model file and knows all other ratings"
_LIFETIME = "the counted fits: fitting again on the same people spends again"
_NOT_COVERED = (
    "the platform, which holds everybody's ratings",
    "that a person's own list leaves out what they have rated",
)
_SOURCES = (
    "Canonne, Kamath, Steinke: The discrete Gaussian (2020), for the noise",
    "Dong, Roth, Su: Gaussian differential privacy (2022), for epsilon and delta",
)


def _card_with_noise(
    epsilon: float, delta: float, assumed_public: tuple[str, ...], n_fits: int
) -> Guarantee:
    """Make the card of the fits with noise.

    Args:
        epsilon: Epsilon of all counted fits together.
        delta: Delta at which this epsilon holds.
        assumed_public: Names in `CONDITIONS` of the facts that are assumed to be public.
        n_fits: Number of counted fits.
    """
    together = f" That is {n_fits} fits together." if n_fits > 1 else ""
    noise = (
        "a person's likes are scaled to length 1 before they are added; Gaussian noise on "
        "integers from the operating system's generator, by an exact sampler"
    )
    public = describe_assumptions("the catalogue and the scale of stars", assumed_public)
    return Guarantee(
        name=_NAME,
        sentence=(
            f"The list, the same for everybody, is ({format_upper_bound(epsilon)}, "
            f"{format_upper_bound(delta)})-differentially private for each person's whole "
            f"profile.{together}{describe_condition(assumed_public)}"
        ),
        protects="one person's whole profile, present or absent",
        adjacency=_UNIT,
        against=_AGAINST,
        trust=Trust.PLATFORM,
        basis=Basis.CONDITIONAL if assumed_public else Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=_LIFETIME,
        assumptions=(*public, ONE_ID_EACH, TYPES_ARE_PUBLIC, noise),
        not_covered=(*_NOT_COVERED, UNCOUNTED_FITS),
        sources=_SOURCES,
    )


def _card_without_noise() -> Guarantee:
    """Make the card of a fit without noise."""
    return Guarantee(
        name=_NAME,
        sentence="Nobody is protected: the counts have no noise.",
        protects="nobody",
        adjacency=_UNIT,
        against=_AGAINST,
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=_LIFETIME,
        assumptions=(),
        not_covered=_NOT_COVERED,
        sources=_SOURCES,
    )
