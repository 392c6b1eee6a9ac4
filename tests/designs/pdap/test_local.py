"""Local privacy of a context: the loss is exact, the draw is the law, budgets end."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import PureAccountant
from tacit.designs.pdap import theory
from tacit.designs.pdap.audit.devices import TableLearner
from tacit.designs.pdap.local_learner import (
    CHANCE_PARTS,
    PRIOR_VISITS,
    Device,
    LocalLearner,
    LocalSetting,
    Report,
)
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.randomness import replay, simulation

HERE, THERE = np.array([0.1]), np.array([0.9])


@pytest.fixture(autouse=True)
def _simulated():
    """Seeds are allowed: these are experiments."""
    with simulation():
        yield


def setting(**changes) -> LocalSetting:
    plain = {"videos": 3, "neighbours": 1, "dimension": 1, "epsilon": 1.0}
    return LocalSetting(**{**plain, **changes})


def context(seed=0, **changes) -> LocalLearner:
    return LocalLearner(setting(**changes), randomness=replay(seed))


def mixed(means, exponent, explore):
    weights = np.exp(exponent * np.asarray(means, dtype=float))
    return (1 - explore) * weights / weights.sum() + explore / len(means)


@settings(deadline=None)
@given(st.floats(0.001, 8), st.integers(2, 4), st.floats(0, 0.9))
def test_loss_is_the_worst_over_all_corners(exponent, arms, explore):
    """No two vectors of means lose more than the closed form, and one pair of corners loses it."""
    corners = list(itertools.product([0, 1], repeat=arms))
    worst = max(
        float(np.log(mixed(a, exponent, explore) / mixed(b, exponent, explore)).max())
        for a in corners
        for b in corners
    )
    assert worst == pytest.approx(theory.mixed_loss(exponent, arms, explore), abs=1e-9)
    assert worst <= theory.mixed_loss(exponent, arms, explore) + 1e-12


@settings(deadline=None)
@given(st.floats(0.01, 8), st.lists(st.floats(0, 1), min_size=6, max_size=6), st.floats(0, 0.9))
def test_no_means_between_lose_more(exponent, means, explore):
    """Means anywhere in [0, 1] stay within the loss, arm by arm."""
    one, other = (mixed(half, exponent, explore) for half in (means[:3], means[3:]))
    assert np.abs(np.log(one / other)).max() <= theory.mixed_loss(exponent, 3, explore) + 1e-12


@pytest.mark.parametrize(("arms", "nats"), [(2, 0.5), (10, 0.897), (1000, 0.999)])
def test_figures_of_the_closed_form(arms, nats):
    """a = 1/2 without exploring: .5, .897, .999 with 2, 10 and 1000 arms."""
    assert theory.mixed_loss(0.5, arms, 0.0) == pytest.approx(nats, abs=6e-4)
    assert theory.mixed_loss(0.5, 1, 0.1) == 0  # there is nothing to choose
    assert theory.mixed_loss(0.0, arms, 0.1) < 1e-14


@settings(deadline=None)
@given(st.floats(0.01, 5), st.integers(2, 100), st.floats(0, 0.5))
def test_epsilon_is_spent_and_not_overspent(epsilon, arms, explore):
    """The exponent loses at most epsilon, and a slightly larger one more, unless it is at 30."""
    exponent = theory.exponent_for(epsilon, arms, explore)
    assert theory.mixed_loss(exponent, arms, explore) <= epsilon
    assert exponent == 30 or theory.mixed_loss(exponent + 1e-6, arms, explore) > epsilon
    assert exponent >= epsilon / 2


def test_the_largest_exponent_is_found():
    """An exponent's own loss asks for no smaller one. Where rounding up hides what is spent, half
    of epsilon is left, whose exact loss is below epsilon."""
    for exponent in (0.1, 0.7, 2.0, 5.0):
        spent = theory.mixed_loss(exponent, 7, 0.125)
        assert theory.exponent_for(spent, 7, 0.125) >= exponent
    assert theory.exponent_for(1e-15, 7, 0.125) == 0.5e-15


@settings(deadline=None)
@given(st.floats(0, 30), st.integers(1, 1000), st.floats(0, 0.9))
def test_loss_is_rounded_up(exponent, arms, explore):
    """Never below the loss worked out with 200 bits, and above it by 2^-42 at most."""
    with mpmath.workprec(200):
        weight, share = mpmath.exp(-mpmath.mpf(exponent)), mpmath.mpf(explore)
        likely = (1 - share) / (1 + (arms - 1) * weight) + share / arms
        unlikely = (1 - share) * weight / (weight + arms - 1) + share / arms
        exact = mpmath.log(likely / unlikely) if arms > 1 else 0
        assert exact <= theory.mixed_loss(exponent, arms, explore) <= exact + mpmath.mpf(2) ** -42


@pytest.mark.parametrize("wrong", [(0.5, 0, 0.1), (0.5, 3, -0.1), (0.5, 3, 1.0), (-0.5, 3, 0.1)])
def test_no_such_draw_is_refused(wrong):
    """One fault is enough: no arm, a chance outside, an exponent below 0."""
    with pytest.raises(ConfigError):
        theory.mixed_loss(*wrong)


def test_weights_of_the_draw_lose_what_is_stated():
    """From the integers that are really drawn from: the mixed chances of the worst two rows of
    means are within the loss of the draw."""
    table = np.array([np.eye(23)[0], 1 - np.eye(23)[0]])
    policy = TableLearner(setting(videos=20, neighbours=3), table, replay(0))
    # An arm at a chance of a fiftieth is none of 1,000 draws in one of 10^8 runs.
    likely, unlikely = (
        next(one.chance for one in (policy.select(side) for _ in range(1000)) if one.arm == 0)
        for side in (HERE, THERE)
    )
    assert math.log(likely / unlikely) <= policy.draw_loss <= 0.5
    assert math.log(likely / unlikely) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_visit_costs_epsilon(epsilon):
    """Draw and report together: the exact loss and the charged event are at most epsilon."""
    policy = context(epsilon=epsilon)
    charged = PureAccountant().add(policy.event).epsilon()
    assert policy.visit_epsilon <= charged <= epsilon
    assert policy.visit_epsilon > 0.6 * epsilon or epsilon == 10.0


def test_draw_follows_the_stated_chances():
    """Of 6,000 draws each arm has the share stated, within five standard errors."""
    table = np.array([[0.9, 0.1, 0.5, 0.3], [0.1, 0.9, 0.5, 0.3]])
    policy = TableLearner(setting(epsilon=6.0, explore=0.2), table, replay(0))
    choices = [policy.select(HERE) for _ in range(6000)]
    for arm in range(4):
        (chance,) = {choice.chance for choice in choices if choice.arm == arm}
        share = sum(choice.arm == arm for choice in choices) / 6000
        assert abs(share - chance) < 5 * math.sqrt(chance * (1 - chance) / 6000)
    expected = mixed(table[0], theory.exponent_for(3.0, 4, 0.2), 0.2)
    stated = {choice.arm: choice.chance for choice in choices}
    assert all(stated[arm] == pytest.approx(expected[arm], abs=1e-4) for arm in range(4))


def test_vendor_learns_from_reports_alone():
    """Two visitors whose devices sent the same are the same to the vendor."""
    one, other = context(seed=1), context(seed=2)
    for report in (Report(0, 3), Report(2, 0), Report(0, 1)):
        one.learn(report)
        other.learn(report)
    assert np.array_equal(one.means(), other.means())


def test_every_answer_is_possible():
    """Whatever the cell and the reward, every report may be sent: no answer tells for sure."""
    policy = context(seed=4, epsilon=2.0)
    for where, reward in ((HERE, 0), (HERE, 1), (THERE, 0), (THERE, 1)):
        choice = policy.select(where)
        assert {policy.report(choice, reward).answer for _ in range(300)} == {0, 1, 2, 3}


def test_reports_are_made_unbiased():
    """Of 10,000 reports at epsilon 6 the published means are within 0.05 of the truth."""
    policy = context(epsilon=6.0, videos=1, neighbours=0, seed=3)
    generator = np.random.default_rng(0)
    for where in generator.random((10_000, 1)):
        liked = generator.random() < (0.8 if where[0] > 0.5 else 0.3)
        policy.update(policy.select(where), float(liked))
    assert policy.means()[:, 0] == pytest.approx([0.3, 0.8], abs=0.05)


def test_means_of_noisy_reports_by_hand():
    """One video: a lie is each of the other answers alike. A half counts for 10 visits, and for as
    many more as the noise of a cell's visits has variance in them."""
    policy = context(epsilon=1.0, videos=1, neighbours=0)
    counts = [100 * (1 + answer % 3) for answer in range(policy.response.categories)]
    for answer, count in enumerate(counts):
        for _ in range(count):
            policy.learn(Report(0, answer))
    reports, truth = sum(counts), float(policy.response.truth)
    lie = (1 - truth) / (len(counts) - 1)
    means = policy.means()
    assert len(means) == len(counts) // 2 > 1
    for cell, mean in enumerate(means[:, 0]):
        dislikes, likes = (
            (counts[2 * cell + liked] - reports * lie) / (truth - lie) for liked in (0, 1)
        )
        visits = max(likes + dislikes, 0.0)
        pull = PRIOR_VISITS + reports * lie / (truth - lie) ** 2 / max(visits, 1.0)
        expected = (likes + pull / 2) / (visits + pull)
        assert mean == pytest.approx(min(max(expected, 0.0), 1.0))


