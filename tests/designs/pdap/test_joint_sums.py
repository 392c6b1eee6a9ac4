"""Noisy sums: what one visit can change, and what it is charged."""

from __future__ import annotations

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import PureAccountant
from tacit.designs.pdap.joint_sums import GRAIN, EpochSums, SumNoise
from tacit.errors import PrivacyError
from tacit.mechanisms import samplers

NOTHING = SumNoise(math.inf)
visits = st.tuples(st.integers(0, 1), st.integers(0, 1), st.floats(0, 1))


@settings(deadline=None)
@given(
    stream=st.lists(visits, min_size=1, max_size=20),
    ends=st.sets(st.integers(1, 20)),
    data=st.data(),
)
def test_one_visit_is_in_one_epoch(stream, ends, data):
    """One visit not learned changes all releases together by L1 1 at most, however many."""
    gone = data.draw(st.integers(0, len(stream) - 1))
    released = []
    for left_out in (None, gone):
        sums, out = EpochSums(2, 2, NOTHING), []
        for t, visit in enumerate(stream):
            if t != left_out:
                sums.add(*visit)
            if t + 1 in ends:
                likes, visited = sums.release(t + 1)
                out.append(np.stack([likes, visited - likes]))
        released.append(out)
    change = sum(np.abs(a - b).sum() for a, b in zip(*released, strict=True))
    assert change <= 1


def test_replaced_visit_counts_twice():
    """Another context and another reward: L1 2 in one release, as the card says."""
    seen = []
    for cell, reward in ((0, 1.0), (1, 0.0)):
        sums = EpochSums(2, 1, NOTHING)
        sums.add(cell, 0, reward)
        likes, visited = sums.release(1)
        seen.append(np.stack([likes, visited - likes]))
    assert np.abs(seen[0] - seen[1]).sum() == 2


@settings(deadline=None)
@given(share=st.floats(-3, 3))
def test_a_visit_has_one_size(share):
    """Whatever the reward, also beyond its range: L1 of what it adds is what the noise is scaled
    for, in whole grains."""
    added = SumNoise(1.0).pair(share)
    assert np.abs(added).sum() == GRAIN
    assert added.min() >= 0


def test_a_visit_is_charged_what_it_loses(monkeypatch):
    """L1 distance / scale of the draw, in fractions, is at most the event's price, and that
    epsilon."""
    noise, scales = SumNoise(0.7), []
    monkeypatch.setattr(samplers, "discrete_laplace", lambda _, scale: scales.append(scale))
    noise.draw((1,))
    loss = Fraction(GRAIN) / Fraction(scales[0])
    assert loss <= Fraction(PureAccountant().add(noise.event).epsilon()) <= Fraction(0.7)


def test_noise_has_the_stated_variance():
    """Of 10,000 draws of the real sampler, within six standard errors; false alarm 1e-7."""
    noise = SumNoise(1.0)
    drawn = noise.draw((10_000,)) / GRAIN
    error = math.sqrt(5 * noise.variance**2 / drawn.size)  # the Laplace kurtosis is 6
    assert abs(drawn.var() - noise.variance) < 6 * error


def test_time_does_not_go_back():
    """An epoch that was released is not released again with fresh noise."""
    sums = EpochSums(1, 1, NOTHING)
    sums.release(3)
    with pytest.raises(PrivacyError, match="already"):
        sums.release(2)


def test_sums_exist_once():
    """A copy would release the same visits with other noise."""
    with pytest.raises(PrivacyError, match="copied"):
        copy.deepcopy(EpochSums(1, 1, NOTHING))
