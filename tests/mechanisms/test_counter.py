"""The tree counter counts, noises each node once, and is charged for every level."""

from __future__ import annotations

import copy
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.counter import TreeCounter

FALSE_ALARM = 1e-6


@pytest.mark.parametrize(
    ("horizon", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (1000, 10), (1024, 11)]
)
def test_levels(horizon, levels):
    """floor(log2 T) + 1 levels."""
    assert TreeCounter(1.0, horizon).levels == levels


@given(st.lists(st.integers(-2, 9), min_size=1, max_size=70))
def test_twin_counts_exactly(values):
    """Without noise the totals are the running sums of the clamped values, streamed or at once."""
    counter = TreeCounter(math.inf, len(values), bound=5)
    expected = np.clip(values, 0, 5).cumsum().tolist()
    run = counter.start()
    assert [run.add(value) for value in values] == expected
    assert counter(values).tolist() == expected


@given(
    st.floats(1e-9, 1e9) | st.sampled_from([0.1, 1 / 3, 1e308]),
    st.integers(1, 1 << 30),
    st.integers(1, 1 << 20),
)
def test_price_lies_between_loss_and_epsilon(epsilon, horizon, bound):
    """In fractions: levels * bound / scale, which is what a life loses, is at most the event's
    price, and that is at most the epsilon asked for."""
    counter = TreeCounter(epsilon, horizon, bound)
    loss = Fraction(counter.levels * bound) / Fraction(counter.scale)
    price = PureAccountant().add(counter.event).epsilon()
    assert loss <= counter.levels / Fraction(counter.event.noise_multiplier) <= Fraction(price)
    assert price <= epsilon


def test_immense_noise_ends_where_64_bits_do(monkeypatch):
    """Two nodes with the largest noise that fits have a total that does not, and it is cut."""
    largest = np.iinfo(np.int64).max
    monkeypatch.setattr(samplers, "discrete_laplace", lambda nodes, _: np.full_like(nodes, largest))
    assert TreeCounter(1e-9, 1024, 1 << 42)([1] * 3).tolist() == [largest] * 3


def test_a_step_counts_one_at_most():
    """The default bound: larger values are clamped to 1."""
    assert TreeCounter(math.inf, 3)([1, 2, 0]).tolist() == [1, 2, 2]


class Recorded:
    """Noise that names its node: the n-th draw is 2^n, so a total tells which nodes it holds."""

    def __init__(self, monkeypatch):
        self.drawn = 0
        monkeypatch.setattr(samplers, "discrete_laplace", self.draw)

    def draw(self, values, scale):
        numbers = range(self.drawn, self.drawn + len(values))
        self.drawn += len(values)
        return np.array([1 << number for number in numbers])


@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 31])
def test_node_count_law(monkeypatch, horizon):
    """T nodes are noised in all; total t holds as many as t has binary ones; a step meets at most
    `levels` nodes, which are what its person is charged for."""
    recorded = Recorded(monkeypatch)
    run = TreeCounter(1.0, horizon).start()
    totals = [run.add(0) for _ in range(horizon)]
    assert recorded.drawn == horizon
    assert [total.bit_count() for total in totals] == [
        step.bit_count() for step in range(1, horizon + 1)
    ]
    nodes = {  # node t ends at step t and holds as many steps as the lowest binary one of t says
        end: range(end - (end & -end) + 1, end + 1) for end in range(1, horizon + 1)
    }
    met = [sum(step in node for node in nodes.values()) for step in range(1, horizon + 1)]
    assert max(met) == TreeCounter(1.0, horizon).levels


def test_streamed_and_at_once_are_the_same(monkeypatch):
    """The same noise gives the same totals either way."""
    values = [1, 0, 1, 1, 0, 1, 1]
    Recorded(monkeypatch)
    at_once = TreeCounter(1.0, 7)(values).tolist()
    Recorded(monkeypatch)
    run = TreeCounter(1.0, 7).start()
    assert [run.add(value) for value in values] == at_once


@pytest.mark.parametrize(("horizon", "bound"), [(1, 1), (2, 1), (1000, 5)])
def test_accountant_charges_the_claim(horizon, bound):
    """levels * bound / scale is epsilon."""
    counter = TreeCounter(0.8, horizon, bound)
    assert PureAccountant().add(counter.event).epsilon() == pytest.approx(0.8, rel=1e-12)
    assert counter.levels * bound / counter.scale == pytest.approx(0.8, rel=1e-12)


def exact_loss_for_two_steps(scale):
    """ln of the worst ratio for T = 2: a change of step 1 moves both nodes by one."""
    return 2 / scale


def test_golden_loss_for_two_steps():
    """T = 2: both nodes move, so one level less would have cost twice the claim."""
    counter = TreeCounter(1.0, 2)
    assert exact_loss_for_two_steps(counter.scale) <= 1
    assert exact_loss_for_two_steps(math.log2(2) / 1.0) == 2


def test_noise_has_the_stated_scale():
    """Totals after one step spread as the scale says (binomial test, false alarm 1e-6), and noise
    20 per cent too small is caught by the same test."""
    scale, runs = TreeCounter(1.0, 3).scale, 30_000
    ratio = math.exp(-1 / scale)
    tail = ratio**4 / (1 + ratio)  # P(noise <= -4)
    below = [
        int((samplers.discrete_laplace(np.zeros(runs, dtype=np.int64), b) <= -4).sum())
        for b in (scale, 0.8 * scale)
    ]
    streamed = [TreeCounter(1.0, 3).start().add(0) for _ in range(1000)]
    assert binomtest(sum(total <= -4 for total in streamed), 1000, tail).pvalue > FALSE_ALARM
    assert binomtest(below[0], runs, tail).pvalue > FALSE_ALARM
    assert binomtest(below[1], runs, tail).pvalue < FALSE_ALARM


def test_horizon_is_the_end():
    """Step T + 1 is refused, streamed or at once."""
    run = TreeCounter(1.0, 2).start()
    run.add(1)
    run.add(1)
    with pytest.raises(PrivacyError, match="no more"):
        run.add(1)
    with pytest.raises(PrivacyError, match="at most 2"):
        TreeCounter(1.0, 2)([1, 1, 1])


def test_run_stays_in_its_process(monkeypatch):
    """A copy in another process would release more than was charged, so it is refused."""
    run = TreeCounter(1.0, 2).start()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(PrivacyError, match="process"):
        run.add(1)


@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, pickle.dumps])
def test_run_exists_once(twice):
    """It can be neither copied nor saved."""
    with pytest.raises(PrivacyError, match="copied"):
        twice(TreeCounter(1.0, 2).start())


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.5, "1", [1, 2]])
def test_odd_values_are_refused(value):
    """A step is one finite whole number; a refused step is not counted."""
    run = TreeCounter(1.0, 2).start()
    with pytest.raises(DataError):
        run.add(value)
    assert run.step == 0


@pytest.mark.parametrize("fields", [(0.0, 5), (1.0, 0), (1.0, 5, 0), (1.0, 5.0), (1.0, 1 << 52, 2)])
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        TreeCounter(*fields)
