"""The release costs what it says, whatever one person rates; without noise it is its own twin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import ZCDPAccountant
from tacit.accounting.events import NonPrivate, compose
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.synthetic_domains import generate_domains
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease
from tacit.recommenders.xmap.release import ReleaseSettings, events, release

SMALL = ReleaseSettings(factors=3, head=8, sweeps=(0.3, 0.4))
EPSILON, DELTA = 1.0, 1e-6


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return generate_domains(300, (30, 30), 12.0, factors=3, seed=1)


def extreme(ratings: Ratings, stars: np.ndarray) -> Ratings:
    """The same people and, as number 0, somebody who rated every item."""
    users = np.concatenate([np.zeros(ratings.n_items, np.int32), ratings.users + 1])
    return replace(
        ratings,
        users=users.astype(np.int32),
        items=np.concatenate([np.arange(ratings.n_items, dtype=np.int32), ratings.items]),
        values=np.concatenate([stars, ratings.values]),
        user_ids=np.arange(ratings.n_users + 1),
    )


class Transcript:
    """Stands in for the sampler: answers with what went in, or with an earlier run's answers."""

    def __init__(self, answers: list[np.ndarray] | None = None) -> None:
        self.asked: list[tuple[np.ndarray, float]] = []
        self.answers: Iterator[np.ndarray] | None = iter(answers) if answers else None

    def __call__(self, values: np.ndarray, sigma: float) -> np.ndarray:
        self.asked.append((values.copy(), sigma))
        return values.copy() if self.answers is None else next(self.answers)


def loss(monkeypatch: pytest.MonkeyPatch, present: Ratings, absent: Ratings) -> float:
    """rho between two neighbours, for one transcript: the same answers are given to both, so that
    later sums start from the same released numbers, and what was asked is compared."""
    first = Transcript()
    monkeypatch.setattr(samplers, "discrete_gaussian", first)
    release(present, epsilon=EPSILON, delta=DELTA, settings=SMALL)
    second = Transcript([values for values, _ in first.asked])
    monkeypatch.setattr(samplers, "discrete_gaussian", second)
    release(absent, epsilon=EPSILON, delta=DELTA, settings=SMALL)
    return math.fsum(
        float(((with_her - without).astype(float) ** 2).sum()) / (2 * sigma**2)
        for (with_her, sigma), (without, _) in zip(first.asked, second.asked, strict=True)
    )


def rho() -> float:
    return ZCDPAccountant().add(compose(*events(SMALL, EPSILON, DELTA))).rho


@pytest.mark.parametrize("kind", ["all fives", "fives and ones", "random"])
def test_one_person_changes_no_more_than_is_charged(monkeypatch, ratings, kind):
    """Somebody who rated everything, against nobody: the loss of all sums together, along the same
    transcript, is within the rho of the events."""
    stars = {
        "all fives": np.full(ratings.n_items, 5.0),
        "fives and ones": np.where(np.arange(ratings.n_items) % 2, 5.0, 1.0),
        "random": np.random.default_rng(2).integers(1, 6, ratings.n_items).astype(float),
    }[kind]
    found = loss(monkeypatch, extreme(ratings, stars), ratings)
    assert 0.05 * rho() < found <= rho()


@pytest.mark.parametrize("person", [0, 7, 299])
def test_nobody_changes_more_than_is_charged(monkeypatch, ratings, person):
    """People as they come: each is worth at most what the events say."""
    others = ratings.of_users(np.delete(np.arange(ratings.n_users), person))
    assert loss(monkeypatch, ratings, others) <= rho()


@pytest.mark.parametrize("mechanism", [SumRelease, GramRelease])
def test_a_clip_left_out_is_caught(monkeypatch, ratings, mechanism):
    """The test above has teeth: with the clip of either mechanism gone, it fails."""

    def unclipped(self, given):
        values = getattr(given, "values", given)
        return np.trunc(values / self.resolution).astype(np.int64)

    monkeypatch.setattr(mechanism, "clipped", unclipped)
    stars = np.where(np.arange(ratings.n_items) % 2, 5.0, 1.0)
    assert loss(monkeypatch, extreme(ratings, stars), ratings) > rho()


def test_what_is_drawn_is_what_is_charged(monkeypatch, ratings):
    """Each mechanism that is called has its event in the list, and no event is without one."""
    called = []
    for mechanism in (SumRelease, GramRelease):

        def noted(self, given, original=mechanism.__call__):
            called.append(self.event)
            return original(self, given)

        monkeypatch.setattr(mechanism, "__call__", noted)
    release(ratings, epsilon=EPSILON, delta=DELTA, settings=SMALL)
    assert sorted(map(repr, called)) == sorted(map(repr, events(SMALL, EPSILON, DELTA)))


