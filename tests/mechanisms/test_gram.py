"""The Gram matrix is symmetric, clipped per person, and as noisy as it is charged for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing.gaussian import discrete_epsilon_of
from tacit.auditing.sampler_spy import intercept_samplers, measure_moves
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.gram import GramRelease

FALSE_ALARM = 1e-6
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([1e308, -1e308, 5e-324])


@given(arrays(np.float64, (3, 5), elements=NUMBERS), st.sampled_from([0.7, 1.0, 3.0]))
def test_no_row_is_longer_than_the_norm(rows, norm):
    """In exact integers, whatever the row; and a row within the norm moves less than a step."""
    mechanism = GramRelease(1.0, 5, norm, 2.0**-10)
    steps = mechanism.clip_rows(rows)
    assert ((steps**2).sum(axis=1) <= mechanism.squared_norm).all()
    for row, step in zip(rows, steps, strict=True):
        if np.abs(row).max() < 1e6 and np.linalg.norm(row) < norm * 0.999:
            assert (np.abs(step * 2.0**-10 - row) < 2.0**-10).all()


def test_a_row_is_scaled_by_itself():
    """Another person's row does not change what is made of mine."""
    mechanism = GramRelease(1.0, 3)
    mine = np.array([[3.0, -4.0, 0.0]])
    both = np.vstack([mine, [[900.0, 1.0, 2.0]]])
    assert (mechanism.clip_rows(both)[0] == mechanism.clip_rows(mine)[0]).all()
    np.testing.assert_allclose(mechanism.clip_rows(mine)[0] / 1024, [0.6, -0.8, 0], atol=2 / 1024)


@given(arrays(np.int64, (1, 4), elements=st.integers(-20, 20)))
def test_sensitivity(rows):
    """With the off-diagonal weighted by sqrt(2), as its smaller noise weighs it, two neighbouring
    matrices are at most the norm squared apart."""
    mechanism = GramRelease(1.0, 4, 1.0, 2.0**-4)
    (row,) = mechanism.clip_rows(rows / 4)
    distance = math.sqrt((np.outer(row, row) ** 2).sum())  # each pair of items counts twice
    assert distance <= mechanism.sigma + 1e-9


def test_matrix_is_symmetric_and_near():
    """Both triangles hold the same noise, and with little of it the clipped products come out."""
    rows = np.random.default_rng(1).normal(size=(5000, 6))
    made = GramRelease(1.0, 6)(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert (made == made.T).all()
    np.testing.assert_allclose(made, unit.T @ unit, atol=12)  # noise of 1, rounding of 5000 rows


def spread_is_right(values, sigma):
    """Two-sided chi-square test of a variance around a known mean of zero."""
    cumulative = chi2.cdf((values**2).sum() / sigma**2, values.size)
    return 2 * min(cumulative, 1 - cumulative) > FALSE_ALARM


def test_noise_has_the_stated_spread():
    """Without people, the diagonal spreads by the noise multiplier and the rest by it / sqrt(2)
    (false alarm 1e-6); a sigma 20 per cent smaller is caught by the same test."""
    made = np.array([GramRelease(3.0, 20)(np.empty((0, 20))) for _ in range(40)])
    upper = np.triu_indices(20, 1)
    diagonal = made[:, range(20), range(20)]
    assert spread_is_right(diagonal, 3.0)
    assert spread_is_right(made[:, *upper], 3.0 / math.sqrt(2))
    assert not spread_is_right(0.8 * diagonal, 3.0)


def test_charged_once():
    """One price for the whole matrix: 1 / (2 m^2)."""
    assert ZCDPAccountant().add(GramRelease(2.0, 50).event).rho == pytest.approx(1 / 8)


@pytest.mark.parametrize("items", [1, 2, 7])
def test_event_says_how_the_noise_is_drawn(items):
    """As many draws as entries, none with a smaller sigma than stated: read from the samplers."""
    release = GramRelease(1.3, items, 2.0, 2.0**-6)
    with intercept_samplers() as calls:
        release(np.zeros((1, items)))
    assert release.event.entries == sum(asked.values.size for asked in calls)
    assert release.event.sigma == min(asked.scale for asked in calls)


@pytest.mark.parametrize("resolution", [2.0**-2, 2.0**-3, 2.0**-5])
@pytest.mark.parametrize("row", [[1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)], [0.75, -0.5]])
def test_price_covers_the_exact_loss(row, resolution):
    """Exact sums over the noises that the code asks for stay within the event's price, coarse grid
    or fine; on the fine one, a full row comes near it."""
    release = GramRelease(1.0, 2, 1.0, resolution)
    moved = measure_moves(release, np.array([row]), np.zeros((1, 2)))
    loss = discrete_epsilon_of(moved.steps.tolist(), moved.scales.tolist(), 1e-5)
    price = GDPAccountant().add(release.event).epsilon(1e-5)
    assert loss <= price
    if resolution == 2.0**-5 and row == [1.0, 0.0]:
        assert loss > 0.98 * price


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 2, 3)])
def test_other_items_are_refused(shape):
    """The number of items is public and fixed."""
    with pytest.raises(DataError, match="shape"):
        GramRelease(1.0, 3)(np.zeros(shape))


@pytest.mark.parametrize(
    "fields",
    [
        (-1.0, 3),
        (1e308, 3),
        (1.0, 0),
        (1.0, 3, 0.0),
        (1.0, 3, 1.0, 0.0),
        (1.0, 3, 1.0, 2.0**-15),
        (1.0, 3, 1.0, 2.0),
    ],
)
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        GramRelease(*fields)


def test_noise_is_never_below_what_is_charged():
    """Each sigma is at least multiplier times squared norm in exact numbers, and hardly more: what
    rounding takes off is put on first."""
    for number in range(1, 200):
        release = GramRelease(number / 7, items=2, norm=1 + number / 20)
        exact = Fraction(number / 7) * release.squared_norm
        assert exact < Fraction(release.sigma) < exact * (1 + Fraction(1, 1 << 39))


def test_a_norm_of_one_step_is_let_in():
    """The coarsest grid: all entries but one vanish."""
    assert GramRelease(1.0, 3, 1.0, 1.0).squared_norm == 1
