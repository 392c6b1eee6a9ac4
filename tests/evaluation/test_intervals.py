"""Intervals over folds are Student's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from tacit.errors import ConfigError, DataError
from tacit.evaluation import auc_interval, mean_interval

FOLDS = [0.71, 0.74, 0.69, 0.80, 0.77]


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_agrees_with_scipy(confidence):
    """The ends are those of SciPy's one-sample t test."""
    interval = mean_interval(FOLDS, confidence)
    expected = ttest_1samp(FOLDS, 0.0).confidence_interval(confidence)
    assert interval == pytest.approx((np.mean(FOLDS), expected.low, expected.high))


def test_covers_as_often_as_it_says():
    """95 % intervals hold the true mean in 95 % of 2,000 repeats.

    The count is binomial: 1,847 to 1,948 of 2,000 has a false-alarm rate below 1e-6 (5 sd).
    """
    samples = np.random.default_rng(8).normal(0.6, 0.1, size=(2000, 5))
    held = sum(mean_interval(sample).holds(0.6) for sample in samples)
    assert 1847 <= held <= 1948


def test_auc_stays_between_0_and_1():
    """An interval that would pass 1 ends there, and one that would pass 0 begins there."""
    interval = auc_interval([0.98, 0.99, 1.0, 0.9])
    assert interval.high == 1.0
    assert interval.low > 0.5
    assert auc_interval([0.02, 0.01, 0.0, 0.1]).low == 0.0


def test_one_fold_leaves_everything_open():
    """Without a spread the interval is all an AUC can be, or the whole line."""
    assert auc_interval([0.7]) == (0.7, 0.0, 1.0)
    assert mean_interval([0.7]) == (0.7, -math.inf, math.inf)


def test_equal_figures_have_no_width():
    """No spread, no uncertainty that the folds could show; and the mean is exactly theirs."""
    assert mean_interval([0.1, 0.1, 0.1]) == (0.1, 0.1, 0.1)


@pytest.mark.parametrize("values", [[], [0.5, math.nan], [math.inf]])
def test_no_figure_is_refused(values):
    """A fold that failed is not passed over."""
    with pytest.raises(DataError):
        mean_interval(values)


def test_out_of_bounds_is_refused():
    """What lies above 1 is no AUC."""
    with pytest.raises(DataError, match="0 to 1"):
        auc_interval([0.5, 1.2])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_is_a_share(confidence):
    """95 is not read as 95 %."""
    with pytest.raises(ConfigError, match="between 0 and 1"):
        mean_interval(FOLDS, confidence)
