"""Item profiles: latent factors of consenting people's ratings, and public features.

Source      US patent application "Privacy protection against curious recommenders", where an item's
            profile is either a vector of known features or comes from a factorisation.
Runs at     the recommender.
Sees        the consenting people's ratings and attributes in the clear, and the catalogue.
Releases    nothing: item profiles stay with the recommender.
Guarantee   none for the consenting people: profiles are fitted to their exact ratings.
Deviations  alternating ridge regressions where the patent uses 20 rounds of gradient descent; item
            means are taken out first, so that a ridge pulls towards the item's mean and not to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import listed
from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.training.disclosure import FEWEST, Tables
from tacit.designs.standard_scheme.training.statistics import entry_rows, with_data
from tacit.engine.ridge import alternating_ridge
from tacit.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Profile = Literal["latent", "features", "both"]

PROFILES = get_args(Profile)
"""What describes an item where stars are predicted."""
_MEAN_PSEUDO_RATINGS = 5.0


@dataclass(frozen=True)
class Factorization:
    """How item profiles are learned. Penalties in levels.

    regularization   of the factorisation; ridge: of one person's estimate from a release
    per_rating       regularization is paid once per rating
    centred          item means (shrunk by 5 pseudo-ratings) are taken out first; otherwise stars
                     are factorised as they are. Items with few raters then have one mean together
                     and no factors: a mean of their own is the star of a single rater
    latent           whether items have factors; features: (items, d) what is known of them besides
    """

    factors: int
    regularization: float
    ridge: float
    sweeps: int
    per_rating: bool
    centred: bool
    seed: int
    latent: bool = True
    features: Floats | None = None


def factorization(
    n_levels: int, *, variant: str = "sound", factors: int = 20, seed: int = 0
) -> Factorization:
    """Sound: penalty 10 for five whole stars, carried over to scales with other levels; profiles
    and tastes share the size of the ratings evenly, so penalties grow like a rating. Published: the
    patent's numbers, regularization 0.02, 20 rounds and ridge 0.1.
    """
    if variant == "published":
        return Factorization(factors, 0.02, 0.1, 20, True, False, seed)
    penalty = 10.0 * ((n_levels or 5) - 1) / 4
    return Factorization(factors, penalty, penalty, 10, False, True, seed)


def of_kind(kind: Profile, how: Factorization, ratings: Ratings) -> Factorization:
    """The same, with what is to describe an item.

    Features are scaled like factors are, which share the size of a rating evenly with tastes.
    """
    if kind == "latent":
        return how
    scale = np.sqrt(((ratings.scale.levels or CONTINUOUS_LEVELS + 1) - 1) / 4)
    return replace(how, latent=kind == "both", features=scale * item_features(ratings))


def train_profiles(
    levels: sparse.csr_array,
    labels: Ints,
    tables: Sequence[Tables],
    how: Factorization,
    *,
    lowest: float,
) -> Profiles:
    """Item profiles from r - x0 v0 of consenting people. lowest: the lowest star, in levels."""
    rows, residuals = entry_rows(levels), levels.data.copy()
    for position, table in enumerate(tables):
        residuals -= table.offsets[labels[rows, position], levels.indices] / MICRO
    intercepts, common = np.full(levels.shape[1], -lowest), np.ones(levels.shape[1], dtype=bool)
    if how.centred:
        intercepts, common = _item_means(levels.indices, residuals, levels.shape[1])
    matrix = with_data(levels, residuals - intercepts[levels.indices])
    described = [np.empty((levels.shape[1], 0)) if how.features is None else how.features]
    if how.latent:
        factors = np.zeros((levels.shape[1], how.factors))
        _, factors[common] = alternating_ridge(
            matrix[:, np.flatnonzero(common)],
            factors=how.factors,
            penalty=how.regularization,
            sweeps=how.sweeps,
            seed=how.seed,
            per_rating=how.per_rating,
        )
        described.append(factors)
    return Profiles(intercepts=intercepts, factors=np.hstack(described), ridge=how.ridge)


def _item_means(items: Ints, residuals: Floats, n_items: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Mean level of each item, and which items have enough raters for one of their own."""
    counts = np.bincount(items, minlength=n_items).astype(float)
    sums = np.bincount(items, residuals, minlength=n_items)
    common = counts >= FEWEST
    counts[~common], sums[~common] = counts[~common].sum(), sums[~common].sum()
    pull = _MEAN_PSEUDO_RATINGS
    return (sums + pull * float(residuals.mean())) / (counts + pull), common


def item_features(ratings: Ratings) -> Floats:
    """(items, 1 + genres + 1) float64: 1, 1 for each genre of the item, the year standardised.

    From the item metadata `genres` (joined by '|') and `year`; an unknown one counts as 0.
    """
    columns = [np.ones((ratings.n_items, 1))]
    if "genres" in ratings.item_metadata:
        columns.append(genres_of(ratings))
    if "year" in ratings.item_metadata:
        columns.append(_standardised(years_of(ratings))[:, None])
    if len(columns) == 1:
        raise DataError(
            "the items have no features to make profiles of",
            found=", ".join(ratings.item_metadata) or "no item metadata at all",
            expected="item metadata 'genres' or 'year'",
            fix="Name a file of items with --items, read a MovieLens folder, or use "
            "--profiles latent.",
        )
    return np.hstack(columns)


def genres_of(ratings: Ratings) -> Floats:
    """(items, genres) 0 or 1, in the order of the genres' names; no columns where none is known."""
    if "genres" not in ratings.item_metadata:
        return np.zeros((ratings.n_items, 0))
    known = listed(ratings, "genres")
    names = sorted({name for genres in known for name in genres})
    return np.array([[name in genres for name in names] for genres in known], float)


def years_of(ratings: Ratings) -> Floats:
    """(items,) years, NaN where unknown."""
    if "year" not in ratings.item_metadata:
        return np.full(ratings.n_items, np.nan)
    return np.array([_year(value) for value in ratings.item_metadata["year"].tolist()])


def _standardised(numbers: Floats) -> Floats:
    """Mean 0 and standard deviation 1 over the known values; 0 where unknown."""
    known = np.isfinite(numbers)
    spread = numbers[known].std() if known.any() else 0.0
    if not spread:
        return np.zeros(len(numbers))
    found: Floats = np.where(known, (numbers - numbers[known].mean()) / spread, 0.0)
    return found


def _year(value: object) -> float:
    try:
        return np.nan if value is None else float(str(value))
    except ValueError:
        raise DataError("the year of an item is not a number", column="year", found=value) from None
