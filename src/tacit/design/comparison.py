"""Questions of `tacit compare` to a design, and the design's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Comparison:
    """Question of `tacit compare` to a design: which of your variants can be fitted to this?"""

    ratings: Ratings
    """Ratings that all designs are fitted to."""
    epsilons: tuple[float, ...]
    """Epsilons to compare at; infinity stands for no noise."""
    delta: float
    """Probability that a bound of epsilon fails."""
    source: str | None
    """Name of the domain that people have rated; None together with `target`: one domain."""
    target: str | None
    """Name of the domain that lists are made in."""
    features: tuple[str, ...] | None = None
    """Item metadata that features are made of; None: the usual ones."""


@dataclass(frozen=True, eq=False)
class ComparisonEntry:
    """One line of `tacit compare`: a recommender, and what it promises to whom."""

    design: str
    """Name of the design."""
    variant: str
    """Variant of the design, such as "sound"."""
    epsilon: float | None
    """Claimed epsilon. None: none is claimed. Infinity: without noise."""
    unit: str
    """What the epsilon, or the lack of it, protects, such as "whole profile"."""
    against: str
    """Adversary that the epsilon holds against."""
    maker: str
    """"module:name" of a class with `fit(ratings)` and
    `recommend(user, n=..., candidates=...)`."""
    settings: Mapping[str, Any]
    """Arguments that `maker` is called with."""
    stars: bool = False
    """Whether `predict` returns stars."""
    attacked: bool = True
    """Whether it recommends for any `history`, so that lists can be attacked."""
