"""Recommendations in a domain where a person has rated nothing yet: the figures of X-Map's paper.

Split    A share of the people who rated in both domains are test people: all but `profile_size` of
         their ratings in the target domain are held out. Every contender of a seed is judged on the
         same people and the same ratings.
Figures  One thing moves at a time (k, overlap, profile size, alpha, budget); the others stay at the
         base: the largest overlap, the smallest profile and alpha, k of 50 or else the largest, the
         first epsilon.
MAE      In stars, predictions clipped to the scale and not rounded. The authors' code rounds them
         to whole stars, which moves an MAE by more than many methods differ.
Source   Guerraoui, Kermarrec, Lin and Patra, Heterogeneous recommendations: what you might like to
         read after watching Interstellar (PVLDB 2017)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.data.ratings import Ratings
from tacit.designs.xmap.experiment.judging import (
    Comparison,
    Entries,
    Experiment,
    Judged,
    Setting,
    compare,
    compare_alpha,
    run_setting,
)
from tacit.designs.xmap.experiment.methods import (
    BASELINES,
    METHODS,
    NON_PRIVATE,
    PAPERS_BUDGETS,
    PRIVATE,
    Contender,
)
from tacit.errors import ConfigError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.parallel import Pool, Progress

VARIANTS = ("sound", "published", "constant")
DEFAULT_VARIANTS = VARIANTS[:2]
PAPERS_K = 50

Cells = dict[tuple[Contender, int | None, Setting], list[Judged]]
"""What was judged, one entry per seed."""


@dataclass(frozen=True)
class Grid:
    """What is measured; ConfigError for what cannot be.

    epsilons, delta: of the sound and constant variants; the published one takes the paper's
    budgets, and every pair of `surface` as (epsilon, epsilon_prime).
    """

    methods: Sequence[str] = METHODS
    ks: Sequence[int] = (10, 20, 50)
    alphas: Sequence[float] = (0.0,)
    overlaps: Sequence[float] = (1.0,)
    profile_sizes: Sequence[int] = (0,)
    variants: Sequence[str] = DEFAULT_VARIANTS
    epsilons: Sequence[float] = (1.0,)
    delta: float = 1e-6
    surface: Sequence[float] = ()
    seeds: int = 5

    def __post_init__(self) -> None:
        for kind, wanted, known in (
            ("method", self.methods, METHODS),
            ("variant", self.variants, VARIANTS),
        ):
            for name in wanted:
                if name not in known:
                    raise ConfigError(f"No {kind} '{name}'. There are: {', '.join(known)}.")
        budgets = (*self.epsilons, *self.surface)
        for name, values, fits, rule in (
            ("method", self.methods, lambda _: True, "a name"),
            ("k", self.ks, lambda k: k >= 1, "1 or more"),
            ("overlap", self.overlaps, lambda share: 0 <= share <= 1, "a share, 0 to 1"),
            ("profile size", self.profile_sizes, lambda size: size >= 0, "0 or more"),
            ("alpha", self.alphas, lambda alpha: 0 <= alpha < math.inf, "0 or more"),
            ("epsilon", budgets, lambda epsilon: epsilon > 0, "above 0"),
        ):
            if not values:
                raise ConfigError(f"The evaluation needs at least one {name}.")
            if odd := [value for value in values if not fits(value)]:
                raise ConfigError(f"Each {name} is {rule}; got {odd[0]}.")
        if self.seeds < 1:
            raise ConfigError(f"The evaluation needs at least one seed; got {self.seeds}.")
        if any(method in PRIVATE for method in self.methods) and not self.variants:
            raise ConfigError(f"X-Map needs a variant. There are: {', '.join(VARIANTS)}.")

    @property
    def base(self) -> Setting:
        return Setting(max(self.overlaps), min(self.profile_sizes), min(self.alphas))

    @property
    def base_k(self) -> int:
        return PAPERS_K if PAPERS_K in self.ks else max(self.ks)

    @property
    def settings(self) -> list[Setting]:
        """The base first, then what moves one thing."""
        moved = [replace(self.base, overlap=overlap) for overlap in sorted(self.overlaps)]
        moved += [replace(self.base, profile_size=size) for size in sorted(self.profile_sizes)]
        moved += [replace(self.base, alpha=alpha) for alpha in sorted(self.alphas)]
        return list(dict.fromkeys([self.base, *moved]))

    def plan(self) -> dict[Setting, Entries]:
        """Every k and budget at the base, elsewhere the base's k and the first budget of each."""
        first = list(self._contenders(self.epsilons[:1], ()))
        budgets = dict.fromkeys([*first, *self._contenders(self.epsilons, self.surface)])
        one, every = (self.base_k,), tuple(dict.fromkeys(self.ks))
        base, *moved = self.settings
        at_base = tuple((each, _ks(each, every if each in first else one)) for each in budgets)
        elsewhere = tuple((each, _ks(each, one)) for each in first)
        with_alpha = tuple(entry for entry in elsewhere if entry[0].has_alpha)
        found = {
            setting: elsewhere if setting.alpha == base.alpha else with_alpha for setting in moved
        }
        return {base: at_base} | found

    def _contenders(
        self, epsilons: Sequence[float], surface: Sequence[float]
    ) -> Iterator[Contender]:
        for method in METHODS:
            if method not in self.methods:
                continue
            if method in NON_PRIVATE:
                yield Contender(method, "published")
            elif method in BASELINES:
                yield Contender(method)
            else:
                for variant in ("sound", "constant") if method == "x-map-ib" else ():
                    for epsilon in epsilons if variant in self.variants else ():
                        yield Contender(method, variant, epsilon, None, self.delta)
                if "published" in self.variants:
                    pairs = [(first, second) for first in surface for second in surface]
                    for epsilon, epsilon_prime in [PAPERS_BUDGETS[method], *pairs]:
                        yield Contender(method, "published", epsilon, epsilon_prime)


