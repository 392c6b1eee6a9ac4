"""What is disclosed about items predicts people who were not asked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.recommenders.standard_scheme.disclosure import (
    Tables,
    estimate_coupling,
    estimate_offsets,
    estimate_shown,
    estimate_tables,
)
from tacit.recommenders.standard_scheme.messages import MICRO
from tacit.recommenders.standard_scheme.statistics import Activity, collect, collect_activity

LEVELS = 5


class World:
    """Stars of people with two values of an attribute, on 150 items, with known half gaps."""

    def __init__(self, seed, people=400, items=150, gap=0.1, values=2, which=0.0):
        generator = np.random.default_rng(seed)
        self.labels = np.arange(people) % values
        self.means = generator.normal(2.5, 0.4, items)
        self.offsets = generator.normal(0, gap, (values, items))
        self.offsets -= self.offsets.mean(axis=0)
        odds = generator.normal(-1.5, 0.7, items) + generator.normal(0, which, (values, items))
        self.shares = 1 / (1 + np.exp(-odds))
        shown = generator.random((people, items)) < self.shares[self.labels]
        rows, columns = np.nonzero(shown)
        stars = self.means[columns] + self.offsets[self.labels[rows], columns]
        stars = np.round(stars + generator.normal(0, 0.9, len(rows))).clip(0, LEVELS - 1)
        self.levels = sparse.csr_array((stars, (rows, columns)), shape=(people, items))
        self.parts = generator.integers(0, 8, people)
        self.values = values

    def statistics(self):
        return collect(
            self.levels,
            self.labels,
            self.parts,
            n_values=self.values,
            n_levels=LEVELS,
            n_parts=8,
        )

    def activity(self, strata=1):
        return collect_activity(self.levels, self.labels, n_values=self.values, strata=strata)


def rms(numbers):
    return np.sqrt(np.mean(np.square(numbers)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("values", [2, 3])
def test_shrunk_offsets_are_nearer_to_the_truth(seed, values):
    """Offsets shrunk by cross-validation miss the true ones by less than raw gaps, or none, do."""
    world = World(seed, values=values)
    shrunk = rms(estimate_offsets(world.statistics()) - world.offsets)
    raw = rms(estimate_offsets(world.statistics(), shrink=False) - world.offsets)
    assert shrunk < 0.85 * raw
    assert shrunk < rms(world.offsets)


@pytest.mark.parametrize("seed", range(3))
def test_shrunk_offsets_predict_other_people(seed):
    """On people who were not asked, shrunk offsets leave a smaller squared error than raw gaps."""
    world = World(seed)
    asked = np.arange(400) < 200
    statistics = collect(
        world.levels[asked],
        world.labels[asked],
        world.parts[asked],
        n_values=2,
        n_levels=LEVELS,
        n_parts=8,
    )
    others = world.levels[~asked].tocoo()
    rows, items = others.coords
    labels = world.labels[~asked][rows]

    def error(offsets):
        residuals = others.data - offsets[labels, items]
        counts = np.bincount(items, minlength=150)
        means = np.bincount(items, residuals, minlength=150) / np.maximum(counts, 1)
        return np.sum((residuals - means[items]) ** 2)

    shrunk, raw = (error(estimate_offsets(statistics, shrink=how)) for how in (True, False))
    assert shrunk < raw
    assert shrunk < error(np.zeros((2, 150)))


def test_no_gap_no_offset():
    """Where groups rate alike, raw gaps are all noise and the shrunk ones nearly nothing."""
    world = World(1, gap=0.0)
    shrunk, raw = (estimate_offsets(world.statistics(), shrink=how) for how in (True, False))
    assert rms(shrunk) < 0.25 * rms(raw)


def test_raw_offsets_are_half_gaps():
    """Unshrunk, with two values, an offset is plus or minus half the gap of the two means."""
    world = World(2)
    statistics = world.statistics()
    means = statistics.sums.sum(axis=0) / statistics.counts.sum(axis=0)
    half = (means[0] - means[1]) / 2
    np.testing.assert_allclose(estimate_offsets(statistics, shrink=False), [half, -half])


@pytest.mark.parametrize("values", [2, 3, 5])
def test_offsets_sum_to_nothing(values):
    """Offsets of all values of an item add up to 0: the item's mean stays where it is."""
    offsets = estimate_offsets(World(3, values=values).statistics())
    np.testing.assert_allclose(offsets.sum(axis=0), 0, atol=1e-12)


def simulated_activity(seed, sd=0.5, items=4000, people=(300, 700)):
    """Counts of who rated what, drawn from known shares."""
    generator = np.random.default_rng(seed)
    base = generator.normal(-2, 0.8, items)
    odds = generator.normal(0.0, sd, items)
    true = 1 / (1 + np.exp(-np.stack([base + odds / 2, base - odds / 2])))
    counts = generator.binomial(np.array(people)[:, None], true)
    activity = Activity(
        bounds=np.zeros((2, 0), dtype=np.int64),
        people=np.array([people], dtype=float),
        counts=counts[None].astype(float),
    )
    return activity, true


