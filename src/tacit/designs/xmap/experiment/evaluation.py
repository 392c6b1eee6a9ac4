"""Recommendations in a domain where a person has rated nothing yet: the figures of X-Map's paper.

Split    A share of the people who rated in both domains are test people: all but `profile_size` of
         their ratings in the target domain are held out. All contenders of a seed are judged on the
         same people and the same ratings.
Figures  One thing is varied at a time (k, overlap, profile size, alpha, budget); the others have
         their base values: the largest overlap, the smallest profile size and alpha, k = 50 or else
         the largest, the first epsilon.
MAE      In stars; predictions are clipped to the scale and not rounded. The authors' code rounds
         them to whole stars, which changes an MAE by more than many methods differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.design import Comparison as ComparisonRequest
from tacit.design import ComparisonEntry, option
from tacit.designs.xmap.experiment.contenders import (
    METHODS,
    NON_PRIVATE,
    PAPERS_BUDGETS,
    PRIVATE,
    READINGS,
    VARIANTS,
    Comparison,
    Contender,
    Judgement,
    Setting,
    SharedInputs,
    compare,
    compare_contenders,
    run_setting,
)
from tacit.errors import ConfigError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.runner import Progress, Runner

PAPERS_K = 50
"""Number of neighbours in most of the paper's figures."""
PROFILE = "a person's whole profile, added or removed"
"""What the sound variant protects, in `tacit compare`."""
PRINTED = "a rating, as printed: refuted, see the card"
"""What the published variant claims to protect, in `tacit compare`."""
LISTS = "everybody who has the lists or the model"
"""The adversary, in `tacit compare`."""


