"""Joint privacy: choices follow from releases; arms come and go in public; each visit once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.pdap import joint as joint_module
from tacit.designs.pdap.features import GRAINS
from tacit.designs.pdap.joint import JointLearner, JointSetting, raise_refusals
from tacit.designs.pdap.sums import Release
from tacit.designs.pdap.waiting_visits import VISITS_REMEMBERED
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.randomness import replay, simulation
from tests.support.pdap_answers import Answering, answer_range

HERE = np.array([0.5, 0.5])


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
        "horizon": 2000,
        "epsilon": math.inf,
        "degree": 1,
    }
    return JointSetting(**{**plain, **changes})


def joint(seed=0, **changes) -> JointLearner:
    return JointLearner(setting(**changes), randomness=replay(seed))


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


def waiting(policy):
    """How many visits were learned since the last release."""
    arrays = policy.export_state()[1]
    return int(arrays["exact"][:, :, 0].sum() + arrays["log_exact"][:, :, 0].sum()) // GRAINS


def shown(policy, visits=60, seed=3):
    """Arms that it chooses in one block of visits, which are not answered."""
    return {choice.arm for choice in policy.select_many(stream(visits, seed)[0])}


def test_without_noise_the_sums_are_exact(monkeypatch):
    """At epsilon = inf no noise is drawn, and what is released is what was answered."""
    monkeypatch.setattr(samplers, "discrete_laplace", None)
    policy = joint()
    contexts, rewards = stream(10)
    choices = served(policy, contexts, rewards)
    policy.select(HERE)
    likes, visits = np.zeros(4), np.zeros(4)
    for choice, reward in zip(choices, rewards, strict=True):
        likes[choice.arm] += reward
        visits[choice.arm] += 1
    assert np.allclose(policy.last_release.likes[:, 0], likes)
    assert np.allclose(policy.last_release.visits[:, 0], visits)


def test_immense_epsilon_is_the_twin():
    """With noise that rounds to nothing, every choice is the twin's."""
    contexts, rewards = stream(100)
    with_noise = served(joint(epsilon=1e12), contexts, rewards)
    twin = served(joint(), contexts, rewards)
    assert [(c.arm, c.phase) for c in with_noise] == [(c.arm, c.phase) for c in twin]


def test_many_at_once_are_one_after_another():
    """`select_many` with the same draws makes the choices of `select`, over ends of epochs."""
    contexts, _ = stream(40)
    together = joint().select_many(contexts)
    policy = joint()
    apart = [policy.select(context) for context in contexts]
    assert [(c.arm, c.cell, c.visit) for c in together] == [(c.arm, c.cell, c.visit) for c in apart]


def test_a_choice_of_the_best_known_arm_is_no_exploration(monkeypatch):
    """Without the spread of the draw every choice is the best by what was released."""
    contexts, rewards = stream(40)
    policy = joint()
    served(policy, contexts, rewards)
    assert {choice.phase for choice in policy.select_many(contexts)} == {"exploit", "explore"}
    monkeypatch.setattr(joint_module, "EXPLORATION", 0.0)
    assert {choice.phase for choice in policy.select_many(contexts)} == {"exploit"}


def test_blocks_of_visits_may_be_of_any_size(monkeypatch):
    """Where one visit's numbers are more than are drawn at once, visits are chosen one by one."""
    contexts, _ = stream(40)
    usual = joint().select_many(contexts)
    monkeypatch.setattr(joint_module, "NUMBERS_AT_ONCE", 1)
    small = joint().select_many(contexts)
    assert [choice.arm for choice in small] == [choice.arm for choice in usual]