def log_odds_ratio(shares):
    odds = np.log(shares) - np.log1p(-shares)
    return odds[0] - odds[1]


def test_posterior_shares_are_calibrated():
    """Among items of like estimated odds ratio, the true ratios average to the estimate.

    True on estimated has slope 1 within 5 % on 4,000 items; add-one smoothing is far off.
    """
    activity, true = simulated_activity(5)
    slopes = {}
    for shrink in (True, False):
        estimated = log_odds_ratio(estimate_shown(activity, shrink=shrink)[0])
        slopes[shrink] = np.polyfit(estimated, log_odds_ratio(true), 1)[0]
    assert slopes[True] == pytest.approx(1, abs=0.05)
    assert slopes[False] < 0.9


def test_posterior_shares_are_nearer_to_the_truth():
    """Posterior odds ratios miss the true ones by less than smoothed ones, in the mean."""
    activity, true = simulated_activity(6)
    errors = [
        rms(log_odds_ratio(estimate_shown(activity, shrink=how)[0]) - log_odds_ratio(true))
        for how in (True, False)
    ]
    assert errors[0] < 0.9 * errors[1]


def test_shown_strata_share_an_odds_ratio():
    """Two strata with half of the people each tell the ratio as well as all people in one."""
    activity, true = simulated_activity(7, people=(300, 300))
    split = np.random.default_rng(7).binomial(activity.counts[0].astype(int), 0.5)
    two = Activity(
        bounds=np.ones((2, 1), dtype=np.int64),
        people=np.array([[150.0, 150.0]] * 2),
        counts=np.stack([split, activity.counts[0] - split]).astype(float),
    )
    whole = rms(log_odds_ratio(estimate_shown(activity)[0]) - log_odds_ratio(true))
    for stratum in estimate_shown(two):
        assert rms(log_odds_ratio(stratum) - log_odds_ratio(true)) < 1.25 * whole


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("shrink", [True, False])
def test_everybody_shows_alike(values, shrink):
    """By its own estimates, the disclosed chances show each item equally often for every value."""
    world = World(8, values=values, which=0.5)
    activity = world.activity(strata=3)
    made = estimate_tables(("a", "b", "c")[:values], world.statistics(), activity, shrink=shrink)
    shown = estimate_shown(activity, shrink=shrink)
    rates = shown * made.keep.transpose(1, 0, 2) / MICRO
    np.testing.assert_allclose(rates, np.broadcast_to(rates[:, :1], rates.shape), atol=2e-6)
    assert (made.keep.max(axis=0) == MICRO).all()  # somebody shows all that she rated


@pytest.mark.parametrize("values", [2, 3])
def test_coupling_leads_everybody_to_the_same_stars(values):
    """Applied to the groups' own stars, the couplings give every group one distribution.

    Exact for the distributions that the estimate believes in; here the raw histograms of 3,000
    people, so up to sampling error. Without the coupling the groups are three times as far apart.
    """
    world = World(9, people=3000, items=20, gap=0.3, values=values)
    statistics = world.statistics()
    histogram = statistics.histogram.sum(axis=0)
    own = histogram / histogram.sum(axis=-1, keepdims=True)
    released = np.einsum("vil,vilk->vik", own, estimate_coupling(statistics))
    apart = rms(released - released.mean(axis=0))
    assert apart < rms(own - own.mean(axis=0)) / 3


def test_coupling_rows_are_chances():
    """Each row of a coupling is a distribution over the released levels."""
    coupling = estimate_coupling(World(10).statistics())
    np.testing.assert_allclose(coupling.sum(axis=-1), 1)
    assert (coupling >= 0).all()


def test_items_that_nobody_rated(disclose):
    """An unrated item gets no offset, keeps everything, and its tables make a valid message."""
    world = World(11, items=30)
    empty = sparse.csr_array(
        (world.levels.data, world.levels.indices, world.levels.indptr), shape=(400, 31)
    )
    statistics = collect(empty, world.labels, world.parts, n_values=2, n_levels=LEVELS, n_parts=8)
    activity = collect_activity(empty, world.labels, n_values=2, strata=2)
    made = estimate_tables(("F", "M"), statistics, activity, coupling=True)
    assert (made.offsets[:, 30] == 0).all()
    assert disclose("coupling", {"gender": made}).encode()


def test_tables_from_arrays_need_all_but_the_coupling(tables):
    """Read back without a coupling, tables have none; without anything else they are refused."""
    made = tables()
    arrays = {name: getattr(made, name) for name in Tables.__dataclass_fields__ if name != "values"}
    assert Tables.from_arrays(("F", "M"), arrays | {"coupling": None}).coupling is None
    with pytest.raises(KeyError):
        Tables.from_arrays(("F", "M"), arrays | {"keep": None})
