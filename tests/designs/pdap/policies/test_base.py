"""What every policy shares: rewards that can be learned."""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap.policies.base import check_context, check_contexts, check_reward
from tacit.errors import DataError


@pytest.mark.parametrize("reward", [-9e17, 0, 1, 9e17])
def test_a_number_below_the_largest_reward_is_read(reward):
    """Of either sign."""
    assert check_reward(reward) == reward


@pytest.mark.parametrize(
    "reward", [1e18, -1e18, pytest.param(10**400, id="huge"), math.inf, math.nan, "much", None]
)
def test_others_are_refused(reward):
    """Larger ones, none, and texts."""
    with pytest.raises(DataError, match="not a finite number"):
        check_reward(reward)


@pytest.mark.parametrize(
    "contexts",
    [[[0.1], [0.2, 0.3]], [["much"]], [[0.5, 0.5]], [[1.5]], [[10**400]], [[math.nan]], [0.5]],
)
def test_contexts_of_another_form_are_refused(contexts):
    """Rows of two lengths, texts, too many features, numbers outside the cube, one row alone."""
    with pytest.raises(DataError):
        check_contexts(contexts, 1)


@pytest.mark.parametrize("context", [[10**400], ["much"], [0.1, 0.2], [1.5], [math.nan], 0.5])
def test_a_context_of_another_form_is_refused(context):
    """A whole number that no float can hold, a text, too many features, outside the cube."""
    with pytest.raises(DataError, match="the context"):
        check_context(context, 1)
