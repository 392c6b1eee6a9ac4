"""Recommendations in a domain where people have rated little or nothing: the paper's figures.

Split   A share of the people who rated in both domains are test people: all but `profile_size` of
        their ratings in the target domain are held out. All contenders with the same seed and
        profile size are judged on the same people and the same ratings.
MAE     In stars; predictions are clipped to the scale and not rounded. The authors' code rounds
        them to whole stars, which changes an MAE by more than many methods
        differ from each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.design import Comparison as ComparisonRequest
from tacit.design import ComparisonEntry
from tacit.designs.xmap.experiment.contenders import METHODS, Contender
from tacit.designs.xmap.experiment.grid import Grid, Setting
from tacit.designs.xmap.experiment.judgements import (
    Comparison,
    Judgement,
    SharedInputs,
    compare,
    compare_contenders,
    run_setting,
)
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.runner import Progress, Runner

UNIT_OF_SOUND = "a person's whole profile, added or removed"
"""Text of `tacit compare`: what the sound variant protects."""
UNIT_OF_PUBLISHED = "a rating, as printed: refuted, see the card"
"""Text of `tacit compare`: what the published variant claims to protect."""
ADVERSARY = "everybody who has the lists or the model"
"""Text of `tacit compare`: the adversary."""


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
    """Mean NDCG of lists of ten items, with its interval over seeds."""

    @property
    def varied_values(self) -> dict[str, float | None]:
        """Values of k, overlap, profile size and alpha, by name. k may be None."""
        return {"k": self.contender.k, **asdict(self.setting)}

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON values; `mae` and `ndcg_at_10` are [mean, low, high]."""
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
    """The setting with the base values (`Grid.base`)."""
    base_k: int
    """Base value of k."""
    seeds: tuple[int, ...]
    """Seeds of the splits."""
    people: tuple[int, ...]
    """For each seed, the number of test people in the base setting."""
    rows: tuple[dict[str, Any], ...]
    """Results of each contender in each setting and split, as JSON values (docs/cli.md)."""
    points: tuple[Point, ...]
    """Results of each contender in each setting, over all seeds."""
    comparisons: tuple[Comparison, ...]
    """Differences between contenders with all base values; and for each other alpha, a contender
    with this alpha minus the same contender with the base value of alpha."""

    @property
    def base_values(self) -> dict[str, float]:
        """Base values of k, overlap, profile size and alpha, by name."""
        return {"k": self.base_k, **asdict(self.base)}

    def names_of_varied(self, point: Point) -> list[str]:
        """List the names of a point's values that differ from the base values.

        For a contender without k, k does not differ.
        """
        base_values = self.base_values
        names = []
        for name, value in point.varied_values.items():
            if value is not None and value != base_values[name]:
                names.append(name)
        return names

    def at_base(self) -> list[Point]:
        """List the points with base values, in the order of `METHODS`."""
        base_points = [point for point in self.points if not self.names_of_varied(point)]
        return sorted(base_points, key=lambda point: METHODS.index(point.contender.method))

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON values."""
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
    """Run the contenders of each setting (`Grid.plan`) with each seed, and compare them.

    Test people depend on the seed, and not on the setting. Noise takes no seed, so the results of
    private methods differ a little from run to run. These are simulations, not releases.

    Args:
        ratings: Ratings in memory, with the item metadata `domain`.
        source: Domain that people have rated in.
        target: Domain to recommend from.
        share: Share of the people with ratings in both domains who are tested.
        first_seed: Seed of the first split; the next seeds are one larger each.
        options: Further keywords of XMap, such as `stars` and `features`.
        workers: Number of processes; 0 for one for each core.
        progress: Called with the number of runs that are done since its last call. There is a run
            for each setting and seed.
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
    judgements_of: dict[tuple[Setting, Contender], list[Judgement]] = {}  # in the order of seeds
    for (_, setting, contenders), judgements in zip(tasks, results, strict=True):
        for contender, judgement in zip(contenders, judgements, strict=True):
            judgements_of.setdefault((setting, contender), []).append(judgement)
    base = grid.base
    base_k = grid.base_k
    at_base: dict[Contender, list[Judgement]] = {}
    for (setting, contender), judgements in judgements_of.items():
        if setting == base and contender.k in (None, base_k):
            at_base[contender] = judgements
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
    """Make the JSON row of one contender in one setting and split."""
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
        For each epsilon an entry of the sound and one of the published variant, for infinity one of
        NX-Map; or the reason why there are none.
    """
    if request.source is None or request.target is None:
        return "needs two domains: name --source and --target"
    entries = []
    for epsilon in request.epsilons:
        shared = {"source": request.source, "target": request.target, "epsilon": epsilon}
        published = shared | {"variant": "published", "k": 10}
        if math.isinf(epsilon):
            entries.append(_make_entry("non-private", epsilon, UNIT_OF_SOUND, published))
            continue
        sound = shared | {
            "variant": "sound",
            "delta": request.delta,
            "features": request.features,
        }
        entries.append(_make_entry("sound", epsilon, UNIT_OF_SOUND, sound))
        entries.append(_make_entry("published", epsilon, UNIT_OF_PUBLISHED, published))
    return tuple(entries)


def _make_entry(
    variant: str, epsilon: float, unit: str, settings: Mapping[str, Any]
) -> ComparisonEntry:
    """Make an entry of X-Map in `tacit compare`.

    Args:
        variant: Name of the variant in the table.
        epsilon: Nats of the entry.
        unit: What the epsilon is for.
        settings: Parameters of XMap.
    """
    return ComparisonEntry(
        design="xmap",
        variant=variant,
        epsilon=epsilon,
        unit=unit,
        against=ADVERSARY,
        maker="tacit.designs.xmap:XMap",
        settings=settings,
        stars=True,
    )


def count_similarities(ratings: Ratings, source: str, target: str) -> dict[str, int]:
    """Count the pairs of a source item and a target item that have a similarity.

    Returns:
        Numbers of pairs. `adjusted_cosine`: those with a cosine other than 0, for which people must
        have rated both items. `x_sim`: those that a meta-path joins, with the default number of
        neighbours. `pairs`: all pairs.
    """
    from tacit.designs.xmap.baseliner import make_baseline
    from tacit.designs.xmap.extender import blocks_of_starts, compute_x_sim, extend
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
        with_x_sim += int(np.isfinite(compute_x_sim(extension, items, engine)).sum())
    all_pairs = len(sources) * len(targets)
    return {"adjusted_cosine": with_cosine, "x_sim": with_x_sim, "pairs": all_pairs}
