"""Estimators on logged data find what a policy earns, where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.experiment.offpolicy import doubly_robust, ips, replay, snips
from tacit.errors import ConfigError, DataError

MEANS = np.array([0.2, 0.5, 0.9])
LOGGER, NEW = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.2, 0.7])
TRUE = float(NEW @ MEANS)


def log(count, seed=1):
    generator = np.random.default_rng(seed)
    arms = generator.choice(3, count, p=LOGGER)
    return arms, (generator.random(count) < MEANS[arms]).astype(float)


@pytest.mark.parametrize("estimate", [ips, snips])
def test_weighted_estimates_find_the_truth(estimate):
    """Within four standard errors of what the new policy earns, which the logger does not."""
    arms, rewards = log(50_000)
    found = estimate(rewards, LOGGER[arms], NEW[arms])
    assert abs(found.value - TRUE) < 4 * found.error
    assert abs(float(LOGGER @ MEANS) - TRUE) > 20 * found.error
    assert 0 < found.rows < len(arms)


def test_ips_is_unbiased():
    """Exactly: the sum over arms of logged chance times weighted reward is the truth."""
    rows = [ips([MEANS[arm]], [LOGGER[arm]], [NEW[arm]]).value for arm in range(3)]
    assert float(LOGGER @ rows) == pytest.approx(TRUE)


def test_doubly_robust_survives_a_wrong_model():
    """A model that is wrong everywhere leaves the estimate right; a good one makes it calmer."""
    arms, rewards = log(50_000)
    every = np.tile(NEW, (len(arms), 1))
    wrong = doubly_robust(rewards, LOGGER[arms], every, arms, np.full(every.shape, 0.8))
    good = doubly_robust(rewards, LOGGER[arms], every, arms, np.tile(MEANS, (len(arms), 1)))
    assert abs(wrong.value - TRUE) < 4 * wrong.error
    assert abs(good.value - TRUE) < 4 * good.error
    assert good.error < ips(rewards, LOGGER[arms], NEW[arms]).error


def test_doubly_robust_with_a_perfect_model_needs_no_weights():
    """Noiseless rewards and their model: the estimate is exact and has no error."""
    arms, _ = log(500)
    every, model = np.tile(NEW, (500, 1)), np.tile(MEANS, (500, 1))
    found = doubly_robust(MEANS[arms], LOGGER[arms], every, arms, model)
    assert found.value == pytest.approx(TRUE)
    assert found.error == pytest.approx(0, abs=1e-12)


def test_replay_of_a_uniform_log_finds_the_truth():
    """Rows on which the policy agrees with a uniform logger have the policy's mean."""
    generator = np.random.default_rng(2)
    arms, mine = generator.integers(0, 3, 60_000), generator.choice(3, 60_000, p=NEW)
    rewards = (generator.random(60_000) < MEANS[arms]).astype(float)
    found = replay(rewards, arms == mine)
    assert abs(found.value - TRUE) < 4 * found.error


def test_capped_weights_are_calmer_and_too_low():
    """A cap of weights lowers both the estimate and its error."""
    arms, rewards = log(20_000)
    plain, capped = (ips(rewards, LOGGER[arms], NEW[arms], cap=c) for c in (math.inf, 2.0))
    assert capped.error < plain.error
    assert capped.value < plain.value


def test_nothing_in_common_is_said():
    """A policy that never chooses what was logged gets NaN on 0 rows, not a number."""
    assert snips([1.0], [0.5], [0.0]).rows == 0
    assert math.isnan(replay([1.0, 0.0], [False, False]).value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ips([1.0], [0.0], [0.5]),
        lambda: ips([1.0], [math.nan], [0.5]),
        lambda: ips([math.inf], [0.5], [0.5]),
        lambda: ips([1.0], [0.5], [1.5]),
        lambda: ips([], [], []),
        lambda: replay([1.0], [True, False]),
        lambda: doubly_robust([1.0], [0.5], [[0.5, 0.4]], [0], [[0.1, 0.1]]),
    ],
)
def test_chances_that_are_none_are_refused(call):
    """Chances outside their range, or columns that do not fit, are refused."""
    with pytest.raises(DataError):
        call()


def test_a_cap_is_positive():
    """A cap of 0 would say that nothing was ever earned."""
    with pytest.raises(ConfigError):
        ips([1.0], [0.5], [0.5], cap=0.0)
