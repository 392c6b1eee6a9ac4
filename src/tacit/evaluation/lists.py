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
from dataclasses import asdict, dataclass, field, replace
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
from tacit.recommenders.base import ItemRecommender, Recommender
from tacit.recommenders.fits_in_process import comparison
from tacit.recommenders.model_files import model_kinds, model_reader

SHARE = 0.2
"""Share of likes, or of people, that is held out."""
MOST_PEOPLE = 1500
"""Most test people of a split."""
LIST_LENGTH = 10
"""Length of a list."""
PENALTIES = (50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0)
"""Penalties of the rival, of which the best on the test people counts."""

_STREAM_OF_CONSENT = 3
"""Second word of the seed by which consenting people are drawn."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListTrial:
    """One split: what is fitted, what is held out, and who is judged."""

    train: Ratings
    """Ratings to fit."""
    test: Ratings
    """Held-out ratings, with the same numbers of people and items."""
    people: Ints
    """Shape (n,): numbers of the test people, sorted; each has a held-out like."""
    candidates: Sequence[Any] | None = None
    """Ids of the items that a list may hold; None: every item."""

    @property
    def relevant(self) -> sparse.csr_array:
        """Matrix of shape (n, items): 1 for each held-out like of a test person."""
        matrix = self.test.matrix
        likes = sparse.csr_array(
            (self.test.likes.astype(float), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return sparse.csr_array(likes[self.people])


@dataclass(frozen=True, slots=True)
class ListFigures:
    """Means over the test people."""

    ndcg: float
    """NDCG@10 of their lists."""
    recall: float
    """Recall@10 of their lists."""
    rmse: float | None
    """Error of all their held-out ratings, in stars; None where predictions are no stars."""


def list_trial(
    ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
) -> ListTrial:
    """Make one split, in one domain or from `source` to `target`, as the module defines them.

    Args:
        ratings: Ratings to split.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
        seed: Seed of the split.

    Raises:
        DataError: No test person has a held-out like.
    """
    candidates = None
    if source is None or target is None:
        split = random_per_user(ratings, SHARE, seed=seed, among=ratings.likes)
    else:
        people_in_both = len(straddlers(ratings, source, target))
        share = min(SHARE, MOST_PEOPLE / max(people_in_both, 1))
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
    """Make a list for each of these people.

    Args:
        recommender: Fitted on these people's ratings, or on others' with the same ids.
        ratings: Ratings with the ids of people and items.
        people: Shape (people,): numbers of the people.
        n: Length of a list.
        candidates: Ids of the items that a list may hold; None: every item.

    Returns:
        Shape (people, n): item numbers, best first, -1 where a list is shorter.
    """
    numbers = {item: number for number, item in enumerate(ratings.item_ids.tolist())}
    users = ratings.user_ids[people].tolist()
    if isinstance(recommender, ItemRecommender):
        number_of = np.array([numbers[item] for item in recommender.item_ids_.tolist()])
        return recommender.list_users(users, n=n, candidates=candidates).renumber(number_of).places
    lists = np.full((len(people), n), -1, dtype=np.int64)
    for row, user in enumerate(users):
        ids = recommender.recommend(user, n=n, candidates=candidates).item_ids
        lists[row, : len(ids)] = [numbers[item] for item in ids]
    return lists


def top_quarter(test: Ratings, people: Ints) -> sparse.csr_array:
    """Return a matrix of shape (people, items): 1 for a held-out rating in the scale's top quarter.

    Args:
        test: Held-out ratings.
        people: Shape (people,): numbers of the people.
    """
    matrix = test.matrix[people]
    liked = (matrix.data >= test.scale.minimum + 0.75 * test.scale.span).astype(float)
    return sparse.csr_array((liked, matrix.indices, matrix.indptr), shape=matrix.shape)


def judge_lists(recommender: Recommender, trial: ListTrial, *, stars: bool = False) -> ListFigures:
    """Fit a recommender on a split and judge it.

    Args:
        recommender: Recommender; it is fitted here.
        trial: The split.
        stars: Whether its predictions are stars, so that their error is computed.
    """
    with comparison():
        recommender.fit(trial.train)
    lists = lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    metrics = ranking_metrics(lists, trial.relevant)
    error = None
    if stars:
        error = rmse(*stars_of(recommender, trial.train, trial.test, trial.people))
    return ListFigures(metrics.ndcg, metrics.recall, error)


def stars_of(
    recommender: Recommender, train: Ratings, test: Ratings, people: Ints
) -> tuple[Floats, Floats]:
    """Predict all held-out ratings of these people.

    Predictions are clipped to the scale; where there is none, it is the mean star of training.

    Args:
        recommender: Fitted recommender.
        train: Ratings that it was fitted to.
        test: Held-out ratings.
        people: Shape (people,): numbers of the people.

    Returns:
        True stars and predicted stars, each of shape (held-out ratings,).
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
    """A recommender by its name in a model file, with its settings."""

    model: str
    """Name in a model file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of its class."""
    epsilon: float | None = None
    """Epsilon that it claims; None without noise."""
    several: tuple[Mapping[str, Any], ...] = ({},)
    """Further settings, of which the best on the test people counts."""
    stars: bool = False
    """Whether its predictions are stars."""
    uses_consent: bool = False
    """Whether it takes ids of people who agreed not to be protected, as `consented`."""

    def variants(self, consented: Sequence[Any] = ()) -> tuple[Recommender, ...]:
        """Make an unfitted recommender for each of `several`.

        Args:
            consented: Ids of people who agreed not to be protected.

        Raises:
            ConfigError: No recommender has this name.
        """
        kind = model_reader(self.model)
        if kind is None:
            raise ConfigError(f"No recommender '{self.model}'. Known: {', '.join(model_kinds())}.")
        settings = dict(self.settings)
        if self.uses_consent and len(consented):
            settings["consented"] = consented
        return tuple(kind(**{**settings, **each}) for each in self.several)


