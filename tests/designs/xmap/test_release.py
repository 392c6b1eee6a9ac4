"""The release costs what it says, whatever one person rates; without noise it is its own twin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as library
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import DiscreteGaussian, GDPAccountant, ZCDPAccountant, smallest_noise
from tacit.accounting.events import NonPrivate, compose
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.synthetic_domains import generate_domains
from tacit.designs.xmap.budget import noise_multipliers
from tacit.designs.xmap.release import ReleaseSettings, events, release
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease

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


def drawn(monkeypatch, ratings):
    """Of every mechanism that a release calls: its noise multiplier, the smallest parameter of its
    noise in steps, and how many numbers get noise."""
    seen, asked = [], []

    def sampler(values, sigma, original=samplers.discrete_gaussian):
        asked.append((sigma, values.size))
        return original(values, sigma)

    monkeypatch.setattr(samplers, "discrete_gaussian", sampler)
    for mechanism in (SumRelease, GramRelease):

        def noted(self, given, original=mechanism.__call__):
            asked.clear()
            answer = original(self, given)
            sigmas, sizes = zip(*asked, strict=True)
            seen.append((self.noise_multiplier, min(sigmas), sum(sizes)))
            return answer

        monkeypatch.setattr(mechanism, "__call__", noted)
    return seen


@pytest.mark.parametrize("usual", [1.0, 30.0])
@pytest.mark.parametrize("clip", [1e-3, 0.6, 1e3])
def test_what_is_drawn_is_what_is_charged(monkeypatch, ratings, usual, clip):
    """Each mechanism that is called has its event in the list, which states its noise, no finer
    grid and no fewer numbers; and no event is without a mechanism."""
    chosen = replace(SMALL, usual_ratings=usual, clip=clip)
    seen = drawn(monkeypatch, ratings)
    release(ratings, epsilon=EPSILON, delta=DELTA, settings=chosen)
    listed = sorted(events(chosen, EPSILON, DELTA), key=lambda event: event.noise_multiplier)
    for (noise, sigma, size), event in zip(sorted(seen), listed, strict=True):
        assert noise == event.noise_multiplier
        assert sigma >= event.sigma
        assert size <= event.entries


@settings(max_examples=30)
@given(
    st.floats(0.01, 20),
    st.floats(1e-12, 0.1),
    st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
)
def test_the_total_is_within_the_claim(epsilon, delta, sweeps):
    """Whatever the shares, all events together cost at most (epsilon, delta), and nearly that."""
    chosen = ReleaseSettings(sweeps=tuple(sweeps))
    total = GDPAccountant().add(compose(*events(chosen, epsilon, delta))).epsilon(delta)
    assert 0.999 * epsilon < total <= epsilon


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.067), (3.0, 0.060)])
def test_noise_is_below_what_zcdp_asks_for(epsilon, share):
    """At equal epsilon and delta 1e-6: by 6.7 and 6.0 per cent or more."""

    parts = noise_multipliers(ReleaseSettings(), epsilon, DELTA)

    def scaled(factor):
        return compose(*(DiscreteGaussian(factor * part) for part in parts))

    factor = smallest_noise(scaled, epsilon=epsilon, delta=DELTA, accountant=ZCDPAccountant)
    assert 1 - 1 / factor >= share


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_loss_distribution_of_the_release_agrees(epsilon):
    """All noise of the release, on a grid coarser than its own, composed by dp-accounting as
    discrete noise: epsilon is the claim but for its rounding, and at most half a per cent below."""
    steps = 32
    total = library.identity()
    for part in noise_multipliers(ReleaseSettings(), epsilon, DELTA):
        sigma = part * steps
        one = library.from_discrete_gaussian_mechanism(
            sigma, steps, truncation_bound=math.ceil(12 * sigma), use_connect_dots=True
        )
        total = total.compose(one)
    assert 0.995 * epsilon < total.get_epsilon_for_delta(DELTA) <= 1.001 * epsilon


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
    "bad",
    [
        {"factors": 0},
        {"head": 1},
        {"clip": 0.0},
        {"counts": math.nan},
        {"sweeps": (-0.1,)},
        {"usual_ratings": 0.9},
    ],
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
