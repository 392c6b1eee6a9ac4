"""Generated clicks: smooth, with a known optimum, drawn with the chances that are stated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.clicks import contexts, generate
from tacit.errors import ConfigError


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.floats(0.2, 10), st.integers(0, 1000))
def test_means_are_lipschitz(dimension, lipschitz, seed):
    """No video's mean changes by more than L times the distance."""
    clicks = generate(vendors=2, videos=3, dimension=dimension, lipschitz=lipschitz, seed=seed)
    here = contexts(40, dimension, seed=seed)
    there = np.clip(here + np.random.default_rng(seed).normal(0, 0.05, here.shape), 0, 1)
    change = np.abs(clicks.means(here) - clicks.means(there))
    apart = np.linalg.norm(here - there, axis=1)[:, None]
    assert (change <= lipschitz * apart + 1e-9).all()


def test_constant_is_attained():
    """L is no larger than it need be: half way down a bump the slope is L."""
    clicks = generate(vendors=1, videos=1, dimension=1, lipschitz=3.0, seed=0)
    slope_at = clicks.centres[0, 0] + clicks.widths[0] / 2
    points = np.array([[slope_at - 1e-6], [slope_at + 1e-6]])
    assert np.ptp(clicks.mean(0, points)) / 2e-6 == pytest.approx(3.0, rel=1e-6)


def test_best_is_the_largest_mean():
    """The optimum over all vendors, video and mean, is what the table of means says."""
    clicks = generate(dimension=3, seed=1)
    points = contexts(200, 3, seed=2)
    means = clicks.means(points)
    arms, best = clicks.best(points)
    assert (best == means.max(axis=1)).all()
    assert (means[np.arange(200), arms] == best).all()


def test_vendors_own_disjoint_videos():
    """Every video belongs to exactly one vendor."""
    clicks = generate(vendors=3, videos=5, seed=0)
    assert [arm for vendor in range(3) for arm in clicks.videos_of(vendor)] == list(range(15))


def test_clicks_come_with_their_chances():
    """40,000 draws of one video at one point: the share of clicks is the mean, within 5 errors."""
    clicks = generate(seed=3)
    points = np.repeat(contexts(1, 2, seed=4), 40_000, axis=0)
    mean = clicks.mean(7, points[:1])[0]
    share = clicks.draw(7, points, seed=5).mean()
    assert abs(share - mean) < 5 * np.sqrt(mean * (1 - mean) / 40_000)


def test_one_video_for_each_context():
    """Videos given one by one have the means of the table."""
    clicks = generate(seed=3)
    points = contexts(80, 2, seed=4)
    arms = np.arange(80)
    assert (clicks.mean(arms, points) == clicks.means(points)[arms, arms]).all()


def test_same_seed_same_world():
    """A seed makes one world and one sample of contexts."""
    first, again, other = (generate(seed=seed) for seed in (1, 1, 2))
    assert (first.centres == again.centres).all()
    assert (first.heights == again.heights).all()
    assert not (first.centres == other.centres).any()


def test_crowds_are_unequal_and_stay_in_the_cube():
    """With crowds, contexts are in the cube, and some quarter holds far more than its share."""
    points = contexts(4000, 2, clusters=5, seed=0)
    assert points.min() >= 0
    assert points.max() <= 1
    quarters = np.bincount((points > 0.5).astype(int) @ [1, 2], minlength=4)
    assert quarters.max() > 1.5 * 1000


@pytest.mark.parametrize(
    "change",
    [{"vendors": 0}, {"dimension": 0}, {"lipschitz": 0}],
)
def test_nonsense_is_refused(change):
    """A world that cannot be is refused."""
    with pytest.raises(ConfigError):
        generate(**{"seed": 0, **change})
