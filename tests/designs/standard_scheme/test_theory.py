"""The paper's formulas, and the exact leaks of what is deployed in their place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tacit.designs.standard_scheme.guarantees import card_of_published_release
from tacit.designs.standard_scheme.settings import Settings
from tacit.designs.standard_scheme.theory import keep_probability, quantile_coupling
from tests.support.rounded_stars import (
    estimation_loss,
    log_ratio,
    rating_distribution,
    released_distribution,
    rounding_distribution,
)

STARS = np.arange(1.0, 6.0)

chances = st.floats(1e-6, 1.0)


def ratings(mean, sd, v0):
    """Distributions of the stars of both groups, x0 = +1 first."""
    return [rating_distribution(mean + sign * v0, sd, STARS) for sign in (1, -1)]


@pytest.mark.parametrize(
    ("mean", "sd", "v0", "leak"),
    [
        (3.5, 1, 0.1, 0.137),
        (3.5, 1, 0.3, 0.158),
        (4.5, 1, 0.3, 0.382),
        (4.8, 0.6, 0.3, 2.40),
        (2, 1.2, 0.5, 0.340),
    ],
)
def test_exact_leak_of_one_rounded_rating(mean, sd, v0, leak):
    """On whole stars the scheme with rounding leaks exactly so many nats per rating, not 0."""
    released = [
        released_distribution(own, STARS, sign * v0)
        for own, sign in zip(ratings(mean, sd, v0), (1, -1), strict=True)
    ]
    assert log_ratio(*released) == pytest.approx(leak, rel=0.005)


def test_exact_leak_of_one_raw_rating():
    """Without the scheme a rating at (4.5, 1, 0.3) leaks 1.97 nats."""
    assert log_ratio(*ratings(4.5, 1, 0.3)) == pytest.approx(1.97, rel=0.005)


@given(st.floats(1, 5), st.floats(0.3, 2), st.floats(0, 0.8))
def test_released_chances_add_up(mean, sd, v0):
    """Whatever is subtracted, the released stars are a distribution."""
    released = released_distribution(rating_distribution(mean, sd, STARS), STARS, v0)
    assert released.sum() == pytest.approx(1)
    assert (released >= 0).all()


@given(st.floats(1, 5), st.floats(0.3, 2), st.floats(0, 0.8))
def test_coupling_leaks_nothing_of_one_rating(mean, sd, v0):
    """Coupled to their average, both groups release the same stars: log ratio 0 to 1e-9."""
    first, second = ratings(mean, sd, v0)
    target = (first + second) / 2
    released = [own @ quantile_coupling(own, target) for own in (first, second)]
    np.testing.assert_allclose(released[0], target, atol=1e-12)
    np.testing.assert_allclose(released[1], target, atol=1e-12)


def test_coupling_at_the_printed_example():
    """At (4.5, 1, 0.3) coupling leaks 0 to 1e-12 and changes 20.9 % of the ratings."""
    first, second = ratings(4.5, 1, 0.3)
    target = (first + second) / 2
    couplings = [quantile_coupling(own, target) for own in (first, second)]
    released = [own @ how for own, how in zip((first, second), couplings, strict=True)]
    assert log_ratio(*released) < 1e-12
    for own, how in zip((first, second), couplings, strict=True):
        assert own @ (1 - np.diag(how)) == pytest.approx(0.209, abs=0.0002)


def test_coupling_changes_no_more_than_it_must():
    """The monotone coupling never turns the order of two stars round."""
    own, target = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    np.testing.assert_allclose(
        quantile_coupling(own, target), [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    )


@given(st.floats(1, 5))
def test_rounding_keeps_the_mean(y):
    """Inside the scale a rounded release has the mean of what was rounded."""
    stars = rounding_distribution(y, 1, 5)
    assert sum(stars.values()) == pytest.approx(1)
    assert sum(star * chance for star, chance in stars.items()) == pytest.approx(y)


def test_rounding_as_printed_does_not():
    """3.2 is rounded with mean 3.2; with the printed, swapped chances the mean is 3.8."""
    right = rounding_distribution(3.2, 1, 5)
    assert right == pytest.approx({3.0: 0.8, 4.0: 0.2})
    printed = {4.0: right[3.0], 3.0: right[4.0]}
    assert sum(star * chance for star, chance in printed.items()) == pytest.approx(3.8)


def test_rounding_clips_to_the_scale():
    """What lies beyond an end of the scale is released as the end."""
    assert rounding_distribution(5.3, 1, 5) == {5.0: 1.0}
    assert rounding_distribution(0.4, 1, 5) == pytest.approx({1.0: 1.0})


@given(st.lists(st.lists(chances, min_size=3, max_size=3), min_size=2, max_size=4))
def test_shown_equally_often_by_everybody(p_all):
    """Kept with min(1, min_c p_c / p_own), an item is shown with min_c p_c for every value."""
    table = np.array(p_all)
    for own in table:
        shown = own * keep_probability(own, table)
        np.testing.assert_allclose(shown, table.min(axis=0), rtol=1e-12)


@given(chances, chances)
def test_printed_maximum_shows_everything(p, q):
    """With max(1, .), as printed, the chance is 1 or more: everything is shown, and p / q leaks."""
    own, other = min(p, q), max(p, q)
    assert max(1.0, other / own) >= 1
    kept = keep_probability(np.array([other]), np.array([[own], [other]]))
    assert kept[0] == pytest.approx(own / other)


def test_estimation_loss_is_what_happens():
    """Equation (4) is the mean squared error of 20,000 least-squares estimates, to 3 %.

    The relative standard error of the mean is below 0.7 %, so the false-alarm rate is below 1e-4.
    The seed is fixed.
    """
    generator = np.random.default_rng(6)
    profiles, x = generator.normal(size=(12, 3)), np.array([1.0, -2.0, 0.5])
    y = profiles @ x + generator.normal(0, 0.8, (20_000, 12))
    errors = y @ np.linalg.pinv(profiles).T - x
    assert np.mean(np.sum(errors**2, axis=1)) == pytest.approx(
        estimation_loss(profiles, 0.8), rel=0.03
    )


def test_rating_distribution_is_a_rounded_normal():
    """A star's chance is the mass of what rounds to it; the ends take the rest."""
    chance = rating_distribution(3.0, 1.0, STARS)
    assert chance.sum() == pytest.approx(1)
    assert chance[2] == pytest.approx(norm.cdf(0.5) - norm.cdf(-0.5))
    assert chance[4] == pytest.approx(norm.sf(1.5))


