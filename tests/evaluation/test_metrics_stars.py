"""RMSE and MAE equal scikit-learn's, and refuse what has no error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import mean_absolute_error, mean_squared_error

from tacit.errors import DataError
from tacit.evaluation.metrics import mae, rmse

STARS = st.floats(-100, 100)
PAIRS = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, n, elements=STARS), arrays(np.float64, n, elements=STARS)
    )
)


@given(PAIRS)
def test_agrees_with_scikit_learn(pair):
    """Both figures are those of an independent implementation."""
    truth, prediction = pair
    assert rmse(truth, prediction) == pytest.approx(mean_squared_error(truth, prediction) ** 0.5)
    assert mae(truth, prediction) == pytest.approx(mean_absolute_error(truth, prediction))


@given(PAIRS)
def test_rmse_is_at_least_mae(pair):
    """By Jensen's inequality, squares weigh large errors more."""
    assert rmse(*pair) >= mae(*pair) - 1e-9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("metric", [rmse, mae])
def test_not_finite_is_refused(metric, bad):
    """The row of what is no number is named; the rest is not averaged around it."""
    with pytest.raises(DataError, match=r"row 2: .* is not a finite number"):
        metric(np.array([1.0, 2.0]), np.array([1.0, bad]))
    with pytest.raises(DataError, match=r"row 1: .* is not a finite number"):
        metric(np.array([bad, 2.0]), np.array([1.0, 2.0]))


@pytest.mark.parametrize("metric", [rmse, mae])
def test_empty_is_refused(metric):
    """No rating has no mean error."""
    with pytest.raises(DataError, match="no rating"):
        metric(np.array([]), np.array([]))


@pytest.mark.parametrize("metric", [rmse, mae])
def test_shapes_must_agree(metric):
    """A single prediction is not spread over all ratings."""
    with pytest.raises(DataError, match="differ in shape"):
        metric(np.array([1.0, 2.0]), np.array([1.0]))
