"""Lists of a plan while people or rows arrive, beside other ways to spend the same epsilon.

Arrivals   People arrive in an order drawn by the seed: half of them before the first fit, then
           equally many before each fit, until all are there at the last. By time, rows arrive in
           the same way, in the order of their times.
Judged     The test people of a split in one domain (`tacit.evaluation.lists`). Their histories are
           all their training rows, even if they are in no fit yet; by time, those of their training
           rows that have arrived.
Compared   after each measured fit, on the rows that have arrived:
           plan          the lists of the plan
           popularity    exact popularity, without privacy
           one release   a single fit with the whole lifetime
           fresh fit     a single fit, with the epsilon that each of the plan's fits could have if
                         they were equal single fits that share the lifetime
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.data.ratings import Ratings
from tacit.designs.private.model import Private
from tacit.designs.private.plan import largest_epsilon_per_fit
from tacit.errors import ConfigError
from tacit.evaluation import mean_interval
from tacit.evaluation.lists import LIST_LENGTH, ListTrial, list_trial
from tacit.evaluation.metrics import ranking_metrics
from tacit.evaluation.runner import Progress, Runner
from tacit.profile_sums.settings import Mode
from tacit.recommenders.base import ItemRecommender
from tacit.recommenders.baselines import Popularity
from tacit.recommenders.fits_in_process import comparison

_STREAM_OF_ARRIVALS = 2
"""Second word of the seed that draws the order in which people arrive."""


@dataclass(frozen=True)
class WeekRow:
    """Mean NDCG@10 over the splits, of one of the compared ways after one of the plan's fits."""

    model: str
    """Name of the compared way, as in the module's docstring."""
    epsilon: float | None
    """Epsilon of the lists; for the plan, of all its fits together. None without privacy."""
    week: int
    """Number of the plan's fit, from 1."""
    ndcg: float
    """Mean NDCG@10 over the splits."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end of that interval."""


@dataclass(frozen=True)
class _MeasuredPlan:
    """The plan that is measured, with the arguments of `evaluate_plan`."""

    ratings: Ratings
    lifetime: float
    fits: int
    weeks: Sequence[int]
    delta: float
    features: Sequence[str] | None
    mode: Mode
    by_time: bool

    @property
    def epsilon_of_fresh_fit(self) -> float:
        """Epsilon of each of `fits` equal single fits that share the lifetime."""
        return largest_epsilon_per_fit(self.lifetime, self.delta, self.fits)

    def make_single_fit(self, epsilon: float) -> Private:
        """Return an unfitted recommender with the plan's choices that makes a single fit."""
        return Private(epsilon, self.delta, features=self.features, mode=self.mode)


