"""Recommendations in a domain where a person has rated nothing yet: the figures of X-Map's paper.

Split    A share of the people who rated in both domains are test people: all but `profile_size` of
         their ratings in the target domain are held out. Every contender of a seed is judged on the
         same people and the same ratings.
Figures  One thing moves at a time (k, overlap, profile size, budget); the others stay at the base:
         the largest overlap, the smallest profile, k of 50 or else the largest, the first epsilon.
MAE      In stars, predictions clipped to the scale and not rounded. The authors' code rounds them
         to whole stars, which moves an MAE by more than many methods differ.
Source   Guerraoui, Kermarrec, Lin and Patra, Heterogeneous recommendations: what you might like to
         read after watching Interstellar (PVLDB 2017)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.data.ratings import Ratings
from tacit.designs.xmap.experiment.compare import Comparison, compare
from tacit.designs.xmap.experiment.judge import Judged
from tacit.designs.xmap.experiment.methods import (
    BASELINES,
    METHODS,
    NON_PRIVATE,
    PAPERS_BUDGETS,
    PRIVATE,
    Contender,
)
from tacit.designs.xmap.experiment.run import Entries, Experiment, Setting, run_setting
from tacit.errors import ConfigError
from tacit.evaluation.intervals import Interval, mean_interval
from tacit.evaluation.parallel import Pool, Progress

VARIANTS = ("sound", "published", "constant")
DEFAULT_VARIANTS = VARIANTS[:2]
PAPERS_K = 50
Cells = dict[tuple[Contender, int | None, Setting], list[Judged]]
"""What was judged, one entry per seed."""


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
    methods: Sequence[str] = METHODS,
    ks: Sequence[int] = (10, 20, 50),
    overlaps: Sequence[float] = (1.0,),
    profile_sizes: Sequence[int] = (0,),
    variants: Sequence[str] = DEFAULT_VARIANTS,
    epsilons: Sequence[float] = (1.0,),
    delta: float = 1e-6,
    surface: Sequence[float] = (),
    share: float = 0.2,
    seeds: int = 5,
    first_seed: int = 0,
    options: Mapping[str, Any] | None = None,
    workers: int = 0,
    progress: Progress | None = None,
) -> CrossDomainTable:
    """Run every method in every setting and seed; `steps` tells how far progress counts.

    ratings need the item metadata `domain`. epsilons, delta: of the sound and constant variants;
    the published one takes the paper's budgets, and every pair of `surface` as (epsilon,
    epsilon_prime). options: further keywords of XMap, such as `stars` and `features`. Splits depend
    on the seed only; noise takes no seed, so private rows differ a little from run to run. These
    are simulations, not releases.
    """
    _refuse(methods, variants, ks, overlaps, profile_sizes, epsilons, surface, seeds)
    experiment = Experiment(
        ratings, source, target, share, max(profile_sizes) + 1, dict(options or {})
    )
    plan = _plan(methods, variants, ks, overlaps, profile_sizes, epsilons, delta, surface)
    numbers = tuple(range(first_seed, first_seed + seeds))
    tasks = [(seed, setting, entries) for seed in numbers for setting, entries in plan.items()]
    with Pool(experiment, workers=workers) as pool:
        results = pool.run(run_setting, tasks, progress or (lambda _: None))
    cells: Cells = {}
    for (_, setting, _), judged in zip(tasks, results, strict=True):
        for contender, k, found in judged:
            cells.setdefault((contender, k, setting), []).append(found)
    table = _table(experiment, cells, _base(overlaps, profile_sizes), _base_k(ks), numbers)
    return replace(table, surface=tuple(sorted(set(surface))))


def steps(
    *,
    overlaps: Sequence[float] = (1.0,),
    profile_sizes: Sequence[int] = (0,),
    seeds: int = 5,
) -> int:
    """How many steps `evaluate_cross_domain` reports."""
    return seeds * len(_settings(overlaps, profile_sizes))


def _base(overlaps: Sequence[float], profile_sizes: Sequence[int]) -> Setting:
    return Setting(max(overlaps), min(profile_sizes))


def _base_k(ks: Sequence[int]) -> int:
    return PAPERS_K if PAPERS_K in ks else max(ks)


def _settings(overlaps: Sequence[float], profile_sizes: Sequence[int]) -> list[Setting]:
    """The base first, then what moves one thing."""
    base = _base(overlaps, profile_sizes)
    moved = [replace(base, overlap=overlap) for overlap in sorted(overlaps)]
    moved += [replace(base, profile_size=size) for size in sorted(profile_sizes)]
    return list(dict.fromkeys([base, *moved]))


def _plan(
    methods: Sequence[str],
    variants: Sequence[str],
    ks: Sequence[int],
    overlaps: Sequence[float],
    profile_sizes: Sequence[int],
    epsilons: Sequence[float],
    delta: float,
    surface: Sequence[float],
) -> dict[Setting, Entries]:
    """Every k and budget at the base, elsewhere the base's k and the first budget of each."""
    first = list(_contenders(methods, variants, epsilons[:1], delta, ()))
    budgets = dict.fromkeys([*first, *_contenders(methods, variants, epsilons, delta, surface)])
    one, every = (_base_k(ks),), tuple(dict.fromkeys(ks))
    base, *moved = _settings(overlaps, profile_sizes)
    at_base = tuple((c, _ks(c, every if c in first else one)) for c in budgets)
    return {base: at_base} | {setting: tuple((c, _ks(c, one)) for c in first) for setting in moved}