@dataclass(frozen=True)
class Grid:
    """Settings of the experiment, as options of the command.

    `epsilons` and `delta` are for the sound variant. The published one is run with the paper's
    budgets, and with every pair of numbers of `surface` as (epsilon, epsilon_prime).

    Raises:
        ConfigError: An unknown method, variant or reading, or a number out of range.
    """

    ks: tuple[int, ...] = option(
        "Numbers of neighbours, with commas.", default=(10, 20, 50), flag="--k"
    )
    overlaps: tuple[float, ...] = option(
        "Shares of the people in both domains who are kept for training.",
        default=(1.0,),
        flag="--overlap",
    )
    profile_sizes: tuple[int, ...] = option(
        "Ratings in the target that are not held out for a test person; 0: cold start.",
        default=(0,),
        flag="--profile-size",
    )
    alphas: tuple[float, ...] = option(
        "How fast old ratings lose weight in the paper's methods; 0: not at all.",
        default=(0.0,),
        flag="--alpha",
    )
    methods: tuple[str, ...] = option(
        "Only these methods, with commas.", default=METHODS, flag="--method"
    )
    variants: tuple[str, ...] = option(
        "Variants of X-Map: sound, published; with commas.", default=VARIANTS, flag="--variant"
    )
    epsilons: tuple[float, ...] = option(
        "Epsilon for a person's whole profile, with commas.", default=(1.0,), flag="--epsilon"
    )
    delta: float = option("Delta of the sound variant, such as 1e-6.", default=1e-6)
    readings: tuple[str, ...] = option(
        "Readings of PNSA in the published variant: printed, counted, positive; with commas.",
        default=("printed",),
        flag="--pnsa",
    )
    surface: tuple[float, ...] = option(
        "Budgets of the published variant: every pair is measured.", default=()
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
        """The setting with the base value of everything."""
        return Setting(max(self.overlaps), min(self.profile_sizes), min(self.alphas))

    @property
    def base_k(self) -> int:
        """The base value of k: the paper's if it is measured, otherwise the largest."""
        return PAPERS_K if PAPERS_K in self.ks else max(self.ks)

    @property
    def steps(self) -> int:
        """Number of settings that are run, over all seeds."""
        return self.seeds * len(self.plan())

    def plan(self) -> dict[Setting, list[Contender]]:
        """List the contenders of each setting.

        In the base setting there is a contender for every k and every budget; in other settings
        only those with the base's k and the first budget, and for an alpha only those that use it.
        """
        with_first_budget = list(self._contenders(self.epsilons[:1], ()))
        with_base_k = [self._set_base_k(contender) for contender in with_first_budget]
        in_base_setting = []
        for contender in with_first_budget:
            if contender.has_k:
                in_base_setting += [replace(contender, k=k) for k in self.ks]
        in_base_setting += with_base_k
        in_base_setting += map(self._set_base_k, self._contenders(self.epsilons, self.surface))
        plan = {self.base: [*dict.fromkeys(in_base_setting)]}  # each contender once
        varied = [replace(self.base, overlap=share) for share in sorted(self.overlaps)]
        varied += [replace(self.base, profile_size=size) for size in sorted(self.profile_sizes)]
        for setting in varied:
            plan.setdefault(setting, with_base_k)
        with_alpha = [contender for contender in with_base_k if contender.has_alpha]
        for alpha in sorted(self.alphas):
            plan.setdefault(replace(self.base, alpha=alpha), with_alpha)
        return plan

    def _set_base_k(self, contender: Contender) -> Contender:
        """Return the contender with the base's k, if it has a k."""
        return replace(contender, k=self.base_k) if contender.has_k else contender

    def _contenders(
        self, epsilons: Sequence[float], surface: Sequence[float]
    ) -> Iterator[Contender]:
        """Yield the contenders without a k.

        Args:
            epsilons: Epsilons of the sound variant.
            surface: Numbers whose pairs are budgets of the published variant, besides the paper's.
        """
        for method in METHODS:
            if method not in self.methods:
                continue
            if method not in PRIVATE:
                yield Contender(method, "published" if method in NON_PRIVATE else "baseline")
                continue
            if method == "x-map-ib" and "sound" in self.variants:
                for epsilon in epsilons:
                    yield Contender(method, "sound", epsilon, None, self.delta)
            if "published" in self.variants:
                for reading in self.readings:
                    pair = PAPERS_BUDGETS[method]
                    yield Contender(method, "published", *pair, pnsa=reading)
                for pair in product(surface, surface):
                    yield Contender(method, "published", *pair, pnsa=self.readings[0])


def _check_names(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ConfigError for a name that is not known."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"No {kind} '{unknown[0]}'. There are: {', '.join(known)}.")


def _require_any(kind: str, values: Sequence[Any]) -> None:
    """Raise ConfigError if there is no value."""
    if not values:
        raise ConfigError(f"The evaluation needs at least one {kind}.")


def _check_numbers(
    kind: str, numbers: Sequence[float], is_allowed: Callable[[float], bool], rule: str
) -> None:
    """Raise ConfigError if there is no number, or one that is not allowed.

    Args:
        kind: What the numbers are, for the error.
        numbers: The numbers.
        is_allowed: Says whether a number is allowed.
        rule: The allowed numbers in words, for the error.
    """
    _require_any(kind, numbers)
    refused = [number for number in numbers if not is_allowed(number)]
    if refused:
        raise ConfigError(f"Each {kind} is {rule}; got {refused[0]}.")


@dataclass(frozen=True)
class Point:
    """One contender in one setting, over all seeds."""

    contender: Contender
    """The method."""
    setting: Setting
    """Overlap, profile size and alpha."""
    mae: Interval | None
    """Mean absolute error in stars, with its interval over seeds; None if scores are not stars."""
    ndcg_at_10: Interval
    """Mean NDCG of lists of ten, with its interval over seeds."""

    @property
    def varied_values(self) -> dict[str, float | None]:
        """Values of k, overlap, profile size and alpha, by name."""
        return {"k": self.contender.k, **asdict(self.setting)}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **asdict(self.contender),
            **asdict(self.setting),
            "mae": None if self.mae is None else list(self.mae),
            "ndcg_at_10": list(self.ndcg_at_10),
        }


@dataclass(frozen=True)
class CrossDomainTable:
    """Results of the whole experiment."""

    source: str
    """Domain that people have rated in."""
    target: str
    """Domain to recommend from."""
    base: Setting
    """The setting with the base value of everything."""
    base_k: int
    """Base value of k."""
    seeds: tuple[int, ...]
    """Seeds of the splits."""
    people: tuple[int, ...]
    """Number of test people of each seed in the base setting."""
    rows: tuple[dict[str, Any], ...]
    """Results of one contender in one split each, in the JSON form of docs/cli.md."""
    points: tuple[Point, ...]
    """Each contender in each setting."""
    comparisons: tuple[Comparison, ...]
    """Differences between contenders in the base setting, and differences between alphas."""

    @property
    def base_values(self) -> dict[str, float]:
        """Base values of k, overlap, profile size and alpha, by name."""
        return {"k": self.base_k, **asdict(self.base)}

    def names_of_varied(self, point: Point) -> list[str]:
        """List the names of the values that differ from the base.

        For a contender without k, k does not differ.
        """
        base_values = self.base_values
        return [
            name
            for name, value in point.varied_values.items()
            if value not in (None, base_values[name])
        ]

    def at_base(self) -> list[Point]:
        """List the points with base values, ordered by method."""
        base_points = [point for point in self.points if not self.names_of_varied(point)]
        return sorted(base_points, key=lambda point: METHODS.index(point.contender.method))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "source": self.source,
            "target": self.target,
            "base": self.base_values,
            "seeds": list(self.seeds),
            "people": list(self.people),
            "rows": list(self.rows),
            "points": [point.to_dict() for point in self.points],
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
        }


