"""fit, partial_fit, predict: the words of bandit libraries over the sound learner."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.pdap.features import GRAINS
from tacit.designs.pdap.model import PDap, Visits
from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError


def bandit_of(arms):
    return PDap(arms, epsilon=8.0, horizon=10_000)


def logged(count=4000):
    """Arm "left" is liked on the left half, "right" on the right one."""
    generator = np.random.default_rng(1)
    contexts = generator.random((count, 2))
    arms = generator.choice(["left", "right"], count)
    liked = (contexts[:, 0] < 0.5) == (arms == "left")
    return arms.tolist(), liked.astype(float), contexts


def test_what_was_fitted_is_predicted():
    """After a log of clear tastes, each half of the cube gets its arm."""
    bandit = bandit_of(["left", "right"]).fit(*logged())
    assert bandit.predict([[0.1, 0.5], [0.2, 0.9], [0.9, 0.5]]) == ["left", "left", "right"]


def test_partial_fit_goes_on_and_fit_starts_anew():
    """partial_fit adds to what is known; fit forgets it."""
    bandit = bandit_of(["left", "right"]).fit(*logged(100))
    first = bandit.policy
    bandit.partial_fit(*logged(50))
    assert bandit.policy is first
    assert bandit.policy.arrivals == 150
    bandit.fit(*logged(10))
    assert bandit.policy.arrivals == 10


def test_visits_are_answered_once():
    """What was chosen here is learned with `learn`, where an answer came; a second is refused."""
    bandit = bandit_of(["left", "right"]).fit()
    visits = bandit.choose([[0.1, 0.5], [0.9, 0.5]])
    assert set(visits.arms) <= {"left", "right"}
    bandit.learn(visits, [np.nan, 1.0])
    with pytest.raises(PrivacyError, match="twice"):
        bandit.learn(visits, [np.nan, 1.0])
    bandit.learn(visits, [0.0, np.nan])
    for wrong in ([1.0], [2.0, 1.0]):
        with pytest.raises(DataError):
            bandit.learn(visits, wrong)


def learned(bandit):
    """Number of visits in the sums of the present epoch."""
    return int(bandit.policy.export_state()[1]["exact"][:, :, 0].sum()) // GRAINS


@pytest.mark.parametrize("odd", [1.0000001, -1.0, np.inf])
def test_a_reward_out_of_range_keeps_no_other_from_being_learned(odd):
    """One answer of ten is refused, and can be learned later; the nine others are learned."""
    bandit = bandit_of(["left", "right"]).fit()
    visits = bandit.choose(np.full((10, 2), 0.5))
    rewards = np.ones(10)
    rewards[3] = odd
    with pytest.raises(DataError, match=r"1 of 10 answers.*Number 4: a reward is out of range"):
        bandit.learn(visits, rewards)
    assert learned(bandit) == 9
    bandit.learn(visits, np.where(np.arange(10) == 3, 1.0, np.nan))
    assert learned(bandit) == 10


def test_refused_answers_are_named_and_visits_without_an_answer_not_counted():
    """Of 60 visits 50 have answers, and 25 of these are refused: 20 are named."""
    bandit = bandit_of(["left", "right"]).fit()
    visits = bandit.choose(np.full((60, 2), 0.5))
    rewards = np.full(60, np.nan)
    rewards[10:35] = 7.0
    rewards[35:] = 1.0
    named = ", ".join(str(number) for number in range(11, 31))
    with pytest.raises(DataError, match=rf"25 of 50 answers.*: number {named} and 5 more of"):
        bandit.learn(visits, rewards)
    assert learned(bandit) == 25


def test_a_repeated_call_learns_what_is_left():
    """One visit was answered before, one was chosen before the last `fit`: eight are learned."""
    bandit = bandit_of(["left", "right"]).fit()
    old = bandit.choose([[0.5, 0.5]])
    bandit.fit()
    visits = bandit.choose(np.full((9, 2), 0.5))
    bandit.learn(Visits(visits.arms[:1], visits.choices[:1]), [1.0])
    mixed = Visits([*old.arms, *visits.arms], old.choices + visits.choices)
    with pytest.raises(
        PrivacyError, match=r"2 of 10 answers.*number 1, 2 of.*Number 1: .*another learner"
    ):
        bandit.learn(mixed, np.ones(10))
    assert learned(bandit) == 9


def test_a_bandit_learns_from_its_own_visits():
    """Each half of the cube gets its arm, most of the time."""
    bandit = bandit_of(["left", "right"]).fit()
    generator = np.random.default_rng(1)
    for _ in range(40):
        contexts = generator.random((100, 2))
        visits = bandit.choose(contexts)
        liked = (contexts[:, 0] < 0.5) == (np.array(visits.arms) == "left")
        bandit.learn(visits, liked.astype(float))
    arms = np.array(bandit.predict(contexts))
    assert np.mean((contexts[:, 0] < 0.5) == (arms == "left")) > 0.8


def test_arms_come_and_go():
    """An arm that joined can be chosen and learned; one that left is never predicted again."""
    bandit = bandit_of(["left", "right"]).fit([], [], [])
    bandit.add_arm("new")
    bandit.partial_fit(["new"], [1.0], [[0.1, 0.1]])
    bandit.remove_arm("left")
    assert bandit.arms == ["right", "new"]
    assert "left" not in bandit.predict(np.random.default_rng(2).random((40, 2)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda b: b.partial_fit(["up"], [1.0], [[0.1, 0.1]]), DataError),
        (lambda b: b.partial_fit(["left"], [2.0], [[0.1, 0.1]]), DataError),
        (lambda b: b.partial_fit(["left"], [1.0, 0.0], [[0.1, 0.1]]), DataError),
        (lambda b: b.partial_fit(["left"], [1.0], [0.1]), DataError),
        (lambda b: b.predict([0.1, 0.2]), DataError),
        (lambda b: b.add_arm("left"), ConfigError),
        (lambda b: b.remove_arm("up"), ConfigError),
    ],
)
def test_bad_input_is_refused_and_nothing_learned(call, error):
    """Whatever is wrong is said, and the log before it is not learned either."""
    bandit = bandit_of(["left", "right"]).fit([], [], [])
    with pytest.raises(error):
        call(bandit)
    assert bandit.policy.arrivals == 0


def test_before_fit_there_is_nothing():
    """Predicting before fit says what to do."""
    with pytest.raises(NotFittedError, match="fit"):
        bandit_of(["left"]).predict([[0.1, 0.1]])


def test_a_log_with_one_bad_row_teaches_nothing():
    """The context of the last row lies outside the cube: not even the first is learned."""
    bandit = bandit_of(["left", "right"]).fit(*logged(10))
    with pytest.raises(DataError, match="outside the cube"):
        bandit.partial_fit(["left", "left"], [1.0, 1.0], [[0.1, 0.1], [0.1, 7.0]])
    assert bandit.policy.arrivals == 10


@pytest.mark.parametrize(
    ("decisions", "rewards", "contexts"),
    [
        (["left"], ["much"], [[0.1, 0.1]]),
        (["left"], [10**400], [[0.1, 0.1]]),
        (["left"], [[1.0]], [[0.1, 0.1]]),
        (["left"], 1.0, [[0.1, 0.1]]),
        (["left"], [1.0], [["x", "y"]]),
        (["left"], [1.0], None),
        (["left", "left"], [1.0, 1.0], [[0.1], [0.1, 0.2]]),
        ([["left"]], [1.0], [[0.1, 0.1]]),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(decisions, rewards, contexts):
    """Text, tables of the wrong shape, unhashable arms: DataError, not NumPy's."""
    bandit = bandit_of(["left", "right"]).fit([], [], [])
    with pytest.raises(DataError):
        bandit.partial_fit(decisions, rewards, contexts)


