"""AUC is the rank statistic, ties counted half."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from tacit.auditing.attacks import auc, bound_attackers, distance, permute_labels
from tacit.auditing.attacks.auc_bounds import average_ranks
from tacit.errors import DataError

PEOPLE = st.lists(st.tuples(st.integers(0, 1), st.integers(-4, 4)), min_size=2, max_size=40).filter(
    lambda people: len({label for label, _ in people}) == 2
)


def split(people):
    """Labels and scores of a list of pairs."""
    labels, scores = zip(*people, strict=True)
    return np.array(labels), np.array(scores, dtype=np.float64)


@given(PEOPLE)
def test_agrees_with_scikit_learn(people):
    """Also among many ties, the area is that of an independent implementation."""
    assert auc(*split(people)) == pytest.approx(roc_auc_score(*split(people)), abs=1e-12)


@given(PEOPLE)
def test_is_the_chance_of_the_right_order(people):
    """Counted over all pairs of a 1 and a 0."""
    labels, scores = split(people)
    gaps = scores[labels == 1][:, None] - scores[labels == 0]
    assert auc(labels, scores) == pytest.approx(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


@given(PEOPLE)
def test_only_the_order_counts(people):
    """A rising transform changes nothing; a turned score is the same distance from a coin flip."""
    labels, scores = split(people)
    assert auc(labels, np.exp(scores)) == auc(labels, scores)
    assert distance(auc(labels, -scores)) == pytest.approx(distance(auc(labels, scores)))


def test_equal_scores_are_a_coin_flip():
    """No order, no information."""
    assert auc(np.array([0, 1, 1]), np.zeros(3)) == 0.5


def test_below_half_is_a_leak():
    """0.35 lies as far from a coin flip as 0.65."""
    assert distance(0.35) == pytest.approx(distance(0.65)) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("labels", "scores"),
    [([1, 1], [0.1, 0.2]), ([0, 0], [0.1, 0.2]), ([0, 1], [0.1]), ([0, 1], [0.1, np.nan])],
)
def test_undefined_is_refused(labels, scores):
    """One label only, a missing score, or one that is no number."""
    with pytest.raises(DataError):
        auc(np.array(labels), np.array(scores))


@given(st.lists(st.sampled_from(["F", "M", "X"]), min_size=1, max_size=30), st.integers(0, 99))
def test_permuting_keeps_the_counts(values, seed):
    """The control has the same labels, dealt out anew, the same way for the same seed."""
    labels = np.array(values)
    dealt = permute_labels(labels, seed)
    assert sorted(dealt) == sorted(labels)
    np.testing.assert_array_equal(dealt, permute_labels(labels, seed))


def test_permuting_moves_labels():
    """The control is not the data itself, and another seed is another deal."""
    labels = np.arange(50)
    assert (permute_labels(labels, 1) != labels).any()
    assert (permute_labels(labels, 1) != permute_labels(labels, 2)).any()


@pytest.mark.parametrize("seed", range(5))
def test_equal_scores_share_their_mean_rank(seed):
    """Ranks are those of SciPy, ties averaged."""
    values = np.random.default_rng(seed).integers(0, 9, 40).astype(float)
    assert average_ranks(values).tolist() == rankdata(values).tolist()


def test_ranks_of_a_missing_score_are_missing():
    """One NaN leaves no rank."""
    assert np.isnan(average_ranks(np.array([1.0, np.nan, 2.0]))).all()


def test_a_bound_names_the_person_without_a_score():
    """The error's row is that of the NaN, wherever its fold begins."""
    labels = np.arange(40) % 2
    scores = np.random.default_rng(0).normal(size=40)
    scores[33] = np.nan
    with pytest.raises(DataError, match="a score of 'guess' is not a number") as refused:
        bound_attackers(labels, {"guess": scores}, np.arange(40) // 20)
    assert refused.value.row == 34


def test_an_infinite_score_has_a_rank():
    """In few folds as in many, infinity is the largest score."""
    labels = np.arange(40) % 2
    scores = np.random.default_rng(0).normal(size=40)
    scores[33] = 9.0
    fold_of = np.arange(40) // 20
    expected = bound_attackers(labels, {"guess": scores}, fold_of)
    scores[33] = np.inf
    assert bound_attackers(labels, {"guess": scores}, fold_of) == expected


def rare_label(seed, *, ones=2, people=60):
    """Labels of which few are 1, and scores that say nothing of them."""
    labels = (np.arange(people) < ones).astype(np.int64)
    return labels, np.random.default_rng(seed).normal(size=people)


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_inverted_guesses_have_the_same_bound(seed):
    """Also where resamples hold one label alone, which say as little of either."""
    labels, scores = rare_label(seed)
    one_fold = np.zeros(len(labels), np.int64)
    bound = bound_attackers(labels, {"guess": scores, "other": scores}, one_fold)
    inverted = bound_attackers(labels, {"guess": -scores, "other": -scores}, one_fold)
    assert inverted.deviations == pytest.approx(bound.deviations)
    assert inverted.upper == pytest.approx(bound.upper)
    assert inverted.lower == pytest.approx(bound.lower)


@pytest.mark.parametrize("ones", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize("attackers", [1, 4])
def test_guesses_about_a_rare_label_prove_nothing(ones, attackers):
    """In about 5 % of the worlds at most, for all attackers at once and for one of them.

    Of 100 worlds at most 14: more are drawn with a chance of .0002 where the rate is .05. Without
    the standard deviation of guesses the rate is .09 to .18 from three people of a label on.
    """
    proved = apart = 0
    for seed in range(100):
        labels, _ = rare_label(seed, ones=ones)
        generator = np.random.default_rng((seed, ones))
        scores = {number: generator.normal(size=len(labels)) for number in range(attackers)}
        bound = bound_attackers(labels, scores, np.zeros(len(labels), np.int64), seed=seed)
        low, high = bound.interval(0)
        proved += bound.lower > 0
        apart += low > 0.5 or high < 0.5
    assert proved <= 14
    assert apart <= 14


@pytest.mark.parametrize("ones", [3, 10])
def test_guesses_in_tiny_folds_prove_nothing(ones):
    """Eleven attackers, 20 people in five folds: ranks inside a fold vary more than in one fold.

    The same count as above is allowed. With the standard deviation of one fold it is 15 of 100.
    """
    proved = apart = 0
    for seed in range(100):
        generator = np.random.default_rng((seed, ones, 5))
        labels = (np.arange(20) < ones).astype(np.int64)
        folds = np.arange(20) % 5
        scores = {number: generator.normal(size=20) for number in range(11)}
        bound = bound_attackers(labels, scores, folds, seed=seed)
        low, high = bound.interval(0)
        proved += bound.lower > 0
        apart += low > 0.5 or high < 0.5
    assert proved <= 14
    assert apart <= 14


def test_an_attack_on_a_rare_label_is_proved():
    """Ten people of a label whose scores are a standard deviation and a half higher are found."""
    proved = 0
    for seed in range(20):
        labels, scores = rare_label(seed, ones=10)
        shifted = {"attack": scores + 1.5 * labels}
        bound = bound_attackers(labels, shifted, np.zeros(len(labels), np.int64))
        proved += bound.lower > 0 and bound.interval("attack")[0] > 0.5
    assert proved >= 17


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), st.integers(0, 99))
def test_deviation_of_guesses(ones, zeros, folds, seed):
    """It is that of the AUC where scores do not depend on labels, and ranks are those of folds."""
    generator = np.random.default_rng(seed)
    people = ones + zeros
    labels = (generator.permutation(people) < ones).astype(np.int64)
    fold_of = np.arange(people) % folds
    scores = {"guess": generator.normal(size=people)}
    bound = bound_attackers(labels, scores, fold_of, draws=2)
    drawn = generator.normal(size=(400, people))
    for fold in range(min(folds, people)):
        inside = fold_of == fold
        drawn[:, inside] = (rankdata(drawn[:, inside], axis=1) - 0.5) / inside.sum()
    areas = (rankdata(drawn, axis=1) @ labels - ones * (ones + 1) / 2) / (ones * zeros)
    expected = pytest.approx(np.std(areas), rel=0.25, abs=1e-9)
    assert bound.deviations_of_guesses["guess"] == expected


def test_resamples_without_a_label_make_bounds_wider():
    """One person of a label: 37 % of the resamples lack them, and nothing can be said."""
    labels, scores = rare_label(0, ones=1)
    scores[0] = scores.max() + 1  # an AUC of 1, by one person
    bound = bound_attackers(labels, {"guess": scores}, np.zeros(len(labels), np.int64))
    assert bound.areas["guess"] == 1.0
    assert bound.deviations["guess"] > 0.4
    assert bound.lower == 0.0
