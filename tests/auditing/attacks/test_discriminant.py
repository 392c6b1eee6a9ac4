"""Linear discriminant analysis: the closed form, and how near it comes to the best attack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal

from tacit.auditing.attacks import LinearDiscriminant, auc
from tacit.auditing.attacks.discriminant import (
    LinearModel,
    Variances,
    estimate_variances,
    group_gaps,
)

TRAIN, TEST = slice(0, 600), slice(600, None)


def random_model(seed, n_items=9, d=3):
    """A model and a few people's ratings, one of them without any."""
    generator = np.random.default_rng(seed)
    model = LinearModel(
        prior_log_odds=float(generator.normal()),
        centres=generator.normal(3, 1, n_items),
        gaps=generator.normal(0, 0.4, n_items),
        profiles=generator.normal(size=(n_items, d)),
        variances=Variances(noise=generator.uniform(0.2, 2), kappa=generator.uniform(0.1, 5)),
    )
    rated = generator.random((6, n_items)) < 0.6
    rated[0] = False
    rows, columns = np.nonzero(rated)
    values = generator.normal(3, 1, len(rows))
    values[::4] = 0.0  # a rating of zero is a rating
    return model, sparse.csr_array((values, (rows, columns)), shape=rated.shape)


@given(st.integers(0, 2**32))
def test_identity_equals_the_dense_formula(seed):
    """One small solve per person gives what inverting the covariance of her ratings gives."""
    model, ratings = random_model(seed)
    expected = []
    for row in range(ratings.shape[0]):
        rated = ratings.indices[ratings.indptr[row] : ratings.indptr[row + 1]]
        stars = ratings.data[ratings.indptr[row] : ratings.indptr[row + 1]]
        profile, noise = model.profiles[rated], model.variances.noise
        covariance = noise / model.variances.kappa * profile @ profile.T + noise * np.eye(
            len(rated)
        )
        errors = np.linalg.solve(covariance, stars - model.centres[rated])
        expected.append(model.prior_log_odds + 2 * model.gaps[rated] @ errors)
    np.testing.assert_allclose(model.log_odds(ratings), expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32))
def test_score_is_the_log_odds_of_two_normals(seed):
    """From the definition: the difference of two multivariate normal log densities."""
    model, ratings = random_model(seed)
    rated = ratings.indices[ratings.indptr[1] : ratings.indptr[2]]
    assume(len(rated) > 0)
    stars = ratings.data[ratings.indptr[1] : ratings.indptr[2]]
    profile, noise = model.profiles[rated], model.variances.noise
    covariance = noise / model.variances.kappa * profile @ profile.T + noise * np.eye(len(rated))
    one, zero = (
        multivariate_normal(model.centres[rated] + sign * model.gaps[rated], covariance)
        for sign in (1, -1)
    )
    expected = model.prior_log_odds + one.logpdf(stars) - zero.logpdf(stars)
    assert model.log_odds(ratings)[1] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def best(population, ratings):
    """The AUC of an attacker who knows the true model."""
    variances = Variances(population.noise**2, population.noise**2)
    truth = LinearModel(
        0.0, population.centres, population.half_gaps, population.profiles, variances
    )
    return auc(population.labels[TEST], truth.log_odds(ratings[TEST]))


def learned(population, train, test):
    """The AUC of the attack fitted on one release and tried on another."""
    attack = LinearDiscriminant(factors=8).fit(train[TRAIN], population.labels[TRAIN])
    return auc(population.labels[TEST], attack.score(test[TEST]))


def test_near_the_best_attack_on_a_linear_population(linear):
    """Fitted on 600 people, the attack comes within 0.05 of the one who knows the truth."""
    reachable = best(linear, linear.ratings)
    assert reachable > 0.9
    assert learned(linear, linear.ratings, linear.ratings) > reachable - 0.05


def test_blind_once_the_gap_is_subtracted(linear):
    """What the scheme promises on its own model: frozen and retrained, a coin flip.

    300 people: the standard deviation of the AUC is 0.034; 0.1 is three of them.
    """
    released = linear.without_attribute()
    assert best(linear, released) == pytest.approx(0.5, abs=0.1)
    assert learned(linear, linear.ratings, released) == pytest.approx(0.5, abs=0.1)
    assert learned(linear, released, released) == pytest.approx(0.5, abs=0.1)


def test_model_is_recovered(linear):
    """Centres and half gaps lie within 0.15 of the truth, root mean square over items."""
    model = LinearDiscriminant(factors=8).fit(linear.ratings, linear.labels).model
    assert np.sqrt(np.mean((model.centres - linear.centres) ** 2)) < 0.15
    assert np.sqrt(np.mean((model.gaps - linear.half_gaps) ** 2)) < 0.15