def _ks(contender: Contender, ks: tuple[int, ...]) -> tuple[int | None, ...]:
    return ks if contender.has_k else (None,)


@dataclass(frozen=True)
class CrossDomainRow:
    """One contender in one split. epsilon: inf without privacy; epsilon_prime: of the published
    recommender's step, None elsewhere; k: None where the method has none; mae: None for scores that
    are not stars, as popularity's, and the sound variant's without the option `stars`."""

    method: str
    variant: str
    epsilon: float
    epsilon_prime: float | None
    delta: float
    k: int | None
    seed: int
    overlap: float
    profile_size: int
    alpha: float
    mae: float | None
    ndcg_at_10: float
    n_test: int


@dataclass(frozen=True)
class Point:
    """One contender in one setting: means over the seeds with 95 % intervals."""

    contender: Contender
    k: int | None
    setting: Setting
    mae: Interval | None
    ndcg_at_10: Interval

    def to_dict(self) -> dict[str, Any]:
        """Plain values; intervals as [mean, low, high]."""
        return {
            **vars(self.contender),
            "k": self.k,
            **vars(self.setting),
            "mae": None if self.mae is None else list(self.mae),
            "ndcg_at_10": list(self.ndcg_at_10),
        }


@dataclass(frozen=True)
class CrossDomainTable:
    """The whole experiment. base, base_k: where stays what does not move. people: test people of
    each seed, at the base. surface: budgets of which every pair was measured."""

    source: str
    target: str
    base: Setting
    base_k: int
    seeds: tuple[int, ...]
    people: tuple[int, ...]
    rows: tuple[CrossDomainRow, ...]
    points: tuple[Point, ...]
    comparisons: tuple[Comparison, ...]
    surface: tuple[float, ...] = ()

    def at_base(self) -> list[Point]:
        """Every contender where nothing moves, at `base_k` where it has a k, by method."""
        found = [
            point
            for point in self.points
            if point.setting == self.base and point.k in (None, self.base_k)
        ]
        return sorted(found, key=lambda point: METHODS.index(point.contender.method))

    def figures(self) -> tuple[tuple[list[Point], Callable[[Point], float | None]], ...]:
        """What moves, and what it moves by: k, the overlap, the profile size, alpha."""
        base, at_k = self.base, [p for p in self.points if p.k in (None, self.base_k)]

        def moving(name: str) -> list[Point]:
            still = [each for each in vars(base) if each != name]
            same = [p for p in at_k if all(vars(p.setting)[o] == vars(base)[o] for o in still)]
            return [p for p in same if name != "alpha" or p.contender.has_alpha]

        return (
            ([p for p in self.points if p.setting == base], lambda point: point.k),
            (moving("overlap"), lambda point: point.setting.overlap),
            (moving("profile_size"), lambda point: point.setting.profile_size),
            (moving("alpha"), lambda point: point.setting.alpha),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "base": {**vars(self.base), "k": self.base_k},
            "seeds": list(self.seeds),
            "people": list(self.people),
            "rows": [vars(row) | {} for row in self.rows],
            "points": [point.to_dict() for point in self.points],
            "comparisons": [vars(each) | {} for each in self.comparisons],
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
    **measured: Any,
) -> CrossDomainTable:
    """Run every method in every setting and seed; `steps` tells how far progress counts.

    ratings need the item metadata `domain`. measured: the fields of `Grid`. options: further
    keywords of XMap, such as `stars` and `features`. Splits depend on the seed only; noise takes no
    seed, so private rows differ a little from run to run. These are simulations, not releases.
    """
    grid = Grid(**measured)
    least = max(grid.profile_sizes) + 1
    experiment = Experiment(ratings, source, target, share, least, dict(options or {}))
    seeds = tuple(range(first_seed, first_seed + grid.seeds))
    tasks = [(seed, setting, entries) for seed in seeds for setting, entries in grid.plan().items()]
    with Pool(experiment, workers=workers) as pool:
        results = pool.run(run_setting, tasks, progress or (lambda _: None))
    cells: Cells = {}
    for (_, setting, _), judged in zip(tasks, results, strict=True):
        for contender, k, found in judged:
            cells.setdefault((contender, k, setting), []).append(found)
    return _table(experiment, cells, grid, seeds)


