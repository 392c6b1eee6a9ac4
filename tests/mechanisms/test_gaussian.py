"""Gaussian noise has the spread it says, and costs what the event says."""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chisquare

from tacit.accounting import DiscreteGaussian
from tacit.accounting.pld import PLDAccountant
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.errors import ConfigError
from tacit.mechanisms.gaussian import GaussianRelease

FALSE_ALARM = 1e-6
DRAWS = 30_000

dp.enable_features("contrib")


def p_value(noise, sigma):
    """Chi-square of noise against P(k) proportional to exp(-k^2 / (2 sigma^2)), tails pooled."""
    every = np.arange(-60, 61)
    chances = np.exp(-(every**2) / (2 * sigma**2))
    chances /= chances.sum()
    reach = math.ceil(3 * sigma)
    pooled = np.clip(every, -reach, reach) + reach
    expected = np.bincount(pooled, chances * len(noise))
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    return chisquare(counts, expected).pvalue


def test_release_has_the_stated_spread():
    """30,000 releases fit sigma = 8 steps (chi-square, false alarm 1e-6); noise a tenth smaller is
    caught by the same test."""
    mechanism = GaussianRelease(2.0, 1.0, -4.0, 4.0, 0.25)
    assert mechanism.sigma == pytest.approx(8.0)
    noise = ((mechanism(np.full(DRAWS, 0.8)) - 0.75) / 0.25).astype(np.int64)
    assert p_value(noise, 8.0) > FALSE_ALARM
    assert p_value(noise, 7.2) < FALSE_ALARM


@pytest.mark.parametrize(("changes", "distance"), [(1, 6.0), (4, 8.0)])
def test_release_pays_for_rounding(changes, distance):
    """One and a half by quarters is 6 steps, plus sqrt(4) where four entries may move."""
    mechanism = GaussianRelease(3.0, 1.5, 0.0, 4.0, 0.25, changes)
    assert mechanism.sigma == pytest.approx(3 * distance)
    assert mechanism.sigma > 3 * distance


def test_charged_as_opendp_says():
    """OpenDP's map gives the zCDP of the event at the sigma used."""
    mechanism = GaussianRelease(1.7, 2.0, 0.0, 8.0, 0.5)
    peer = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), mechanism.sigma
    )
    rho = ZCDPAccountant().add(mechanism.event).rho
    assert peer.map(4.0) <= rho
    assert peer.map(4.0) == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_the_event_is_not_below_the_noise(noise):
    """The exact delta of the noise that is drawn, at a sensitivity of one step, is at or below what
    the distribution of the event says."""
    mechanism = GaussianRelease(noise, 1.0, 0.0, 8.0, 1.0)
    outputs = np.arange(-60, 61)
    mass = np.exp(-(outputs**2) / (2 * mechanism.sigma**2))
    mass /= mass.sum()
    exact = np.maximum(mass[1:] - math.exp(1.5) * mass[:-1], 0).sum()
    assert exact <= PLDAccountant().add(mechanism.event).delta(1.5) <= exact * 1.001


def test_steps_are_stated_for_one_entry_only():
    """Where several entries may change the event says so, and no distribution is used."""
    one, more = (GaussianRelease(2.0, 1.5, 0.0, 8.0, 0.25, changes) for changes in (1, 4))
    assert one.event == DiscreteGaussian(2.0, 6)
    assert more.event == DiscreteGaussian(2.0)


@pytest.mark.parametrize(
    "fields",
    [
        (-1.0, 1.0, 0.0, 1.0, 1.0),
        (math.inf, 1.0, 0.0, 1.0, 1.0),
        (math.nan, 1.0, 0.0, 1.0, 1.0),
        (1.0, 0.0, 0.0, 1.0, 1.0),
        (1.0, 1.0, 0.0, 1.0, 1.0, 0),
        (1.0, 1.0, 0.0, 1.0, 1.0, 10**400),
        (1e308, 16.0, 0.0, 1.0, 1.0),
        (1.0, 1e308, 0.0, 1.0, 0.125),
        (1.0, 1e308, 0.0, 1.0, 0.125, 2),
    ],
)
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        GaussianRelease(*fields)


def test_neighbours_differ_in_an_entry_at_least():
    """Neighbours that differ in no entry are refused in a sentence with the bounds."""
    with pytest.raises(ConfigError, match=r"changes is a whole number, at least 1 and at most"):
        GaussianRelease(1.0, 1.0, 0.0, 1.0, 0.5, 0)
