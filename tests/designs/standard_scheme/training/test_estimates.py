"""The chances to be rated: what the likelihood of a log odds ratio profiles out."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.standard_scheme.training.estimates import (
    estimate_offsets,
    posterior_of,
    profile_likelihood,
)
from tacit.designs.standard_scheme.training.people import Statistics


@pytest.mark.parametrize(("n_first", "n_second"), [(40.0, 60.0), (300.0, 20.0)])
def test_both_shares_explain_what_was_observed(n_first, n_second):
    """At every log odds ratio the expected number of raters is the observed one."""
    first = np.array([1.0, 12.0, 30.0, 5.0])
    second = np.array([4.0, 15.0, 2.0, 18.0])
    _, p, q = profile_likelihood(first, n_first, second, n_second)
    expected = n_first * p + n_second * q
    assert expected == pytest.approx(np.tile((first + second)[:, None], p.shape[1]), rel=1e-6)


def test_a_weight_stands_for_that_many_items():
    """Three items with equal counts are one row of weight 3, in likelihood and posterior."""
    first = np.array([3.0, 3.0, 3.0, 9.0])
    second = np.array([5.0, 5.0, 5.0, 2.0])
    weights = np.array([3, 1])
    likelihood, p, _ = profile_likelihood(first, 20.0, second, 30.0)
    distinct, distinct_p, _ = profile_likelihood(first[2:], 20.0, second[2:], 30.0, weights)
    assert distinct == pytest.approx(likelihood[2:])
    assert distinct_p == pytest.approx(p[2:])
    posterior = posterior_of(np.exp(likelihood), np.ones(4, dtype=np.int64))
    assert posterior_of(np.exp(distinct), weights) == pytest.approx(posterior[2:])


def test_the_profiled_likelihood_is_corrected_by_half_the_log_of_its_information():
    """Two binomials at both shares, less half the log of what the base rate is known by."""
    first, second = np.array([3.0, 9.0]), np.array([5.0, 2.0])
    likelihood, p, q = profile_likelihood(first, 20.0, second, 30.0)
    binomials = first[:, None] * np.log(p) + (20 - first)[:, None] * np.log(1 - p)
    binomials += second[:, None] * np.log(q) + (30 - second)[:, None] * np.log(1 - q)
    information = 20 * p * (1 - p) + 30 * q * (1 - q)
    assert likelihood == pytest.approx(binomials - np.log(information) / 2)


def test_the_grid_is_centred_on_the_ratio_of_all_items_together():
    """In its middle both shares are as far apart in log odds as the groups' numbers of ratings for
    each person are, with one rating more in each."""
    first, second = np.array([3.0, 9.0]), np.array([5.0, 2.0])
    _, p, q = profile_likelihood(first, 20.0, second, 30.0)
    middle = p.shape[1] // 2
    apart = np.log(p / (1 - p) / (q / (1 - q)))[:, middle]
    assert apart == pytest.approx(np.log(13 / 20) - np.log(8 / 30))


def test_offsets_of_mirrored_stars_are_mirrored():
    """Five stars for one, four for two: what is learned is the same with the other sign, so that
    errors above and below a left-out mean count alike."""
    generator = np.random.default_rng(2)
    counts = generator.integers(20, 60, (3, 2, 40)).astype(float)
    gaps = np.array([[0.1], [-0.1]]) * generator.exponential(size=40)
    sums = np.round(counts * (2 + gaps) + generator.exponential(6.0, counts.shape) - 6.0)
    people = np.full((3, 2), 100.0)
    found, mirrored = (
        estimate_offsets(Statistics(people, counts, levels, None))
        for levels in (sums, 4 * counts - sums)
    )
    assert np.abs(found).max() > 0.1
    np.testing.assert_allclose(mirrored, -found, atol=1e-12)