class Fixed:
    """Releases the same whatever was learned."""

    def __init__(self, arms=4, terms=3):
        generator = np.random.default_rng(1)
        likes = generator.random((arms, terms))
        self.released = Release(likes, 2 * likes)

    def add(self, arms, phi, rewards):
        pass

    def release(self, epoch):
        return self.released


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=30, max_size=30))
def test_choices_are_post_processing(private):
    """With the same releases, what others did and felt changes nothing: the choices for the same
    contexts are the same, and all that is believed."""
    contexts, rewards = stream(30)
    kept = []
    for others, felt in ((contexts, rewards), (np.array(private), [r for r, _ in private])):
        with simulation(), pytest.MonkeyPatch.context() as patched:
            patched.setattr(joint_module, "EpochSums", lambda *_: Fixed())
            policy = joint(epsilon=1.0)
        seen = []
        for n in range(30):
            mine = n % 3 == 2  # every third visitor is the same in both worlds
            with simulation():
                choice = policy.select(contexts[n] if mine else others[n])
                seen.append(policy.estimate(contexts)[0].tolist())
                if mine:
                    seen.append(choice)
            policy.update(choice, float(felt[n]))
        kept.append(seen)
    assert kept[0] == kept[1]


@settings(deadline=None, max_examples=25)
@given(st.sets(st.integers(0, 3), min_size=1))
def test_only_what_is_allowed_is_chosen(allowed):
    """A subset of arms per call."""
    with simulation():
        policy = joint()
        choices = [policy.select(HERE, sorted(allowed)) for _ in range(40)]
    assert {choice.arm for choice in choices} <= allowed


def test_before_a_release_all_arms_are_equally_likely():
    """4,000 visits of the first epoch: each arm's share is a quarter (5 standard errors)."""
    policy = joint(horizon=10**6)
    arms = [choice.arm for choice in policy.select_many(stream(4000)[0])]
    error = math.sqrt(0.25 * 0.75 / 4000)
    for arm in range(4):
        assert abs(arms.count(arm) / 4000 - 0.25) < 5 * error


def test_it_learns():
    """The best arm of each half of the square is chosen most of the time at epsilon 1."""
    policy = joint(epsilon=1.0, horizon=20_000, neighbours=0, degree=None)
    generator = np.random.default_rng(3)
    contexts = generator.random((20_000, 2))
    right, late = 0, 0
    for start in range(0, 20_000, 50):
        part = contexts[start : start + 50]
        choices = policy.select_many(part)
        good = np.array([c.arm for c in choices]) == (part[:, 0] > 0.5)
        liked = generator.random(50) < np.where(good, 0.8, 0.3)
        policy.update_many(choices, liked.astype(float).tolist())
        if start >= 10_000:
            right, late = right + int(good.sum()), late + 50
    assert right / late > 0.8


def test_a_visit_is_answered_once():
    """A second answer is refused, also where another visit was never answered: it would be charged
    again. So is a choice that was never made here."""
    policy = joint()
    choice, _ = policy.select(HERE), policy.select(HERE)
    policy.update(choice, 1.0)
    with pytest.raises(PrivacyError, match="twice"):
        policy.update(choice, 1.0)
    for visit in (None, -1, 2):
        with pytest.raises(PrivacyError, match="is not a visit"):
            policy.update(replace(choice, visit=visit), 1.0)
    with pytest.raises(ConfigError, match="another learner"):
        policy.update(replace(choice, cell=(0.5,)), 1.0)
    assert waiting(policy) == 1


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda choice: (choice, math.nan), DataError),
        (lambda choice: (replace(choice, visit=None), 1.0), PrivacyError),
        (lambda choice: (replace(choice, learner="another"), 1.0), PrivacyError),
        (lambda choice: (replace(choice, cell=(0.5,)), 1.0), ConfigError),
        (lambda choice: (replace(choice, cell=(7.0, 0.5)), 1.0), DataError),
    ],
)
@pytest.mark.parametrize("position", [0, 4, 9])
def test_a_refused_answer_keeps_no_other_from_being_learned(spoil, error, position):
    """Otherwise epsilon would bound nothing: one answer would decide about all after it."""
    policy = joint()
    choices = policy.select_many(stream(10)[0])
    rewards = [1.0] * 10
    choices[position], rewards[position] = spoil(choices[position])
    with pytest.raises(error, match=f"1 of 10 answers.*Number {position + 1}:"):
        policy.update_many(choices, rewards)
    assert waiting(policy) == 9