def evaluate_plan(
    ratings: Ratings,
    lifetime: float,
    fits: int,
    weeks: Sequence[int],
    *,
    delta: float,
    features: Sequence[str] | None = None,
    mode: Mode = "auto",
    by_time: bool = False,
    seeds: Sequence[int],
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[WeekRow, ...]:
    """Measure lists after some fits of a plan, and those of three other ways, on every split.

    Args:
        ratings: Ratings of one domain.
        lifetime: Epsilon of all fits of the plan together.
        fits: Number of fits of the plan, 2 or more.
        weeks: Numbers of the fits after which lists are measured, from 1 to `fits`.
        delta: Probability by which any event may exceed the bound of epsilon.
        features: As for `Private`.
        mode: As for `Private`.
        by_time: Whether rows arrive in the order of their times; otherwise people arrive, in an
            order drawn by the seed.
        seeds: Seeds of the splits. The noise of fits is drawn without a seed.
        workers: Number of processes; 0: one for each core.
        progress: Called with the number of fits done since the last call; None: not reported.

    Returns:
        A row for each compared way and each of `weeks`.

    Raises:
        ConfigError: A week is no fit of the plan, or rows shall arrive by time and have no times.
    """
    if not all(1 <= week <= fits for week in weeks):
        raise ConfigError(f"Weeks are numbers of fits, from 1 to {fits}; got {list(weeks)}.")
    if by_time and ratings.timestamps is None:
        raise ConfigError("--by-time needs times of ratings; this file has none.")
    measured_plan = _MeasuredPlan(ratings, lifetime, fits, weeks, delta, features, mode, by_time)
    report = progress or (lambda _: None)
    with Runner(measured_plan, workers=workers) as runner:
        tasks = [(seed,) for seed in seeds]
        figures_by_seed = list(runner.run(_measure_split, tasks, lambda done: report(done * fits)))
    epsilons = {
        "popularity": None,
        "plan": lifetime,
        "one release": lifetime,
        "fresh fit": measured_plan.epsilon_of_fresh_fit,
    }
    rows = []
    for model, epsilon in epsilons.items():
        for week in weeks:
            values = [figures[model, week] for figures in figures_by_seed]
            interval = mean_interval(values, bounds=(0.0, 1.0))
            rows.append(WeekRow(model, epsilon, week, interval.mean, interval.low, interval.high))
    return tuple(rows)


def _measure_split(measured_plan: _MeasuredPlan, seed: int) -> dict[tuple[str, int], float]:
    """Return the NDCG@10 of each compared way after each measured fit, on the split of a seed.

    The fits are not counted for this process, because nothing of them is published.
    """
    with comparison():
        return _measure_fits(measured_plan, seed)


def _measure_fits(measured_plan: _MeasuredPlan, seed: int) -> dict[tuple[str, int], float]:
    """Return the figures of `_measure_split`, which calls this while fits are not counted."""
    trial = list_trial(measured_plan.ratings, seed=seed)
    select_arrived = _draw_arrivals(measured_plan, trial, seed)
    plan = Private(
        delta=measured_plan.delta,
        features=measured_plan.features,
        mode=measured_plan.mode,
        lifetime=measured_plan.lifetime,
        fits=measured_plan.fits,
    )
    fresh_epsilon = measured_plan.epsilon_of_fresh_fit
    figures = {}
    for week in range(1, measured_plan.fits + 1):
        arrived = select_arrived(week)
        plan.fit(arrived)  # continues its own plan
        if week not in measured_plan.weeks:
            continue
        recommenders: dict[str, ItemRecommender] = {
            "plan": plan,
            "popularity": Popularity(likes=True).fit(arrived),
            "one release": measured_plan.make_single_fit(measured_plan.lifetime).fit(arrived),
            "fresh fit": measured_plan.make_single_fit(fresh_epsilon).fit(arrived),
        }
        histories_from = arrived if measured_plan.by_time else trial.train
        for model, recommender in recommenders.items():
            figures[model, week] = _measure_ndcg(recommender, trial, histories_from)
    return figures


def _draw_arrivals(
    measured_plan: _MeasuredPlan, trial: ListTrial, seed: int
) -> Callable[[int], Ratings]:
    """Return a function from the number of a fit to the training rows that have arrived by then."""
    train = trial.train

    def share_at(fit: int) -> float:
        """Return the share of people or rows arrived at a fit: 0.5 at the first, 1 at the last."""
        return 0.5 + 0.5 * (fit - 1) / (measured_plan.fits - 1)

    if measured_plan.by_time:
        assert train.timestamps is not None  # checked before the splits are made
        order = np.argsort(train.timestamps, kind="stable")
        # Position of each row in the order of times.
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return lambda fit: train.where(rank < round(share_at(fit) * len(order)))
    people = np.random.default_rng((seed, _STREAM_OF_ARRIVALS)).permutation(train.n_users)
    return lambda fit: train.of_users(people[: round(share_at(fit) * train.n_users)])


def _measure_ndcg(recommender: ItemRecommender, trial: ListTrial, histories_from: Ratings) -> float:
    """Return the NDCG@10 of the test people's lists.

    Args:
        recommender: A fitted recommender, which makes lists from histories.
        trial: The split, with the test people and their held-out likes.
        histories_from: Ratings in which the test people's histories are looked up.
    """
    number_of_item = {item: number for number, item in enumerate(trial.train.item_ids.tolist())}
    users = trial.train.user_ids[trial.people].tolist()
    histories = [histories_from.history(user) for user in users]
    # (test people, LIST_LENGTH) item numbers, best first; -1 where a list is shorter.
    lists = np.full((len(trial.people), LIST_LENGTH), -1, dtype=np.int64)
    all_recommendations = recommender.recommend_many(histories, n=LIST_LENGTH)
    for row, recommendations in enumerate(all_recommendations):
        numbers = [number_of_item[item] for item in recommendations.item_ids]
        lists[row, : len(numbers)] = numbers
    return ranking_metrics(lists, trial.relevant).ndcg