def test_without_noise_it_is_greedy_on_exact_means():
    """epsilon = inf: the reports are the truth, and but for the uniform share the arm with the
    highest exact mean is shown."""

    class Remembered(LocalLearner):
        def means(self):
            self.published = super().means()
            return self.published

    policy = Remembered(setting(epsilon=math.inf, explore=0.5), randomness=replay(0))
    sums = np.zeros((2, 4, 2))
    generator = np.random.default_rng(5)
    for _ in range(400):
        where = generator.random(1)
        choice = policy.select(where)
        cell = choice.cell
        if choice.phase == "exploit":
            assert choice.arm == policy.published[cell].argmax()
        reward = float(generator.random() < (choice.arm + 1) / 5)
        policy.update(choice, reward)
        sums[cell, choice.arm] += (reward, 1)
    exact = (sums[..., 0] + PRIOR_VISITS / 2) / (sums[..., 1] + PRIOR_VISITS)
    assert np.allclose(policy.means(), exact)


def test_a_device_stops_at_its_limit(monkeypatch):
    """Three visits at epsilon 1 out of a lifetime of 3.5; then uniform arms and no report."""
    policy, reports = context(), []
    monkeypatch.setattr(policy, "learn", reports.append)
    device = Device(policy, lifetime_epsilon=3.5)
    for _ in range(10):
        choice = device.select(HERE)
        device.update(choice, 1.0)
    assert len(reports) == 3
    assert device.spent_epsilon <= 3.0
    late = [device.select(HERE) for _ in range(400)]
    assert {choice.chance for choice in late} == {0.25}
    assert {choice.phase for choice in late} == {"train"}
    assert {choice.arm for choice in late} == {0, 1, 2, 3}
    assert device.spent_epsilon <= 3.0


