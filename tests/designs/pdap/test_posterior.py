"""Beliefs from released sums: the numbers of the design, and what each rule is there for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.features import Features, public_points
from tacit.designs.pdap.posterior import (
    ArmSet,
    Beliefs,
    Observation,
    Ranges,
    learn_epoch,
    prior_precision,
    shares_at_points,
    shares_of_log,
)
from tacit.designs.pdap.sums import EpochSums, Release, SumNoise

FEATURES = Features(1, 3)
OWN = Ranges(np.zeros(2), np.ones(2), np.zeros(2, dtype=np.bool_))
HALF = np.full((512, 2), 0.5)
MIDDLE = FEATURES.evaluate(np.array([[0.5]]))


class NoLuck:
    """Draws that are all 0."""

    def standard_normal(self, shape):
        return np.zeros(shape)


def release_of_six():
    """Six visits of two arms, released without noise."""
    sums = EpochSums(2, 4, SumNoise(math.inf, FEATURES.bound_in_grains))
    contexts = np.array([[0.1], [0.2], [0.35], [0.6], [0.75], [0.9]])
    rewards = np.array([1.0, 0, 1, 1, 0, 1])
    sums.add(np.array([0, 1] * 3), FEATURES.evaluate(contexts), rewards)
    return sums.release(0)


def learned(beliefs, release, shares=HALF, *, epsilon, ranges=OWN, arrivals=6, forget=False):
    observation = Observation(release, arrivals, shares)
    return learn_epoch(
        beliefs, [observation], features=FEATURES, epsilon=epsilon, ranges=ranges, forget=forget
    )


def test_prior_spreads_of_one_dimension():
    """sd of P0 by degree."""
    spreads = np.diag(prior_precision(FEATURES)) ** -0.5
    assert spreads == pytest.approx([0.2, 0.418299, 0.282791, 0.161884], abs=1e-6)


def test_six_visits_without_noise():
    """The beliefs of two arms at epsilon = inf."""
    beliefs = Beliefs.before_data(FEATURES, 2)
    posterior = learned(beliefs, release_of_six(), epsilon=math.inf)
    assert posterior.prior_mean == pytest.approx([0.509434] * 2, abs=1e-6)
    assert beliefs.expected[0] == pytest.approx([3, -0.000196, -0.182863, 0.001348], abs=2e-6)
    theta = [
        [0.056023, -0.406359, 0.032094, 0.037250],
        [0.056722, 0.409288, -0.009424, -0.025964],
    ]
    assert np.allclose(posterior.theta, theta, atol=2e-6)
    assert posterior.evaluate(MIDDLE)[1][0] == pytest.approx([0.202349, 0.202519], abs=1e-6)


def test_six_visits_at_epsilon_one_and_again():
    """The weights of epsilon 1, with noise that happens to be 0; then a second epoch."""
    beliefs = Beliefs.before_data(FEATURES, 2)
    release = release_of_six()
    posterior = learned(beliefs, release, epsilon=1.0)
    theta = [
        [0.009624, -0.020371, -0.000585, 0.001320],
        [0.009735, 0.019749, -0.001316, -0.001178],
    ]
    assert np.allclose(posterior.theta, theta, atol=2e-6)
    assert posterior.evaluate(MIDDLE)[1][0] == pytest.approx([0.239033, 0.239039], abs=1e-6)
    assert posterior.means(MIDDLE)[0] == pytest.approx([0.519350, 0.519827], abs=1e-6)
    shares = shares_at_points(posterior, FEATURES, [ArmSet([0, 1], 6)], NoLuck())
    assert shares.mean(axis=0) == pytest.approx([0.496094, 0.503906], abs=1e-6)
    posterior = learned(beliefs, release, shares, epsilon=1.0)
    assert beliefs.expected[0] == pytest.approx(
        [5.976562, -1.280804, -0.355527, 0.517206], abs=2e-6
    )
    assert posterior.prior_mean == pytest.approx([0.517857] * 2, abs=1e-6)
    theta = [
        [0.022280, -0.049628, -0.000436, 0.003055],
        [0.022308, 0.047971, -0.001679, -0.002903],
    ]
    assert np.allclose(posterior.theta, theta, atol=2e-6)


def test_spreads_are_those_of_the_inverse_precision():
    """sd^2 = phi' P^-1 phi, at the public points."""
    beliefs = Beliefs.before_data(FEATURES, 2)
    posterior = learned(beliefs, release_of_six(), epsilon=1.0)
    phi = FEATURES.at_points
    inverse = np.linalg.inv(beliefs.precision)
    variance = np.einsum("ni,kij,nj->nk", phi, inverse, phi)
    assert np.allclose(posterior.evaluate(phi)[1] ** 2, variance)


