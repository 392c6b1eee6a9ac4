"""Recommendations in a domain where a person has rated nothing yet: the figures of X-Map's paper.

Split    A share of the people who rated in both domains are test people: all but `profile_size` of
         their ratings in the target domain are held out. Every contender of a seed is judged on the
         same people and the same ratings.
Figures  One thing moves at a time (k, overlap, profile size, alpha, budget); the others stay at the
         base: the largest overlap, the smallest profile and alpha, k of 50 or else the largest, the
         first epsilon.
MAE      In stars, predictions clipped to the scale and not rounded. The authors' code rounds them
         to whole stars, which moves an MAE by more than many methods differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.design import Comparison as Asked
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
    compare,
    compare_contenders,
    run_setting,
)
from tacit.errors import ConfigError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.runner import Progress, Runner

PAPERS_K = 50
PROFILE = "a person's whole profile, added or removed"
PRINTED = "a rating, as printed: refuted, see the card"
LISTS = "everybody who has the lists or the model"


@dataclass(frozen=True)
class Grid:
    """Settings of the experiment, as options of the command.

    `epsilons` and `delta` are the sound variant's. The published one takes the paper's budgets, and
    every pair of `surface` as (epsilon, epsilon_prime).

    Raises:
        ConfigError: A method, variant or reading that there is not, or a number out of range.
    """

    ks: tuple[int, ...] = option(
        "Numbers of neighbours, with commas.", default=(10, 20, 50), flag="--k"
    )
    overlaps: tuple[float, ...] = option(
        "Shares of the people in both domains who stay in training.",
        default=(1.0,),
        flag="--overlap",
    )
    profile_sizes: tuple[int, ...] = option(
        "Ratings in the target that a test person keeps; 0: cold start.",
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
        "Of X-Map: sound, published; with commas.", default=VARIANTS, flag="--variant"
    )
    epsilons: tuple[float, ...] = option(
        "Epsilon for a person's whole profile, with commas.", default=(1.0,), flag="--epsilon"
    )
    delta: float = option("Of the sound variant, such as 1e-6.", default=1e-6)
    readings: tuple[str, ...] = option(
        "Readings of PNSA in the published variant: printed, counted, positive; with commas.",
        default=("printed",),
        flag="--pnsa",
    )
    surface: tuple[float, ...] = option(
        "Budgets of the published variant: every pair is measured.", default=()
    )
    seeds: int = option("How many splits.", default=5, least=1)

    def __post_init__(self) -> None:
        for kind, names, known in (
            ("method", self.methods, METHODS),
            ("variant", self.variants, VARIANTS),
            ("reading of PNSA", self.readings, READINGS),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                raise ConfigError(f"No {kind} '{unknown[0]}'. There are: {', '.join(known)}.")
        budgets = (*self.epsilons, *self.surface)
        for name, values, fits, rule in (
            ("method", self.methods, lambda _: True, "a name"),
            ("reading of PNSA", self.readings, lambda _: True, "a name"),
            ("k", self.ks, lambda k: k >= 1, "1 or more"),
            ("overlap", self.overlaps, lambda share: 0 <= share <= 1, "a share, 0 to 1"),
            ("profile size", self.profile_sizes, lambda size: size >= 0, "0 or more"),
            ("alpha", self.alphas, lambda alpha: 0 <= alpha < math.inf, "0 or more"),
            ("epsilon", budgets, lambda epsilon: epsilon > 0, "above 0"),
            ("seed", range(self.seeds), lambda _: True, "a number"),
        ):
            if not values:
                raise ConfigError(f"The evaluation needs at least one {name}.")
            refused = [value for value in values if not fits(value)]
            if refused:
                raise ConfigError(f"Each {name} is {rule}; got {refused[0]}.")

    @property
    def base(self) -> Setting:
        """The setting at which everything stays that does not move."""
        return Setting(max(self.overlaps), min(self.profile_sizes), min(self.alphas))

    @property
    def base_k(self) -> int:
        """The number of neighbours at the base: the paper's, or else the largest."""
        return PAPERS_K if PAPERS_K in self.ks else max(self.ks)

    @property
    def steps(self) -> int:
        """How many settings are run, over all seeds."""
        return self.seeds * len(self.plan())

    def plan(self) -> dict[Setting, list[Contender]]:
        """Plan every k and budget at the base, elsewhere the base's k and the first budget."""
        first = list(self._contenders(self.epsilons[:1], ()))
        elsewhere = [self._at_base_k(contender) for contender in first]
        at_base = []
        for contender in first:
            if contender.has_k:
                at_base += [replace(contender, k=k) for k in self.ks]
        at_base += elsewhere
        at_base += map(self._at_base_k, self._contenders(self.epsilons, self.surface))
        planned = {self.base: [*dict.fromkeys(at_base)]}
        moved = [replace(self.base, overlap=share) for share in sorted(self.overlaps)]
        moved += [replace(self.base, profile_size=size) for size in sorted(self.profile_sizes)]
        for setting in moved:
            planned.setdefault(setting, elsewhere)
        for alpha in sorted(self.alphas):
            with_alpha = [each for each in elsewhere if each.has_alpha]
            planned.setdefault(replace(self.base, alpha=alpha), with_alpha)
        return planned

    def _at_base_k(self, contender: Contender) -> Contender:
        return replace(contender, k=self.base_k) if contender.has_k else contender

    def _contenders(
        self, epsilons: Sequence[float], surface: Sequence[float]
    ) -> Iterator[Contender]:
        for method in (each for each in METHODS if each in self.methods):
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