@pytest.mark.parametrize("lives", [1, 2, 3])
def test_every_life_that_learned_is_on_the_card(lives):
    """Visits that were learned and then stand in a log again are in as many releases as lives."""
    bandit = bandit_of(["left", "right"]).fit()
    _, rewards, contexts = logged(40)
    for _ in range(lives):
        bandit.fit()
        visits = bandit.choose(contexts)
        bandit.learn(visits, rewards)
    assert bandit.guarantees()[0].epsilon == pytest.approx(8.0 * lives)
    bandit.fit(visits.arms, rewards, contexts)
    assert bandit.guarantees()[0].epsilon == pytest.approx(8.0 * (lives + 1))


def test_a_life_in_which_nothing_was_learned_costs_nothing():
    """Choosing alone, and answers that never came, are no release of a visit's answer."""
    bandit = bandit_of(["left", "right"]).fit()
    visits = bandit.choose([[0.1, 0.5]])
    bandit.learn(visits, [np.nan])
    bandit.fit(*logged(10))
    assert bandit.guarantees()[0].epsilon == pytest.approx(8.0)


def test_visits_of_another_learner_or_life_are_refused():
    """A visit is learned by the learner that chose, before it is fitted anew, and nowhere else."""
    bandit, other = (bandit_of(["left", "right"]).fit() for _ in range(2))
    visits = bandit.choose([[0.1, 0.5]])
    other.choose([[0.1, 0.5]])
    with pytest.raises(PrivacyError, match="another learner"):
        other.learn(visits, [1.0])
    bandit.fit()
    bandit.choose([[0.1, 0.5]])
    with pytest.raises(PrivacyError, match="another learner"):
        bandit.learn(visits, [1.0])


def test_a_visit_has_an_epsilon_of_one_by_default():
    """And a context has two features."""
    assert repr(PDap(["left", "right"])) == "PDap(2 arms, epsilon=1, dimension=2)"


def test_a_repr_holds_no_context():
    """A visit in a log line would be a release of what its visitor sent."""
    bandit = bandit_of(["left", "right"]).fit()
    visits = bandit.choose([[0.12345, 0.5]])
    for shown in (repr(visits), repr(visits.choices), repr(bandit)):
        assert "0.12345" not in shown


def test_what_was_not_learned_before_fit_is_not_counted():
    """Answers that come before `fit` are refused, and the card is that of one fit."""
    other = PDap(["a", "b"], epsilon=1.0, dimension=2, horizon=100).fit()
    visits = other.choose([[0.5, 0.5]])
    bandit = PDap(["a", "b"], epsilon=1.0, dimension=2, horizon=100)
    with pytest.raises(NotFittedError):
        bandit.learn(visits, [1.0])
    (card,) = bandit.fit(["a"], [1.0], [[0.5, 0.5]]).guarantees()
    (alone,) = other.guarantees()
    assert card.lifetime_epsilon == alone.lifetime_epsilon
    assert card.sentence == alone.sentence
