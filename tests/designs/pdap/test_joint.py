"""Joint privacy: choices follow from released sums; the twin is exact; budgets and horizons end."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.pdap import joint as joint_module
from tacit.designs.pdap.grid import MOST_CELLS, Grid, slices_for
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.joint_sums import CHANCE, GRAIN, Observation, covariance_of, posterior
from tacit.designs.pdap.unanswered import VISITS_REMEMBERED
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.randomness import replay, simulation
from tests.support.pdap_answers import Answering, answer_range


@pytest.fixture(autouse=True)
def _simulated():
    """Seeds are allowed: these are experiments."""
    with simulation():
        yield


def setting(**changes) -> JointSetting:
    plain = {
        "videos": 3,
        "neighbours": 1,
        "dimension": 2,
        "horizon": 60,
        "epsilon": math.inf,
        "slices": 2,
        "first": 10,
    }
    return JointSetting(**{**plain, **changes})


def joint(seed=0, **changes) -> Joint:
    return Joint(setting(**changes), randomness=replay(seed))


def stream(visits, seed=0):
    """Contexts (visits, 2) and rewards (visits,)."""
    generator = np.random.default_rng(seed)
    return generator.random((visits, 2)), generator.integers(0, 2, visits).astype(float)


def served(policy, contexts, rewards):
    """Its choices, each answered."""
    choices = []
    for context, reward in zip(contexts, rewards, strict=True):
        choices.append(policy.select(context))
        policy.update(choices[-1], reward)
    return choices


def exact(policy):
    """(cells, arms, 2) of likes and dislikes that wait for the next release."""
    return policy.export_state()[1]["exact"]


def released(policy):
    """(releases, cells, arms) of likes, and of visits."""
    likes, visits, _ = policy.export_state()[1]["seen"]
    return likes, visits


def test_without_noise_the_sums_are_exact(monkeypatch):
    """At epsilon = inf no noise is drawn, and what is released is what was counted."""
    monkeypatch.setattr(samplers, "discrete_laplace", None)
    policy = joint()
    contexts, rewards = stream(60)
    choices = served(policy, contexts, rewards)
    policy.select(contexts[0])
    likes, visits = np.zeros((4, 4)), np.zeros((4, 4))
    for choice, reward in zip(choices, rewards, strict=True):
        likes[choice.cell, choice.arm] += reward
        visits[choice.cell, choice.arm] += 1
    liked, visited = released(policy)
    assert np.array_equal(liked.sum(axis=0), likes)
    assert np.array_equal(visited.sum(axis=0), visits)


def test_immense_epsilon_is_the_twin():
    """With noise that rounds to nothing, every choice and chance is the twin's."""
    contexts, rewards = stream(60)
    many = {"horizon": 60, "growth": 2.0}
    with_noise = served(joint(epsilon=1e6, **many), contexts, rewards)
    twin = served(joint(**many), contexts, rewards)
    assert [(c.arm, c.phase, c.cell) for c in with_noise] == [
        (c.arm, c.phase, c.cell) for c in twin
    ]


class Fixed:
    """Releases the same whatever was learned."""

    def __init__(self, arms=4):
        generator = np.random.default_rng(1)
        self.released = generator.random((4, arms)), 2 * generator.random((4, arms))

    def add(self, cells, arms, shares):
        pass

    def release(self, arrivals):
        return self.released


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=30, max_size=30))
def test_choices_are_post_processing(private):
    """With the same releases, what others did and felt changes nothing: the choices for the same
    contexts are the same, chance by chance."""
    contexts, rewards = stream(30)
    kept = []
    for others, felt in ((contexts, rewards), (np.array(private), [r for r, _ in private])):
        with simulation(), pytest.MonkeyPatch.context() as patched:
            patched.setattr(joint_module, "EpochSums", lambda *_: Fixed())
            policy = joint(epsilon=1.0)
        shown = []
        for n in range(30):
            mine = n % 3 == 2  # every third visitor is the same in both worlds
            with simulation():
                choice = policy.select(contexts[n] if mine else others[n])
                if mine:
                    shown.append(choice)
            policy.update(choice, float(felt[n]))
        kept.append(shown)
    assert kept[0] == kept[1]


