"""Attributes of two and of more values."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.auditing.attacks import NaiveBayes, OneVersusRest, auc
from tacit.errors import ConfigError, DataError, NotFittedError

TRAIN, TEST = slice(0, 400), slice(400, None)


def test_two_values_are_the_plain_auc(stars):
    """The second value is label 1."""
    ratings, labels = stars
    words = np.array(["F", "M"], dtype=object)[labels]
    plain = NaiveBayes().fit(ratings[TRAIN], labels[TRAIN]).score(ratings[TEST])
    scores = OneVersusRest(NaiveBayes, ["F", "M"]).fit(ratings[TRAIN], words[TRAIN])
    assert scores.auc(ratings[TEST], words[TEST]) == auc(labels[TEST], plain)
    np.testing.assert_array_equal(scores.score(ratings[TEST])["M"], plain)


def test_more_values_are_averaged(stars):
    """Each of three values is attacked against the rest, and each weighs a third."""
    ratings, labels = stars
    ages = np.where(labels == 0, "young", np.where(np.arange(len(labels)) % 2, "middle", "old"))
    attack = OneVersusRest(NaiveBayes, ["young", "middle", "old"]).fit(ratings[TRAIN], ages[TRAIN])
    areas = attack.aucs(ratings[TEST], ages[TEST])
    assert areas["young"] > 0.85
    assert list(areas) == ["young", "middle", "old"]
    assert attack.auc(ratings[TEST], ages[TEST]) == pytest.approx(np.mean(list(areas.values())))


def test_values_that_cannot_be_judged_are_left_out(stars):
    """One person of a value is too few to learn from, and nobody too few to judge on."""
    ratings, labels = stars
    values = labels.astype(object)
    values[0] = 2
    attack = OneVersusRest(NaiveBayes, [0, 1, 2]).fit(ratings[TRAIN], values[TRAIN])
    assert list(attack.aucs(ratings[TEST], values[TEST])) == [0, 1]


def test_one_value_to_judge_on_is_refused(stars):
    """People who all hold the same value have no AUC."""
    ratings, labels = stars
    attack = OneVersusRest(NaiveBayes, [0, 1]).fit(ratings, labels)
    with pytest.raises(DataError, match="same value"):
        attack.auc(ratings[labels == 1], labels[labels == 1])


def test_nothing_to_learn_is_refused(stars):
    """Training people who all hold the same value teach nothing."""
    ratings, labels = stars
    with pytest.raises(DataError, match="too few people"):
        OneVersusRest(NaiveBayes, [0, 1]).fit(ratings[labels == 1], labels[labels == 1])


@pytest.mark.parametrize("values", [[], ["F"], ["F", "F"]])
def test_two_different_values_are_needed(values):
    """An attribute that everybody shares hides nothing."""
    with pytest.raises(ConfigError, match="two or more different values"):
        OneVersusRest(NaiveBayes, values)


def test_scoring_before_fitting_is_refused(stars):
    """An attack that has learned nothing says so."""
    with pytest.raises(NotFittedError):
        OneVersusRest(NaiveBayes, [0, 1]).score(stars[0])