def test_an_earlier_answer_changes_the_sums_by_one_visit_at_most():
    """Whether one visit was answered before, the nine others of the call are learned."""
    learned = []
    for is_answered_before in (False, True):
        policy = joint()
        choices = policy.select_many(stream(10)[0])
        if is_answered_before:
            policy.update(choices[0], 1.0)
            with pytest.raises(PrivacyError, match="1 of 10 answers"):
                policy.update_many(choices, [1.0] * 10)
        else:
            policy.update_many(choices, [1.0] * 10)
        learned.append(policy.export_state()[1]["exact"])
    assert np.array_equal(*learned)


def test_answers_without_rewards_are_refused_before_any_is_learned():
    """Nine rewards for ten visits: nobody knows whose they are."""
    policy = joint()
    choices = policy.select_many(stream(10)[0])
    with pytest.raises(DataError, match="equally many"):
        policy.update_many(choices, [1.0] * 9)
    assert waiting(policy) == 0


def test_a_late_answer_is_in_the_epoch_in_which_it_comes():
    """The release after the visit's epoch has nothing of it; the one after the answer has it."""
    policy = joint()
    choice = policy.select(HERE)
    policy.select_many(stream(10)[0])
    assert policy.epochs.number == 1
    assert policy.last_release.visits[:, 0].sum() == 0
    policy.update(choice, 1.0)
    policy.select_many(stream(15)[0])
    assert policy.epochs.number == 2
    assert policy.last_release.visits[:, 0].sum() == pytest.approx(1.0)


def test_an_answer_may_come_too_late():
    """An answer after `VISITS_REMEMBERED` more visits is not learned, the first one no more than a
    second one; before that it is, whatever was answered in between."""
    policy = joint(horizon=10**8)
    first, second = policy.select(HERE), policy.select(HERE)
    policy.select_many(np.tile(HERE, (VISITS_REMEMBERED - 1, 1)))
    policy.update(first, 1.0)
    assert waiting(policy) == 0
    policy.update(second, 1.0)
    assert waiting(policy) == 1


def test_a_settled_visit_is_the_same_visit_and_is_not_learned():
    """One of the two can be answered, once, and nothing is learned of it: the public policy does
    not know of what was shown instead."""
    policy = joint()
    choice = policy.select(HERE)
    arrivals = policy.arrivals
    settled = policy.choose_again(HERE, [0], instead=choice)
    policy.update(settled, 1.0)
    assert (waiting(policy), policy.arrivals) == (0, arrivals)
    with pytest.raises(PrivacyError, match="twice"):
        policy.update(choice, 1.0)


def test_an_arm_joins_at_the_end_of_the_epoch():
    """It takes the next number, is not shown before, and what was learned of the others stays."""
    policy = joint()
    contexts, rewards = stream(200)
    served(policy, contexts, rewards)
    before = policy.estimate(contexts)[0][:, :3]
    assert policy.add_arm() == 4
    assert np.array_equal(policy.estimate(contexts)[0][:, :3], before)
    left = policy.epochs.ends_at - policy.epochs.arrivals
    assert 4 not in {choice.arm for choice in policy.select_many(stream(left, 4)[0])}
    assert 4 in shown(policy)
    assert (len(policy.own), len(policy.neighbours)) == (4, 1)


