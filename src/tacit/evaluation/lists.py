"""Judge lists on held-out likes, and measure the share of a rival's gain that recommenders keep.

One domain   a random 20 % of each person's likes are held out: at least one, but never a person's
             only like. Candidates of a list are all items that the person has not rated in
             training. At most `MOST_PEOPLE` people are judged, drawn at random.
Two domains  20 % of the people who rated in both, `MOST_PEOPLE` at most, are test people: all their
             ratings in the target domain are held out. Candidates are all items of that domain. No
             rating of anybody else is held out.
Gain         a recommender's NDCG@10 minus that of popularity, which counts likes.
Rival        a strong recommender without privacy: EASE in one domain, a ridge regression from
             source to target in two. Its penalty is the one of `PENALTIES` that is best on the test
             people themselves.
Kept         a contender's gain divided by the rival's gain; negative if the contender is worse than
             popularity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, product
from operator import attrgetter
from typing import Any, NamedTuple

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
"""Largest number of test people of a split."""
LIST_LENGTH = 10
"""Length of a list."""
PENALTIES = (50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0)
"""Penalties of the rival, of which the best one on the test people is used."""

_STREAM_OF_PEOPLE = 1
"""Second word of the seed that draws test people."""
_STREAM_OF_CONSENT = 3
"""Second word of the seed that draws consenting people."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListTrial:
    """One split of ratings, with the people whose lists are judged."""

    train: Ratings
    """Ratings to fit to."""
    test: Ratings
    """Held-out ratings. People and items have the same numbers as in `train`."""
    people: Ints
    """Shape (n,): numbers of the test people, ascending; each has a held-out like."""
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
    """RMSE of all their held-out ratings, in stars; None if predictions are not stars."""