def _ks(contender: Contender, ks: tuple[int, ...]) -> tuple[int | None, ...]:
    return ks if contender.has_k else (None,)


def _contenders(
    methods: Sequence[str],
    variants: Sequence[str],
    epsilons: Sequence[float],
    delta: float,
    surface: Sequence[float],
) -> Iterator[Contender]:
    for method in METHODS:
        if method not in methods:
            continue
        if method in NON_PRIVATE:
            yield Contender(method, "published")
        elif method in BASELINES:
            yield Contender(method)
        else:
            for variant in ("sound", "constant") if method == "x-map-ib" else ():
                for epsilon in epsilons if variant in variants else ():
                    yield Contender(method, variant, epsilon, None, delta)
            if "published" in variants:
                pairs = [(first, second) for first in surface for second in surface]
                for epsilon, epsilon_prime in [PAPERS_BUDGETS[method], *pairs]:
                    yield Contender(method, "published", epsilon, epsilon_prime)


def _table(
    experiment: Experiment, cells: Cells, base: Setting, base_k: int, seeds: tuple[int, ...]
) -> CrossDomainTable:
    at_base = {
        (contender, k): judged
        for (contender, k, setting), judged in cells.items()
        if setting == base and k in (None, base_k)
    }
    return CrossDomainTable(
        source=experiment.source,
        target=experiment.target,
        base=base,
        base_k=base_k,
        seeds=seeds,
        people=tuple(len(judged.ids) for judged in next(iter(at_base.values()))),
        rows=tuple(
            _row(contender, k, setting, seed, judged)
            for (contender, k, setting), found in cells.items()
            for seed, judged in zip(seeds, found, strict=True)
        ),
        points=tuple(_point(*key, judged) for key, judged in cells.items()),
        comparisons=tuple(compare(at_base)),
    )


def _row(
    contender: Contender, k: int | None, setting: Setting, seed: int, judged: Judged
) -> CrossDomainRow:
    return CrossDomainRow(
        **vars(contender),
        k=k,
        seed=seed,
        **vars(setting),
        mae=judged.mae if judged.has_errors else None,
        ndcg_at_10=judged.mean_ndcg,
        n_test=judged.n_test,
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


def _refuse(
    methods: Sequence[str],
    variants: Sequence[str],
    ks: Sequence[int],
    overlaps: Sequence[float],
    profile_sizes: Sequence[int],
    epsilons: Sequence[float],
    surface: Sequence[float],
    seeds: int,
) -> None:
    for kind, wanted, known in (("method", methods, METHODS), ("variant", variants, VARIANTS)):
        for name in wanted:
            if name not in known:
                raise ConfigError(f"No {kind} '{name}'. There are: {', '.join(known)}.")
    for name, values, fits, rule in (
        ("method", methods, lambda _: True, "a name"),
        ("k", ks, lambda k: k >= 1, "1 or more"),
        ("overlap", overlaps, lambda share: 0 <= share <= 1, "a share, 0 to 1"),
        ("profile size", profile_sizes, lambda size: size >= 0, "0 or more"),
        ("epsilon", (*epsilons, *surface), lambda epsilon: epsilon > 0, "above 0"),
    ):
        if not values:
            raise ConfigError(f"The evaluation needs at least one {name}.")
        if odd := [value for value in values if not fits(value)]:
            raise ConfigError(f"Each {name} is {rule}; got {odd[0]}.")
    if seeds < 1:
        raise ConfigError(f"The evaluation needs at least one seed; got {seeds}.")
    if any(method in PRIVATE for method in methods) and not variants:
        raise ConfigError(f"X-Map needs a variant. There are: {', '.join(VARIANTS)}.")
