"""Public tables: smoothing as printed, and several attributes fitted together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.estimates import estimate_shown
from tacit.designs.standard_scheme.training.people import ConsentingPeople, Statistics
from tacit.designs.standard_scheme.training.tables import estimate_all_tables


def test_add_one_smoothing_by_hand():
    """As published: (raters + 1) / (people + 2), for each value and item."""
    statistics = Statistics(
        people=np.array([[4.0, 8.0]]),
        counts=np.array([[[0.0, 4.0], [3.0, 8.0]]]),
        sums=np.zeros((1, 2, 2)),
        histogram=None,
    )
    expected = [[1 / 6, 5 / 6], [4 / 10, 9 / 10]]
    np.testing.assert_allclose(estimate_shown(statistics, shrink=False), expected)


def correlated_attributes(items=5, people=800, seed=0):
    """People with two attributes that mostly agree, whose effects on every item add up."""
    generator = np.random.default_rng(seed)
    first = np.arange(people) % 2
    second = np.where(generator.random(people) < 0.8, first, 1 - first)
    effect = 0.4 * (2 * first - 1) - 0.3 * (2 * second - 1)
    levels = sparse.csr_array(np.tile(2.0 + effect[:, None], (1, items)))
    labels = np.column_stack([first, second])
    return ConsentingPeople(levels, labels, ("first", "second"), (("a", "b"), ("c", "d")), 0)


def test_effects_of_correlated_attributes_are_told_apart():
    """Backfitting finds the planted effects +-.4 and -+.3, to .03; a single pass is .18 off."""
    tables = estimate_all_tables(correlated_attributes(), shrink=False)
    for name, planted in (("first", 0.4), ("second", -0.3)):
        offsets = tables[name].offsets / MICRO
        np.testing.assert_allclose(offsets[1], planted, atol=0.03)
        np.testing.assert_allclose(offsets[0], -planted, atol=0.03)


def test_a_single_attribute_takes_the_other_ones_effect():
    """Fitted alone, the first attribute has what the second one does: the check above can fail."""
    people = correlated_attributes()
    alone = ConsentingPeople(people.levels, people.labels[:, :1], ("first",), (("a", "b"),), 0)
    offsets = estimate_all_tables(alone, shrink=False)["first"].offsets / MICRO
    assert offsets[1].mean() == pytest.approx(0.4 - 0.3 * 0.6, abs=0.05)