@pytest.mark.parametrize("visits", [0, 200])
def test_several_arms_that_join_at_once_are_as_if_one_by_one(visits):
    """Before the first visit, when they are shown at once, and later: the numbers, the state and
    the next choices are the same."""
    together, apart = joint(), joint()
    for policy in (together, apart):
        served(policy, *stream(visits))
    joined = together.add_own_arms(3)
    assert joined == [apart.add_arm() for _ in range(3)] == [4, 5, 6]
    (state, arrays), (expected_state, expected_arrays) = (
        policy.export_state() for policy in (together, apart)
    )
    assert {**state, "tag": ""} == {**expected_state, "tag": ""}
    assert arrays.keys() == expected_arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(array, expected_arrays[name])
    chosen = [policy.select_many(stream(300, 1)[0]) for policy in (together, apart)]
    assert [choice.arm for choice in chosen[0]] == [choice.arm for choice in chosen[1]]
    assert {4, 5, 6} <= {choice.arm for choice in chosen[0]}


def test_an_arm_leaves_at_once():
    """It is chosen no more, an answer for it counts until the end of the epoch and not later, and
    its row goes with the epoch."""
    policy = joint()
    choices = policy.select_many(stream(4)[0], [1])
    policy.remove_arm(1)
    assert 1 not in shown(policy, policy.epochs.ends_at - policy.epochs.arrivals)
    policy.update(choices[0], 1.0)
    assert waiting(policy) == 1
    policy.select(HERE)
    assert policy.arms_in_epoch == [0, 2, 3]
    policy.update(choices[1], 1.0)
    assert waiting(policy) == 0


def test_rows_stay_few_however_many_arms_come_and_go():
    """A hundred arms join and leave: rows are those of the arms that are here."""
    policy = joint(horizon=200, neighbours=0)
    for _ in range(100):
        arm = policy.add_arm()
        served(policy, *stream(12))
        policy.remove_arm(min(policy.own))
        assert arm in policy.own
    served(policy, *stream(30))
    assert policy.arms_in_epoch == policy.own
    assert len(policy.own) == 3
    assert policy.export_state()[1]["expected"].shape == (3, 3)


def test_if_all_arms_leave_those_that_joined_are_shown_at_once():
    """The epoch ends there: who joins and leaves is public, and a visitor must be shown something.
    So is a set of which no arm was here when the epoch began."""
    policy = joint(neighbours=0)
    policy.select(HERE)
    new = policy.add_arm()
    assert policy.select(HERE, [new]).arm == new
    newer = policy.add_arm()
    for arm in (0, 1, 2, new):
        policy.remove_arm(arm)
    assert policy.exploit(HERE).arm == newer
    assert policy.serve_forwarded(HERE[None]).tolist() == [newer]
    assert policy.select(HERE).arm == newer


def test_which_arms_are_shown_is_known_from_public_sets():
    """Where half of the visits may see one arm only, the shares of the epoch say so."""
    policy = joint(horizon=10**5)
    contexts, _ = stream(200)
    policy.select_many(contexts[:100], [2])
    policy.select_many(contexts[100:])
    nothing = Release(np.zeros((4, 3)), np.zeros((4, 3)))
    observed = policy.make_observation(nothing)
    assert observed.arrivals == 200
    assert observed.shares[:, 2].mean() == pytest.approx(0.5 + 0.125, abs=0.02)


def test_a_log_is_no_set_of_arms():
    """Which arms a log shows leaves no trace but in the release: sets and time are the same."""
    states = []
    for arms in ([0, 1, 2], [2, 2, 2]):
        policy = joint()
        policy.learn_log(arms, stream(3)[0], [1.0, 0.0, 1.0])
        states.append(policy.epochs.export_state())
    assert states[0] == states[1]
    assert states[0]["sets"] == []
    assert states[0]["arrivals"] == 3


