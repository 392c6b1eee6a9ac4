"""Lists judged on likes that were held out, and what recommenders keep of a rival's gain.

One domain   a random 20 % of each person's likes are held out, at least one, never all, and are to
             be found again; candidates are all items the person has not rated in training. At most
             `MOST_PEOPLE` test people, drawn at random.
Two domains  20 % of the people who rated in both, `MOST_PEOPLE` at most, lose all ratings in the
             target domain; candidates are all its items. No other person loses a rating.
Gain         NDCG@10 above popularity, which counts likes.
Rival        without privacy, its penalty the best of `PENALTIES` on the test people themselves:
             EASE in one domain, a ridge regression from source to target in two. A contender's own
             settings are never chosen so.
Kept         a contender's gain as a share of the rival's; below 0: worse than popularity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import cross_domain_split, items_in, straddlers
from tacit.data.ratings import Ratings
from tacit.data.splits import random_per_user
from tacit.errors import ConfigError, DataError
from tacit.evaluation import LEAST_SEEDS, mean_interval
from tacit.evaluation.metrics import ranking_metrics, rmse
from tacit.evaluation.runner import Progress, Runner
from tacit.recommenders.base import Recommender
from tacit.recommenders.model_files import model_kinds, model_reader

SHARE = 0.2
MOST_PEOPLE = 1500
LIST_LENGTH = 10
PENALTIES = (50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListTrial:
    """train: ratings to fit. test: held-out ratings, with the same numbers of people and items.

    people: (n,) numbers of the test people, each with a held-out like, sorted.
    candidates: ids of the items a list may hold; None: every item.
    """

    train: Ratings
    test: Ratings
    people: Ints
    candidates: Sequence[Any] | None = None

    @property
    def relevant(self) -> sparse.csr_array:
        """(n, items) 1 for each held-out like of a test person."""
        matrix = self.test.matrix
        likes = sparse.csr_array(
            (self.test.likes.astype(float), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return sparse.csr_array(likes[self.people])


@dataclass(frozen=True, slots=True)
class ListFigures:
    """Means over the test people. rmse: of all their held-out ratings; None without stars."""

    ndcg: float
    recall: float
    rmse: float | None


def list_trial(
    ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
) -> ListTrial:
    """One split: in one domain, or from `source` to `target`; the module's text defines both."""
    candidates = None
    if source is None or target is None:
        split = random_per_user(ratings, SHARE, seed=seed, among=ratings.likes)
    else:
        both = len(straddlers(ratings, source, target))
        share = min(SHARE, MOST_PEOPLE / max(both, 1))
        split = cross_domain_split(ratings, source=source, target=target, share=share, seed=seed)
        candidates = ratings.item_ids[items_in(ratings, target)].tolist()
    people = np.unique(split.test.users[split.test.likes]).astype(np.int64)
    if not people.size:
        raise DataError(
            "no test person has a held-out like",
            expected=f"a held-out rating of {split.test.scale.liked_from:g} or more",
            fix="Use more ratings.",
        )
    chosen = np.random.default_rng((seed, 1)).permutation(people)[:MOST_PEOPLE]
    return ListTrial(split.train, split.test, np.sort(chosen), candidates)


def lists_of(
    recommender: Recommender,
    ratings: Ratings,
    people: Ints,
    *,
    n: int = LIST_LENGTH,
    candidates: Sequence[Any] | None = None,
) -> Ints:
    """(len(people), n) item numbers, best first, -1 where a list is shorter.

    recommender: fitted on these people's ratings, or on others' with the same ids.
    """
    number = {item: place for place, item in enumerate(ratings.item_ids.tolist())}
    lists = np.full((len(people), n), -1, dtype=np.int64)
    for row, user in enumerate(ratings.user_ids[people].tolist()):
        ids = recommender.recommend(user, n=n, candidates=candidates).item_ids
        lists[row, : len(ids)] = [number[item] for item in ids]
    return lists


def top_quarter(test: Ratings, people: Ints) -> sparse.csr_array:
    """(people, items) 1 for each held-out rating in the top quarter of the scale."""
    matrix = test.matrix[people]
    liked = (matrix.data >= test.scale.minimum + 0.75 * test.scale.span).astype(float)
    return sparse.csr_array((liked, matrix.indices, matrix.indptr), shape=matrix.shape)


def judge_lists(recommender: Recommender, trial: ListTrial, *, stars: bool = False) -> ListFigures:
    """Fit on `trial.train`; lists of ten, and the error of predictions if they are stars."""
    recommender.fit(trial.train)
    lists = lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    metrics = ranking_metrics(lists, trial.relevant)
    predicted = (recommender, trial.train, trial.test, trial.people)
    return ListFigures(metrics.ndcg, metrics.recall, rmse(*stars_of(*predicted)) if stars else None)


def stars_of(
    recommender: Recommender, train: Ratings, test: Ratings, people: Ints
) -> tuple[Floats, Floats]:
    """True stars of all held-out ratings of these people, and what was predicted for them.

    Predictions are clipped to the scale; the mean star of training stands in where there is none.
    """
    predicted, truth = [], []
    for person in people:
        rows = slice(test.offsets[person], test.offsets[person + 1])
        items = test.item_ids[test.items[rows]].tolist()
        predicted.append(recommender.predict(items, test.user_ids[[person]].tolist()[0]))
        truth.append(test.values[rows])
    stars = np.concatenate(predicted)
    stars = np.where(np.isnan(stars), train.values.mean(), stars)
    return np.concatenate(truth), np.clip(stars, test.scale.minimum, test.scale.maximum)


@dataclass(frozen=True)
class Contender:
    """A recommender by its name in a model file, with its settings.

    epsilon: None without noise. several: of these settings the best on the test people counts.
    stars: whether its predictions are stars.
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
    """Means over the seeds; low, high: a 95 % interval of NDCG@10. rmse: None without stars. kept:
    None of popularity, and where the rival gains nothing."""

    model: str
    epsilon: float | None
    ndcg: float
    recall: float
    rmse: float | None
    low: float
    high: float
    kept: float | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


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

    seeds: of the splits; noise takes none. A contender that is popularity or of the rival's name is
    not run again. ConfigError for one of source and target, or no seed.
    """
    if (source is None) != (target is None):
        raise ConfigError("Name both --source and --target, or neither.")
    if not seeds:
        raise ConfigError("The evaluation needs at least one seed.")
    several = tuple({"penalty": penalty} for penalty in PENALTIES)
    best = Contender("ease", several=several)
    if source is not None:
        best = Contender("ridge", {"source": source, "target": target}, several=several)
    others = [each for each in contenders if each.model not in (POPULARITY.model, best.model)]
    running = (POPULARITY, best, *others)
    tasks = [(seed, contender) for contender in running for seed in seeds]
    with Runner((ratings, source, target), workers=workers) as runner:
        by_task = iter(runner.run(_judge, tasks, progress or (lambda _: None)))
    by_contender = [_best(list(islice(by_task, len(seeds)))) for _ in running]
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
