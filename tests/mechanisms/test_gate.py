"""The gate stops where it says, for good, and its stopping time has the loss it claims."""

from __future__ import annotations

import copy
import math
import os
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare

from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.gate import ThresholdGate

FALSE_ALARM = 1e-6
REACH = 400


def stop_chances(counts, threshold, threshold_scale, count_scale):
    """P(k counts pass, then stop) for k = 0.., and P(never): summed over the threshold's noise."""
    noise = np.arange(-REACH, REACH + 1)
    ratio = math.exp(-1 / threshold_scale)
    weights = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    needed = threshold + noise[:, None] - np.asarray(counts)[None, :]
    fall = math.exp(-1 / count_scale)
    # P(noise >= n) of the discrete Laplace
    upper = np.where(
        needed > 0,
        fall ** np.maximum(needed, 0) / (1 + fall),
        1 - fall ** np.maximum(1 - needed, 0) / (1 + fall),
    )
    passing = np.cumprod(np.hstack([np.ones((len(noise), 1)), 1 - upper]), axis=1)
    stops = np.hstack([upper, np.ones((len(noise), 1))])
    return weights @ (passing * stops)


def worst(first, other):
    return np.abs(np.log(first / other)).max()


COUNTS = np.array([3, 5, 4, 6, 2, 7])


@pytest.mark.parametrize("monotonic", [False, True])
def test_loss_is_within_the_claim(monotonic):
    """For counts moved by one (each its own way, or together) no stop is e^epsilon times likelier,
    by exact sums over all noise; without noise on the threshold the claim would fail."""
    gate = ThresholdGate(1.0, 5, monotonic=monotonic)
    generator = np.random.default_rng(1)
    moves = [np.ones(6, int), np.array([-1, -1, -1, -1, -1, 1]), -np.ones(6, int)]
    moves += [generator.integers(-1, 2, 6) for _ in range(30)]
    if monotonic:
        moves = [np.abs(move) for move in moves]
    losses = [
        worst(
            stop_chances(COUNTS, 5, gate.threshold_scale, gate.count_scale),
            stop_chances(COUNTS + move, 5, gate.threshold_scale, gate.count_scale),
        )
        for move in moves
    ]
    assert 0.5 < max(losses) <= 1 + 1e-9
    bare = [
        worst(
            stop_chances(np.full(40, 5), 5, 1e-3, gate.count_scale),
            stop_chances(np.full(40, 4), 5, 1e-3, gate.count_scale),
        )
    ]
    assert max(bare) > 1


@pytest.mark.parametrize(("stops", "sign"), [("above", 1), ("below", -1)])
def test_stops_as_often_as_it_should(stops, sign):
    """3,000 gates stop where the exact chances say (chi-square, false alarm 1e-6); with noise on
    the counts left out, the same test refuses."""
    gate = ThresholdGate(2.0, sign * 5, stops=stops)
    expected = 3000 * stop_chances(COUNTS, 5, gate.threshold_scale, gate.count_scale)
    stopped = np.bincount([gate(sign * COUNTS) for _ in range(3000)], minlength=7)
    assert chisquare(stopped, expected).pvalue > FALSE_ALARM
    limits = 5 + samplers.discrete_laplace(np.zeros(3000, dtype=np.int64), gate.threshold_scale)
    reached = COUNTS[None, :] >= limits[:, None]
    quiet = np.where(reached.any(axis=1), reached.argmax(axis=1), 6)
    assert chisquare(np.bincount(quiet, minlength=7), expected).pvalue < FALSE_ALARM


def test_streamed_stops_as_often_as_at_once():
    """Asked one count at a time, the gate follows the same chances (chi-square, 1e-6)."""
    gate = ThresholdGate(2.0, 5)

    def streamed():
        run = gate.start()
        return sum(not run.stops_at(count) for count in COUNTS)

    expected = 800 * stop_chances(COUNTS, 5, gate.threshold_scale, gate.count_scale)
    stopped = np.bincount([streamed() for _ in range(800)], minlength=7)
    assert chisquare(stopped, expected).pvalue > FALSE_ALARM


def test_stops_for_good():
    """Once shut it stays shut, whatever it is asked, without looking or drawing."""
    run = ThresholdGate(math.inf, 5).start()
    assert [run.stops_at(count) for count in (4, 5, 4, -1000)] == [False, True, True, True]
    assert run.stops_at(math.nan)


def test_twin_below():
    """Without noise a gate that stops below stops at the first count not above the threshold."""
    assert ThresholdGate(math.inf, 5, stops="below")([9, 6, 5, 9]) == 2
    assert ThresholdGate(math.inf, 5, stops="below")([9, 6]) == 2


def test_accountant_charges_the_claim():
    """One price for the gate's whole life."""
    assert PureAccountant().add(ThresholdGate(0.3, 5).event).epsilon() == pytest.approx(0.3)


def test_scales():
    """2 sensitivity / epsilon on the threshold; twice that on counts, the same if monotonic."""
    gates = [ThresholdGate(0.5, 0, 3), ThresholdGate(0.5, 0, 3, monotonic=True)]
    assert [(gate.threshold_scale, gate.count_scale) for gate in gates] == [(12, 24), (12, 12)]


def test_no_noise_without_epsilon():
    """Both scales of the variant without noise are 0."""
    gate = ThresholdGate(math.inf, 5)
    assert (gate.threshold_scale, gate.count_scale) == (0, 0)


def test_small_noise_is_drawn_as_well(monkeypatch):
    """At epsilon 16 the scales are below one step, and threshold and counts get their noise."""
    asked = []

    def draw(values, scale):
        asked.append(scale)
        return values

    monkeypatch.setattr(samplers, "discrete_laplace", draw)
    ThresholdGate(16.0, 5).start().stops_at(1)
    assert asked == [1 / 8, 1 / 4]
    ThresholdGate(16.0, 5)([1])
    assert asked[2:] == [1 / 8, 1 / 4]


def test_run_stays_in_its_process(monkeypatch):
    """A copy in another process would answer more than was charged, so it is refused."""
    run = ThresholdGate(1.0, 5).start()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(PrivacyError, match="process"):
        run.stops_at(1)


@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, pickle.dumps])
def test_run_exists_once(twice):
    """It can be neither copied nor saved."""
    with pytest.raises(PrivacyError, match="copied"):
        twice(ThresholdGate(1.0, 5).start())


@pytest.mark.parametrize("count", [math.nan, math.inf, 0.5, "1", [1, 2]])
def test_odd_counts_are_refused(count):
    """A count is one finite whole number."""
    with pytest.raises(DataError):
        ThresholdGate(1.0, 5).start().stops_at(count)


@pytest.mark.parametrize(
    "fields", [(0.0, 5), (1.0, 0.5), (1.0, 5, 0), (1.0, 5, 1, False, "beside")]
)
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        ThresholdGate(*fields)
