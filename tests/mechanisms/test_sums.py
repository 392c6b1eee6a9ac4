"""Sums of sparse tables are clipped per person, as noisy as charged for, and exact in between."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing.gaussian import discrete_epsilon_of
from tacit.auditing.sampler_spy import intercept_samplers, measure_moves
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.sums import Contributions, SumRelease
from tests.support.mechanism_conformance import MechanismConformance

FALSE_ALARM = 1e-6
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([1.7e308, -1.7e308, 5e-324, -5e-324, -0.0])
PEOPLE = np.array([0, 0, 2, 2, 2, 5])
PLACES = np.array([0, 3, 0, 1, 2, 3])


def table(values: np.ndarray) -> Contributions:
    return Contributions(PEOPLE, PLACES, np.asarray(values, dtype=float))


def squares(steps: np.ndarray) -> list[int]:
    """Of each person, in Python's own integers."""
    owners = dict.fromkeys(PEOPLE.tolist(), 0)
    for person, row in zip(PEOPLE.tolist(), steps.tolist(), strict=True):
        owners[person] += sum(int(step) ** 2 for step in row)
    return list(owners.values())


@given(arrays(np.float64, (6, 2), elements=NUMBERS), st.sampled_from([0.7, 1.0, 3.0]))
def test_no_person_is_longer_than_the_norm(values, norm):
    """In exact integers, whatever the entries; a table within the norm moves less than a step."""
    release = SumRelease(1.0, 4, 2, norm)
    steps = release.clip_block(table(values))
    assert max(squares(steps)) <= release.squared_norm
    for person in set(PEOPLE.tolist()):
        mine = person == PEOPLE
        if np.abs(values[mine]).max() < 1e6 and np.linalg.norm(values[mine]) < 0.999 * norm:
            assert (np.abs(steps[mine] * release.resolution - values[mine]) < 2.0**-12).all()


@given(arrays(np.float64, (6, 2), elements=NUMBERS))
def test_a_clip_left_out_is_noticed(values):
    """The law above can fail: a clip at a norm that nobody reaches breaks it for a person who is
    too long."""
    release = SumRelease(1.0, 4, 2)
    loose = SumRelease(1.0, 4, 2, 200.0, release.resolution)
    values = np.clip(values, -50.0, 50.0)
    lengths = [np.linalg.norm(values[person == PEOPLE]) for person in (0, 2, 5)]
    assume(max(lengths) > 1.01)
    assert max(squares(loose.clip_block(table(values)))) > release.squared_norm


def test_a_person_is_scaled_by_herself():
    """Other people's entries do not change what is made of mine."""
    release = SumRelease(1.0, 4, 1)
    mine = Contributions(np.array([4, 4]), np.array([0, 2]), np.array([[3.0], [-4.0]]))
    both = Contributions(
        np.array([3, 4, 4]), np.array([0, 0, 2]), np.array([[900.0], [3.0], [-4.0]])
    )
    assert (release.clip_block(both)[1:] == release.clip_block(mine)).all()
    np.testing.assert_allclose(release.clip_block(mine)[:, 0] / 4096, [0.6, -0.8], atol=1 / 4096)


@given(st.integers(0, 2**32))
def test_a_neighbour_changes_the_sum_by_the_norm_at_most(seed):
    """The sums before noise, with one person and without, are an L2 distance of the norm apart."""
    values = np.random.default_rng(seed).standard_cauchy((6, 2))
    release = SumRelease(1.0, 4, 2)
    steps = release.clip_block(table(values))
    for person in set(PEOPLE.tolist()):
        change = np.zeros((4, 2), dtype=np.int64)
        np.add.at(change, PLACES[person == PEOPLE], steps[person == PEOPLE])
        assert math.sqrt((change**2).sum()) <= release.sigma / release.noise_multiplier


@given(st.floats(1e-100, 1e100), st.floats(1e-3, 1e3), st.floats(2.0**-12, 2.0**-10))
def test_sigma_is_never_below_what_is_charged(multiplier, norm, share):
    """In fractions: sigma^2 is at least multiplier^2 times the largest squared norm in steps."""
    release = SumRelease(multiplier, 3, 1, norm, norm * share)
    assert Fraction(release.sigma) ** 2 >= Fraction(multiplier) ** 2 * release.squared_norm


def test_without_noise_the_sum_is_exact_and_unclipped():
    """The twin: whatever the norm, the plain sum."""
    values = np.arange(12.0).reshape(6, 2) * 1e3
    expected = np.zeros((4, 2))
    np.add.at(expected, PLACES, values)
    assert (
        SumRelease(0.0, 4, 2, norm=1e-3, resolution=2.0**-20)([table(values)]) == expected
    ).all()


