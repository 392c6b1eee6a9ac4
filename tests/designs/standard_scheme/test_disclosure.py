"""What is disclosed about items predicts people who were not asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import CAP, FLOOR, MOST_OFFSET
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.estimates import (
    estimate_coupling,
    estimate_offsets,
    estimate_rating_chances,
)
from tacit.designs.standard_scheme.training.people import Statistics, sum_statistics
from tacit.designs.standard_scheme.training.tables import (
    FEWEST,
    estimate_tables,
    shrink_to_bounds,
)

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
        return sum_statistics(
            self.levels,
            self.labels,
            self.parts,
            n_values=self.values,
            n_levels=LEVELS,
            n_parts=8,
        )


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
    statistics = sum_statistics(
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


def simulated_counts(seed, sd=0.5, items=4000, people=(300, 700)):
    """Counts of who rated what, drawn from known shares."""
    generator = np.random.default_rng(seed)
    base = generator.normal(-2, 0.8, items)
    odds = generator.normal(0.0, sd, items)
    true = 1 / (1 + np.exp(-np.stack([base + odds / 2, base - odds / 2])))
    counts = generator.binomial(np.array(people)[:, None], true)
    statistics = Statistics(
        people=np.array([people], dtype=float),
        counts=counts[None].astype(float),
        sums=np.zeros((1, 2, items)),
        histogram=None,
    )
    return statistics, true


def log_odds_ratio(shares):
    odds = np.log(shares) - np.log1p(-shares)
    return odds[0] - odds[1]


def test_posterior_shares_are_calibrated():
    """Among items of like estimated odds ratio, the true ratios average to the estimate.

    True on estimated has slope 1 within 5 % on 4,000 items; add-one smoothing is far off.
    """
    statistics, true = simulated_counts(5)
    slopes = {}
    for shrink in (True, False):
        estimated = log_odds_ratio(estimate_rating_chances(statistics, shrink=shrink))
        slopes[shrink] = np.polyfit(estimated, log_odds_ratio(true), 1)[0]
    assert slopes[True] == pytest.approx(1, abs=0.05)
    assert slopes[False] < 0.9


def test_posterior_shares_are_nearer_to_the_truth():
    """Posterior odds ratios miss the true ones by less than smoothed ones, in the mean."""
    statistics, true = simulated_counts(6)
    errors = [
        rms(log_odds_ratio(estimate_rating_chances(statistics, shrink=how)) - log_odds_ratio(true))
        for how in (True, False)
    ]
    assert errors[0] < 0.9 * errors[1]


def tables_of(world, **how):
    statistics = world.statistics()
    values = ("a", "b", "c")[: world.values]
    return estimate_tables(values, statistics, statistics.counts.sum(axis=(0, 1)), **how)


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize(("shrink", "largest"), [(True, CAP), (False, MICRO)])
def test_everybody_shows_alike(values, shrink, largest):
    """By its own estimates, the disclosed chances show each item equally often for every value.

    The largest chance of an item is the cap; as published it is 1, which makes a known item that is
    not shown a certificate.
    """
    world = World(8, values=values, which=0.5)
    made = tables_of(world, shrink=shrink)
    rates = estimate_rating_chances(world.statistics(), shrink=shrink) * made.keep / MICRO
    np.testing.assert_allclose(rates, np.broadcast_to(rates[:1], rates.shape), atol=2e-6)
    assert set(made.keep.max(axis=0)) <= {largest, 0}


def test_an_item_that_one_value_hardly_rates_has_no_chance():
    """Where a value would show an item with less than the floor, nobody's device decides it."""
    people = np.array([[5000.0, 5000.0]])
    counts = np.array([[[3000.0, 3000.0, 2000.0], [20.0, 100.0, 1500.0]]])
    statistics = Statistics(people, counts, 2 * counts, None)
    made = estimate_tables(("F", "M"), statistics, statistics.counts.sum(axis=(0, 1)))
    assert made.keep[:, 0].tolist() == [0, 0]
    assert made.keep[1].tolist() == [0, CAP, CAP]
    assert FLOOR <= made.keep[0, 1] < made.keep[0, 2] < CAP


def test_items_with_few_raters_are_left_out():
    """An item with fewer than ten raters has no chance and no offset, whatever they rated."""
    world = World(12)
    few = world.levels[:, :2].toarray()
    few[FEWEST - 1 :, 0], few[FEWEST:, 1] = 0, 0
    few[:FEWEST] = [[4, 4]] * FEWEST
    few[FEWEST - 1 :, 0] = 0
    rows, columns = np.nonzero(few)
    some = sparse.csr_array((few[rows, columns], (rows, columns)), shape=few.shape)
    statistics = sum_statistics(some, world.labels, world.parts, n_values=2, n_levels=5, n_parts=8)
    assert statistics.counts.sum(axis=(0, 1)).tolist() == [FEWEST - 1, FEWEST]
    made = estimate_tables(("F", "M"), statistics, statistics.counts.sum(axis=(0, 1)))
    assert made.keep[:, 0].tolist() == [0, 0]
    assert made.keep[:, 1].max() == CAP
    assert not made.offsets[:, 0].any()


