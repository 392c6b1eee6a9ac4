"""Off-policy estimates: by hand, and against the truth of generated clicks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.cli.app import main
from tacit.data import clicks
from tacit.data.visits import LoggedVisits, VisitColumns, read_visits
from tacit.designs.pdap.experiment import off_policy
from tacit.designs.pdap.experiment.log_replay import (
    estimate_policy,
    learn_from,
    propensities_of,
)
from tacit.errors import ConfigError, DataError

HEADERS = "age,hour,article,click,propensity"


def test_estimates_by_hand():
    """Three visits: weights 2, 0 and 1."""
    weights = off_policy.importance_weights(np.array([0.5, 0.0, 1.0]), np.array([0.25, 0.5, 1.0]))
    assert weights.tolist() == [2.0, 0.0, 1.0]
    rewards = np.array([1.0, 1.0, 0.0])
    assert off_policy.estimate_ips(weights, rewards).value.mean == pytest.approx(2 / 3)
    assert off_policy.estimate_snips(weights, rewards).value.mean == pytest.approx(2 / 3)
    robust = off_policy.estimate_doubly_robust(
        weights,
        rewards,
        predicted_shown=np.array([0.5, 0.5, 0.5]),
        predicted_policy=np.array([0.4, 0.6, 0.2]),
    )
    assert robust.value.mean == pytest.approx((0.4 + 1.0 + 0.6 + 0.2 - 0.5) / 3)
    assert robust.difference.mean == pytest.approx(robust.value.mean - 2 / 3)
    assert off_policy.effective_visits(weights) == pytest.approx(9 / 5)


def test_the_logs_own_policy_is_worth_what_was_clicked():
    """With weights of 1 every estimate is the mean click, and differs from it by nothing."""
    rewards = np.array([1.0, 0.0, 0.0, 1.0])
    for estimate in (off_policy.estimate_ips, off_policy.estimate_snips):
        found = estimate(np.ones(4), rewards)
        assert found.value.mean == pytest.approx(0.5)
        assert found.difference == pytest.approx((0.0, 0.0, 0.0))


def test_what_cannot_be_weighted_is_refused():
    """A propensity of 0, and a policy that shows nothing of what was shown."""
    with pytest.raises(DataError, match="above 0"):
        off_policy.importance_weights(np.ones(2), np.array([0.0, 1.0]))
    with pytest.raises(DataError, match="nothing that the log shows"):
        off_policy.estimate_snips(np.zeros(2), np.ones(2))


class _OnePolicy:
    """Shows either of two arms by chances that are given, and predicts their clicks."""

    def __init__(self, shares, means):
        self._shares, self._means = np.array(shares), np.array(means)

    def shares(self, contexts):
        return self._shares[: len(contexts)]

    def estimate(self, contexts):
        return self._means[: len(contexts)], None


def test_a_policy_is_estimated_on_what_it_did_not_learn():
    """Three visits, of which it learned the first: weights .5 / .25 and .5 / 1. Predictions are cut
    to 0 and 1: of -2 and .5 they come to .25 under the policy, of .5 and 3 to .75."""
    policy = _OnePolicy([[0.5, 0.5], [0.5, 0.5]], [[-2.0, 0.5], [0.5, 3.0]])
    log = LoggedVisits(
        names=("a", "b"),
        arms=np.array([1, 0, 1]),
        clicks=np.array([1.0, 1.0, 0.0]),
        contexts=np.zeros((3, 1)),
        features=("age",),
        propensities=None,
    )
    (ips, snips, robust), facts = estimate_policy(policy, log, 1, np.array([0.5, 0.25, 1.0]))
    assert ips.value.mean == pytest.approx(2.0 / 2)
    assert snips.value.mean == pytest.approx(2.0 / 2.5)
    assert robust.value.mean == pytest.approx((0.25 + 2 * (1 - 0) + 0.75 + 0.5 * (0 - 1)) / 2)
    assert facts == pytest.approx(
        {"effective_visits": 2.5**2 / 4.25, "largest_weight": 2.0, "mean_weight": 1.25}
    )


def world_and_log(seed, visits=4000, *, is_logged=True):
    """A generated world, and a log of a policy that prefers the first videos."""
    world = clicks.generate(vendors=1, videos=4, dimension=2, lipschitz=2.0, seed=seed)
    generator = np.random.default_rng(seed)
    chances = np.array([0.4, 0.3, 0.2, 0.1])
    contexts = generator.random((visits, 2))
    arms = generator.choice(4, visits, p=chances)
    liked = generator.random(visits) < world.means(contexts)[np.arange(visits), arms]
    return world, LoggedVisits(
        names=("a", "b", "c", "d"),
        arms=arms,
        clicks=liked.astype(np.float64),
        contexts=contexts,
        features=("age", "hour"),
        propensities=chances[arms] if is_logged else None,
    )


@pytest.mark.parametrize("is_logged", [True, False])
def test_intervals_hold_the_true_value(is_logged):
    """In 8 worlds, 24 intervals at 95 %: 5 or more misses have a chance below 1 %. The truth is
    known from the chances of a click. Shares of the log stand for propensities as well."""
    missed = 0
    for seed in range(8):
        world, log = world_and_log(seed, is_logged=is_logged)
        policy = learn_from(log, 2000, math.inf)
        found, weighed = estimate_policy(policy, log, 2000, propensities_of(log)[0])
        contexts = np.random.default_rng(99).random((4000, 2))
        truth = float((policy.shares(contexts) * world.means(contexts)).sum(axis=1).mean())
        missed += sum(not estimate.value.holds(truth) for estimate in found)
        assert 0 < weighed["effective_visits"] <= 2000
        assert weighed["mean_weight"] == pytest.approx(1.0, abs=0.2)
    assert missed < 5


def written(tmp_path, visits=200):
    """A log as a file."""
    _, log = world_and_log(3, visits)
    lines = [HEADERS]
    for number, arm in enumerate(log.arms.tolist()):
        age, hour = log.contexts[number].tolist()
        chance = float(log.propensities[number])
        lines.append(f"{age:.4f},{24 * hour:.2f},{log.names[arm]},{log.clicks[number]:g},{chance}")
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n")
    return file, log


def test_a_log_is_read(tmp_path):
    """Columns by their names; contexts scaled by public bounds and cut to them."""
    file, log = written(tmp_path)
    found = read_visits(file)
    assert found.features == ("age", "hour")
    assert found.names == log.names
    assert np.array_equal(found.arms, log.arms)
    assert np.array_equal(found.clicks, log.clicks)
    assert np.allclose(found.propensities, log.propensities)
    assert found.contexts.max() == 1.0
    scaled = read_visits(file, VisitColumns(contexts=("hour",), low=0, high=24))
    assert np.allclose(scaled.contexts[:, 0], log.contexts[:, 1], atol=1e-3)
    assert "visit" in repr(found)
    assert "0." not in repr(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,click\n0.5,1\n", "what was shown"),
        ("age,article\n0.5,a\n", "clicks"),
        ("article,click\na,1\n", "no context column"),
        ("age,article,click\nold,a,1\n", "age"),
        ("age,article,click\ninf,a,1\n", "age"),
        ("age,article,click\n0.5,a,2\n", "from 0 to 1"),
        ("age,article,click\n0.5,,1\n", "a name"),
        ("age,article,click,propensity\n0.5,a,1,0\n", "above 0"),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(tmp_path, text, said):
    """The error names what is missing, or the row and the column."""
    file = tmp_path / "log.csv"
    file.write_text(text)
    with pytest.raises(DataError) as error:
        read_visits(file)
    assert said in str(error.value)


def test_a_column_of_chances_that_is_named_must_exist(tmp_path):
    """A wrong name is refused, and not read as a log without chances."""
    file = tmp_path / "log.csv"
    file.write_text("age,article,click,chance\n0.5,a,1,0.5\n")
    assert read_visits(file, VisitColumns(propensity="chance")).propensities is not None
    with pytest.raises(DataError, match="no column for chances"):
        read_visits(file, VisitColumns(propensity="chances"))


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 0.0), (-np.inf, 1.0), (0.0, np.inf), (np.nan, 1.0), (-1e308, 1e308)],
)
def test_bounds_are_finite_and_have_an_order(low, high):
    """With other bounds no context can be scaled."""
    with pytest.raises(ConfigError, match="from low to high"):
        VisitColumns(low=low, high=high)


def test_replay_prints_estimates_beside_the_log(tmp_path, capsys):
    """The command: rows for each epsilon and estimator, the log's own clicks, and the cards."""
    file, log = written(tmp_path)
    main(["replay", "pdap", str(file), "--contexts", "age", "--epsilon", "4,inf", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [(row["epsilon"], row["estimator"]) for row in found["rows"]] == [
        (epsilon, name) for epsilon in (4.0, None) for name in ("ips", "snips", "dr")
    ]
    assert found["logged"]["value"] == pytest.approx(log.clicks[100:].mean())
    assert found["visits"] == {"learned": 100, "estimated": 100}
    assert found["propensities"] == "logged"
    assert all(row["low"] <= row["value"] <= row["high"] for row in found["rows"])
    assert found["guarantees"][0]["adjacency"]["change"] == "learn or not learn"


def test_a_log_without_propensities_says_what_stands_for_them(tmp_path, capsys):
    """Shares of the log, with the condition under which that is right."""
    file, _ = written(tmp_path)
    lines = [line.rpartition(",")[0] for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    main(["replay", "pdap", str(file), "--high", "24", "--epsilon", "inf"])
    out = " ".join(capsys.readouterr().out.split())
    assert "shares of the log are used instead" in out
    assert "protect nobody" in out