def list_trial(
    ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
) -> ListTrial:
    """Make one split, in one domain or from `source` to `target`, as the module's text defines it.

    Args:
        ratings: Ratings to split.
        source: Domain that people have rated; None, like `target`, if there is one domain.
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
    return ListTrial(split.train, split.test, choose_test_people(people, seed), candidates)


def choose_test_people(people: Ints, seed: int) -> Ints:
    """Draw at most `MOST_PEOPLE` of these people, and return their numbers in ascending order."""
    generator = np.random.default_rng((seed, _STREAM_OF_PEOPLE))
    return np.sort(generator.permutation(people)[:MOST_PEOPLE])


def lists_of(
    recommender: Recommender,
    ratings: Ratings,
    people: Ints,
    *,
    n: int = LIST_LENGTH,
    candidates: Sequence[Any] | None = None,
) -> Ints:
    """Make a list for each of these people with a fitted recommender.

    Args:
        recommender: The recommender, which was fitted to ratings of these people.
        ratings: Ratings with the ids of people and items.
        people: Shape (people,): numbers of the people.
        n: Length of a list.
        candidates: Ids of the items that a list may hold; None: every item.

    Returns:
        Shape (people, n): item numbers, best first, -1 where a list is shorter.
    """
    number_by_id = {item: number for number, item in enumerate(ratings.item_ids.tolist())}
    users = ratings.user_ids[people].tolist()
    if isinstance(recommender, ItemRecommender):
        # The recommender numbers its items itself; these numbers become those of the ratings.
        model_ids = recommender.item_ids_.tolist()
        numbers_in_ratings = np.array([number_by_id[item] for item in model_ids])
        lists_in_model_numbers = recommender.list_users(users, n=n, candidates=candidates)
        return lists_in_model_numbers.renumber(numbers_in_ratings).places
    lists = np.full((len(people), n), -1, dtype=np.int64)
    for row, user in enumerate(users):
        ids = recommender.recommend(user, n=n, candidates=candidates).item_ids
        lists[row, : len(ids)] = [number_by_id[item] for item in ids]
    return lists


def top_quarter(test: Ratings, people: Ints) -> sparse.csr_array:
    """Return (people, items) CSR: 1 for a held-out rating in the scale's top quarter, else 0.

    Args:
        test: Held-out ratings.
        people: Shape (people,): numbers of the people.
    """
    matrix = test.matrix[people]
    least_rating = test.scale.minimum + 0.75 * test.scale.span
    is_relevant = (matrix.data >= least_rating).astype(float)
    return sparse.csr_array((is_relevant, matrix.indices, matrix.indptr), shape=matrix.shape)


def judge_lists(recommender: Recommender, trial: ListTrial, *, stars: bool = False) -> ListFigures:
    """Fit a recommender to a split, and judge its lists and stars.

    Args:
        recommender: The recommender, which this function fits.
        trial: The split.
        stars: Whether the recommender predicts stars, whose error is then computed.
    """
    with comparison():
        recommender.fit(trial.train)
    lists = lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    metrics = ranking_metrics(lists, trial.relevant)
    rmse_of_stars = None
    if stars:
        truth, predicted = predict_held_out(recommender, trial.train, trial.test, trial.people)
        rmse_of_stars = rmse(truth, predicted)
    return ListFigures(metrics.ndcg, metrics.recall, rmse_of_stars)


def predict_held_out(
    recommender: Recommender, train: Ratings, test: Ratings, people: Ints
) -> tuple[Floats, Floats]:
    """Predict all held-out ratings of these people.

    Predictions are clipped to the scale. A rating without prediction (NaN) is predicted as the mean
    of the training ratings.

    Args:
        recommender: Fitted recommender.
        train: Ratings that the recommender was fitted to.
        test: Held-out ratings.
        people: Shape (people,): numbers of the people.

    Returns:
        True stars and predicted stars, each of shape (held-out ratings,).
    """
    predicted = []
    truth = []
    for person in people:
        ratings_of_person = slice(test.offsets[person], test.offsets[person + 1])
        items = test.item_ids[test.items[ratings_of_person]].tolist()
        user = test.user_ids[[person]].tolist()[0]  # an id of Python's own type, not of NumPy's
        predicted.append(recommender.predict(items, user))
        truth.append(test.values[ratings_of_person])
    stars = np.concatenate(predicted)
    stars = np.where(np.isnan(stars), train.values.mean(), stars)
    return np.concatenate(truth), np.clip(stars, test.scale.minimum, test.scale.maximum)


@dataclass(frozen=True)
class Contender:
    """A recommender to judge, by the kind of its model and its settings."""

    model: str
    """Kind of the model, as model files name it, such as "private"."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the model's class."""
    epsilon: float | None = None
    """Epsilon that the recommender claims; None: it claims none."""
    tried_settings: tuple[Mapping[str, Any], ...] = ({},)
    """Sets of further arguments, each of which is tried; the set with the best lists on the test
    people is kept."""
    stars: bool = False
    """Whether predictions are stars."""
    uses_consent: bool = False
    """Whether the class has an argument `consented`: ids of people who agreed not to be
    protected."""

    def variants(self, consented: Sequence[Any] = ()) -> tuple[Recommender, ...]:
        """Make an unfitted recommender for each of `tried_settings`.

        Args:
            consented: Ids of people who agreed not to be protected.

        Raises:
            ConfigError: There is no recommender of the kind `model`.
        """
        kind = model_reader(self.model)
        if kind is None:
            raise ConfigError(f"No recommender '{self.model}'. Known: {', '.join(model_kinds())}.")
        settings = dict(self.settings)
        if self.uses_consent and len(consented):
            settings["consented"] = consented
        return tuple(kind(**{**settings, **tried}) for tried in self.tried_settings)


POPULARITY = Contender("popularity", {"likes": True})
"""The baseline above which gains are measured."""


