"""Several recommenders of lists on the same splits, and what each keeps of a rival's gain.

Gain    NDCG@10 above popularity, which counts likes.
Rival   the strongest plain method without privacy, its penalty the best of `PENALTIES` on the test
        people themselves: EASE in one domain, a ridge regression from the source to the target
        domain in two. A contender's own settings are never chosen so.
Kept    a contender's gain as a share of the rival's; below 0 for lists worse than popularity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.evaluation.intervals import mean_interval
from tacit.evaluation.lists import ListFigures, judge_lists, list_trial
from tacit.evaluation.parallel import Pool, Progress
from tacit.recommenders.base import Recommender
from tacit.recommenders.files import model_kinds, model_reader

PENALTIES = (50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0)
LEAST_SEEDS = 6
"""Seeds to ask for where an interval is to say much."""


@dataclass(frozen=True)
class Contender:
    """A recommender by its name in a model file, with its settings.

    epsilon: None without noise. several: settings of which the best counts, chosen on the test
    people. stars: whether its predictions are stars.
    """

    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float | None = None
    several: tuple[Mapping[str, Any], ...] = ({},)
    stars: bool = False

    def variants(self) -> tuple[Recommender, ...]:
        """One unfitted recommender for each of `several`."""
        kind = model_reader(self.model)
        if kind is None:
            raise ConfigError(f"No recommender '{self.model}'. Known: {', '.join(model_kinds())}.")
        return tuple(kind(**{**self.settings, **each}) for each in self.several)


POPULARITY = Contender("popularity", {"likes": True})


@dataclass(frozen=True)
class ListRow:
    """Means over the seeds. low, high: a 95 % interval of NDCG@10. rmse: None for scores that are
    no stars. kept: None of popularity, and where the rival gains nothing."""

    model: str
    epsilon: float | None
    ndcg: float
    recall: float
    rmse: float | None
    low: float
    high: float
    kept: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def rival(source: str | None = None, target: str | None = None) -> Contender:
    """EASE in one domain, a ridge regression between two."""
    several = tuple({"penalty": penalty} for penalty in PENALTIES)
    if source is None or target is None:
        return Contender("ease", several=several)
    return Contender("ridge", {"source": source, "target": target}, several=several)


def evaluate_lists(
    ratings: Ratings,
    contenders: Iterable[Contender],
    *,
    source: str | None = None,
    target: str | None = None,
    seeds: Sequence[int] = range(LEAST_SEEDS),
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[ListRow, ...]:
    """Popularity, the rival, and the contenders, each on every split; one step for each of them.

    source, target: both or neither. seeds: of the splits; noise takes none. A contender that is
    popularity or of the rival's name stands in its place in the rows and is not run again.
    """
    if (source is None) != (target is None):
        raise ConfigError("Name both --source and --target, or neither.")
    if not seeds:
        raise ConfigError("The evaluation needs at least one seed.")
    best = rival(source, target)
    others = [each for each in contenders if each.model not in (POPULARITY.model, best.model)]
    running = (POPULARITY, best, *others)
    tasks = [(seed, contender) for contender in running for seed in seeds]
    with Pool((ratings, source, target), workers=workers) as pool:
        found = pool.run(_judge, tasks, progress or (lambda _: None))
    by_contender = [_best(found[at : at + len(seeds)]) for at in range(0, len(found), len(seeds))]
    floor, top = (float(np.mean([each.ndcg for each in by_contender[at]])) for at in (0, 1))
    return tuple(
        _row(contender, figures, floor, top)
        for contender, figures in zip(running, by_contender, strict=True)
    )


def _judge(
    experiment: tuple[Ratings, str | None, str | None], seed: int, contender: Contender
) -> list[ListFigures]:
    ratings, source, target = experiment
    trial = list_trial(ratings, source=source, target=target, seed=seed)
    return [judge_lists(each, trial, stars=contender.stars) for each in contender.variants()]


def _best(by_seed: Sequence[Sequence[ListFigures]]) -> list[ListFigures]:
    """The figures, one for each seed, of the settings with the best mean NDCG."""
    variants = [list(each) for each in zip(*by_seed, strict=True)]
    return max(variants, key=lambda figures: float(np.mean([each.ndcg for each in figures])))


def _row(contender: Contender, figures: Sequence[ListFigures], floor: float, top: float) -> ListRow:
    interval = mean_interval([each.ndcg for each in figures], bounds=(0.0, 1.0))
    gain = None if contender is POPULARITY or top <= floor else interval.mean - floor
    errors = [each.rmse for each in figures if each.rmse is not None]
    return ListRow(
        contender.model,
        contender.epsilon,
        interval.mean,
        float(np.mean([each.recall for each in figures])),
        float(np.mean(errors)) if errors else None,
        interval.low,
        interval.high,
        None if gain is None else gain / (top - floor),
    )