@settings(max_examples=30)
@given(
    st.floats(0.01, 20),
    st.floats(1e-12, 0.1),
    st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
)
def test_the_total_is_within_the_claim(epsilon, delta, sweeps):
    """Whatever the shares, all events together cost at most (epsilon, delta), and nearly that."""
    chosen = ReleaseSettings(sweeps=tuple(sweeps))
    total = ZCDPAccountant().add(compose(*events(chosen, epsilon, delta))).epsilon(delta)
    assert 0.999 * epsilon < total <= epsilon


def test_without_noise_nothing_is_promised(ratings):
    """The twin's events are those of no privacy."""
    assert set(events(SMALL, math.inf, DELTA)) == {NonPrivate()}


def test_the_twin_neither_clips_nor_draws(monkeypatch, ratings):
    """At epsilon inf the sampler is not asked, no norm has a say, and counts are exact."""
    monkeypatch.setattr(samplers, "discrete_gaussian", None)
    first, second = (
        release(ratings, epsilon=math.inf, delta=DELTA, settings=replace(SMALL, clip=clip))
        for clip in (0.01, 100.0)
    )
    for name, array in first.arrays().items():
        assert (array == second.arrays()[name]).all()
    np.testing.assert_allclose(
        first.counts, np.maximum(np.bincount(ratings.items, minlength=60), 1), rtol=1e-9
    )


def test_little_noise_comes_near_the_twin(ratings):
    """With noise a millionth of anything and norms beyond everybody, the same item numbers."""
    wide = replace(SMALL, clip=30.0, usual_ratings=200.0)
    twin, near = (
        release(ratings, epsilon=epsilon, delta=DELTA, settings=wide)
        for epsilon in (math.inf, 1e16)
    )
    assert np.abs(twin.means - near.means).mean() < 0.1
    assert np.abs(twin.counts - near.counts).max() < 0.3 * twin.counts.max()


def test_two_releases_draw_different_noise(ratings):
    """Noise comes fresh from the system; no seed makes it repeat."""
    first, second = (
        release(ratings, epsilon=EPSILON, delta=DELTA, settings=SMALL) for _ in range(2)
    )
    assert (first.means != second.means).any()


def test_unrated_items(ratings):
    """Every item of the catalogue gets finite numbers, rated or not."""
    few = ratings.where(ratings.items < 50)
    model = release(few, epsilon=EPSILON, delta=DELTA, settings=SMALL)
    assert all(np.isfinite(array).all() for array in model.arrays().values())
    assert (model.variances > 0).all()
    assert (model.counts >= 1).all()


def test_other_scales(ratings, monkeypatch):
    """Stars of 0, 25, ... 100 are as good as 1 to 5: with equal noise, means are the same on the
    other scale, but for rounding to integers. A stand-in for the sampler makes the noise equal."""
    monkeypatch.setattr(samplers, "discrete_gaussian", Transcript())
    hundred = replace(ratings, values=25 * (ratings.values - 1), scale=RatingScale(0, 100, 25))
    few, many = (
        release(each, epsilon=EPSILON, delta=DELTA, settings=SMALL) for each in (ratings, hundred)
    )
    np.testing.assert_allclose(many.means, 25 * (few.means - 1), atol=0.02)
    assert np.ptp(many.means) > 10


def test_nobody_at_all(ratings):
    """An empty table is a table like another: the noise is released, no error says so."""
    nobody = ratings.where(np.zeros(len(ratings), dtype=bool))
    model = release(nobody, epsilon=EPSILON, delta=DELTA, settings=SMALL)
    assert np.isfinite(model.predict(np.array([1]), np.array([4.0]))).all()


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (1.0, 0.0), (1.0, 1.0)]
)
def test_no_guarantee_is_refused(ratings, epsilon, delta):
    """An epsilon or delta that promises nothing."""
    with pytest.raises(ConfigError):
        release(ratings, epsilon=epsilon, delta=delta, settings=SMALL)


@pytest.mark.parametrize(
    "bad", [{"factors": 0}, {"head": 1}, {"clip": 0.0}, {"counts": math.nan}, {"sweeps": (-0.1,)}]
)
def test_settings_in_range(bad):
    """A public choice that makes no sense."""
    with pytest.raises(ConfigError):
        ReleaseSettings(**bad)


def test_one_item_is_no_catalogue():
    """Nothing can be told about another domain from one item."""
    alone = Ratings.from_arrays([1, 2], [1, 1], [3.0, 4.0])
    with pytest.raises(DataError, match="two items"):
        release(alone, epsilon=EPSILON, delta=DELTA, settings=SMALL)