def steps(**measured: Any) -> int:
    """How many steps `evaluate_cross_domain` reports."""
    grid = Grid(**measured)
    return grid.seeds * len(grid.settings)


def _table(
    experiment: Experiment, cells: Cells, grid: Grid, seeds: tuple[int, ...]
) -> CrossDomainTable:
    at_base = {
        (contender, k): judged
        for (contender, k, setting), judged in cells.items()
        if setting == grid.base and k in (None, grid.base_k)
    }
    with_alpha = [
        compare_alpha((contender, k), setting.alpha, judged, at_base[contender, k])
        for (contender, k, setting), judged in cells.items()
        if setting.alpha != grid.base.alpha
    ]
    return CrossDomainTable(
        source=experiment.source,
        target=experiment.target,
        base=grid.base,
        base_k=grid.base_k,
        seeds=seeds,
        people=tuple(len(judged.ids) for judged in next(iter(at_base.values()))),
        rows=tuple(
            CrossDomainRow(
                **vars(contender),
                k=k,
                seed=seed,
                **vars(setting),
                mae=judged.mae if judged.has_errors else None,
                ndcg_at_10=judged.mean_ndcg,
                n_test=judged.n_test,
            )
            for (contender, k, setting), found in cells.items()
            for seed, judged in zip(seeds, found, strict=True)
        ),
        points=tuple(_point(*key, judged) for key, judged in cells.items()),
        comparisons=(*compare(at_base), *with_alpha),
        surface=tuple(sorted(set(grid.surface))),
    )


def _point(
    contender: Contender, k: int | None, setting: Setting, judged: Sequence[Judged]
) -> Point:
    return Point(
        contender,
        k,
        setting,
        mean_interval([each.mae for each in judged]) if judged[0].has_errors else None,
        mean_interval([each.mean_ndcg for each in judged], bounds=(0.0, 1.0)),
    )