def test_a_log_is_learned():
    """Clear tastes of a log of another policy, at epsilon 8, are those that are believed."""
    policy = joint(neighbours=0, videos=2, epsilon=8.0, horizon=10_000, degree=None)
    generator = np.random.default_rng(1)
    contexts = generator.random((4000, 2))
    arms = generator.integers(0, 2, 4000)
    liked = (contexts[:, 0] < 0.5) == (arms == 0)
    policy.learn_log(arms.tolist(), contexts, liked.astype(float).tolist())
    policy.epochs.end_now()
    policy.select(HERE)
    means = policy.estimate(np.array([[0.1, 0.5], [0.9, 0.5]]))[0]
    assert means[0, 0] > means[0, 1]
    assert means[1, 1] > means[1, 0]
    with pytest.raises(ConfigError, match="never joined"):
        policy.learn_log([7], contexts[:1], [1.0])


def test_rewards_that_fall_make_it_forget():
    """The best arm becomes the worst at half time: after the alarm the other one is chosen."""
    policy = joint(videos=2, neighbours=0, horizon=4000, degree=0)
    generator = np.random.default_rng(5)
    late = []
    for visit in range(4000):
        choice = policy.select(HERE)
        good = choice.arm == int(visit >= 2000)
        policy.update(choice, float(generator.random() < (0.8 if good else 0.2)))
        if visit >= 3000:
            late.append(choice.arm)
    assert np.mean(late) > 0.9


def test_guests_see_what_was_released_and_leave_nothing():
    """A guest is shown an own video believed best; nothing is learned of it, no time passes, and
    the reward is noised from the first one."""
    policy = joint(horizon=1000)
    served(policy, *stream(100))
    forwarded_users = Answering(policy, epsilon=1.0, randomness=replay(5))
    before, arrivals = waiting(policy), policy.arrivals
    choice = forwarded_users.select(np.array([0.2, 0.7]))
    answers = [forwarded_users.answer(choice, 1) for _ in range(2000)]
    assert choice.arm in range(3)
    assert waiting(policy) == before
    assert policy.arrivals == arrivals
    assert set(answers) == set(answer_range(1.0))
    assert abs(np.mean(answers) - 1) < 5 * np.std(answers) / math.sqrt(2000)
    with pytest.raises(DataError):
        forwarded_users.answer(choice, 0.5)


def test_answers_of_a_neighbour_are_learned_in_their_range():
    """A neighbour whose noised rewards have mean 0.8 is believed to be worth 0.8."""
    low, high = answer_range(1.0)
    policy = joint(videos=1, neighbours=1, horizon=5000, neighbour_range=(low, high), degree=0)
    generator = np.random.default_rng(0)
    chance = (0.8 - low) / (high - low)
    for _ in range(5001):
        choice = policy.select(HERE)
        noised = high if generator.random() < chance else low
        policy.update(choice, noised if choice.arm == 1 else 0.2)
    assert policy.estimate(HERE[None])[0][0, 1] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.0},
        {"neighbour_range": (1.0, 0.0)},
        {"degree": 4},
        {"dimension": 0},
        {"horizon": 1},
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
    assert waiting(policy) == 0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, 1e308, 1.5, -0.1])
def test_contexts_that_are_none_are_refused_at_every_door(odd):
    """Chosen for, learned from or in a log: a context lies in [0, 1], and nothing is learned."""
    policy = joint()
    wrong = np.array([[odd, 0.5]])
    with pytest.raises(DataError):
        policy.select_many(wrong)
    with pytest.raises(DataError):
        policy.learn_log([0], wrong, [1.0])
    choice = policy.select(np.array([0.2, 0.5]))
    with pytest.raises(DataError):
        policy.update(replace(choice, cell=(odd, 0.5)), 1.0)
    _, arrays = policy.export_state()
    assert not arrays["exact"].any()
    assert not arrays["log_exact"].any()
    assert policy.arrivals == 1


@pytest.mark.parametrize(("refused", "said"), [(20, "19, 20 of"), (22, "19, 20 and 2 more of")])
def test_twenty_refused_answers_are_named(refused, said):
    """Further ones are counted."""
    with pytest.raises(DataError, match=f"{refused} of 30 answers .*{said} the call's"):
        raise_refusals({number: DataError("no number") for number in range(refused)}, 30)
