"""Settings of the experiment across domains, and which contenders are run in each.

One of k, overlap, profile size, alpha and budget is varied at a time. The others have their base
values: the largest overlap, the smallest profile size and alpha, k = 50 if it is among the ks and
else the largest k, and the first budget of each method and variant. The paper's budgets are run
with every reading of PNSA; the pairs of `Grid.surface` are run only with the first reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tacit.design import option
from tacit.designs.xmap.experiment.contenders import (
    METHODS,
    NX_MAP_METHODS,
    PAPERS_BUDGETS,
    READINGS,
    VARIANTS,
    X_MAP_METHODS,
    Contender,
)
from tacit.errors import ConfigError

PAPERS_K = 50
"""Number of neighbours in most of the paper's figures."""


@dataclass(frozen=True)
class Setting:
    """Values of overlap, profile size and alpha, which contenders are run with."""

    overlap: float
    """Share of the training people with ratings in both domains who are kept for training."""
    profile_size: int
    """Ratings of a test person in the target domain that are not held out; 0: cold start."""
    alpha: float = 0.0
    """How fast old ratings lose weight: by e^-alpha for each rank in time; 0: not at all."""


@dataclass(frozen=True)
class Grid:
    """Settings of the experiment, as options of the command.

    `epsilons` and `delta` are for the sound variant. The published one is run with the paper's
    budgets, and with every pair of numbers of `surface` as (epsilon, epsilon_prime).

    Raises:
        ConfigError: A method, variant or reading is unknown, a number is out of range, or a field
            that needs an entry is empty.
    """

    ks: tuple[int, ...] = option(
        "Numbers of neighbours, separated by commas.", default=(10, 20, 50), flag="--k"
    )
    overlaps: tuple[float, ...] = option(
        "Shares of the training people with ratings in both domains who are kept for training.",
        default=(1.0,),
        flag="--overlap",
    )
    profile_sizes: tuple[int, ...] = option(
        "Numbers of ratings in the target that are not held out for a test person; 0: cold start.",
        default=(0,),
        flag="--profile-size",
    )
    alphas: tuple[float, ...] = option(
        "How fast old ratings lose weight in the paper's methods; 0: not at all.",
        default=(0.0,),
        flag="--alpha",
    )
    methods: tuple[str, ...] = option(
        "Only these methods, separated by commas.", default=METHODS, flag="--method"
    )
    variants: tuple[str, ...] = option(
        "Variants of X-Map, separated by commas: sound, published.",
        default=VARIANTS,
        flag="--variant",
    )
    epsilons: tuple[float, ...] = option(
        "Epsilons for a person's whole profile, separated by commas.",
        default=(1.0,),
        flag="--epsilon",
    )
    delta: float = option("Delta of the sound variant, such as 1e-6.", default=1e-6)
    readings: tuple[str, ...] = option(
        "Readings of PNSA in the published variant, separated by commas: printed, counted, "
        "positive.",
        default=("printed",),
        flag="--pnsa",
    )
    surface: tuple[float, ...] = option(
        "Numbers; the published variant is run with every pair of them as (epsilon, epsilon').",
        default=(),
    )
    seeds: int = option("Number of splits.", default=5, least=1)

    def __post_init__(self) -> None:
        _check_names("method", self.methods, METHODS)
        _check_names("variant", self.variants, VARIANTS)
        _check_names("reading of PNSA", self.readings, READINGS)
        budgets = (*self.epsilons, *self.surface)
        _require_any("method", self.methods)
        _require_any("reading of PNSA", self.readings)
        _check_numbers("k", self.ks, lambda k: k >= 1, "1 or more")
        _check_numbers("overlap", self.overlaps, lambda share: 0 <= share <= 1, "a share, 0 to 1")
        _check_numbers("profile size", self.profile_sizes, lambda size: size >= 0, "0 or more")
        _check_numbers("alpha", self.alphas, lambda alpha: 0 <= alpha < math.inf, "0 or more")
        _check_numbers("epsilon", budgets, lambda epsilon: epsilon > 0, "above 0")
        _require_any("seed", range(self.seeds))

    @property
    def base(self) -> Setting:
        """The setting with the base values of overlap, profile size and alpha."""
        return Setting(max(self.overlaps), min(self.profile_sizes), min(self.alphas))

    @property
    def base_k(self) -> int:
        """The base value of k: the paper's if it is among the ks, otherwise the largest."""
        return PAPERS_K if PAPERS_K in self.ks else max(self.ks)

    @property
    def steps(self) -> int:
        """Number of runs: each setting is run once for each seed."""
        return self.seeds * len(self.plan())

    def plan(self) -> dict[Setting, list[Contender]]:
        """List the contenders of each setting.

        In the base setting, a method has a contender for every k with the first budget, and one for
        every budget with the base value of k. In other settings there are only contenders with the
        base value of k and the first budget; if alpha is not the base value, only those whose
        method uses alpha.
        """
        with_first_budget = list(self._contenders(self.epsilons[:1], ()))
        with_base_k = [self._set_base_k(contender) for contender in with_first_budget]
        in_base_setting = []
        for contender in with_first_budget:
            if contender.has_k:
                in_base_setting += [replace(contender, k=k) for k in self.ks]
        in_base_setting += with_base_k
        in_base_setting += map(self._set_base_k, self._contenders(self.epsilons, self.surface))
        plan = {self.base: list(dict.fromkeys(in_base_setting))}  # each contender once
        varied = [replace(self.base, overlap=share) for share in sorted(self.overlaps)]
        varied += [replace(self.base, profile_size=size) for size in sorted(self.profile_sizes)]
        for setting in varied:
            plan.setdefault(setting, with_base_k)
        with_alpha = [contender for contender in with_base_k if contender.has_alpha]
        for alpha in sorted(self.alphas):
            plan.setdefault(replace(self.base, alpha=alpha), with_alpha)
        return plan

    def _set_base_k(self, contender: Contender) -> Contender:
        """Return the contender with the base value of k, if it has a k; else as it is."""
        return replace(contender, k=self.base_k) if contender.has_k else contender

    def _contenders(
        self, epsilons: Sequence[float], surface: Sequence[float]
    ) -> Iterator[Contender]:
        """Yield the contenders, whose k is not set yet.

        Args:
            epsilons: Epsilons of the sound variant.
            surface: Numbers whose pairs are budgets of the published variant, besides the paper's.
        """
        for method in METHODS:
            if method not in self.methods:
                continue
            if method not in X_MAP_METHODS:
                yield Contender(method, "published" if method in NX_MAP_METHODS else "baseline")
                continue
            if method == "x-map-ib" and "sound" in self.variants:
                for epsilon in epsilons:
                    yield Contender(method, "sound", epsilon, None, self.delta)
            if "published" in self.variants:
                for reading in self.readings:
                    budgets = PAPERS_BUDGETS[method]
                    yield Contender(method, "published", *budgets, pnsa=reading)
                for budgets in product(surface, surface):
                    yield Contender(method, "published", *budgets, pnsa=self.readings[0])