def evaluate_cross_domain(
    ratings: Ratings,
    source: str,
    target: str,
    *,
    share: float = 0.2,
    first_seed: int = 0,
    options: Mapping[str, Any] | None = None,
    workers: int = 0,
    progress: Progress | None = None,
    **grid_fields: Any,
) -> CrossDomainTable:
    """Run every method in every setting and seed.

    Splits depend on the seed only. Noise takes no seed, so that the results of private methods
    differ a little from run to run. These are simulations, not releases.

    Args:
        ratings: Ratings in memory, with the item metadata `domain`.
        source: Domain that people have rated in.
        target: Domain to recommend from.
        share: Share of the people with ratings in both domains who are tested.
        first_seed: Seed of the first split; the next seeds are one larger each.
        options: Further keywords of XMap, such as `stars` and `features`.
        workers: Number of processes; 0 for one for each core.
        progress: Called with the number of settings that are done.
        grid_fields: Fields of `Grid`.
    """
    grid = Grid(**grid_fields)
    shared = SharedInputs(
        ratings=ratings,
        source=source,
        target=target,
        share=share,
        least_ratings=max(grid.profile_sizes) + 1,  # at least one rating is held out
        options=dict(options or {}),
    )
    seeds = tuple(range(first_seed, first_seed + grid.seeds))
    tasks = []
    for seed in seeds:
        for setting, contenders in grid.plan().items():
            tasks.append((seed, setting, contenders))
    with Runner(shared, workers=workers) as runner:
        results = runner.run(run_setting, tasks, progress or (lambda _: None))
    judgements_of: dict[tuple[Setting, Contender], list[Judgement]] = {}  # one for each seed
    for (_, setting, contenders), judgements in zip(tasks, results, strict=True):
        for contender, judgement in zip(contenders, judgements, strict=True):
            judgements_of.setdefault((setting, contender), []).append(judgement)
    base = grid.base
    base_k = grid.base_k
    at_base = {
        contender: judgements
        for (setting, contender), judgements in judgements_of.items()
        if setting == base and contender.k in (None, base_k)
    }
    comparisons = compare(at_base)
    rows: list[dict[str, Any]] = []
    points = []
    for (setting, contender), judgements in judgements_of.items():
        points.append(_make_point(setting, contender, judgements))
        for seed, judgement in zip(seeds, judgements, strict=True):
            rows.append(_make_row(setting, contender, seed, judgement))
        if setting.alpha != base.alpha:
            comparisons.append(
                compare_contenders(
                    contender, contender, "mae", judgements, at_base[contender], setting.alpha
                )
            )
    people_of_seeds = [len(judgement.ids) for judgement in next(iter(at_base.values()))]
    return CrossDomainTable(
        source=source,
        target=target,
        base=base,
        base_k=base_k,
        seeds=seeds,
        people=tuple(people_of_seeds),
        rows=tuple(rows),
        points=tuple(points),
        comparisons=tuple(comparisons),
    )


