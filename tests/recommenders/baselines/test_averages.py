"""The averages predict what one can work out by hand."""

from __future__ import annotations

import pytest

from tacit.data import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.baselines import ItemMean, UserAverage, UserItemMean

RATINGS = Ratings.from_arrays(
    [1, 1, 2, 2, 3], ["a", "b", "a", "c", "c"], [5, 3, 4, 1, 2], scale=None
)
"""Means: overall 3; a 4.5, b 3, c 1.5."""


def test_item_average_is_the_plain_mean() -> None:
    """Without damping the item mean is the mean of its stars, for everybody."""
    model = ItemMean(damping=0).fit(RATINGS)
    assert model.predict(["a", "b", "c"], user=3).tolist() == [4.5, 3.0, 1.5]


def test_user_average_is_her_own_mean() -> None:
    """Person 1 gave 5 and 3; a newcomer gets the overall mean; unknown items do not count."""
    model = UserAverage().fit(RATINGS)
    assert model.predict(["a", "c"], user=1).tolist() == [4.0, 4.0]
    assert model.predict(["a", "c"], history={}).tolist() == [3.0, 3.0]
    assert model.predict(["c"], history={"a": 2.0, "elsewhere": 5.0}).tolist() == [2.0]


def test_user_and_item_mean_without_damping() -> None:
    """Somebody who gave b one star more than its mean gives c one more too."""
    model = UserItemMean(item_damping=0, user_damping=0).fit(RATINGS)
    assert model.predict(["a", "c"], history={"b": 4.0}).tolist() == [5.5, 2.5]


def test_user_and_item_mean_with_damping() -> None:
    """a: 3 + (2 + 1) / (2 + 1) = 4; her offset is (5 - 4) / (1 + 3); b: 3 + 0 / 2 + 0.25."""
    model = UserItemMean(item_damping=1, user_damping=3).fit(RATINGS)
    assert model.predict(["a", "b"], history={"a": 5.0}).tolist() == [4.25, 3.25]


@pytest.mark.parametrize("damping", [-1.0, float("nan"), float("inf")])
def test_senseless_damping_is_refused(damping: float) -> None:
    """A number of pseudo-ratings is finite and not negative."""
    for wrong in ({"item_damping": damping}, {"user_damping": damping}):
        with pytest.raises(ConfigError):
            UserItemMean(**wrong)
