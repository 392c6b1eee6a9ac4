"""The averages predict what one can work out by hand."""

from __future__ import annotations

import pytest

from tacit.data import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.baselines import ItemMean

RATINGS = Ratings.from_arrays(
    [1, 1, 2, 2, 3], ["a", "b", "a", "c", "c"], [5, 3, 4, 1, 2], scale=None
)
"""Means: overall 3; a 4.5, b 3, c 1.5."""


def test_item_average_is_the_plain_mean() -> None:
    """Without damping the item mean is the mean of its stars, for everybody."""
    model = ItemMean(damping=0).fit(RATINGS)
    assert model.predict(["a", "b", "c"], user=3).tolist() == [4.5, 3.0, 1.5]


@pytest.mark.parametrize("damping", [-1.0, float("nan"), float("inf")])
def test_senseless_damping_is_refused(damping: float) -> None:
    """A number of pseudo-ratings is finite and not negative."""
    with pytest.raises(ConfigError):
        ItemMean(damping=damping)