def _make_row(
    setting: Setting, contender: Contender, seed: int, judgement: Judgement
) -> dict[str, Any]:
    """Make the JSON row of one contender in one split."""
    return {
        **asdict(contender),
        "seed": seed,
        **asdict(setting),
        "mae": judgement.mae,
        "ndcg_at_10": judgement.mean_ndcg,
        "n_test": int(judgement.counts.sum()),
    }


def _make_point(setting: Setting, contender: Contender, judgements: Sequence[Judgement]) -> Point:
    """Average one contender's judgements over the seeds."""
    maes = [judgement.mae for judgement in judgements if judgement.mae is not None]
    ndcgs = [judgement.mean_ndcg for judgement in judgements]
    return Point(
        contender,
        setting,
        mae=mean_interval(maes) if maes else None,
        ndcg_at_10=mean_interval(ndcgs, bounds=(0.0, 1.0)),
    )


def contenders(request: ComparisonRequest) -> tuple[ComparisonEntry, ...] | str:
    """List X-Map's entries in `tacit compare`, which need two domains.

    Returns:
        Entries of the sound and the published variant for each epsilon, at infinity of NX-Map; or
        the reason why there are none.
    """
    if request.source is None or request.target is None:
        return "needs two domains: name --source and --target"
    entries = []
    for epsilon in request.epsilons:
        shared = {"source": request.source, "target": request.target, "epsilon": epsilon}
        published = shared | {"variant": "published", "k": 10}
        if math.isinf(epsilon):
            entries.append(_make_entry("non-private", epsilon, PROFILE, published))
            continue
        sound = shared | {
            "variant": "sound",
            "delta": request.delta,
            "features": request.features,
        }
        entries.append(_make_entry("sound", epsilon, PROFILE, sound))
        entries.append(_make_entry("published", epsilon, PRINTED, published))
    return tuple(entries)


def _make_entry(
    variant: str, epsilon: float, unit: str, settings: Mapping[str, Any]
) -> ComparisonEntry:
    """Make an entry of X-Map in `tacit compare`."""
    return ComparisonEntry(
        design="xmap",
        variant=variant,
        epsilon=epsilon,
        unit=unit,
        against=LISTS,
        maker="tacit.designs.xmap:XMap",
        settings=settings,
        stars=True,
    )


def count_similarities(ratings: Ratings, source: str, target: str) -> dict[str, int]:
    """Count the pairs of a source item and a target item that have a similarity.

    Returns:
        Number of pairs by name. `adjusted_cosine`: pairs with a cosine other than 0, which people
        who rated both items give. `x_sim`: pairs that a meta-path joins, with the default number of
        neighbours. `pairs`: all pairs.
    """
    from tacit.designs.xmap.baseliner import make_baseline
    from tacit.designs.xmap.extender import blocks_of_starts, extend, similarities
    from tacit.designs.xmap.model import XMap
    from tacit.engine import Engine

    sources = items_in(ratings, source).astype(np.int32)
    targets = items_in(ratings, target).astype(np.int32)
    base = make_baseline(ratings.matrix)
    engine = Engine()
    defaults = XMap(target=target)
    extension = extend(
        base,
        sources,
        targets,
        k=defaults.extender_k,
        significance=defaults.significance,
        engine=engine,
    )
    centred = base.table.values
    with_cosine = 0
    with_x_sim = 0
    for block in blocks_of_starts(extension, sources):
        items = sources[block]
        products = centred[:, items].T @ centred[:, targets]
        with_cosine += int(products.count_nonzero())
        with_x_sim += int(np.isfinite(similarities(extension, items, engine)).sum())
    all_pairs = len(sources) * len(targets)
    return {"adjusted_cosine": with_cosine, "x_sim": with_x_sim, "pairs": all_pairs}
