"""The Gram matrix of the most rated items: where the first idea of the factors comes from.

Sees       all ratings of the head's items.
Releases   the Gram matrix, and one number: how many pairs of ratings went into it.
Clips      each person's row of the head; their pairs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.xmap.budget import ReleaseSettings
from tacit.designs.xmap.denoising import Factors, head_factors
from tacit.designs.xmap.released_state import ReleasedState, square, step
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease

Floats = NDArray[np.float64]
_SPREAD = 0.8  # variance of a rating around item and person, on five stars
_BELIEF = 0.5  # variance of it that is not noise of the pair, for the sampling error
_LEAST = 0.2  # of the prior variance of a factor that the noise hid, relative to the settings'
_DOUBT = 0.1  # of the prior that stays open for items of the head


def head(
    ratings: Ratings, noises: tuple[float, float], known: ReleasedState, settings: ReleaseSettings
) -> ReleasedState:
    """noises: for the pairs and for the Gram matrix. Factors of the head's items; of the others,
    the prior."""
    unit = square(ratings.scale)
    chosen = np.sort(np.argsort(-known.counts, kind="stable")[: settings.head])
    counts = known.counts[chosen]
    usual = max(1.0, float(counts.sum()) / known.people)  # ratings of a person in the head
    norm = math.sqrt(usual * _SPREAD * unit)
    rows, given = _rows(ratings, chosen, known, settings)
    release = GramRelease(noises[1], len(chosen), norm, step(norm))
    gram = release(rows)
    pairs = _pairs(rows, given, norm, noises[0], 3 * usual**2)
    scale = max(pairs, 1.0) / (counts.sum() ** 2 - (counts**2).sum())
    sizes = math.sqrt(scale) * counts
    deviation = release.sigma * release.resolution**2
    noise = deviation**2 / 2 + np.outer(sizes, sizes) * (_BELIEF * unit**2)
    found = head_factors(gram, sizes, noise, settings.taste * unit, settings.factors)
    least = _LEAST * settings.taste * unit / settings.factors
    prior = np.maximum(settings.lift * found.prior, least)
    means = np.zeros((ratings.n_items, settings.factors))
    covariances = np.tile(np.diag(prior), (ratings.n_items, 1, 1))
    means[chosen] = found.means
    covariances[chosen] = found.covariances + _DOUBT * np.diag(prior)
    return replace(known, factors=Factors(means, covariances, prior))


def _rows(
    ratings: Ratings, chosen: NDArray[np.int64], known: ReleasedState, settings: ReleaseSettings
) -> tuple[Floats, NDArray[np.int64]]:
    """(people, head) stars around the item's mean and the person's mildness, which is shrunk; and
    (people,) how many of them each has."""
    rest = ratings.values - known.means.values[ratings.items]
    number = np.diff(ratings.offsets) + settings.noise / settings.mildness
    mild = np.bincount(ratings.users, rest, ratings.n_users) / number
    place = np.full(ratings.n_items, -1)
    place[chosen] = np.arange(len(chosen))
    inside = place[ratings.items] >= 0
    users = ratings.users[inside]
    rows = np.zeros((ratings.n_users, len(chosen)))
    rows[users, place[ratings.items[inside]]] = (rest - mild[ratings.users])[inside]
    return rows, np.bincount(users, minlength=ratings.n_users)


def _pairs(rows: Floats, given: NDArray[np.int64], norm: float, noise: float, most: float) -> float:
    """Pairs of ratings in the Gram matrix, each person's scaled as their row was."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    kept = np.minimum(1, norm / lengths) ** 2 if noise else np.ones(len(rows))
    values = kept * given * (given - 1.0)
    people = np.arange(len(rows))
    release = SumRelease(noise, 1, norm=most, resolution=step(most))
    one = Contributions(people, np.zeros(len(rows), np.int64), values[:, None])
    return float(release([one])[0, 0])