def test_chances_are_those_of_the_draw():
    """Of 4,000 choices in one epoch each arm's share is the chance stated (5 standard errors)."""
    policy = joint(horizon=10**6, first=10**5)
    choices = [policy.select(np.array([0.1, 0.1])) for _ in range(4000)]
    for arm in range(4):
        chosen = [choice for choice in choices if choice.arm == arm]
        (chance,) = {choice.chance for choice in chosen}
        error = math.sqrt(chance * (1 - chance) / 4000)
        assert abs(len(chosen) / 4000 - chance) < 5 * error


@settings(deadline=None, max_examples=25)
@given(st.sets(st.integers(0, 3), min_size=1))
def test_only_what_is_allowed_is_chosen(allowed):
    """A subset of arms per call; chances within it add up to one."""
    with simulation():
        policy = joint()
        choices = [policy.select(np.array([0.9, 0.1]), sorted(allowed)) for _ in range(40)]
    assert {choice.arm for choice in choices} <= allowed
    parts = policy.export_state()[1]["parts"][choices[0].cell]
    stated = {c.arm: c.chance for c in choices}
    assert all(stated[a] == parts[a] / parts[sorted(allowed)].sum() for a in stated)


def test_it_learns():
    """The best arm of each half of the square is chosen most of the time at epsilon 1."""
    policy = joint(epsilon=1.0, horizon=20_000, first=200, neighbours=0)
    generator = np.random.default_rng(3)
    right, late = 0, 0
    for context in generator.random((20_000, 2)):
        choice = policy.select(context)
        good = choice.arm == int(context[0] > 0.5)
        policy.update(choice, float(generator.random() < (0.8 if good else 0.3)))
        if policy.arrivals > 10_000:
            right, late = right + good, late + 1
    assert right / late > 0.9


def test_a_new_period_has_new_sums():
    """A visit is in one period: its sums start at zero, with fresh noise, and what was released
    before is kept."""
    policy = joint(horizon=20)
    contexts, rewards = stream(50)
    served(policy, contexts[:21], rewards[:21])
    numbers, _ = policy.export_state()
    assert (numbers["began"], numbers["released"]) == (20, 0)
    assert exact(policy).sum() == 16  # one visit, in grains
    served(policy, contexts[21:], rewards[21:])
    assert released(policy)[1].sum() == 40


def test_a_visit_is_answered_once():
    """A second answer is refused, also where another visit was never answered: it would be charged
    again. So is a choice that was never made here."""
    policy = joint()
    choice, _ = policy.select(np.array([0.5, 0.5])), policy.select(np.array([0.5, 0.5]))
    policy.update(choice, 1.0)
    once = exact(policy)
    with pytest.raises(PrivacyError, match="twice"):
        policy.update(choice, 1.0)
    for visit in (None, -1, 2):
        with pytest.raises(PrivacyError, match="none of a visit"):
            policy.update(replace(choice, visit=visit), 1.0)
    assert np.array_equal(exact(policy), once)


def test_an_answer_may_come_too_late():
    """An answer after `VISITS_REMEMBERED` more visits is not learned, the first one no more than a
    second one; before that it is, whatever was answered in between."""
    policy = joint(horizon=10**6, first=10**6)
    here = np.array([0.5, 0.5])
    first, second = policy.select(here), policy.select(here)
    for _ in range(VISITS_REMEMBERED - 1):
        policy.update(policy.select(here), 1.0)
    policy.update(first, 1.0)
    policy.update(second, 1.0)
    assert exact(policy).sum() == VISITS_REMEMBERED * GRAIN


def test_a_choice_in_the_place_of_another_is_the_same_visit():
    """One of the two can be answered, once."""
    policy = joint()
    here = np.array([0.5, 0.5])
    choice = policy.select(here)
    settled = policy.settle(here, [0], instead=choice)
    policy.update(settled, 1.0)
    with pytest.raises(PrivacyError, match="twice"):
        policy.update(choice, 1.0)


def test_arms_join_and_leave():
    """A new arm takes the next number and is tried at once; one that left is chosen no more, and
    what was learned of the others stays."""
    policy = joint(horizon=1000)
    contexts, rewards = stream(200)
    served(policy, contexts, rewards)
    before = policy.estimates()[0][:, :3]
    assert policy.add_arm() == 4
    policy.remove_arm(1)
    after = policy.estimates()[0][:, :3]
    assert np.allclose(before, after)
    arms = {choice.arm for choice in served(policy, contexts, rewards)}
    assert 4 in arms
    assert 1 not in arms
    assert (len(policy.own), len(policy.neighbours)) == (3, 1)


