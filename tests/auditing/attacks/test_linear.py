"""The attacks on the plain item vector."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from tacit.auditing.attacks import LogisticRegression, NaiveBayes, SupportVectorMachine
from tacit.auditing.attacks.panel import INVERSE_PENALTIES, mask_fifths


def test_naive_bayes_is_scikit_learns(stars):
    """The score is the difference of scikit-learn's two joint log likelihoods."""
    ratings, labels = stars
    joint = MultinomialNB().fit(ratings, labels).predict_joint_log_proba(ratings)
    ours = NaiveBayes().fit(ratings, labels).score(ratings)
    np.testing.assert_allclose(ours, joint[:, 1] - joint[:, 0])


def test_naive_bayes_counts_from_the_minimum(stars):
    """Negative stars are raised by the training minimum, at scoring too; lower ones count as 0."""
    ratings, labels = stars
    lowered, raised = ratings.copy(), ratings.copy()
    lowered.data -= 4.0  # -3 to 1
    raised.data -= 1.0
    attack = NaiveBayes().fit(lowered, labels)
    np.testing.assert_allclose(
        attack.score(lowered), NaiveBayes().fit(raised, labels).score(raised)
    )
    lowest = lowered[:1].copy()
    lowest.data[:] = -3.0
    lower = lowest.copy()
    lower.data[:] = -9.0
    np.testing.assert_allclose(attack.score(lower), attack.score(lowest))


def test_logistic_regression_is_scikit_learns(stars):
    """At the chosen penalty, score and belief are scikit-learn's decision and probability."""
    ratings, labels = stars
    ours = LogisticRegression().fit(ratings, labels)
    theirs = SklearnLogisticRegression(C=ours.chosen_inverse_penalty, max_iter=1000).fit(
        ratings, labels
    )
    np.testing.assert_allclose(ours.score(ratings), theirs.decision_function(ratings), atol=1e-2)
    np.testing.assert_allclose(
        expit(ours.score(ratings)), theirs.predict_proba(ratings)[:, 1], atol=1e-2
    )


def test_a_quick_fit_scores_people_alike(stars):
    """At one penalty the wider tolerance moves a score by a hundredth of their spread at most."""
    ratings, labels = stars
    thorough = LogisticRegression((0.01,)).fit(ratings, labels).score(ratings)
    quick = LogisticRegression((0.01,), quick=True).fit(ratings, labels).score(ratings)
    assert np.abs(quick - thorough).max() < 0.01 * thorough.std()


def test_support_vector_machine_is_scikit_learns(stars):
    """At the chosen penalty, the score is scikit-learn's decision."""
    ratings, labels = stars
    ours = SupportVectorMachine().fit(ratings, labels)
    theirs = LinearSVC(C=ours.chosen_inverse_penalty, dual=False).fit(ratings, labels)
    np.testing.assert_allclose(ours.score(ratings), theirs.decision_function(ratings), atol=1e-2)


def test_belief_is_calibrated(stars):
    """Among unseen people, the mean belief is near the share it believes in, within 0.1.

    100 people: the standard deviation of the share is below 0.05.
    """
    ratings, labels = stars
    attack = LogisticRegression().fit(ratings[:400], labels[:400])
    belief = expit(attack.score(ratings[400:]))
    assert np.mean(belief) == pytest.approx(np.mean(labels[400:]), abs=0.1)
    assert np.all((belief > 0) & (belief < 1))


@pytest.mark.parametrize("attack", [LogisticRegression, SupportVectorMachine])
def test_penalty_fits_the_signal(attack):
    """Many weak signs ask for a strong penalty, one clear sign among noise for a weak one."""
    generator = np.random.default_rng(2)
    labels = np.arange(600) % 2
    noise = (generator.random((600, 300)) < 0.3).astype(np.float64)
    tilt = generator.normal(0, 0.06, size=300)
    weak = generator.random((600, 300)) < 0.3 + np.outer(2 * labels - 1, tilt)
    clear = noise.copy()
    clear[:, 0] = labels
    chosen = [
        attack().fit(sparse.csr_array(1.0 * features), labels).chosen_inverse_penalty
        for features in (weak, clear)
    ]
    assert chosen[0] < chosen[1]


@pytest.mark.parametrize("attack", [LogisticRegression, SupportVectorMachine])
def test_scale_of_stars_does_not_matter(attack, stars):
    """Stars out of 100 are attacked like stars out of 5."""
    ratings, labels = stars
    percent = ratings * 20.0
    np.testing.assert_allclose(
        attack().fit(percent, labels).score(percent),
        attack().fit(ratings, labels).score(ratings),
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize("attack", [NaiveBayes, LogisticRegression, SupportVectorMachine])
def test_stored_zero_reads_as_unrated(attack, stars):
    """As documented: the plain item vector cannot tell a rating of 0 from none."""
    ratings, labels = stars
    zeroed = ratings.copy()
    zeroed.data[::7] = 0.0
    absent = zeroed.copy()
    absent.eliminate_zeros()
    fitted = attack().fit(ratings, labels)
    np.testing.assert_allclose(fitted.score(zeroed), fitted.score(absent))


@pytest.mark.parametrize(
    ("people", "ones", "expected"), [(600, 300, 5), (2000, 40, 3), (6000, 2, 1)]
)
def test_asides_are_stratified_fifths(people, ones, expected):
    """Disjoint fifths, both labels in each, as many as it takes to judge on 1,000 people."""
    labels = (np.arange(people) < ones).astype(np.int64)
    asides = mask_fifths(labels, seed=0)
    assert len(asides) == expected
    assert np.sum(asides, axis=0).max() == 1
    for aside in asides:
        assert np.mean(aside) == pytest.approx(0.2, abs=0.01)
        assert set(labels[aside]) == set(labels[~aside]) == {0, 1}


def test_penalty_is_one_of_those_given(stars):
    """The choice is made among the given inverse penalties."""
    assert LogisticRegression().fit(*stars).chosen_inverse_penalty in INVERSE_PENALTIES
    assert LogisticRegression([0.02]).fit(*stars).chosen_inverse_penalty == 0.02
