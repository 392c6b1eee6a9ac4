"""What has been released so far, passed from one sum to the next. Nothing in here is private."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import RatingScale
from tacit.designs.xmap.budget import ReleaseSettings
from tacit.designs.xmap.denoising import Estimate, Factors
from tacit.designs.xmap.item_model import ItemModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReleasedState:
    """means: stars, with their variances. counts: of ratings. people: how many. factors: of every
    item; before the head is released, zeros known to be so."""

    means: Estimate
    counts: Floats
    people: float
    factors: Factors


def model_of(known: ReleasedState, settings: ReleaseSettings, scale: RatingScale) -> ItemModel:
    """What serves people, and what the next sweep starts from."""
    unit = square(scale)
    # Of few people the noisy second moment of tastes may be indefinite, and a trace below 0.
    doubt = np.maximum(np.trace(known.factors.covariances, axis1=1, axis2=2), 0)
    return ItemModel(
        means=known.means.values,
        factors=known.factors.means,
        variances=settings.noise * unit + doubt + known.means.variances,
        counts=known.counts,
        mildness=settings.mildness * unit,
        scale=(scale.minimum, scale.maximum),
    )


def square(scale: RatingScale) -> float:
    """Settings are for one to five stars; their variances times this are for another scale."""
    return (scale.span / 4) ** 2


def step(size: float) -> float:
    """A resolution: a power of two near size / 4096, so that rounding is far below the noise."""
    return 2.0 ** math.floor(math.log2(size) - 12)