def spread_is_right(values: np.ndarray, sigma: float) -> bool:
    """Two-sided chi-square test of a variance around a known mean of zero."""
    cumulative = chi2.cdf((values**2).sum() / sigma**2, values.size)
    return 2 * min(cumulative, 1 - cumulative) > FALSE_ALARM


def test_noise_has_the_stated_spread():
    """Nobody there: entries spread by multiplier times norm (false alarm 1e-6); a sigma 20 per
    cent smaller is caught by the same test."""
    release = SumRelease(3.0, 400, 5, norm=2.0)
    noise = release([])
    assert release.deviation == pytest.approx(6.0)
    assert spread_is_right(noise, 6.0)
    assert not spread_is_right(0.8 * noise, 6.0)


def test_blocks_add_up():
    """The same sum in one block or in two, up to the noise, which here is a hundredth of a step."""
    release = SumRelease(1e-9, 4, 2)
    values = np.random.default_rng(1).normal(size=(6, 2))
    first, second = (
        Contributions(PEOPLE[part], PLACES[part], values[part])
        for part in (slice(0, 2), slice(2, 6))
    )
    assert (release([table(values)]) == release([first, second])).all()


def test_charged_once():
    """One price for the whole table: 1 / (2 m^2)."""
    assert ZCDPAccountant().add(SumRelease(2.0, 50, 3).event).rho == pytest.approx(1 / 8)


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (4, 1), (4, 2)])
def test_event_says_how_the_noise_is_drawn(rows, width):
    """As many draws as entries, none with a smaller sigma than stated: read from the samplers."""
    release = SumRelease(1.3, rows, width, 2.0, 2.0**-6)
    with intercept_samplers() as calls:
        release([])
    assert release.event.entries == sum(asked.values.size for asked in calls)
    assert release.event.sigma == min(asked.scale for asked in calls)


@pytest.mark.parametrize("resolution", [2.0**-1, 2.0**-3, 2.0**-6])
@pytest.mark.parametrize("entries", [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [9.0, 9.0, -9.0]])
def test_price_covers_the_exact_loss(entries, resolution):
    """Exact sums over the noises that the code asks for stay within the event's price, coarse grid
    or fine; on the fine one, a full table comes near it."""
    release = SumRelease(1.0, 3, 1, 1.0, resolution)

    def run(values):
        places = np.arange(3) if values.any() else np.arange(0)
        return release([Contributions(0 * places, places, values[places, None])])

    moved = measure_moves(run, np.array(entries), np.zeros(3))
    loss = discrete_epsilon_of(moved.steps.tolist(), moved.scales.tolist(), 1e-5)
    price = GDPAccountant().add(release.event).epsilon(1e-5)
    assert loss <= price
    if resolution == 2.0**-6 and entries == [1.0, 0.0, 0.0]:
        assert loss > 0.98 * price


@pytest.mark.parametrize(
    ("people", "places"),
    [([1, 0], [0, 0]), ([0, 0], [1, 1]), ([0, 0], [1, 0]), ([0, 1], [0, 4]), ([0, 1], [-1, 0])],
)
def test_what_would_pass_the_clipping_is_refused(people, places):
    """A person twice in one row, out of order, or a row that does not exist."""
    block = Contributions(np.array(people), np.array(places), np.ones((2, 1)))
    with pytest.raises(DataError):
        SumRelease(1.0, 4)([block])


class TestSums(MechanismConformance):
    """The shared suite, one person's numbers in each row of the data."""

    datasets = ([[1.0, 0.5], [2.0, 0.0], [0.0, 7.0]], [[0.0, 0.5], [2.0, 3.0], [1.0, 1.0]])

    def make(self, epsilon=1.0):
        return SumRelease(1 / epsilon, 3, 2)

    def exact(self, argument):
        return argument[::-1]

    def release(self, mechanism, argument, source=None):
        people = np.arange(3)
        return mechanism([Contributions(people, people[::-1], argument)])


def test_a_person_is_not_hidden_by_large_numbers():
    """Person, other person, person again: sorted by no rule, though person * rows + place, in 64
    bits, would wrap and rise."""
    block = Contributions(np.array([0, 2**54, 0]), np.array([0, 2, 5]), np.ones((3, 1)))
    with pytest.raises(DataError, match="sorted"):
        SumRelease(1.0, 1024)([block])


@given(
    st.lists(st.integers(0, 3) | st.sampled_from([2**54, 2**54 + 1, 2**63 - 1]), max_size=6),
    st.data(),
)
def test_order_is_that_of_pairs(people, data):
    """Accepted exactly if the pairs (person, place) ascend, however large they are."""
    places = [data.draw(st.sampled_from([0, 1, 2, 5, 1023])) for _ in people]
    pairs = list(zip(people, places, strict=True))
    block = Contributions(
        np.array(people, dtype=np.int64),
        np.array(places, dtype=np.int64),
        np.ones((len(people), 1)),
    )
    release = SumRelease(1.0, 1024)
    if pairs == sorted(set(pairs)):
        assert release.total([block]).shape == (1024, 1)
    else:
        with pytest.raises(DataError, match="sorted"):
            release.total([block])


