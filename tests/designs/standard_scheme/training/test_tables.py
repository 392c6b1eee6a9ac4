"""Public tables: smoothing as printed, and several attributes fitted together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.estimates import estimate_rating_chances
from tacit.designs.standard_scheme.training.people import ConsentingPeople, Statistics
from tacit.designs.standard_scheme.training.tables import estimate_all_tables
from tacit.errors import ConfigError


def test_add_one_smoothing_by_hand():
    """As published: (raters + 1) / (people + 2), for each value and item."""
    statistics = Statistics(
        people=np.array([[4.0, 8.0]]),
        counts=np.array([[[0.0, 4.0], [3.0, 8.0]]]),
        sums=np.zeros((1, 2, 2)),
        histogram=None,
    )
    expected = [[1 / 6, 5 / 6], [4 / 10, 9 / 10]]
    np.testing.assert_allclose(estimate_rating_chances(statistics, shrink=False), expected)


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


def test_private_tables_are_those_of_the_one_attribute():
    """They have its name and its values; two attributes are refused."""
    people = correlated_attributes(people=60)
    stars = sparse.csr_array(np.tile(np.arange(1.0, 6.0), (60, 1)))
    alone = ConsentingPeople(stars, people.labels[:, :1], ("first",), (("a", "b"),), 5)
    tables = estimate_all_tables(alone, epsilon=1.0)
    assert list(tables) == ["first"]
    assert tables["first"].values == ("a", "b")
    with pytest.raises(ConfigError, match="covers one attribute"):
        estimate_all_tables(people, epsilon=1.0)


def test_chances_of_correlated_attributes_are_told_apart():
    """One attribute alone decides how often people rate, 60 % or 30 %. With the chances of both,
    every group shows equally many, to 3 %: nothing is corrected twice."""
    generator = np.random.default_rng(1)
    first = np.arange(4000) % 2
    second = np.where(generator.random(4000) < 0.8, first, 1 - first)
    rated = generator.random((4000, 10)) < np.where(first == 1, 0.6, 0.3)[:, None]
    labels = np.column_stack([first, second])
    people = ConsentingPeople(
        sparse.csr_array(2.0 * rated), labels, ("first", "second"), (("a", "b"), ("c", "d")), 0
    )
    tables = estimate_all_tables(people, shrink=False)
    kept = (tables["first"].keep[first] / MICRO) * (tables["second"].keep[second] / MICRO)
    shown = (rated * kept).sum(axis=1)
    for group in (first, second):
        assert shown[group == 1].mean() == pytest.approx(shown[group == 0].mean(), rel=0.03)


def test_couplings_of_correlated_attributes_are_told_apart():
    """One attribute alone decides how people rate. After both attributes' couplings every group has
    the same stars, to 5 % of them; coupled twice, groups of either would be 10 % apart or more."""
    generator = np.random.default_rng(1)
    first = np.arange(2000) % 2
    second = np.where(generator.random(2000) < 0.8, first, 1 - first)
    generous = generator.choice(5, (2000, 5), p=[0.05, 0.1, 0.2, 0.3, 0.35])
    severe = generator.choice(5, (2000, 5), p=[0.2, 0.25, 0.25, 0.2, 0.1])
    levels = np.where(first[:, None] == 1, generous, severe)
    everything = (np.tile(np.arange(5), 2000), np.arange(0, 10_001, 5))
    people = ConsentingPeople(
        sparse.csr_array((levels.ravel().astype(float), *everything), shape=(2000, 5)),
        np.column_stack([first, second]),
        ("first", "second"),
        (("a", "b"), ("c", "d")),
        5,
    )
    tables = estimate_all_tables(people, coupling=True)
    released = np.eye(5)[levels]
    for name, group in (("first", first), ("second", second)):
        chances = np.diff(tables[name].coupling, axis=-1, prepend=0) / MICRO
        released = np.einsum("pil,pilk->pik", released, chances[group])
    for group in (first, second):
        shares = [released[group == value].mean(axis=(0, 1)) for value in (0, 1)]
        assert abs(shares[1] - shares[0]).sum() < 0.05