def test_an_early_epoch_counts_little():
    """Epochs add up by inverse variances: one visit under large noise moves nothing, where
    thousand visits under the same noise move the mean."""
    one, none = np.ones(1), np.zeros(1)
    means = []
    for visits in (1.0, 1000.0):
        counts = np.full((1, 1), visits)
        seen = Observation(0.9 * counts, counts, counts, 50.0)
        mean, _ = posterior([seen], np.full((1, 1), 0.04), one / 2, one, (none, one))
        means.append(float(mean[0, 0]))
    assert means[0] == pytest.approx(0.5, abs=0.01)
    assert means[1] == pytest.approx(0.9, abs=0.05)


def test_posterior_is_that_of_a_gaussian_process():
    """Against the textbook formula, with exact counts and no noise."""
    generator = np.random.default_rng(0)
    covariance = covariance_of(Grid(2, 3).centres)
    visits = generator.integers(1, 30, (9, 1)).astype(float)
    likes = visits * generator.random((9, 1))
    mean, variance = posterior(
        [Observation(likes, visits, visits, 0.0)],
        covariance,
        np.array([0.5]),
        np.ones(1),
        (np.zeros(1), np.ones(1)),
    )
    chance = max(CHANCE, 0.25)
    gain = covariance @ np.linalg.inv(covariance + np.diag(chance / visits[:, 0]))
    assert np.allclose(mean[:, 0], 0.5 + gain @ (likes / visits - 0.5)[:, 0])
    assert np.allclose(variance[:, 0], np.diag(covariance - gain @ covariance))


@given(st.integers(2, 10**9), st.integers(1, 12), st.integers(1, 1000))
def test_slices_follow_the_rule(horizon, dimension, arms):
    """The grid exists, and one slice more would leave a cell and arm fewer than 200 visits; this
    one leaves them as many, unless it is as coarse as it may be."""
    slices = slices_for(horizon, dimension, arms)
    assert slices**dimension <= MOST_CELLS
    finer = (slices + 1) ** dimension
    assert finer > MOST_CELLS or horizon / (finer * arms) < 200
    fewest = 3 if dimension <= 3 else 1
    assert slices == fewest or horizon / (slices**dimension * arms) >= 200


def test_guests_see_what_was_released_and_leave_nothing():
    """A guest is shown an own video believed best; nothing is learned of it, no time passes, and
    the reward is noised from the first one."""
    policy = joint(horizon=1000)
    served(policy, *stream(100))
    forwarded_users = Answering(policy, epsilon=1.0, randomness=replay(5))
    before, arrivals = exact(policy), policy.arrivals
    choice = forwarded_users.select(np.array([0.2, 0.7]))
    answers = [forwarded_users.answer(choice, 1) for _ in range(2000)]
    assert choice.arm in range(3)
    assert (exact(policy) == before).all()
    assert policy.arrivals == arrivals
    assert set(answers) == set(answer_range(1.0))
    assert abs(np.mean(answers) - 1) < 5 * np.std(answers) / math.sqrt(2000)
    with pytest.raises(DataError):
        forwarded_users.answer(choice, 0.5)


def test_answers_of_a_neighbour_are_learned_in_their_range():
    """A neighbour whose noised rewards have mean 0.8 is believed to be worth 0.8."""
    low, high = answer_range(1.0)
    policy = joint(
        videos=1, neighbours=1, horizon=5000, neighbour_range=(low, high), slices=1, first=100
    )
    generator = np.random.default_rng(0)
    chance = (0.8 - low) / (high - low)
    for _ in range(5001):
        choice = policy.select(np.array([0.5, 0.5]))
        noised = high if generator.random() < chance else low
        policy.update(choice, noised if choice.arm == 1 else 0.2)
    means, _ = policy.estimates()
    assert means[0, 1] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.0},
        {"growth": 0.5},
        {"neighbour_range": (1.0, 0.0)},
        {"first": 0},
        {"slices": 40},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes):
    """In one sentence, before anybody comes."""
    with pytest.raises(ConfigError):
        joint(**changes)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_numbers_that_are_none_are_refused(odd):
    """Neither a context nor a reward, and nothing is learned."""
    policy = joint()
    choice = policy.select(np.array([0.5, 0.5]))
    with pytest.raises(DataError):
        policy.select(np.array([0.5, odd]))
    with pytest.raises(DataError):
        policy.update(choice, odd)
    assert not exact(policy).any()