@dataclass(frozen=True)
class Point:
    """One contender in one setting, over all seeds."""

    contender: Contender
    """The method."""
    setting: Setting
    """What it was measured at."""
    mae: Interval | None
    """Mean error in stars; None for scores that are not stars."""
    ndcg_at_10: Interval
    """Mean NDCG of lists of ten."""

    @property
    def place(self) -> dict[str, float | None]:
        """Value of each thing that can move."""
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
    """The whole experiment."""

    source: str
    """Domain that people have rated in."""
    target: str
    """Domain to recommend from."""
    base: Setting
    """Where everything stays that does not move."""
    base_k: int
    """Number of neighbours at the base."""
    seeds: tuple[int, ...]
    """Seeds of the splits."""
    people: tuple[int, ...]
    """Test people of each seed, at the base."""
    rows: tuple[dict[str, Any], ...]
    """One contender in one split each, as docs/cli.md has it."""
    points: tuple[Point, ...]
    """Each contender in each setting."""
    comparisons: tuple[Comparison, ...]
    """Differences at the base, and those of alpha."""

    @property
    def still(self) -> dict[str, float]:
        """Values of `Point.place` at the base."""
        return {"k": self.base_k, **asdict(self.base)}

    def names_of_moved(self, point: Point) -> list[str]:
        """Names of what differs from the base; a contender without k has no k that differs."""
        still = self.still
        return [name for name, value in point.place.items() if value not in (None, still[name])]

    def at_base(self) -> list[Point]:
        """List every contender where nothing moves, by method."""
        unmoved = [point for point in self.points if not self.names_of_moved(point)]
        return sorted(unmoved, key=lambda point: METHODS.index(point.contender.method))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "source": self.source,
            "target": self.target,
            "base": self.still,
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
    **measured: Any,
) -> CrossDomainTable:
    """Run every method in every setting and seed.

    Splits depend on the seed only; noise takes no seed, so private rows differ a little from run to
    run. These are simulations, not releases.

    Args:
        ratings: In memory, with the item metadata `domain`.
        source: Domain that people have rated in.
        target: Domain to recommend from.
        share: Share of the people in both domains who are tested.
        first_seed: Seed of the first split; the others follow it.
        options: Further keywords of XMap, such as `stars` and `features`.
        workers: Processes; 0: one for each core.
        progress: Called with the number of settings that are done.
        measured: Fields of `Grid`.
    """
    grid = Grid(**measured)
    least = max(grid.profile_sizes) + 1
    shared = ratings, source, target, share, least, dict(options or {})
    seeds = tuple(range(first_seed, first_seed + grid.seeds))
    tasks = []
    for seed in seeds:
        for setting, contenders in grid.plan().items():
            tasks.append((seed, setting, contenders))
    with Runner(shared, workers=workers) as runner:
        results = runner.run(run_setting, tasks, progress or (lambda _: None))
    cells: dict[tuple[Setting, Contender], list[Judgement]] = {}
    for (_, setting, contenders), by_seed in zip(tasks, results, strict=True):
        for contender, judged in zip(contenders, by_seed, strict=True):
            cells.setdefault((setting, contender), []).append(judged)
    base = grid.base
    base_k = grid.base_k
    at_base = {
        contender: judged
        for (setting, contender), judged in cells.items()
        if setting == base and contender.k in (None, base_k)
    }
    with_alpha = [
        compare_contenders(contender, contender, "mae", judged, at_base[contender], setting.alpha)
        for (setting, contender), judged in cells.items()
        if setting.alpha != base.alpha
    ]
    rows: list[dict[str, Any]] = []
    for (setting, contender), by_seed in cells.items():
        for seed, judgement in zip(seeds, by_seed, strict=True):
            rows.append(_make_row(setting, contender, seed, judgement))
    return CrossDomainTable(
        source=source,
        target=target,
        base=base,
        base_k=base_k,
        seeds=seeds,
        people=tuple(len(judgement.ids) for judgement in next(iter(at_base.values()))),
        rows=tuple(rows),
        points=tuple(_make_point(*cell, judged) for cell, judged in cells.items()),
        comparisons=(*compare(at_base), *with_alpha),
    )