@pytest.mark.parametrize(
    ("people", "places"),
    [
        (np.array([0.2, 0.7]), np.array([0, 1])),
        (np.array([0, 0]), np.array([0.0, 1.0])),
        (np.array([0, 1], dtype=np.uint64), np.array([0, 1])),
        (np.array([False, True]), np.array([0, 1])),
        (np.array(["0", "1"]), np.array([0, 1])),
        (np.array([[0], [1]]), np.array([[0], [1]])),
    ],
)
def test_columns_are_integers(people, places):
    """Fractions would be one person here and two there, and a cast might make one of two."""
    with pytest.raises(DataError, match="integers"):
        SumRelease(1.0, 4)([Contributions(people, places, np.ones((2, 1)))])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_any_integers_that_fit_are_taken(dtype):
    """The same steps whatever the columns' width: a difference of small integers does not wrap."""
    one = Contributions(PEOPLE.astype(dtype), PLACES.astype(dtype), np.ones((6, 2)))
    release = SumRelease(1e-9, 4, 2)
    assert (release([one]) == release([table(np.ones((6, 2)))])).all()


@pytest.mark.parametrize(
    "block",
    [
        Contributions(np.array([31415, 0]), np.array([0, 0]), np.ones((2, 1))),
        Contributions(np.array([0, 1]), np.array([0, 31415]), np.ones((2, 1))),
        Contributions(np.array([0, 1]), np.array([0, 1]), np.array([[31415.0], [math.nan]])),
        Contributions(np.array([0, 1]), np.array([0, 1]), np.full((2, 2), 31415.0)),
        Contributions(np.array([31415.0, 1]), np.array([0, 1]), np.ones((2, 1))),
    ],
)
def test_refusals_repeat_no_value(block):
    """No number of the data is in the words, with noise or without."""
    for multiplier in (1.0, 0.0):
        with pytest.raises(DataError) as refusal:
            SumRelease(multiplier, 4)([block])
        assert "31415" not in str(refusal.value)


def test_a_person_in_two_blocks_is_refused():
    """She would be clipped twice and add twice the norm."""
    block = Contributions(np.array([3]), np.array([0]), np.ones((1, 1)))
    with pytest.raises(DataError, match="sorted"):
        SumRelease(1.0, 4)([block, block])


def test_a_person_of_the_last_block_is_refused_among_others():
    """Whoever stands at a block's end, its first person is later than the last block's last."""
    first, second = (
        Contributions(np.array(people), np.array([0, 0]), np.ones((2, 1)))
        for people in ([0, 5], [5, 6])
    )
    with pytest.raises(DataError, match="sorted"):
        SumRelease(1.0, 4).total([first, second])


def test_the_rows_that_there_are_are_named():
    """A place that is none of them is refused with the first and the last."""
    block = Contributions(np.array([0]), np.array([4]), np.ones((1, 1)))
    with pytest.raises(DataError) as refusal:
        SumRelease(1.0, 4).total([block])
    assert refusal.value.expected == "0 to 3"


def test_people_are_counted_from_zero():
    """Person 0 may come first; a number below it is nobody's."""
    first, before = (
        Contributions(np.array([person]), np.array([0]), np.ones((1, 1))) for person in (0, -1)
    )
    assert SumRelease(1.0, 1).total([first]) == [[4096]]
    with pytest.raises(DataError, match="sorted"):
        SumRelease(1.0, 1).total([before])


def test_nan_is_refused():
    """Before it is clipped away."""
    with pytest.raises(DataError):
        SumRelease(1.0, 4, 2)([table(np.full((6, 2), np.nan))])


@pytest.mark.parametrize(
    "fields",
    [
        (-1.0, 3),
        (math.nan, 3),
        (1e308, 3),  # the noise's sigma would be infinite
        (1.0, 0),
        (1.0, 3, 0),
        (1.0, 3, 1, 0.0),
        (1.0, 3, 1, 1.0, 2.0**-30),
        (1.0, 3, 1, 1.0, 2.0**-20 * 0.999),
        (1.0, 3, 1, 1.0, 1.001),
    ],
)
def test_fields_in_range(fields):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        SumRelease(*fields)


def test_places_of_one_person_are_sorted():
    """Each place is compared with the one before it, not with the person's first."""
    places = np.array([0, 2, 1])
    block = Contributions(np.zeros(3, dtype=int), places, np.zeros((3, 1)))
    with pytest.raises(DataError, match="sorted by person, then place"):
        SumRelease(1.0, 3, 1, 1.0, 2.0**-6).total([block])
