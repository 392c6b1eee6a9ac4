"""Discrete Laplace noise has the distribution it says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError
from tacit.mechanisms.laplace import LaplaceRelease, discrete_laplace

FALSE_ALARM = 1e-6
DRAWS = 40_000


def p_value(noise, scale):
    """Chi-square of noise against P(k) proportional to exp(-|k| / scale), tails pooled."""
    reach = math.ceil(4 * scale)
    inner = np.arange(-reach, reach + 1)
    t = math.exp(-1 / scale)
    chances = (1 - t) / (1 + t) * t ** np.abs(inner)
    tail = (1 - chances.sum()) / 2
    counts = [
        np.sum(noise < -reach),
        *(np.sum(noise == k) for k in inner),
        np.sum(noise > reach),
    ]
    return chisquare(counts, len(noise) * np.array([tail, *chances, tail])).pvalue


@pytest.mark.parametrize("scale", [0.5, 2.0, 7.3])
def test_distribution(scale):
    """40,000 draws fit the exact chances (chi-square, false alarm 1e-6)."""
    noise = discrete_laplace(np.zeros(DRAWS, dtype=np.int64), scale)
    assert p_value(noise, scale) > FALSE_ALARM


@pytest.mark.parametrize("error", [0.9, 1.1])
def test_catches_a_wrong_scale(error):
    """The same test refuses a scale that is ten per cent off."""
    noise = discrete_laplace(np.zeros(DRAWS, dtype=np.int64), 2.0 * error)
    assert p_value(noise, 2.0) < FALSE_ALARM


def test_noise_is_added_to_each_value():
    """Every value gets its own noise: large values stay in place and differ in their noise."""
    values = np.arange(1000) * 1_000_000
    noise = discrete_laplace(values, 5.0) - values
    assert np.abs(noise).max() < 500
    assert len(np.unique(noise)) > 5


def test_noise_takes_no_seed():
    """NumPy's global seed does not decide the noise."""
    drawn = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002 (what must have no effect)
        drawn.append(discrete_laplace(np.zeros(100, dtype=np.int64), 50.0))
    assert (drawn[0] != drawn[1]).any()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_scale_in_range(scale):
    """No scale, no noise: refused."""
    with pytest.raises(ConfigError, match="scale"):
        discrete_laplace(np.zeros(1, dtype=np.int64), scale)


def test_release_has_the_stated_scale():
    """Released numbers less the true one fit the scale in steps (chi-square, false alarm 1e-6)."""
    mechanism = LaplaceRelease(0.5, 1.0, -4.0, 4.0, 0.25)
    assert mechanism.scale == 8.0
    noise = (mechanism(np.full(DRAWS, 0.8)) - 0.75) / 0.25
    assert p_value(noise.astype(np.int64), 8.0) > FALSE_ALARM
    assert p_value(noise.astype(np.int64), 6.4) < FALSE_ALARM


@pytest.mark.parametrize(("changes", "steps"), [(1, 6), (3, 8)])
def test_release_pays_for_rounding(changes, steps):
    """One and a half by quarters is 6 steps, and one more for each further entry that may move."""
    mechanism = LaplaceRelease(0.7, 1.5, 0.0, 4.0, 0.25, changes)
    assert Fraction(mechanism.scale) * Fraction(0.7) >= steps
    assert mechanism.scale == pytest.approx(steps / 0.7)
    assert PureAccountant().add(mechanism.event).epsilon() == pytest.approx(0.7)


@given(
    st.floats(1e-9, 1e9) | st.sampled_from([0.1, 1 / 3, 1e308]),
    st.floats(1e-3, 1e6),
    st.integers(1, 50),
)
def test_price_lies_between_loss_and_epsilon(epsilon, sensitivity, changes):
    """In fractions: distance / scale, which is what a call loses, is at most the event's price, and
    that is at most the epsilon asked for."""
    mechanism = LaplaceRelease(epsilon, sensitivity, 0.0, 4.0, 0.25, changes)
    loss = Fraction(mechanism.grid.distance(sensitivity, changes)) / Fraction(mechanism.scale)
    price = PureAccountant().add(mechanism.event).epsilon()
    assert loss <= 1 / Fraction(mechanism.event.noise_multiplier) <= Fraction(price)
    assert price <= epsilon


@pytest.mark.parametrize(
    "fields",
    [
        (0.0, 1.0, 0.0, 1.0, 1.0),
        (1.0, 0.0, 0.0, 1.0, 1.0),
        (1.0, 1.0, 0.0, 1.0, 1.0, 0),
        (1.0, 1.0, 0.0, 1.0, 1.0, 10**400),
        (1e-9, 1e308, 0.0, 1.0, 0.125),
    ],
)
def test_release_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        LaplaceRelease(*fields)
