"""How far predicted stars lie from the true ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Floats = NDArray[np.float64]


def rmse(truth: Floats, prediction: Floats) -> float:
    """sqrt of the mean squared error, in stars; every rating weighs the same, not every person."""
    return float(np.sqrt(np.mean(_errors(truth, prediction) ** 2)))


def mae(truth: Floats, prediction: Floats) -> float:
    """Mean absolute error, in stars; every rating weighs the same, not every person."""
    return float(np.mean(np.abs(_errors(truth, prediction))))


def _errors(truth: Floats, prediction: Floats) -> Floats:
    true, predicted = np.asarray(truth, np.float64), np.asarray(prediction, np.float64)
    if true.shape != predicted.shape:
        raise DataError(
            "truth and prediction differ in shape",
            found=(true.shape, predicted.shape),
            expected="one prediction per rating",
        )
    if true.size == 0:
        raise DataError("there is no rating to compare with", expected="at least one")
    for name, values in (("a true rating", true), ("a prediction", predicted)):
        if not (finite := np.isfinite(values)).all():
            raise DataError(
                f"{name} is not a finite number",
                row=int(np.argmin(finite)) + 1,
                expected="a number for every rating",
                fix="Leave out what cannot be predicted, or predict the item's mean.",
            )
    return predicted - true
