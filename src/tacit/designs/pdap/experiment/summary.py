"""Means over seeds, with intervals.

`summarise_runs` makes a row for each policy, epsilon, protocol and size of test; `regret_over_time`
makes a point for each policy, epsilon and checkpoint of the training.
"""

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
        epsilon: nats of one visit; inf for a policy without noise.
    """

    policy: str
    epsilon: float


@dataclass(frozen=True)
class SummaryRow:
    """One policy at one epsilon by one protocol and size of test: means over seeds of `run.Row`.

    Attributes:
        policy: its name on the command line.
        epsilon: as configured; inf without noise.
        protocol: which visits are counted.
        arrivals: training visits of each vendor.
        test: number of visits of the test; 0 for the training.
        seeds: number of runs, one for each seed.
        accuracy: clicks per visit.
        low: lower end of the 95 % interval of the accuracy.
        high: upper end of the 95 % interval of the accuracy.
        average_regret: regret per visit, with its 95 % interval.
        explored: share of visits that tried an arm, to learn from its reward.
        trained: share of visits that were forwarded to train the neighbour.
        exploited: share of all other visits.
        forwarded: share of visits whose video came from a neighbour.
        first_forwarded: the smallest of all runs, not the mean; None if no run forwarded a visit.
        best: the best possible accuracy, by the chances of a click.
        epsilon_spent_per_visit: nats as proved; inf if nothing is proved.
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
    """Regret of one policy at one checkpoint of the training, averaged over seeds.

    Attributes:
        policy: its name on the command line.
        epsilon: as configured; inf without noise.
        arrivals: training visits of each vendor so far.
        average_regret: regret per visit so far.
        low: lower end of its 95 % interval over seeds.
        high: upper end of its 95 % interval over seeds.
    """

    policy: str
    epsilon: float
    arrivals: int
    average_regret: float
    low: float
    high: float


def contenders_of(rows: Iterable[Row]) -> list[Contender]:
    """List the pairs of policy and epsilon, in the order in which they were run."""
    return list(dict.fromkeys(Contender(row.policy, row.epsilon) for row in rows))


def rows_at_end_of_training(rows: Sequence[Row]) -> list[Row]:
    """Select the rows of the last checkpoint of the training, one for each run."""
    last = max(row.arrivals for row in rows)
    return [row for row in rows if row.protocol == "cumulative" and row.arrivals == last]


def rows_of_tests(rows: Iterable[Row]) -> list[Row]:
    """Select the rows of tests after the training."""
    return [row for row in rows if row.protocol != "cumulative"]


def summarise_runs(rows: Sequence[Row]) -> list[SummaryRow]:
    """Average over seeds, for each policy and epsilon, at the end of training and in each test."""
    final_rows = [*rows_at_end_of_training(rows), *rows_of_tests(rows)]
    groups = group_by(final_rows, lambda row: (row.policy, row.epsilon, row.protocol, row.test))
    return [_average_rows(rows_of_group) for rows_of_group in groups.values()]


def regret_over_time(rows: Sequence[Row]) -> list[RegretPoint]:
    """Average each policy's regret over seeds, at each checkpoint of the training."""
    training = [row for row in rows if row.protocol == "cumulative"]
    points: list[RegretPoint] = []
    groups = group_by(training, lambda row: (row.policy, row.epsilon, row.arrivals))
    for (policy, epsilon, arrivals), rows_of_group in groups.items():
        mean, low, high = mean_interval([row.average_regret for row in rows_of_group])
        points.append(RegretPoint(policy, epsilon, arrivals, mean, low, high))
    return points


def _average_rows(rows: Sequence[Row]) -> SummaryRow:
    """Average rows of the same policy, epsilon, protocol and test, one row for each seed."""
    first = rows[0]
    accuracy = mean_interval([row.accuracy for row in rows], bounds=(0.0, 1.0))
    first_forwarded = [row.first_forwarded for row in rows if row.first_forwarded is not None]
    return SummaryRow(
        policy=first.policy,
        epsilon=first.epsilon,
        protocol=first.protocol,
        arrivals=first.arrivals,
        test=first.test,
        seeds=len(rows),
        accuracy=accuracy.mean,
        low=accuracy.low,
        high=accuracy.high,
        average_regret=mean_interval([row.average_regret for row in rows]),
        explored=_mean([row.explored for row in rows]),
        trained=_mean([row.trained for row in rows]),
        exploited=_mean([row.exploited for row in rows]),
        forwarded=_mean([row.forwarded for row in rows]),
        first_forwarded=min(first_forwarded, default=None),
        best=_mean([row.best for row in rows]),
        epsilon_spent_per_visit=first.epsilon_spent_per_visit,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
