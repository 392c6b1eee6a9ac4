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
from tacit.designs.pdap.features import GRAINS, Features
from tacit.designs.pdap.sums import EpochSums, SumNoise, pairs_in_grains
from tacit.errors import DataError, PrivacyError
from tacit.mechanisms import samplers

FEATURES = Features(1, 3)
NO_NOISE = SumNoise(math.inf, FEATURES.bound_in_grains)
visits = st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0, 1))


def add(sums, arm, context, reward):
    sums.add(np.array([arm]), FEATURES.evaluate(np.array([[context]])), np.array([reward]))


def released(sums, epoch):
    """Likes and dislikes, in grains."""
    release = sums.release(epoch)
    pair = np.stack([release.likes, release.visits - release.likes])
    return np.rint(GRAINS * pair).astype(np.int64)


def test_six_visits_add_up():
    """The sums of six visits: likes and dislikes of two arms."""
    sums = EpochSums(2, 4, NO_NOISE)
    contexts = np.array([[0.1], [0.2], [0.35], [0.6], [0.75], [0.9]])
    rewards = np.array([1.0, 0, 1, 1, 0, 1])
    sums.add(np.array([0, 1] * 3), FEATURES.evaluate(contexts), rewards)
    release = sums.release(0)
    likes = [[2, -1.022327, 0.050339, 0.310267], [2, 0.922328, -0.024661, -0.207767]]
    dislikes = [[1, 0.5, -0.125, -0.4375], [1, -0.599999, 0.04, 0.36]]
    assert np.allclose(release.likes, likes, atol=2e-6)
    assert np.allclose(release.visits - release.likes, dislikes, atol=2e-6)


@settings(deadline=None)
@given(
    stream=st.lists(visits, min_size=1, max_size=20),
    ends=st.sets(st.integers(1, 20)),
    data=st.data(),
)
def test_one_visit_is_in_one_epoch(stream, ends, data):
    """One visit not learned changes all releases together by the bound at most, however many."""
    gone = data.draw(st.integers(0, len(stream) - 1))
    releases = []
    for left_out in (None, gone):
        sums = EpochSums(2, 4, NO_NOISE)
        seen = []
        for number, visit in enumerate(stream):
            if number != left_out:
                add(sums, *visit)
            if number + 1 in ends:
                seen.append(released(sums, number))
        releases.append(seen)
    change = sum(int(np.abs(a - b).sum()) for a, b in zip(*releases, strict=True))
    assert change <= FEATURES.bound_in_grains


def test_a_replaced_visit_counts_twice():
    """Another context, arm and reward, both as long as the bound: nearly twice the bound."""
    seen = []
    for arm, context, reward in ((0, 1.0, 1.0), (1, 0.0, 0.0)):
        sums = EpochSums(2, 4, NO_NOISE)
        add(sums, arm, context, reward)
        seen.append(released(sums, 0))
    change = np.abs(seen[0] - seen[1]).sum()
    assert change == pytest.approx(2 * FEATURES.bound_in_grains, abs=10)
    assert change <= 2 * FEATURES.bound_in_grains


@settings(deadline=None)
@given(context=st.floats(0, 1), reward=st.floats(-3, 3))
def test_a_visit_has_the_size_of_its_features(context, reward):
    """Whatever the reward, also beyond its range, likes and dislikes divide |q| and add nothing."""
    phi = FEATURES.evaluate(np.array([[context]]))
    pair = pairs_in_grains(phi, np.array([reward]))[0]
    q = np.trunc(GRAINS * phi[0])
    assert np.array_equal(np.abs(pair).sum(axis=0), np.abs(q))
    assert np.array_equal(pair.sum(axis=0), q)


def test_a_visit_beyond_the_bound_is_refused():
    """Nothing of it is learned, nor of those that come with it."""
    sums = EpochSums(1, 4, NO_NOISE)
    with pytest.raises(PrivacyError, match="larger than the bound"):
        sums.add(np.array([0, 0]), np.array([[1.0, 0, 0, 0], [1.0, 2.0, 0, 0]]), np.ones(2))
    assert not sums.export_state()[0].any()


def test_a_reward_that_is_no_number_is_refused():
    """NaN is not learned as anything."""
    sums = EpochSums(1, 4, NO_NOISE)
    with pytest.raises(DataError):
        add(sums, 0, 0.5, math.nan)
    assert not sums.export_state()[0].any()


def test_a_visit_is_charged_what_it_loses(monkeypatch):
    """L1 distance / scale of the draw, in fractions, is at most the event's price, and that
    epsilon."""
    noise = SumNoise(0.7, FEATURES.bound_in_grains)
    scales = []
    monkeypatch.setattr(samplers, "discrete_laplace", lambda _, scale: scales.append(scale))
    noise.add_to(np.zeros(1, dtype=np.int64))
    loss = Fraction(noise.bound) / Fraction(scales[0])
    assert loss <= Fraction(PureAccountant().add(noise.event).epsilon()) <= Fraction(0.7)


def test_noise_has_the_stated_variance():
    """Of 10,000 draws of the real sampler, within six standard errors; false alarm 1e-7."""
    noise = SumNoise(1.0, FEATURES.bound_in_grains)
    drawn = noise.add_to(np.zeros(10_000, dtype=np.int64)).astype(np.float64)
    variance = 2 * noise.scale**2
    error = math.sqrt(5 * variance**2 / drawn.size)  # the Laplace kurtosis is 6
    assert abs(drawn.var() - variance) < 6 * error


def test_an_epoch_is_released_once():
    """A second release of it, with fresh noise, is refused."""
    sums = EpochSums(1, 4, NO_NOISE)
    sums.release(3)
    for epoch in (3, 2):
        with pytest.raises(PrivacyError, match="already"):
            sums.release(epoch)


def test_sums_exist_once():
    """A copy would release the same visits with other noise."""
    with pytest.raises(PrivacyError, match="copied"):
        copy.deepcopy(EpochSums(1, 1, NO_NOISE))


@pytest.mark.parametrize("feature", [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e15])
def test_no_feature_slips_through_the_bound(feature):
    """What no whole number holds is refused before it is cut to grains; nothing is learned."""
    sums = EpochSums(1, 3, SumNoise(1.0, 3 * GRAINS))
    phi = np.array([[1.0, feature, 0.0]])
    with pytest.raises((PrivacyError, DataError)):
        sums.add(np.array([0]), phi, np.array([1.0]))
    assert not sums.export_state()[0].any()