@pytest.mark.parametrize("more", [1, 2])
def test_tables_come_from_rounded_counts(more):
    """One or two ratings more of an item, inside a multiple of five, change no number of it."""
    counts = np.array([[[100.0, 60.0], [150.0, 60.0]]])
    sums = 2.5 * counts
    other = counts + np.array([[[more, 0], [0, 0]]])
    tables = [
        estimate_tables(
            ("F", "M"),
            Statistics(np.array([[300.0, 300.0]]), each, sums + 2.5 * (each - counts), None),
            each.sum(axis=(0, 1)),
        )
        for each in (counts, other)
    ]
    np.testing.assert_array_equal(tables[0].keep, tables[1].keep)
    np.testing.assert_array_equal(tables[0].offsets, tables[1].offsets)


def test_a_star_of_one_person_moves_no_offset():
    """The deviation of a value's stars is rounded, too: a single star does not show in it."""
    world = World(13)
    statistics = world.statistics()
    changed = statistics.sums.copy()
    changed[0, 0, 3] += 1
    other = Statistics(statistics.people, statistics.counts, changed, statistics.histogram)
    before, after = estimate_offsets(statistics)[:, 3], estimate_offsets(other)[:, 3]
    assert abs(before - after).max() < 1e-12 or abs(before - after).max() > 0.02


def test_offsets_end_at_half_a_level(tables):
    """Over all attributes an item's offsets add up to half a level at most, and keep their sign."""
    made = {"gender": tables(1), "age": tables(2, values=("a", "b", "c"))}
    made = {name: replace(table, offsets=7 * table.offsets) for name, table in made.items()}
    bounded = shrink_to_bounds(made)
    largest = sum(np.abs(table.offsets).max(axis=0) for table in bounded.values())
    assert largest.max() <= MOST_OFFSET
    assert largest.max() > MOST_OFFSET - 5
    for name, table in bounded.items():
        assert (np.sign(table.offsets) * np.sign(made[name].offsets) >= 0).all()
    small = {"gender": tables(1)}
    np.testing.assert_array_equal(
        shrink_to_bounds(small)["gender"].offsets, small["gender"].offsets
    )


@pytest.mark.parametrize("release", ["scheme+selection+rounding", "coupling+selection"])
@pytest.mark.parametrize("values", [2, 3])
def test_devices_follow_what_is_estimated(disclose, release, values):
    """The estimated tables pass a device's own checks, for rare items and strong gaps as well."""
    world = World(14, values=values, gap=0.6, which=1.5)
    made = shrink_to_bounds({"group": tables_of(world, coupling=True)})
    Device(disclose(release, made), {"group": "a"}, State(created=0), bytes(32))


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
    everything = np.ones(20, dtype=bool)
    released = np.einsum("vil,vilk->vik", own, estimate_coupling(statistics, everything))
    apart = rms(released - released.mean(axis=0))
    assert apart < rms(own - own.mean(axis=0)) / 3


@pytest.mark.parametrize("seed", range(3))
def test_coupling_hardly_moves_stars_of_groups_alike(seed):
    """Where groups rate alike, raw distributions differ by chance alone, and smoothed ones hardly:
    fewer than 3 % of all levels are released as another, over 10 % without smoothing."""
    alike = World(seed, gap=0.0).statistics()
    coupling = estimate_coupling(alike, np.ones(150, dtype=bool))
    kept = np.diagonal(coupling, axis1=-2, axis2=-1)
    assert kept.mean() > 0.97


def test_coupling_rows_are_chances():
    """Each row of a coupling is a distribution over the released levels."""
    coupling = estimate_coupling(World(10).statistics(), np.arange(150) % 2 == 0)
    np.testing.assert_allclose(coupling.sum(axis=-1), 1)
    assert (coupling > 0).all()
    np.testing.assert_array_equal(coupling[0, 1], coupling[1, 1])  # one left out


def test_items_that_nobody_rated(disclose):
    """An unrated item gets no offset and no chance, and its tables make a valid message."""
    world = World(11, items=30)
    empty = sparse.csr_array(
        (world.levels.data, world.levels.indices, world.levels.indptr), shape=(400, 31)
    )
    statistics = sum_statistics(
        empty, world.labels, world.parts, n_values=2, n_levels=LEVELS, n_parts=8
    )
    made = estimate_tables(
        ("F", "M"), statistics, statistics.counts.sum(axis=(0, 1)), coupling=True
    )
    assert (made.offsets[:, 30] == 0).all()
    assert (made.keep[:, 30] == 0).all()
    assert disclose("coupling", {"gender": made}).encode()
