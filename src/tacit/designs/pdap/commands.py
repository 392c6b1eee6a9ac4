"""`tacit replay pdap`: the joint learner on a log of visits, compared with the log's own policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Interval, Result, Table, mean_interval

if TYPE_CHECKING:
    from tacit.designs.pdap.experiment.off_policy import Estimate

LEAST_VISITS = 20
"""Fewest visits to learn from, and fewest visits to estimate with."""


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """Options of `tacit replay pdap`."""

    log: Path = option(
        "A table with a row for each visit: context columns, what was shown, whether it was "
        "clicked, and the propensity where it was logged.",
        argument="LOG",
    )
    contexts: tuple[str, ...] = option(
        "Context columns, with commas; by default all columns that are not named otherwise.",
        default=(),
    )
    shown: str | None = option("The column of what was shown.", default=None)
    click: str | None = option("The column of clicks, 0 to 1.", default=None)
    propensity: str | None = option(
        "The column of the chance with which each visit's arm was shown; without one, the arm's "
        "share of the log is used.",
        default=None,
    )
    low: float = option("A public lower bound of all context columns.", default=0.0)
    high: float = option("A public upper bound of all context columns.", default=1.0)
    train: float = option(
        "The share of the log, from its beginning, that is learned; the rest is for the estimate.",
        default=0.5,
    )
    epsilon: tuple[float, ...] = option(
        "Epsilon of a visit; several with commas; inf: no noise.", default=(1.0, math.inf)
    )

    def __post_init__(self) -> None:
        if not 0 < self.train < 1:
            raise ConfigError(f"--train is a share between 0 and 1; got {self.train:g}.")
        if not self.epsilon:
            raise ConfigError("--epsilon needs one or more values.")


def replay(settings: ReplaySettings, run: Run) -> Result:
    """Learn from a log of visits, and estimate what would be clicked.

    The learner learns the first part of the log. On the other visits, it is estimated how often its
    choices would have been clicked: by inverse propensities (IPS), by normalised ones (SNIPS), and
    with the learner's own model (DR). The log's own clicks are shown beside this. Noise has no
    seed, so another call learns something else. The estimates are computed from the log as it is,
    and protect nobody in it.
    """
    from tacit.data.visits import VisitColumns, read_visits
    from tacit.designs.pdap import guarantees
    from tacit.designs.pdap.experiment.log_replay import (
        estimate_policy,
        learn_from,
        make_setting,
        propensities_of,
    )

    columns = VisitColumns(
        contexts=settings.contexts,
        shown=settings.shown,
        click=settings.click,
        propensity=settings.propensity,
        low=settings.low,
        high=settings.high,
    )
    visits = read_visits(settings.log, columns)
    n_learned = int(len(visits) * settings.train)
    n_estimated = len(visits) - n_learned
    if min(n_learned, n_estimated) < LEAST_VISITS:
        raise DataError(
            "the log has too few visits",
            path=settings.log,
            found=len(visits),
            expected=f"{LEAST_VISITS} or more to learn from, and as many to estimate with",
        )
    propensities, source = propensities_of(visits)
    rows: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    with run.progress("Learning", len(settings.epsilon)) as advance:
        for epsilon in settings.epsilon:
            policy = learn_from(visits, n_learned, epsilon)
            estimates, weight_facts = estimate_policy(policy, visits, n_learned, propensities)
            rows += [_row_of(epsilon, estimate) for estimate in estimates]
            weights.append({"epsilon": _json_epsilon(epsilon), **weight_facts})
            advance(1)
    clicks_of_log = mean_interval(visits.clicks[n_learned:].tolist())
    learner_settings = [make_setting(visits, n_learned, epsilon) for epsilon in settings.epsilon]
    cards = [guarantees.joint_card(setting) for setting in learner_settings]
    data = {
        "visits": {"learned": n_learned, "estimated": n_estimated},
        "arms": list(visits.names),
        "contexts": list(visits.features),
        "propensities": source,
        "logged": _json_interval(clicks_of_log),
        "rows": rows,
        "weights": weights,
        "guarantees": [card.to_dict() for card in cards],
    }
    next_step = f"{run.command} --json  has all numbers, and the cards."
    return Result(data, _tables_of(data, clicks_of_log, rows), next_step)


def _json_epsilon(epsilon: float) -> float | None:
    """Replace an infinite epsilon by None, because JSON has no infinity."""
    return None if math.isinf(epsilon) else epsilon


def _json_interval(interval: Interval) -> dict[str, float]:
    """Return an interval as a JSON object."""
    return {"value": interval.mean, "low": interval.low, "high": interval.high}


def _row_of(epsilon: float, estimate: Estimate) -> dict[str, Any]:
    """Return one estimate as a row of the JSON result."""
    return {
        "epsilon": _json_epsilon(epsilon),
        "estimator": estimate.estimator,
        **_json_interval(estimate.value),
        "difference": estimate.difference.mean,
        "difference_low": estimate.difference.low,
        "difference_high": estimate.difference.high,
    }


def _tables_of(
    data: dict[str, Any], clicks_of_log: Interval, rows: list[dict[str, Any]]
) -> list[Table | str]:
    """Return the sentences and the table that a terminal shows.

    Args:
        data: the JSON result.
        clicks_of_log: mean clicks per visit under the log's own policy, with their interval.
        rows: the rows of the JSON result, as `_row_of` makes them.
    """
    columns = {
        "epsilon": lambda row: _epsilon_text(row["epsilon"]),
        "estimator": lambda row: row["estimator"].upper(),
        "clicks a visit": lambda row: _interval_text(row["value"], row["low"], row["high"]),
        "minus the log's": lambda row: _interval_text(
            row["difference"], row["difference_low"], row["difference_high"]
        ),
    }
    learned = data["visits"]["learned"]
    estimated = data["visits"]["estimated"]
    summary = (
        f"The log's own policy: {_interval_text(*clicks_of_log)} clicks a visit. {learned:,} "
        f"visits were learned, and the {estimated:,} after them are for the estimates."
    )
    lines: list[Table | str] = [summary, Table.from_rows("", columns, rows)]
    lines += [_sentence_on_weights(weight_facts) for weight_facts in data["weights"]]
    if data["propensities"] != "logged":
        lines.append(
            "No propensities were logged: shares of the log are used instead, which is right only "
            "if its policy did not look at contexts."
        )
    lines.append("These estimates are computed from the log as it is: they protect nobody in it.")
    return lines


def _sentence_on_weights(facts: dict[str, Any]) -> str:
    """Say on how many effective visits the estimates at one epsilon rest.

    Args:
        facts: an element of "weights" in the JSON result.
    """
    return (
        f"epsilon {_epsilon_text(facts['epsilon'])}: the estimate rests on "
        f"{facts['effective_visits']:,.0f} effective visits; the largest weight is "
        f"{facts['largest_weight']:.3g}."
    )


def _epsilon_text(epsilon: float | None) -> str:
    """Format an epsilon of the JSON result, where None stands for an infinite one."""
    return "inf" if epsilon is None else f"{epsilon:g}"


def _interval_text(mean: float, low: float, high: float) -> str:
    """Format a mean and its interval."""
    return f"{mean:.4f} ({low:.4f} to {high:.4f})"


REPLAY = Command(ReplaySettings, replay)