POPULARITY = Contender("popularity", {"likes": True})


@dataclass(frozen=True)
class ListRow:
    """Means over the splits of one recommender."""

    model: str
    """Name of the recommender."""
    epsilon: float | None
    """Epsilon that it claims; None without noise."""
    ndcg: float
    """NDCG@10."""
    recall: float
    """Recall@10."""
    rmse: float | None
    """Error in stars; None where predictions are no stars."""
    low: float
    """Lower end of the 95 % interval of NDCG@10."""
    high: float
    """Upper end of it."""
    kept: float | None
    """Gain as a share of the rival's; None of popularity, and where the rival gains nothing."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return asdict(self)


def evaluate_lists(
    ratings: Ratings,
    contenders: Iterable[Contender],
    *,
    source: str | None = None,
    target: str | None = None,
    seeds: Sequence[int] = range(LEAST_SEEDS),
    workers: int = 1,
    consented_share: float = 0.0,
    progress: Progress | None = None,
) -> tuple[ListRow, ...]:
    """Judge popularity, the rival and the contenders on every split.

    Args:
        ratings: Ratings to split.
        contenders: Recommenders to judge; popularity and one of the rival's name are judged anyway.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
        seeds: Seeds of the splits; noise takes none.
        workers: Processes; 0 for all cores.
        consented_share: Share of people, drawn by the seed, who agree not to be protected. Nobody
            of them is judged, by any recommender.
        progress: Called with the number of steps done; each recommender on each split is one.

    Raises:
        ConfigError: One of source and target without the other, or no seed.
    """
    if (source is None) != (target is None):
        raise ConfigError("Name both --source and --target, or neither.")
    if not seeds:
        raise ConfigError("The evaluation needs at least one seed.")
    penalties = tuple({"penalty": penalty} for penalty in PENALTIES)
    rival = Contender("ease", several=penalties)
    if source is not None:
        rival = Contender("ridge", {"source": source, "target": target}, several=penalties)
    others = [each for each in contenders if each.model not in (POPULARITY.model, rival.model)]
    judged = (POPULARITY, rival, *others)
    tasks = [(seed, contender) for contender in judged for seed in seeds]
    experiment = (ratings, source, target, consented_share)
    with Runner(experiment, workers=workers) as runner:
        by_task = iter(runner.run(_judge, tasks, progress or (lambda _: None)))
    by_contender = [_choose_best(list(islice(by_task, len(seeds)))) for _ in judged]
    popularity_ndcg = _mean_ndcg(by_contender[0])
    rival_ndcg = _mean_ndcg(by_contender[1])
    rows = []
    for contender, figures in zip(judged, by_contender, strict=True):
        rows.append(_make_row(contender, figures, popularity_ndcg, rival_ndcg))
    return tuple(rows)


def _judge(
    experiment: tuple[Ratings, str | None, str | None, float], seed: int, contender: Contender
) -> list[ListFigures]:
    ratings, source, target, consented_share = experiment
    trial = list_trial(ratings, source=source, target=target, seed=seed)
    consenting = draw_consenting(ratings, consented_share, seed)
    if len(consenting):
        trial = replace(trial, people=np.setdiff1d(trial.people, consenting))
    variants = contender.variants(ratings.user_ids[consenting].tolist())
    return [judge_lists(each, trial, stars=contender.stars) for each in variants]


def draw_consenting(ratings: Ratings, share: float, seed: int) -> Ints:
    """Draw the numbers of the people who agree not to be protected, sorted."""
    order = np.random.default_rng((seed, _STREAM_OF_CONSENT)).permutation(ratings.n_users)
    return np.sort(order[: round(share * ratings.n_users)])


def _choose_best(by_seed: Sequence[Sequence[ListFigures]]) -> list[ListFigures]:
    """Choose the settings with the best mean NDCG, and return their figures, one for each seed."""
    variants = [list(figures) for figures in zip(*by_seed, strict=True)]
    return max(variants, key=_mean_ndcg)


def _mean_ndcg(figures: Sequence[ListFigures]) -> float:
    return float(np.mean([each.ndcg for each in figures]))


def _make_row(
    contender: Contender,
    figures: Sequence[ListFigures],
    popularity_ndcg: float,
    rival_ndcg: float,
) -> ListRow:
    interval = mean_interval([each.ndcg for each in figures], bounds=(0.0, 1.0))
    kept = None
    if contender is not POPULARITY and rival_ndcg > popularity_ndcg:
        kept = (interval.mean - popularity_ndcg) / (rival_ndcg - popularity_ndcg)
    errors = [each.rmse for each in figures if each.rmse is not None]
    return ListRow(
        contender.model,
        contender.epsilon,
        interval.mean,
        float(np.mean([each.recall for each in figures])),
        float(np.mean(errors)) if errors else None,
        interval.low,
        interval.high,
        kept,
    )
