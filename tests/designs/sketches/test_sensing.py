"""Questions are fixed by seed and ticket, disjoint, and fair to every item and pair."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from tacit.designs.sketches import sensing

GOLDEN_WHEEL = (37, 20)
GOLDEN_SETS = [[37, 16, 36, 15, 35], [14, 34, 13, 33, 12]]
GOLDEN_PAIRS = [(7, 11), (3, 23), (26, 31)]
tickets = st.integers(1, 2**64 - 1)


def test_golden_words():
    """SplitMix64 from state 0 gives the published first words."""
    states = [n * 0x9E3779B97F4A7C15 % 2**64 for n in (1, 2, 3)]
    found = [sensing.mix(state) for state in states]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_golden_questions(campaign):
    """The questions of one ticket, for whoever writes another device."""
    made = campaign(questions=2, rated=8)
    assert sensing.draw_wheel(made, 12345) == GOLDEN_WHEEL
    assert sensing.sensed_sets(made, 12345) == GOLDEN_SETS
    asked = campaign(method="pairwise-preference", questions=3)
    assert sensing.pairs(asked, 12345) == GOLDEN_PAIRS


@given(tickets)
def test_sets_are_disjoint(ticket):
    """No item lies in two sets of a person, and only items do."""
    from tacit.designs.sketches.campaigns import new_campaign

    made = new_campaign(
        range(40), rated=8, epsilon=1.0, questions=8, theta=0.9, seed=b"0123456789abcdef"
    )
    sets = sensing.sensed_sets(made, ticket)
    members = [item for one in sets for item in one]
    assert len(set(members)) == len(members)
    assert all(0 <= item < 40 for item in members)
    # 41 places on the wheel: at most one of them is empty.
    assert sum(map(len, sets)) >= 8 * made.set_size - 1


@pytest.mark.parametrize(("items", "rated"), [(7, 2), (11, 4)])
def test_every_wheel_is_fair(campaign, items, rated, monkeypatch):
    """Over all first places and steps, items are sensed equally often, and so are pairs."""
    made = campaign(items, rated=rated)
    single, double = Counter(), Counter()
    for place in range(items):
        for step in range(1, items):
            monkeypatch.setattr(sensing, "draw_wheel", lambda c, t, at=(place, step): at)
            (members,) = sensing.sensed_sets(made, 1)
            single.update(members)
            double.update(combinations(sorted(members), 2))
    assert set(single.values()) == {(items - 1) * made.set_size}
    assert set(double.values()) == {made.set_size * (made.set_size - 1)}
    assert len(double) == items * (items - 1) // 2


def test_pairs_are_fair(campaign):
    """All pairs equally often (chi-square; a fair draw fails once in a million)."""
    made = campaign(6, method="pairwise-preference")
    counts = Counter(sensing.pairs(made, ticket)[0] for ticket in range(1, 15_001))
    expected = 1000
    statistic = sum((counts[pair] - expected) ** 2 / expected for pair in combinations(range(6), 2))
    assert statistic < chi2.isf(1e-6, 14)


def test_wheels_are_fair(campaign):
    """First places and steps uniform and unrelated (chi-square; fair fails once in a million)."""
    made = campaign(7, rated=2)
    counts = np.zeros((7, 6))
    for ticket in range(1, 8_401):
        place, step = sensing.draw_wheel(made, ticket)
        counts[place, step - 1] += 1
    assert ((counts - 200) ** 2 / 200).sum() < chi2.isf(1e-6, 41)


def test_below_skips_what_would_favour():
    """Words at or above the largest multiple of the bound are not used."""
    limit = 2**64 - 2**64 % 10
    assert sensing.draw_below(iter([limit, 2**64 - 1, limit - 1]), 10) == 9
