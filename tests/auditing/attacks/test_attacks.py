"""What every attacker must do: a suite over the whole registry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.auditing.attacks import Releases, attackers, auc, permute_labels
from tacit.errors import DataError, NotFittedError
from tacit.evaluation import auc_interval


class OfRatings:
    """An attacker on releases about which nothing is public."""

    def __init__(self, name):
        self.attacker = attackers()[name]()

    def fit(self, ratings, labels):
        self.attacker.fit(Releases.from_ratings(ratings), labels)
        return self

    def score(self, ratings):
        return self.attacker.score(Releases.from_ratings(ratings))


@pytest.fixture(scope="module", params=sorted(attackers()))
def make(request):
    """Each attacker's factory."""
    return lambda: OfRatings(request.param)


@pytest.fixture(scope="module")
def fitted(make, stars):
    """The attacker, fitted to all people; it is only asked for scores."""
    return make().fit(*stars)


@pytest.fixture(scope="module")
def scores(fitted, stars):
    """Scores of all people by that attacker."""
    return fitted.score(stars[0])


def areas(make, ratings, labels, folds=3):
    """One AUC per fold of people."""
    fold = np.arange(len(labels)) % folds
    return [
        auc(
            labels[fold == f],
            make().fit(ratings[fold != f], labels[fold != f]).score(ratings[fold == f]),
        )
        for f in range(folds)
    ]


def test_finds_a_planted_attribute(make, stars):
    """Where the attribute shifts ratings strongly, unseen people's is read, also from summaries."""
    assert np.mean(areas(make, *stars)) > 0.7


def test_permuted_labels_are_a_coin_flip(make, stars):
    """Labels dealt out at random cannot be learned: 0.5 lies in the 99.9 % interval over folds.

    The seed is fixed, so this passes or fails for good; over seeds about 1 in 1,000 fails.
    """
    ratings, labels = stars
    assert auc_interval(areas(make, ratings, permute_labels(labels, 3)), 0.999).holds(0.5)


def test_a_score_is_the_persons_own(fitted, scores, stars):
    """Who else is scored, and in which order, does not matter."""
    ratings, labels = stars
    order = np.random.default_rng(1).permutation(len(labels))
    np.testing.assert_allclose(fitted.score(ratings[order]), scores[order])
    np.testing.assert_allclose(fitted.score(ratings[:1]), scores[:1])


def test_turned_labels_turn_the_score(make, stars):
    """Calling the other value 1 turns the AUC round its middle."""
    ratings, labels = stars
    train, test = slice(0, 400), slice(400, None)
    plain = make().fit(ratings[train], labels[train]).score(ratings[test])
    turned = make().fit(ratings[train], 1 - labels[train]).score(ratings[test])
    assert auc(labels[test], turned) == pytest.approx(1 - auc(labels[test], plain), abs=0.02)


def test_same_data_same_scores_and_input_is_left_alone(make, scores, stars):
    """Two fits on the same people agree to the last bit, and leave the ratings as they were."""
    ratings, labels = stars
    data, indices = ratings.data.copy(), ratings.indices.copy()
    np.testing.assert_array_equal(make().fit(ratings, labels).score(ratings), scores)
    np.testing.assert_array_equal(data, ratings.data)
    np.testing.assert_array_equal(indices, ratings.indices)


def test_silent_people_are_scored(fitted, stars):
    """Somebody without a rating gets a finite score, the same as anybody else without."""
    nobody = sparse.csr_array((2, stars[0].shape[1]))
    scores = fitted.score(nobody)
    assert np.isfinite(scores).all()
    assert scores[0] == scores[1]


def test_equal_people_get_equal_scores(make):
    """Where everybody rates everything the same, all scores are equal."""
    ratings = sparse.csr_array(np.full((40, 7), 3.1))
    labels = np.arange(40) % 2
    scores = make().fit(ratings, labels).score(ratings)
    assert np.ptp(scores) == pytest.approx(0, abs=1e-9)


def test_smallest_training_set(make):
    """Two people of each value are enough to fit."""
    ratings = sparse.csr_array(np.array([[5.0, 0, 1], [4, 0, 2], [0, 5, 4], [1, 4, 0]]))
    attack = make().fit(ratings, np.array([0, 0, 1, 1]))
    assert attack.score(ratings).shape == (4,)


def test_negative_stars_are_read(make, stars):
    """On a scale from -10 to 10, the attack still finds the attribute."""
    ratings, labels = stars
    shifted = sparse.csr_array(
        (5.0 * ratings.data - 15.5, ratings.indices, ratings.indptr), shape=ratings.shape
    )
    assert np.mean(areas(make, shifted, labels)) > 0.7


def test_either_index_width(make, scores, stars):
    """SciPy makes column numbers of 32 or 64 bits as it pleases: both give the same scores."""
    ratings, labels = stars
    dtype = np.int64 if ratings.indices.dtype == np.int32 else np.int32
    wide = sparse.csr_array(
        (ratings.data, ratings.indices.astype(dtype), ratings.indptr.astype(dtype)),
        shape=ratings.shape,
    )
    np.testing.assert_array_equal(make().fit(wide, labels).score(wide), scores)


def test_scoring_before_fitting_is_refused(make, stars):
    """An attack that has learned nothing says so."""
    with pytest.raises(NotFittedError, match="call fit first"):
        make().score(stars[0])


def test_other_items_are_refused(fitted, stars):
    """Ratings of another catalogue are not scored column by column."""
    with pytest.raises(DataError, match="another list of items"):
        fitted.score(stars[0][:, :-1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 1, 2, 0, 1]), "0 or 1"),
        (np.array([-1, 1, 1, -1, 1]), "0 or 1"),
        (np.array([0, 1, 1, 0]), "one label per person"),
        (np.array([1, 1, 1, 1, 1]), "at least two of each"),
        (np.array([0, 1, 1, 1, 1]), "at least two of each"),
    ],
)
def test_bad_labels_are_refused(make, labels, message):
    """Labels are 0 and 1, one per person, and at least two of each."""
    ratings = sparse.csr_array(np.ones((5, 3)))
    with pytest.raises(DataError, match=message):
        make().fit(ratings, labels)


def test_bad_ratings_are_refused(make):
    """Not a number is not a rating, and a dense table is no CSR."""
    labels = np.array([0, 0, 1, 1])
    with pytest.raises(DataError, match="finite"):
        make().fit(sparse.csr_array(np.array([[np.nan], [1], [2], [3]])), labels)
    with pytest.raises(DataError, match="CSR"):
        make().fit(np.ones((4, 2)), labels)
