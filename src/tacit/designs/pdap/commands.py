"""`tacit replay pdap`: the sound learner on a log of visits, beside the policy that made it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.visits import LoggedVisits, VisitColumns, read_visits
from tacit.design import Command, Run, option
from tacit.designs.pdap import guarantees
from tacit.designs.pdap.experiment import off_policy
from tacit.designs.pdap.experiment.off_policy import Estimate, Floats
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Interval, Result, Table, mean_interval
from tacit.randomness import secure

LEAST_VISITS = 20
"""Fewer make no interval that says anything."""


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """Options of `tacit replay pdap`."""

    log: Path = option(
        "A table with a row for each visit: context columns, what was shown, whether it was "
        "clicked, and the propensity where it was logged.",
        argument="LOG",
    )
    contexts: tuple[str, ...] = option(
        "Context columns, with commas; by default all that are nothing else.", default=()
    )
    shown: str | None = option("The column of what was shown.", default=None)
    click: str | None = option("The column of clicks, 0 to 1.", default=None)
    propensity: str | None = option(
        "The column of the chance with which it was shown; without one, how often each arm is in "
        "the log.",
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
            raise ConfigError("--epsilon names one or more.")

    @property
    def columns(self) -> VisitColumns:
        """The columns of the log."""
        return VisitColumns(
            contexts=self.contexts,
            shown=self.shown,
            click=self.click,
            propensity=self.propensity,
            low=self.low,
            high=self.high,
        )


def replay(settings: ReplaySettings, run: Run) -> Result:
    """Learn from a log of visits, and estimate what would be clicked.

    It learns the first part, and estimates on the rest, beside the policy that made the log: by
    inverse propensities (IPS), normalised (SNIPS), and with the learner's own model (DR). Noise is
    the system's: another call learns something else. The estimates are computed from the log as it
    is, and protect nobody in it.
    """
    visits = read_visits(settings.log, settings.columns)
    learned = int(len(visits) * settings.train)
    if min(learned, len(visits) - learned) < LEAST_VISITS:
        raise DataError(
            "the log has too few visits",
            path=settings.log,
            found=len(visits),
            expected=f"{LEAST_VISITS} or more to learn from, and as many to estimate with",
        )
    propensities, basis = propensities_of(visits)
    rows: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    with run.progress("Learning", len(settings.epsilon)) as advance:
        for epsilon in settings.epsilon:
            policy = learn_from(visits, learned, epsilon)
            found, weighed = estimate_policy(policy, visits, learned, propensities)
            rows += [_row_of(epsilon, estimate) for estimate in found]
            weights.append({"epsilon": _epsilon_of(epsilon), **weighed})
            advance(1)
    logged = mean_interval(visits.clicks[learned:].tolist())
    cards = [guarantees.joint(_setting_of(visits, learned, one)) for one in settings.epsilon]
    data = {
        "visits": {"learned": learned, "estimated": len(visits) - learned},
        "arms": list(visits.names),
        "contexts": list(visits.features),
        "propensities": basis,
        "logged": _interval_of(logged),
        "rows": rows,
        "weights": weights,
        "guarantees": [card.to_dict() for card in cards],
    }
    after = f"{run.command} --json  has all numbers, and the cards."
    return Result(data, _tables_of(data, logged, rows), after)


def propensities_of(visits: LoggedVisits) -> tuple[Floats, str]:
    """The chances of what was shown, and whether they were logged.

    Without a column they are how often each arm is in the log, which is right only if the log's
    policy did not look at contexts and did not change.
    """
    if visits.propensities is not None:
        return visits.propensities, "logged"
    shares = np.bincount(visits.arms, minlength=len(visits.names)) / len(visits)
    return shares[visits.arms], "shares of the log"


def learn_from(visits: LoggedVisits, learned: int, epsilon: float) -> Joint:
    """Let a new learner learn the first visits of a log, in one release."""
    policy = Joint(_setting_of(visits, learned, epsilon), randomness=secure())
    arms = visits.arms[:learned].tolist()
    policy.learn_log(arms, visits.contexts[:learned], visits.clicks[:learned].tolist())
    policy.epochs.end_now()
    policy.release_if_due()
    return policy


def estimate_policy(
    policy: Joint, visits: LoggedVisits, learned: int, propensities: Floats
) -> tuple[list[Estimate], dict[str, float]]:
    """Estimate a policy on the visits after the first `learned` ones, which it learned from.

    Returns:
        The estimates, and how far the log can tell: effective visits and the largest weight.
    """
    contexts, clicks = visits.contexts[learned:], visits.clicks[learned:]
    arms = visits.arms[learned:]
    shares = policy.shares(contexts)
    means = np.clip(policy.estimate(contexts)[0], 0.0, 1.0)
    places = np.arange(len(arms))
    weights = off_policy.importance_weights(shares[places, arms], propensities[learned:])
    shown, expected = means[places, arms], (shares * means).sum(axis=1)
    estimates = [
        off_policy.estimate_ips(weights, clicks),
        off_policy.estimate_snips(weights, clicks),
        off_policy.estimate_doubly_robust(weights, clicks, shown=shown, expected=expected),
    ]
    weighed = {
        "effective_visits": off_policy.effective_visits(weights),
        "largest_weight": float(weights.max()),
        "mean_weight": float(weights.mean()),
    }
    return estimates, weighed


def _setting_of(visits: LoggedVisits, learned: int, epsilon: float) -> JointSetting:
    return JointSetting(
        videos=len(visits.names),
        neighbours=0,
        dimension=len(visits.features),
        horizon=max(2, learned),
        epsilon=epsilon,
    )


def _epsilon_of(epsilon: float) -> float | None:
    """None, as JSON has it, where there is no noise."""
    return None if math.isinf(epsilon) else epsilon


def _interval_of(found: Interval) -> dict[str, float]:
    return {"value": found.mean, "low": found.low, "high": found.high}


def _row_of(epsilon: float, estimate: Estimate) -> dict[str, Any]:
    return {
        "epsilon": _epsilon_of(epsilon),
        "estimator": estimate.estimator,
        **_interval_of(estimate.value),
        "difference": estimate.difference.mean,
        "difference_low": estimate.difference.low,
        "difference_high": estimate.difference.high,
    }


def _tables_of(
    data: dict[str, Any], logged: Interval, rows: list[dict[str, Any]]
) -> list[Table | str]:
    columns = {
        "epsilon": lambda row: "inf" if row["epsilon"] is None else f"{row['epsilon']:g}",
        "estimator": lambda row: row["estimator"].upper(),
        "clicks a visit": lambda row: _text_of(row["value"], row["low"], row["high"]),
        "less the log's": lambda row: _text_of(
            row["difference"], row["difference_low"], row["difference_high"]
        ),
    }
    learned, estimated = data["visits"]["learned"], data["visits"]["estimated"]
    summary = (
        f"The log's own policy: {_text_of(*logged)} clicks a visit. {learned:,} visits were "
        f"learned, and the {estimated:,} after them are for the estimates."
    )
    lines: list[Table | str] = [summary, Table.from_rows("", columns, rows)]
    for weighed in data["weights"]:
        epsilon = weighed["epsilon"]
        lines.append(
            f"epsilon {'inf' if epsilon is None else f'{epsilon:g}'}: the estimate rests on "
            f"{weighed['effective_visits']:,.0f} effective visits; the largest weight is "
            f"{weighed['largest_weight']:.3g}."
        )
    if data["propensities"] != "logged":
        lines.append(
            "No propensities were logged: shares of the log stand for them, which is right only "
            "if its policy did not look at contexts."
        )
    lines.append("These estimates are computed from the log as it is: they protect nobody in it.")
    return lines


def _text_of(mean: float, low: float, high: float) -> str:
    """A mean and its interval."""
    return f"{mean:.4f} ({low:.4f} to {high:.4f})"


REPLAY = Command(ReplaySettings, replay)