def test_log_ratio_of_disjoint_stars_is_infinite():
    """What only one group can release tells the group; what neither can, nothing."""
    assert log_ratio(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])) == np.inf
    assert log_ratio(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0


def test_a_whole_level_is_rounded_to_itself():
    """Nothing else is released of it, not even with chance 0."""
    assert rounding_distribution(3.0, 1, 5) == {3.0: 1.0}


def test_released_stars_by_hand():
    """A quarter less than 5 is 5 three times of four and 4 once; less than 1 there is none."""
    released = released_distribution(np.array([0.5, 0, 0, 0, 0.5]), STARS, 0.25)
    assert released == pytest.approx([0.5, 0, 0, 0.125, 0.375])


def test_couplings_of_many_items_at_once():
    """Each pair of distributions has its own coupling."""
    own = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    target = np.array([[0.25, 0.25, 0.5], [0.1, 0.6, 0.3]])
    alone = [quantile_coupling(*pair) for pair in zip(own, target, strict=True)]
    np.testing.assert_allclose(quantile_coupling(own, target), alone)


@pytest.mark.parametrize(("mean", "sd", "gap"), [(3.5, 1.0, 0.1), (4.8, 0.6, 0.3)])
def test_the_card_prints_the_exact_leak(mean, sd, gap):
    """The card of the published variant has the log ratio of one released star."""
    card = card_of_published_release(Settings(variant="published", release="scheme"), ())
    released = [
        released_distribution(own, STARS, side)
        for own, side in zip(ratings(mean, sd, gap), (gap, -gap), strict=True)
    ]
    said = f"{log_ratio(*released):.3g} at mean {mean}, sd {sd}, v0 {gap}"
    assert said in card.claims[0].evidence[1]