def _check_names(quantity: str, names: Sequence[str], allowed: Sequence[str]) -> None:
    """Check that all names are allowed.

    Args:
        quantity: What the names are, for the error.
        names: The names.
        allowed: The allowed names.

    Raises:
        ConfigError: A name is not allowed.
    """
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise ConfigError(f"No {quantity} '{unknown[0]}'. There are: {', '.join(allowed)}.")


def _require_any(quantity: str, values: Sequence[Any]) -> None:
    """Check that there is a value.

    Args:
        quantity: What the values are, for the error.
        values: The values.

    Raises:
        ConfigError: There is no value.
    """
    if not values:
        raise ConfigError(f"The evaluation needs at least one {quantity}.")


def _check_numbers(
    quantity: str, numbers: Sequence[float], is_allowed: Callable[[float], bool], rule: str
) -> None:
    """Check that there is a number, and that all are allowed.

    Args:
        quantity: What the numbers are, for the error.
        numbers: The numbers.
        is_allowed: Returns whether a number is allowed.
        rule: Which numbers are allowed, for the error.

    Raises:
        ConfigError: There is no number, or one is not allowed.
    """
    _require_any(quantity, numbers)
    refused = [number for number in numbers if not is_allowed(number)]
    if refused:
        raise ConfigError(f"Each {quantity} is {rule}; got {refused[0]}.")