def test_shares_follow_the_public_sets():
    """An arm in no set is shown nowhere; one that is alone in a third of all sets is shown at
    about a third of the draws: 512 x 16 points, five standard errors."""
    posterior = learned(Beliefs.before_data(FEATURES, 2), release_of_six(), epsilon=1.0)
    normal = np.random.default_rng(0)
    alone = shares_at_points(posterior, FEATURES, [ArmSet([1], 9)], normal)
    assert np.array_equal(alone, np.tile([0.0, 1.0], (512, 1)))
    sets = shares_at_points(posterior, FEATURES, [ArmSet([0], 3), ArmSet([1], 6)], normal)
    error = math.sqrt(2 / 9 / (512 * 16))
    assert abs(sets[:, 0].mean() - 1 / 3) < 5 * error
    assert np.allclose(sets.sum(axis=1), 1)


def test_the_policy_of_a_log_is_read_from_the_release():
    """Shares of rows, alike everywhere; a count that noise made negative is none."""
    visits = np.array([[30.0, 0, 0, 0], [-5.0, 0, 0, 0]])
    shares = shares_of_log(Release(visits / 2, visits), 60)
    assert np.array_equal(shares, np.tile([0.5, 0.0], (512, 1)))


def test_answers_that_fail_are_no_dislikes():
    """Where half of all answers never come, an arm is believed to be what the other half says."""
    points = public_points(1)
    phi = FEATURES.evaluate(points)
    halves = []
    for share in (1.0, 0.5):
        visits = share * 1000 * np.tile(phi.mean(axis=0), (2, 1))
        likes = np.array([[0.8], [0.3]]) * visits
        beliefs = Beliefs.before_data(FEATURES, 2)
        posterior = learned(beliefs, Release(likes, visits), epsilon=math.inf, arrivals=2000)
        halves.append(posterior.means(MIDDLE)[0])
    assert halves[0] == pytest.approx([0.8, 0.3], abs=0.01)
    assert halves[1] == pytest.approx([0.8, 0.3], abs=0.02)


def test_a_neighbour_is_learned_in_its_range():
    """Rewards from -1 to 3 whose mean is 2: believed to be 2, where an own video has 0.4."""
    phi = FEATURES.at_points.mean(axis=0)
    ranges = Ranges(np.array([0.0, -1.0]), np.array([1.0, 4.0]), np.array([False, True]))
    visits = 5000 * np.tile(phi, (2, 1))
    likes = np.array([[0.4], [0.75]]) * visits
    beliefs = Beliefs.before_data(FEATURES, 2)
    posterior = learned(
        beliefs, Release(likes, visits), epsilon=math.inf, arrivals=10_000, ranges=ranges
    )
    assert posterior.means(MIDDLE)[0] == pytest.approx([0.4, 2.0], abs=0.05)


def test_a_neighbour_fades():
    """What was known of it has half the weight one release later; an own video keeps all."""
    ranges = Ranges(np.zeros(2), np.ones(2), np.array([False, True]))
    nothing = Release(np.zeros((2, 4)), np.zeros((2, 4)))
    beliefs = Beliefs.before_data(FEATURES, 2)
    learned(beliefs, release_of_six(), epsilon=math.inf, ranges=ranges)
    before = beliefs.precision - prior_precision(FEATURES)
    learned(beliefs, nothing, np.zeros((512, 2)), epsilon=math.inf, ranges=ranges)
    after = beliefs.precision - prior_precision(FEATURES)
    assert np.allclose(after[0], before[0])
    assert np.allclose(after[1], before[1] / 2)


def test_forgetting_keeps_this_epoch_alone():
    """P and h are those of one epoch; the mean of all rewards stays that of all."""
    release = release_of_six()
    beliefs = Beliefs.before_data(FEATURES, 2)
    learned(beliefs, release, epsilon=math.inf)
    once = beliefs.visit_evidence.copy()
    liked_once = beliefs.like_evidence.copy()
    learned(beliefs, release, epsilon=math.inf)
    twice = beliefs.visit_evidence.copy()
    liked_twice = beliefs.like_evidence.copy()
    learned(beliefs, release, epsilon=math.inf, forget=True)
    assert np.allclose(beliefs.visit_evidence[:, 0], once[:, 0], rtol=0.2)
    assert not np.allclose(twice[:, 0], once[:, 0], rtol=0.2)
    assert np.allclose(beliefs.like_evidence, liked_once, atol=0.1)
    assert np.allclose(beliefs.visit_evidence, once, atol=0.2)
    assert not np.allclose(liked_twice, liked_once, atol=0.1)
    assert beliefs.visits_of_all == pytest.approx(18.0)
