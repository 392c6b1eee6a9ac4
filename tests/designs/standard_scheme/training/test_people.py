"""What is summed up from consenting people, and how it is made private."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

from tacit.designs.standard_scheme.training import people as module
from tacit.designs.standard_scheme.training.people import (
    ConsentingPeople,
    add_noise,
    limit_contributions,
    sum_statistics,
)
from tacit.designs.standard_scheme.training.tables import estimate_privately
from tacit.errors import ConfigError
from tacit.randomness import replay, secure, simulation

LEVELS, ITEMS = 5, 8


def random_levels(generator, people, density=0.6):
    """(people, ITEMS) CSR of levels; level 0 is stored."""
    shown = generator.random((people, ITEMS)) < density
    rows, items = np.nonzero(shown)
    data = generator.integers(0, LEVELS, len(rows)).astype(float)
    return sparse.csr_array((data, (rows, items)), shape=(people, ITEMS))


def summed(levels, labels, parts):
    return sum_statistics(levels, labels, parts, n_values=2, n_levels=LEVELS, n_parts=3)


def flat(statistics):
    """Everything that is released with noise, in one row."""
    return np.concatenate([statistics.people.ravel(), statistics.histogram.ravel()])


def test_sums_by_hand():
    """Three ratings of three people land where they belong."""
    levels = sparse.csr_array(
        (np.array([4.0, 0.0, 3.0]), (np.array([0, 1, 2]), np.array([1, 1, 0]))), shape=(3, 2)
    )
    got = sum_statistics(
        levels,
        np.array([0, 1, 1]),
        np.array([0, 0, 1]),
        n_values=2,
        n_levels=LEVELS,
        n_parts=2,
    )
    assert got.people.tolist() == [[1, 1], [0, 1]]
    assert got.counts.tolist() == [[[0, 1], [0, 1]], [[0, 0], [1, 0]]]
    assert got.sums.tolist() == [[[0, 4], [0, 0]], [[0, 0], [3, 0]]]
    assert got.histogram[0, 0, 1].tolist() == [0, 0, 0, 0, 1]
    assert got.histogram[0, 1, 1].tolist() == [1, 0, 0, 0, 0]


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_histogram_holds_the_counts_and_sums(seed):
    """Counts and sums are those of the histogram, in every cell."""
    generator = np.random.default_rng(seed)
    levels = random_levels(generator, 20)
    got = summed(levels, generator.integers(0, 2, 20), generator.integers(0, 3, 20))
    np.testing.assert_allclose(got.histogram.sum(axis=-1), got.counts)
    np.testing.assert_allclose(got.histogram @ np.arange(LEVELS), got.sums)


def test_weights_and_spread():
    """A rating shown with chance 1/2 as one of two levels counts half, a quarter on each."""
    levels = sparse.csr_array(np.array([[4.0]]))
    got = sum_statistics(
        levels,
        np.array([0]),
        np.array([0]),
        n_values=2,
        n_levels=LEVELS,
        n_parts=1,
        weights=np.array([0.5]),
        spread=np.array([[0, 0, 0, 0.5, 0.5]]),
    )
    assert got.counts[0, 0, 0] == 0.5
    assert got.histogram[0, 0, 0].tolist() == [0, 0, 0, 0.25, 0.25]


@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(1, 12))
@settings(max_examples=60)
def test_one_person_changes_little(seed, most, people):
    """Sensitivity: with one person more, all released numbers together change by at most most + 1.

    For any people, once everybody's ratings are limited: what `private` is calibrated to.
    """
    generator = np.random.default_rng(seed)
    with simulation():
        limited = limit_contributions(random_levels(generator, people, 0.9), most, replay(seed))
    labels, parts = generator.integers(0, 2, people), generator.integers(0, 3, people)
    whole = flat(summed(limited, labels, parts))
    leaving = int(generator.integers(people))
    others = np.arange(people) != leaving
    rest = flat(summed(limited[others], labels[others], parts[others]))
    assert np.abs(whole - rest).sum() == limited[[leaving]].nnz + 1 <= most + 1


def test_limit_is_needed():
    """Without the limit the same change is larger: the law above can fail."""
    levels = sparse.csr_array(np.ones((1, ITEMS)))
    none = sparse.csr_array((0, ITEMS))
    empty = np.zeros(0, dtype=np.int64)
    one = np.zeros(1, dtype=np.int64)
    change = np.abs(flat(summed(levels, one, one)) - flat(summed(none, empty, empty))).sum()
    assert change == ITEMS + 1 > 3 + 1


def test_limit_chooses_uniformly():
    """Of 8 ratings each is among the 3 kept equally often (chi-square, false alarm 1e-6)."""
    levels = sparse.csr_array(np.ones((8000, ITEMS)))
    kept = limit_contributions(levels, 3, secure())
    assert (np.diff(kept.indptr) == 3).all()
    assert chisquare(np.bincount(kept.indices, minlength=ITEMS)).pvalue > 1e-6


def test_limit_leaves_short_histories_alone():
    """Whoever has no more than the limit keeps everything, stars in their place."""
    levels = random_levels(np.random.default_rng(2), 30)
    kept = limit_contributions(levels, ITEMS, secure())
    assert (kept != levels).nnz == 0
    np.testing.assert_array_equal(kept.data, levels.data)


def test_limit_is_at_least_one():
    """A limit of no rating is refused."""
    with pytest.raises(ConfigError, match="at least one"):
        limit_contributions(sparse.csr_array(np.ones((1, 1))), 0, secure())


@pytest.fixture
def exact():
    """Statistics of 5,000 people, so that no count is near 0."""
    generator = np.random.default_rng(3)
    levels = random_levels(generator, 5000)
    return summed(levels, np.arange(5000) % 2, np.arange(5000) % 3)


def test_large_epsilon_is_exact(exact):
    """At epsilon 1e9 the private statistics are the exact ones."""
    got = add_noise(exact, epsilon=1e9, contributions=8)
    np.testing.assert_array_equal(flat(got), flat(exact))
    np.testing.assert_allclose(got.counts, exact.counts)
    np.testing.assert_allclose(got.sums, exact.sums)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_noise_has_the_stated_size(exact, epsilon):
    """The mean distance from the exact numbers is that of noise of scale 9 / epsilon, to 30 %.

    Over 246 numbers the relative standard error is 6.4 %, so the false-alarm rate is below 1e-5; an
    epsilon wrong by a factor of 2 is caught.
    """
    noise = np.abs(flat(add_noise(exact, epsilon=epsilon, contributions=8)) - flat(exact))
    t = math.exp(-epsilon / 9)
    assert noise.mean() == pytest.approx(2 * t / (1 - t * t), rel=0.3)


def test_private_counts_are_counts():
    """Counts stay above 0 and hold together whatever the noise; somebody is in every group."""
    got = add_noise(
        summed(sparse.csr_array((2, ITEMS)), np.array([0, 1]), np.array([0, 1])),
        epsilon=0.1,
        contributions=5,
    )
    assert (got.histogram >= 0).all()
    assert (got.people >= 1).all()
    np.testing.assert_allclose(got.histogram.sum(axis=-1), got.counts)


def test_noise_is_clipped_in_sums(exact, monkeypatch):
    """Noise of 3 and -3 in turn leaves an empty group empty; clipped cells would add up to more."""
    empty = summed(sparse.csr_array((2, ITEMS)), np.array([0, 1]), np.array([0, 1]))

    def alternate(numbers, scale):
        return numbers + np.where(np.arange(len(numbers)) % 2, 3, -3)

    monkeypatch.setattr(module, "discrete_laplace", alternate)
    got = add_noise(empty, epsilon=1.0, contributions=8)
    assert got.counts.max() <= 3  # of an odd number of levels one noise is left
    got = add_noise(exact, epsilon=1.0, contributions=8)
    np.testing.assert_allclose(got.histogram.sum(axis=-1), got.counts)
    assert (np.abs(got.counts - exact.counts) == 3).all()
    assert (got.sums <= (LEVELS - 1) * got.counts).all()


def test_shape_tells_nothing():
    """One person or many: as many numbers are released (parts are not counted from the data)."""
    shapes = set()
    for people in (2, 50):
        levels = random_levels(np.random.default_rng(4), people)
        labels = (np.arange(people) % 2)[:, None]
        crowd = ConsentingPeople(levels, labels, ("gender",), (("F", "M"),), LEVELS)
        for _ in range(8):  # with two people, half of the parts would be missing half of the time
            made = estimate_privately(crowd, secure(), epsilon=1.0, contributions=3)["gender"]
            shapes.add(tuple(getattr(made, name).shape for name in ("offsets", "keep", "means")))
    assert len(shapes) == 1


def test_continuous_scale_is_refused():
    """A private disclosure counts whole stars."""
    levels = sparse.csr_array(np.array([[0.5]]))
    real = sum_statistics(
        levels, np.zeros(1, int), np.zeros(1, int), n_values=2, n_levels=0, n_parts=1
    )
    with pytest.raises(ConfigError, match="whole stars"):
        add_noise(real, epsilon=1.0, contributions=1)


def test_noise_is_of_all_that_one_person_can_change(exact, monkeypatch):
    """Eight ratings and one head, at epsilon .5: a scale of 18, and never less by rounding."""
    scales = []

    def note(exact_numbers, scale):
        scales.append(scale)
        return exact_numbers

    monkeypatch.setattr(module, "discrete_laplace", note)
    add_noise(exact, epsilon=0.5, contributions=8)
    assert scales == [math.nextafter(18.0, math.inf)]


def test_one_rating_is_a_limit():
    """Everybody keeps one of theirs."""
    kept = limit_contributions(sparse.csr_array(np.ones((20, ITEMS))), 1, secure())
    assert np.diff(kept.indptr).tolist() == [1] * 20