@dataclass(frozen=True)
class ListRow:
    """Figures of one recommender: means over the splits."""

    model: str
    """Kind of the recommender's model."""
    epsilon: float | None
    """Epsilon that the recommender claims; None: it claims none."""
    ndcg: float
    """NDCG@10."""
    recall: float
    """Recall@10."""
    rmse: float | None
    """RMSE in stars; None if predictions are not stars."""
    low: float
    """Lower end of the 95 % interval of NDCG@10."""
    high: float
    """Upper end of that interval."""
    kept: float | None
    """Gain divided by the rival's gain; None for popularity, and if the rival gains nothing."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row for the JSON output, by the names of its fields."""
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
        contenders: Recommenders to judge in addition to popularity and the rival; contenders of
            these two kinds are ignored.
        source: Domain that people have rated; None, like `target`, if there is one domain.
        target: Domain that lists are made in.
        seeds: Seeds of the splits. The noise of private recommenders has no seed.
        workers: Processes; 0 for all cores.
        consented_share: Share of people, drawn by the seed of the split, who agree not to be
            protected. They are not judged, with any recommender.
        progress: Called with the number of steps that were done since the last call; a step is one
            recommender on one split.

    Returns:
        Rows of popularity, of the rival, and of the other contenders in their order.

    Raises:
        ConfigError: One of source and target is given without the other, there is no seed, or a
            contender's model is unknown.
        DataError: No test person of some split has a held-out like.
    """
    if (source is None) != (target is None):
        raise ConfigError("Name both --source and --target, or neither.")
    if not seeds:
        raise ConfigError("The evaluation needs at least one seed.")
    penalties = tuple({"penalty": penalty} for penalty in PENALTIES)
    rival = Contender("ease", tried_settings=penalties)
    if source is not None:
        domains = {"source": source, "target": target}
        rival = Contender("ridge", domains, tried_settings=penalties)
    reference_models = (POPULARITY.model, rival.model)
    others = [contender for contender in contenders if contender.model not in reference_models]
    judged = [POPULARITY, rival, *others]
    tasks = [(seed, contender) for contender, seed in product(judged, seeds)]
    experiment = _Experiment(ratings, source, target, consented_share)
    with Runner(experiment, workers=workers) as runner:
        results = iter(runner.run(_judge, tasks, progress or (lambda _: None)))
    # Results are in the order of tasks: those of a contender's seeds follow one another.
    figures_of_contenders = [_choose_best(list(islice(results, len(seeds)))) for _ in judged]
    popularity_ndcg = _compute_mean_ndcg(figures_of_contenders[0])
    rival_ndcg = _compute_mean_ndcg(figures_of_contenders[1])
    rows = []
    for contender, figures in zip(judged, figures_of_contenders, strict=True):
        rows.append(_make_row(contender, figures, popularity_ndcg, rival_ndcg))
    return tuple(rows)


class _Experiment(NamedTuple):
    """Arguments that all tasks of `evaluate_lists` share, with the same meanings."""

    ratings: Ratings
    source: str | None
    target: str | None
    consented_share: float


def _judge(experiment: _Experiment, seed: int, contender: Contender) -> list[ListFigures]:
    """Judge a contender on one split; return the figures for each of its `tried_settings`."""
    ratings = experiment.ratings
    trial = list_trial(ratings, source=experiment.source, target=experiment.target, seed=seed)
    consenting = draw_consenting(ratings, experiment.consented_share, seed)
    if len(consenting):
        trial = replace(trial, people=np.setdiff1d(trial.people, consenting))
    recommenders = contender.variants(ratings.user_ids[consenting].tolist())
    return [judge_lists(variant, trial, stars=contender.stars) for variant in recommenders]


def draw_consenting(ratings: Ratings, share: float, seed: int) -> Ints:
    """Draw a share of the people, who agree not to be protected; return their sorted numbers."""
    order = np.random.default_rng((seed, _STREAM_OF_CONSENT)).permutation(ratings.n_users)
    return np.sort(order[: round(share * ratings.n_users)])


def _choose_best(by_seed: Sequence[Sequence[ListFigures]]) -> list[ListFigures]:
    """Choose the tried settings with the best mean NDCG; return their figures, one for each seed.

    Args:
        by_seed: For each seed, the figures with each of the tried settings.
    """
    by_settings = [list(figures) for figures in zip(*by_seed, strict=True)]
    return max(by_settings, key=_compute_mean_ndcg)


def _compute_mean_ndcg(figures: Sequence[ListFigures]) -> float:
    """Return the mean NDCG of the figures of several seeds."""
    return float(np.mean([figures_of_seed.ndcg for figures_of_seed in figures]))


def _make_row(
    contender: Contender,
    figures: Sequence[ListFigures],
    popularity_ndcg: float,
    rival_ndcg: float,
) -> ListRow:
    """Make a contender's row: the means of its figures over the seeds.

    Args:
        contender: The contender.
        figures: Its figures, one for each seed.
        popularity_ndcg: Mean NDCG of popularity.
        rival_ndcg: Mean NDCG of the rival.
    """
    ndcgs = [figures_of_seed.ndcg for figures_of_seed in figures]
    interval = mean_interval(ndcgs, bounds=(0.0, 1.0))
    kept = None
    if contender is not POPULARITY and rival_ndcg > popularity_ndcg:
        kept = (interval.mean - popularity_ndcg) / (rival_ndcg - popularity_ndcg)
    recalls = [figures_of_seed.recall for figures_of_seed in figures]
    rmses = [error for error in map(attrgetter("rmse"), figures) if error is not None]
    return ListRow(
        model=contender.model,
        epsilon=contender.epsilon,
        ndcg=interval.mean,
        recall=float(np.mean(recalls)),
        rmse=float(np.mean(rmses)) if rmses else None,
        low=interval.low,
        high=interval.high,
        kept=kept,
    )
