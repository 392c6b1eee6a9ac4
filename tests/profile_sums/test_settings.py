"""Choices of a fit that are out of range."""

from __future__ import annotations

import math

import pytest

from tacit.errors import ConfigError
from tacit.profile_sums.settings import Settings


@pytest.mark.parametrize("weight", [0.0, -0.4, 1.5, math.nan, math.inf])
def test_a_weight_of_other_items_is_above_0_and_at_most_1(weight):
    """With weight 0, a person who likes nothing has a profile of 0 / 0."""
    with pytest.raises(ConfigError, match="other_weight lies above 0"):
        Settings(other_weight=weight)


def test_other_items_may_weigh_as_much_as_liked_ones():
    """The upper end of the range is in it."""
    assert Settings(other_weight=1.0).other_weight == 1


@pytest.mark.parametrize("name", ["moment_clip", "feature_clip", "item_clip", "personal_clip"])
@pytest.mark.parametrize("norm", [0.0, -1.0, math.nan, math.inf])
def test_a_clip_has_a_finite_norm_above_0(name, norm):
    """Without such a norm nothing bounds what one person contributes, or nothing is left of it."""
    with pytest.raises(ConfigError, match=f"{name} is a finite norm"):
        Settings(**{name: norm})


@pytest.mark.parametrize("name", ["damping", "mean_row", "edge"])
@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_other_numbers_are_finite_and_not_negative(name, weight):
    """The sentence names the number."""
    with pytest.raises(ConfigError, match=f"{name} is a finite number"):
        Settings(**{name: weight})
