"""Lists of a plan while people or rows arrive, beside other ways to spend the same lifetime.

People   half are there at the first fit, all at the last, in an order drawn by the seed; or the
         earlier half of all rows is, by their times.
Judged   test people of the split in one domain (`tacit.evaluation.lists`), with the rows of theirs
         as their histories: by time, those that have arrived; else all, also of people who are in
         no fit yet.
Beside   popularity of the same rows without privacy; one release of the whole lifetime; and a
         fit with an equal part of it.
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
"""Second word of the seed of the order in which people arrive."""


@dataclass(frozen=True)
class WeekRow:
    """Mean NDCG@10 over the splits of one way to spend a lifetime, after one of the fits."""

    model: str
    epsilon: float | None
    """Epsilon of all that the lists of the last fit have cost; None without privacy."""
    week: int
    """Number of the fit, from 1."""
    ndcg: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of it."""


@dataclass(frozen=True)
class _Course:
    """One plan and what is measured of it."""

    ratings: Ratings
    lifetime: float
    fits: int
    weeks: Sequence[int]
    delta: float
    features: Sequence[str] | None
    mode: Mode
    by_time: bool


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
    """Measure all fits of a plan on every split, and its rivals after some of them.

    Args:
        ratings: Ratings of one domain.
        lifetime: Epsilon of all fits together.
        fits: Number of fits.
        weeks: Numbers of fits after which lists are measured.
        delta: Probability that the bound of epsilon fails.
        features: As for `Private`.
        mode: As for `Private`.
        by_time: Whether rows arrive by their times; else people by seed.
        seeds: Seeds of the splits; noise takes none.
        workers: Processes; 0 for all cores.
        progress: Called with the number of splits done, times the number of fits.

    Raises:
        ConfigError: a week is no fit of the plan, or rows have no times.
    """
    if not all(1 <= week <= fits for week in weeks):
        raise ConfigError(f"Weeks are numbers of fits, from 1 to {fits}; got {list(weeks)}.")
    if by_time and ratings.timestamps is None:
        raise ConfigError("--by-time needs times of ratings; this file has none.")
    course = _Course(ratings, lifetime, fits, weeks, delta, features, mode, by_time)
    report = progress or (lambda _: None)
    with Runner(course, workers=workers) as runner:
        tasks = [(seed,) for seed in seeds]
        by_seed = list(runner.run(_measure_split, tasks, lambda done: report(done * fits)))
    part = largest_epsilon_per_fit(lifetime, delta, fits)
    epsilons = {"popularity": None, "plan": lifetime, "one release": lifetime, "fresh fit": part}
    rows = []
    for model, epsilon in epsilons.items():
        for week in weeks:
            values = [figures[model, week] for figures in by_seed]
            interval = mean_interval(values, bounds=(0.0, 1.0))
            rows.append(WeekRow(model, epsilon, week, interval.mean, interval.low, interval.high))
    return tuple(rows)


def _measure_split(course: _Course, seed: int) -> dict[tuple[str, int], float]:
    """NDCG@10 of each model after each measured fit, on one split. Nothing is published."""
    with comparison():
        return _measure_fits(course, seed)


def _measure_fits(course: _Course, seed: int) -> dict[tuple[str, int], float]:
    trial = list_trial(course.ratings, seed=seed)
    arrived_at = _arrivals(course, trial, seed)
    plan = Private(
        delta=course.delta,
        features=course.features,
        mode=course.mode,
        lifetime=course.lifetime,
        fits=course.fits,
    )
    part = largest_epsilon_per_fit(course.lifetime, course.delta, course.fits)
    figures = {}
    for week in range(1, course.fits + 1):
        arrived = arrived_at(week)
        plan.fit(arrived)
        if week not in course.weeks:
            continue
        part_fit = Private(part, course.delta, features=course.features, mode=course.mode)
        whole_fit = Private(
            course.lifetime, course.delta, features=course.features, mode=course.mode
        )
        figures["plan", week] = _judge(plan, trial, arrived, course)
        figures["popularity", week] = _judge(
            Popularity(likes=True).fit(arrived), trial, arrived, course
        )
        figures["one release", week] = _judge(whole_fit.fit(arrived), trial, arrived, course)
        figures["fresh fit", week] = _judge(part_fit.fit(arrived), trial, arrived, course)
    return figures


def _arrivals(course: _Course, trial: ListTrial, seed: int) -> Callable[[int], Ratings]:
    """Return the function from the number of a fit to the training rows that are there then."""
    train, last = trial.train, course.fits - 1

    def share_at(week: int) -> float:
        """Half at the first fit, everything at the last."""
        return 0.5 + 0.5 * (week - 1) / last

    if course.by_time:
        assert train.timestamps is not None  # checked before the splits are made
        order = np.argsort(train.timestamps, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return lambda week: train.where(rank < round(share_at(week) * len(order)))
    people = np.random.default_rng((seed, _STREAM_OF_ARRIVALS)).permutation(train.n_users)
    return lambda week: train.of_users(people[: round(share_at(week) * train.n_users)])


def _judge(
    recommender: ItemRecommender, trial: ListTrial, arrived: Ratings, course: _Course
) -> float:
    """NDCG@10 of the test people's lists from histories of their own."""
    known = arrived if course.by_time else trial.train
    numbers = {item: number for number, item in enumerate(trial.train.item_ids.tolist())}
    lists = np.full((len(trial.people), LIST_LENGTH), -1, dtype=np.int64)
    users = trial.train.user_ids[trial.people].tolist()
    histories = [known.history(user) for user in users]
    for row, made in enumerate(recommender.recommend_many(histories, n=LIST_LENGTH)):
        lists[row, : len(made)] = [numbers[item] for item in made.item_ids]
    return ranking_metrics(lists, trial.relevant).ndcg
