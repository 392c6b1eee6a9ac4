"""The question of `tacit compare` to a design, and the design's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Comparison:
    """Question of `tacit compare`: which variants of a design can be fitted to these ratings?"""

    ratings: Ratings
    """Ratings that all designs are fitted to."""
    epsilons: tuple[float, ...]
    """Epsilons to compare at; infinity means no noise."""
    delta: float
    """Delta at which the epsilons hold."""
    source: str | None
    """Name of the domain whose ratings are known; None, like `target`, if there is one domain."""
    target: str | None
    """Name of the domain whose items are recommended."""
    features: tuple[str, ...] | None = None
    """Columns of item metadata to make features of; None for the design's default."""


@dataclass(frozen=True, eq=False)
class ComparisonEntry:
    """One line of `tacit compare`: a recommender, and its guarantee."""

    design: str
    """Name of the design."""
    variant: str
    """Variant of the design, such as "sound"."""
    epsilon: float | None
    """Claimed epsilon; infinity without noise, None if none is claimed."""
    unit: str
    """What epsilon protects, or does not protect if it is infinite, such as "whole profile"."""
    against: str
    """Adversary against whom epsilon holds."""
    maker: str
    """"module:name" of a class with `fit(ratings)` and
    `recommend(user, n=..., candidates=...)`."""
    settings: Mapping[str, Any]
    """Arguments that `maker` is called with."""
    stars: bool = False
    """Whether `predict` returns stars, so that its error can be measured."""
    attacked: bool = True
    """Whether `tacit compare` may attack its lists. It may if `recommend` also makes lists from a
    `history`, a mapping of item ids to stars, of a person whom the model was not fitted to."""