def test_a_visit_is_reported_once():
    """A second report of the same visit would be a second answer, which was not paid for."""
    device = Device(context(), lifetime_epsilon=9.0)
    choice = device.select(HERE)
    device.update(choice, 1.0)
    with pytest.raises(PrivacyError, match="already"):
        device.update(choice, 1.0)


@pytest.mark.parametrize("reward", [2.0, math.nan, pytest.param(10**400, id="huge")])
def test_a_visit_is_reported_after_a_refused_reward(reward, monkeypatch):
    """Nothing was reported of it, so a device that corrects the reward is heard."""
    policy, reports = context(), []
    monkeypatch.setattr(policy, "learn", reports.append)
    device = Device(policy, lifetime_epsilon=9.0)
    choice = device.select(HERE)
    with pytest.raises(DataError, match="the reward"):
        device.update(choice, reward)
    device.update(choice, 1.0)
    assert len(reports) == 1


def test_arms_join_and_leave():
    """A new arm is drawn, one that left is not, and a subset is kept to."""
    policy = context()
    assert policy.add_arm(neighbour=True) == 4
    policy.remove_arm(0)
    arms = {policy.select(HERE).arm for _ in range(300)}
    assert arms == {1, 2, 3, 4}
    assert {policy.select(HERE, [2, 4]).arm for _ in range(100)} == {2, 4}


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 0.0}, {"explore": 1.0}, {"explore": 0.9999999}, {"explore": math.nan}],
)
def test_settings_that_make_no_sense_are_refused(changes):
    """In one sentence."""
    with pytest.raises(ConfigError):
        context(**changes)


def test_odd_reports_are_refused():
    """A reward out of range on the device, an unknown arm or answer at the vendor."""
    policy = context()
    with pytest.raises(DataError, match="range"):
        policy.report(policy.select(HERE), 1.5)
    for report in (Report(9, 0), Report(0, 4), Report(-1, 0)):
        with pytest.raises(DataError):
            policy.learn(report)


def test_the_largest_chance_to_explore_leaves_draws():
    """One step below 1."""
    policy = context(explore=1 - 1 / CHANCE_PARTS)
    assert policy.select(HERE).chance == pytest.approx(0.25, abs=1e-5)