def test_log_odds_are_calibrated(linear):
    """People given odds of 1 hold it as often as the odds say, within 0.1 on the whole."""
    attack = LinearDiscriminant(factors=8).fit(linear.ratings[TRAIN], linear.labels[TRAIN])
    belief = 1 / (1 + np.exp(-attack.score(linear.ratings[TEST])))
    assert np.mean(belief) == pytest.approx(np.mean(linear.labels[TEST]), abs=0.1)


def test_scale_of_stars_does_not_matter(linear):
    """Everything is estimated in the ratings' own unit: of a thousandth, noise is a millionth."""
    labels = linear.labels[TRAIN]
    plain = LinearDiscriminant().fit(linear.ratings[TRAIN], labels)
    small = LinearDiscriminant().fit(linear.ratings[TRAIN] / 1e3, labels)
    assert 1e6 * small.model.variances.noise == pytest.approx(plain.model.variances.noise, rel=0.05)
    scores = plain.score(linear.ratings[TEST]), small.score(linear.ratings[TEST] / 1e3)
    assert np.corrcoef(*scores)[0, 1] > 0.98


def test_variances_are_recovered(linear):
    """From people the profiles were not fitted to: noise within 10 %, taste within 20 %."""
    signs = np.repeat(2.0 * linear.labels - 1, np.diff(linear.ratings.indptr))
    columns = linear.ratings.indices
    residuals = linear.ratings.copy()
    residuals.data -= linear.centres[columns] + signs * linear.half_gaps[columns]
    found = estimate_variances(residuals, linear.profiles)
    assert found.noise == pytest.approx(linear.noise**2, rel=0.1)
    assert found.noise / found.kappa == pytest.approx(1.0, rel=0.2)


def test_variances_maximise_the_dense_likelihood(linear):
    """No nearby pair of variances makes the residuals likelier under their dense covariances."""
    few = linear.ratings[:12].copy()
    few.data -= linear.centres[few.indices]
    found = estimate_variances(few, linear.profiles)

    def likelihood(noise, kappa):
        total = 0.0
        for row in range(few.shape[0]):
            profile = linear.profiles[few.indices[few.indptr[row] : few.indptr[row + 1]]]
            covariance = noise * (np.eye(len(profile)) + profile @ profile.T / kappa)
            errors = few.data[few.indptr[row] : few.indptr[row + 1]]
            total += multivariate_normal(cov=covariance).logpdf(errors)
        return total

    at = likelihood(found.noise, found.kappa)
    for noise, kappa in ((1.05, 1), (0.95, 1), (1, 1.1), (1, 0.9), (1.05, 0.9), (0.95, 1.1)):
        assert likelihood(found.noise * noise, found.kappa * kappa) < at


def test_gaps_beat_raw_gaps_and_none(linear):
    """Pulled to 0 by the chosen amount, gaps lie nearer the truth than unpulled ones or zeros."""
    few = linear.ratings[:120], linear.labels[:120]
    truth = 2 * linear.half_gaps
    found = group_gaps(*few, seed=0)
    raw = np.zeros_like(truth)
    for item in range(len(truth)):
        rated = few[0].indices == item
        who = few[1][np.repeat(np.arange(120), np.diff(few[0].indptr))[rated]]
        raw[item] = few[0].data[rated][who == 1].mean() - few[0].data[rated][who == 0].mean()
    error = np.mean((found - truth) ** 2)
    assert error < 0.95 * np.mean((raw - truth) ** 2)
    assert error < np.mean(truth**2)


def test_gap_needs_both_groups():
    """An item that one group never rated has no gap."""
    ratings = sparse.csr_array(np.array([[5.0, 3], [4, 0], [1, 0], [2, 0]]))
    gaps = group_gaps(ratings, np.array([1, 1, 0, 0]), seed=0)
    assert gaps[0] > 0
    assert gaps[1] == 0


def test_rounding_error_is_no_gap():
    """Equal stars whose means differ in the last bit make no gap, so they rank nobody."""
    stars = np.arange(1, 60) / 7
    labels = (np.arange(31) % 3 == 0).astype(np.int64)
    ratings = sparse.csr_array(np.tile(stars, (31, 1)))
    sums = [sum([star] * 11) / 11 - sum([star] * 20) / 20 for star in stars]
    assert np.any(sums)  # rounding does show in some of them
    np.testing.assert_array_equal(group_gaps(ratings, labels, seed=0), np.zeros(59))
