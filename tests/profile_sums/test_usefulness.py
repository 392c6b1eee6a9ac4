"""Whether lists are worth making, by rules of thumb that were fitted."""

from __future__ import annotations

import pytest

from tacit.profile_sums.usefulness import LEAST_SHARE, expected_share, people_needed


def test_more_people_or_less_noise_give_a_larger_share() -> None:
    """The estimate depends on people over noise alone, and rises with them."""
    shares = [expected_share(1700, people, 4.2) for people in (300, 1000, 3000, 30_000)]
    assert shares == sorted(shares)
    assert expected_share(1700, 2000, 8.4) == pytest.approx(
        expected_share(1700, 1000, 4.2), abs=0.01
    )


def test_a_share_has_bounds() -> None:
    """No number of people reaches EASE, and no noise gives less than the least share."""
    assert expected_share(1700, 1e12, 1.0) < 1
    assert expected_share(1700, 1, 1000.0) == LEAST_SHARE


def test_pairs_of_likes_raise_the_share_of_single_releases() -> None:
    """Above an effective population of 8,000, and not in a plan."""
    assert expected_share(1700, 8_000.0, 1.0) < 0.8
    assert expected_share(1700, 8_001.0, 1.0) == 0.92
    assert expected_share(1700, 8_001.0, 1.0, in_plan=True) < 0.8


def test_the_number_of_people_needed_has_a_share_above_zero() -> None:
    """Where the planner says that lists beat popularity, the estimate says so, too."""
    for items in (100, 1700, 20_000):
        for sigma in (1.5, 4.2, 30.0):
            assert expected_share(items, people_needed(items, sigma), sigma) > 0
