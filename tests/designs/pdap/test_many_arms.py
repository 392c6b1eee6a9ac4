"""Sums of 1,000 arms: a fault may begin above a number of arms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.features import GRAINS, Features
from tacit.designs.pdap.sums import EpochSums, SumNoise
from tacit.errors import PrivacyError

ARMS = 1000
FEATURES = Features(1, 3)


def in_grains(sums: EpochSums) -> np.ndarray:
    """Release; (arms, 2, terms) likes and dislikes in grains."""
    release = sums.release(0)
    pair = np.stack([release.likes, release.visits - release.likes], axis=1)
    return np.rint(GRAINS * pair).astype(np.int64)


def test_every_number_of_every_arm_has_noise_of_its_own() -> None:
    """None is exact, and hundreds at a time have the spread of the noise; false alarms: 1e-6."""
    noise = SumNoise(1.0, FEATURES.bound_in_grains)
    released = in_grains(EpochSums(ARMS, FEATURES.terms, noise)).astype(float)
    assert (released != 0).all()
    flat = released.ravel()
    assert len(np.unique(flat)) > 0.99 * len(flat)
    for part in np.array_split(np.abs(flat), 8):
        # |Laplace| has mean and deviation `scale`: 6 deviations of a mean of len(part) numbers.
        assert part.mean() / noise.scale == pytest.approx(1, abs=6 / math.sqrt(len(part)))


def test_one_visit_to_any_arm_changes_the_sums_by_the_bound_at_most() -> None:
    """Exact sums of 1,000 arms, with a visit to each and one more to arms drawn at random."""
    draws = np.random.default_rng(7)
    no_noise = SumNoise(math.inf, FEATURES.bound_in_grains)
    arms, contexts = np.arange(ARMS), draws.random((ARMS, 1))
    rewards = draws.random(ARMS)
    for arm in (0, 999, *draws.integers(0, ARMS, 20).tolist()):
        worlds = []
        for learned in (False, True):
            sums = EpochSums(ARMS, FEATURES.terms, no_noise)
            sums.add(arms, FEATURES.evaluate(contexts), rewards)
            if learned:
                sums.add(np.array([arm]), FEATURES.evaluate(np.array([[1.0]])), np.array([1.0]))
            worlds.append(in_grains(sums))
        change = np.abs(worlds[1] - worlds[0])
        assert 0 < change.sum() <= no_noise.bound
        assert set(np.flatnonzero(change.sum(axis=(1, 2)))) == {arm}


def test_a_visit_beyond_the_bound_is_refused_at_any_arm() -> None:
    """Also where 999 others beside it are within."""
    sums = EpochSums(ARMS, FEATURES.terms, SumNoise(1.0, FEATURES.bound_in_grains))
    phi = np.repeat(FEATURES.evaluate(np.array([[0.5]])), ARMS, axis=0)
    phi[-1] *= 10
    with pytest.raises(PrivacyError, match="larger than the bound"):
        sums.add(np.arange(ARMS), phi, np.ones(ARMS))
