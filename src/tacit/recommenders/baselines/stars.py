"""Predictions from counts, means and latent factors; and popularity from noisy counts.

`PrivatePopularity`, the same list for everybody, is the floor of private recommendation.

Sees       all ratings.
Releases   one count of each item, once, with Gaussian noise.
Clips      a person's likes count for 1 / sqrt(their number) each, so that they have length 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import Event
from tacit.data.ratings import Ratings
from tacit.engine.ridge import alternating_ridge, solve
from tacit.errors import ConfigError
from tacit.mechanisms.sums import Contributions, SumRelease
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.recommenders.base import Floats, History, without_people
from tacit.recommenders.baselines.baseline import Baseline, as_row, with_values
from tacit.recommenders.inputs import TAKEN, assumed, condition, taken_for_public


@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Baseline):
    """Scores are counts of ratings, or of `likes` alone, the same for everybody. No privacy."""

    likes: bool = False

    kind = "popularity"
    held = (("counts", "counts_", "items"),)

    def fit(self, ratings: Ratings) -> Popularity:
        self._learn_items(ratings)
        counted = ratings.items[ratings.likes] if self.likes else ratings.items
        self.counts_ = np.bincount(counted, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_


@dataclass(kw_only=True, eq=False, repr=False)
class ItemMean(Baseline):
    """Scores are item means pulled towards the overall mean by `damping` pseudo-ratings, without
    which the list begins with films that one person gave five stars. No privacy."""

    damping: float = 5.0

    kind = "item-mean"
    held = (("means", "means_", "items"),)

    def __post_init__(self) -> None:
        check_damping(self.damping)

    def fit(self, ratings: Ratings) -> ItemMean:
        self._learn_items(ratings)
        overall = float(ratings.values.mean())
        counts = np.bincount(ratings.items, minlength=ratings.n_items) + self.damping
        sums = np.bincount(ratings.items, ratings.values, minlength=ratings.n_items)
        self.means_: Floats = np.full(ratings.n_items, overall)
        np.divide(sums + self.damping * overall, counts, out=self.means_, where=counts > 0)
        return self

    def _score(self, history: History) -> Floats:
        return self.means_


class UserAverage(Baseline):
    """Every item scores the mean of the person's own stars, of a newcomer the overall mean: lists
    are in the order of the items. No privacy."""

    kind = "user-average"
    held = (("overall", "overall_", 1),)

    def fit(self, ratings: Ratings) -> UserAverage:
        self._learn_items(ratings)
        self.overall_ = np.array([ratings.values.mean()])
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        return np.full(len(self.item_ids_), own.data.mean() if own.nnz else self.overall_[0])


@dataclass(kw_only=True, eq=False, repr=False)
class UserItemMean(Baseline):
    """Overall mean plus an item's offset plus a person's offset, both pulled towards 0. No privacy.

    Source: the baseline estimates of Koren, Factor in the neighbors (TKDD 2010), section 2.1, with
    its pseudo-ratings for Netflix. The person's offset is over all their known items.
    """

    item_damping: float = 25.0
    user_damping: float = 10.0

    kind = "user-item-mean"
    held = (("means", "means_", "items"),)

    def __post_init__(self) -> None:
        check_damping(self.item_damping)
        check_damping(self.user_damping)

    def fit(self, ratings: Ratings) -> UserItemMean:
        self._learn_items(ratings)
        self.means_ = ItemMean(damping=self.item_damping).fit(ratings).means_
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        if not own.nnz:
            return self.means_
        above = (own.data - self.means_[own.indices]).sum() / (self.user_damping + own.nnz)
        return np.asarray(self.means_ + above)


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixFactorization(Baseline):
    """Alternating ridge regressions (Zhou et al. 2008) around damped item means. No privacy.

    regularization: squared stars; 10 suits five whole stars. random_state places the start only.
    """

    factors: int = 20
    regularization: float = 10.0
    sweeps: int = 10
    random_state: int = 0

    kind = "matrix-factorization"
    held = (("means", "means_", "items"), ("factors", "item_factors_", "items", "factors"))

    def __post_init__(self) -> None:
        if self.factors < 1 or self.sweeps < 1 or not self.regularization > 0:
            raise ConfigError("Factors and sweeps are at least 1, the regularization is above 0.")

    def fit(self, ratings: Ratings) -> MatrixFactorization:
        self._learn_items(ratings)
        self.means_ = ItemMean().fit(ratings).means_
        centred = with_values(ratings.matrix, ratings.values - self.means_[ratings.items])
        _, self.item_factors_ = alternating_ridge(
            centred,
            factors=self.factors,
            penalty=self.regularization,
            sweeps=self.sweeps,
            seed=self.random_state,
        )
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        row = with_values(own, own.data - self.means_[own.indices])
        person = solve(row, self.item_factors_, self.regularization)[0]
        return np.asarray(self.means_ + self.item_factors_ @ person)


def check_damping(damping: float) -> None:
    """ConfigError unless it can be a number of pseudo-ratings."""
    if not 0 <= damping < math.inf:
        raise ConfigError(f"Damping is a number of pseudo-ratings, 0 or more; got {damping}.")


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePopularity(Baseline):
    """Scores are noisy counts of likes. The whole fit is one release; fitting again is another.

    epsilon, delta: for one person's whole profile, added or removed; inf: no noise. domain: count
    and recommend items of this one alone; None: all items.
    """

    epsilon: float
    delta: float = 1e-6
    domain: str | None = None

    kind = "private-popularity"
    unsaved = ("epsilon",)
    held = (("counts", "counts_", "items"),)
    __getstate__ = without_people

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise ConfigError(
                "epsilon is above 0, or inf for no privacy, and delta lies between 0 and 1; got "
                f"{self.epsilon} and {self.delta}."
            )

    def fit(self, ratings: Ratings) -> PrivatePopularity:
        chosen = self._learn_items(ratings, self.domain)
        self.taken_ = taken_for_public(chosen)
        likes = chosen.where(chosen.likes)
        own = np.diff(likes.offsets)[likes.users]
        release = self._release(chosen.n_items)
        blocks = [Contributions(likes.users, likes.items, 1 / np.sqrt(own)[:, None])]
        self.counts_: Floats = release(blocks)[:, 0]
        self.spent_ = self.epsilon, self.delta
        return self

    def event(self, items: int) -> Event:
        """What a fit to a catalogue of so many items costs a person."""
        return self._release(items).event

    def _release(self, items: int) -> SumRelease:
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

    def guarantees(self) -> tuple[Guarantee, ...]:
        self._fitted()
        return (_card(*self.spent_, self.taken_),)

    def _header(self) -> dict[str, Any]:
        epsilon, delta = self.spent_  # of the fit: parameters may have been set since
        known = epsilon if math.isfinite(epsilon) else None
        return {"epsilon": known, "delta": delta, "taken": list(self.taken_)}

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """ValueError where the file takes for public what this version does not know."""
        epsilon = math.inf if header["epsilon"] is None else header["epsilon"]
        delta = header.get("delta", header["settings"]["delta"])  # files of before have no other
        settings = header["settings"] | {"epsilon": epsilon, "delta": delta}
        model = super().from_parts(header | {"settings": settings}, arrays)
        model.spent_, model.taken_ = (epsilon, delta), tuple(header["taken"])
        if not set(model.taken_) <= set(TAKEN):
            raise ValueError("the file takes for public what this tacit does not know")
        return model


def _card(epsilon: float, delta: float, taken: tuple[str, ...]) -> Guarantee:
    private = math.isfinite(epsilon)
    sentence = "Nobody is protected: the counts have no noise."
    assumptions: tuple[str, ...] = ()
    if private:
        sentence = (
            f"The list, the same for everybody, is ({epsilon:g}, {delta:g})-differentially private "
            f"for each person's whole profile.{condition(taken)}"
        )
        noise = (
            "a person's likes are scaled to length 1 before they are added; Gaussian noise on "
            "integers from the operating system's generator, by an exact sampler"
        )
        assumptions = *assumed("the catalogue and the scale of stars", taken), noise
    return Guarantee(
        name="Private popularity: one noisy count of likes",
        sentence=sentence,
        protects="one person's whole profile, present or absent" if private else "nobody",
        adjacency=Adjacency("user", "add or remove"),
        against="everybody who has the list or the model file and knows all other ratings",
        trust=Trust.PLATFORM,
        basis=(Basis.CONDITIONAL if taken else Basis.PROVED) if private else Basis.NONE,
        epsilon=epsilon if private else None,
        delta=delta if private else None,
        lifetime="per fit: fitting again on the same people spends again",
        assumptions=assumptions,
        not_covered=(
            "the platform, which holds everybody's ratings",
            "that a person's own list leaves out what they have rated",
        ),
        sources=(
            "Canonne, Kamath, Steinke: The discrete Gaussian (2020), for the noise",
            "Dong, Roth, Su: Gaussian differential privacy (2022), for epsilon and delta",
        ),
    )