def _make_row(
    setting: Setting, contender: Contender, seed: int, judgement: Judgement
) -> dict[str, Any]:
    """Make the row of one contender in one split."""
    return {
        **asdict(contender),
        "seed": seed,
        **asdict(setting),
        "mae": judgement.mae,
        "ndcg_at_10": judgement.mean_ndcg,
        "n_test": int(judgement.counts.sum()),
    }


def _make_point(setting: Setting, contender: Contender, judged: Sequence[Judgement]) -> Point:
    """Summarise one contender's judgements over the seeds."""
    errors = [judgement.mae for judgement in judged if judgement.mae is not None]
    lists = [judgement.mean_ndcg for judgement in judged]
    return Point(
        contender,
        setting,
        mean_interval(errors) if errors else None,
        mean_interval(lists, bounds=(0.0, 1.0)),
    )


def contenders(asked: Asked) -> tuple[ComparisonEntry, ...] | str:
    """List X-Map in its variants for `tacit compare`, where two domains are named."""
    if asked.source is None or asked.target is None:
        return "needs two domains: name --source and --target"
    maker = "tacit.designs.xmap:XMap"
    entries = []
    for epsilon in asked.epsilons:
        given = {"source": asked.source, "target": asked.target, "epsilon": epsilon}
        published = given | {"variant": "published", "k": 10}
        if math.isinf(epsilon):
            kinds = [("non-private", PROFILE, published)]
        else:
            sound = given | {"variant": "sound", "delta": asked.delta, "features": asked.features}
            kinds = [("sound", PROFILE, sound), ("published", PRINTED, published)]
        entries += [
            ComparisonEntry("xmap", variant, epsilon, unit, LISTS, maker, settings, True)
            for variant, unit, settings in kinds
        ]
    return tuple(entries)


def similarities_found(ratings: Ratings, source: str, target: str) -> dict[str, int]:
    """Count the pairs of an item of each domain that have a similarity.

    Returns:
        `adjusted_cosine`: pairs with a cosine that is not 0, from people who rated both; `x_sim`:
        pairs that a meta-path joins, with the neighbours that an item keeps by default; `pairs`:
        all of them.
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
    parts = [sources[part] for part in blocks_of_starts(extension, sources)]
    centred = base.table.values
    direct = sum(int((centred[:, part].T @ centred[:, targets]).count_nonzero()) for part in parts)
    reached = sum(int(np.isfinite(similarities(extension, part, engine)).sum()) for part in parts)
    return {"adjusted_cosine": direct, "x_sim": reached, "pairs": len(sources) * len(targets)}
