"""Means over seeds, with intervals: one row for each policy, epsilon and protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tacit.designs.pdap.experiment.run import Protocol, Row
from tacit.evaluation import Interval, group_by, mean_interval


class Contender(NamedTuple):
    """One of the policies that are compared, at one epsilon.

    Attributes:
        policy: its name on the command line.
        epsilon: of one visit; inf for a policy without noise.
    """

    policy: str
    epsilon: float


@dataclass(frozen=True)
class SummaryRow:
    """One policy by one protocol: means over all seeds of the fields of `run.Row`.

    Attributes:
        policy: as in `run.Row`.
        epsilon: as in `run.Row`.
        protocol: as in `run.Row`.
        arrivals: as in `run.Row`.
        test: as in `run.Row`.
        seeds: number of runs, one for each seed.
        accuracy: clicks over visits.
        low: lower end of the 95 % interval of the accuracy.
        high: upper end of the 95 % interval of the accuracy.
        average_regret: of one visit, with its interval.
        explored: share of visits.
        trained: share of visits.
        exploited: share of visits.
        forwarded: share of visits.
        first_forwarded: the first forwarded visit of any run; None if there is none.
        best: the best possible accuracy.
        epsilon_spent_per_visit: inf for a policy without a guarantee.
    """

    policy: str
    epsilon: float
    protocol: Protocol
    arrivals: int
    test: int
    seeds: int
    accuracy: float
    low: float
    high: float
    average_regret: Interval
    explored: float
    trained: float
    exploited: float
    forwarded: float
    first_forwarded: int | None
    best: float
    epsilon_spent_per_visit: float


@dataclass(frozen=True)
class RegretPoint:
    """Average regret of one policy's training visits so far, and its 95 % interval over seeds."""

    policy: str
    epsilon: float
    arrivals: int
    average_regret: float
    low: float
    high: float


def contenders_of(rows: Iterable[Row]) -> list[Contender]:
    """List the policies and their epsilons, in the order in which they were run."""
    return list(dict.fromkeys(Contender(row.policy, row.epsilon) for row in rows))


def rows_at_end_of_training(rows: Sequence[Row]) -> list[Row]:
    """Select the rows at the end of each training."""
    last = max(row.arrivals for row in rows)
    return [row for row in rows if row.protocol == "cumulative" and row.arrivals == last]


def rows_of_tests(rows: Iterable[Row]) -> list[Row]:
    """Select the rows of tests after the training."""
    return [row for row in rows if row.protocol != "cumulative"]


def summaries(rows: Sequence[Row]) -> list[SummaryRow]:
    """Average over seeds at the end of the training, and in each test, of each policy."""
    last_rows = [*rows_at_end_of_training(rows), *rows_of_tests(rows)]
    groups = group_by(last_rows, lambda row: (row.policy, row.epsilon, row.protocol, row.test))
    return [_summary(runs) for runs in groups.values()]


def regret_over_time(rows: Sequence[Row]) -> list[RegretPoint]:
    """Average each policy's regret over seeds, at each checkpoint of the training."""
    training = [row for row in rows if row.protocol == "cumulative"]
    points = []
    groups = group_by(training, lambda row: (row.policy, row.epsilon, row.arrivals))
    for (policy, epsilon, arrivals), runs in groups.items():
        mean, low, high = mean_interval([run.average_regret for run in runs])
        points.append(RegretPoint(policy, epsilon, arrivals, mean, low, high))
    return points


def _summary(runs: Sequence[Row]) -> SummaryRow:
    """Average rows that differ in their seed alone."""
    first = runs[0]
    accuracy = mean_interval([run.accuracy for run in runs], bounds=(0.0, 1.0))
    first_visits = [run.first_forwarded for run in runs if run.first_forwarded is not None]
    return SummaryRow(
        policy=first.policy,
        epsilon=first.epsilon,
        protocol=first.protocol,
        arrivals=first.arrivals,
        test=first.test,
        seeds=len(runs),
        accuracy=accuracy.mean,
        low=accuracy.low,
        high=accuracy.high,
        average_regret=mean_interval([run.average_regret for run in runs]),
        explored=_mean([run.explored for run in runs]),
        trained=_mean([run.trained for run in runs]),
        exploited=_mean([run.exploited for run in runs]),
        forwarded=_mean([run.forwarded for run in runs]),
        first_forwarded=min(first_visits, default=None),
        best=_mean([run.best for run in runs]),
        epsilon_spent_per_visit=first.epsilon_spent_per_visit,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
