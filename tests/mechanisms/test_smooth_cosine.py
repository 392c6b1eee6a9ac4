"""The smooth release of a cosine keeps its pair of epsilon and delta, by exact sums."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import SmoothSensitivity
from tacit.errors import ConfigError, DataError
from tacit.mechanisms import samplers
from tacit.mechanisms.cosine import SmoothCosineRelease, cosine, turns

PEOPLE = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=30)
CLAIMS = st.sampled_from([(0.5, 1e-2), (1.0, 1e-3), (2.0, 0.05), (8.0, 0.4)])


def distribution(mechanism, pair):
    """The place and the scale that the call gives to its sampler, as it computes them."""
    asked = []

    def record(values, scale):
        asked.append((int(values[0]), scale))
        return values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samplers, "discrete_laplace", record)
        mechanism(pair)
    return asked[0]


def delta(first, second, epsilon):
    """Exact for two discrete Laplace distributions: the sum of P - e^epsilon Q where positive."""
    reach = math.ceil(60 * max(first[1], second[1])) + abs(first[0] - second[0])
    outputs = np.arange(first[0] - reach, first[0] + reach + 1)
    p, q = (
        np.tanh(1 / (2 * scale)) * np.exp(-np.abs(outputs - place) / scale)
        for place, scale in (first, second)
    )
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@settings(deadline=None)
@given(PEOPLE, CLAIMS, st.sampled_from([1, 2, 3]), st.sampled_from([1, 4, 50]))
def test_claim_holds_exactly(people, claim, bound, halves):
    """One person goes or comes: the delta of the two distributions that are really drawn from is
    at or below the claimed one, in both directions."""
    mechanism = SmoothCosineRelease(*claim, bound, halves)
    pair = np.array(people).T
    one, other = (distribution(mechanism, data) for data in (pair, pair[:, 1:]))
    assert delta(one, other, claim[0]) <= claim[1]
    assert delta(other, one, claim[0]) <= claim[1]


def test_all_small_neighbours():
    """Every data set of up to four people with ratings -1, 0 and 1, and each of them gone."""
    mechanism = SmoothCosineRelease(1.0, 1e-3, 1, 8)
    kinds = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    worst, cache = 0.0, {}

    def drawn(people):
        if people not in cache:
            data = np.array(people, dtype=np.int64).reshape(-1, 2).T
            cache[people] = distribution(mechanism, data)
        return cache[people]

    for size in (1, 2, 3, 4):
        for people in combinations_with_replacement(kinds, size):
            for gone in range(size):
                pair = drawn(people), drawn((*people[:gone], *people[gone + 1 :]))
                worst = max(worst, delta(*pair, 1.0), delta(*pair[::-1], 1.0))
    assert 0 <= worst <= 1e-3


@pytest.mark.parametrize("count", [3, 4])
def test_local_noise_alone_would_break_the_claim(count, monkeypatch):
    """With the scale that these data need, not smoothed, the same sum catches the same call."""
    mechanism = SmoothCosineRelease(1.0, 1e-6, 1, 1000)
    pair = np.ones((2, count), dtype=np.int64)
    smooth = [distribution(mechanism, data) for data in (pair, pair[:, 1:])]
    assert max(delta(*smooth, 1.0), delta(*smooth[::-1], 1.0)) <= 1e-6

    def needed_here(self, data):
        move = min(turns(data, self.bound, 1)[0], 2.0) * self.halves
        return int(np.searchsorted(self.reaches, np.ceil(move) + 1))

    monkeypatch.setattr(SmoothCosineRelease, "rung", needed_here)
    local = [distribution(mechanism, data) for data in (pair, pair[:, 1:])]
    assert max(delta(*local, 1.0), delta(*local[::-1], 1.0)) > 1e-6


@settings(deadline=None)
@given(PEOPLE, CLAIMS, st.sampled_from([1, 2, 3]))
def test_one_rung_at_most(people, claim, bound):
    """One person moves the scale by one rung at most, and the cosine within its reach."""
    mechanism = SmoothCosineRelease(*claim, bound)
    pair = np.clip(np.array(people).T, -bound, bound)
    both = pair, pair[:, 1:]
    rungs = [mechanism.rung(data) for data in both]
    moved = abs(round(cosine(both[0]) * (1 << 20)) - round(cosine(both[1]) * (1 << 20)))
    assert abs(rungs[0] - rungs[1]) <= 1
    assert moved <= claim[0] / 2 * mechanism.scales[min(rungs)]


@pytest.mark.parametrize("claim", [(0.01, 1e-9), (1.0, 1e-6), (50.0, 0.5)])
@pytest.mark.parametrize("halves", [1, 1 << 30])
def test_ladder(claim, halves):
    """Rungs lie at most 1 + epsilon / (2 ln(2 / delta)) apart, and reach what turns it round."""
    mechanism = SmoothCosineRelease(*claim, 1, halves)
    ratios = mechanism.scales[1:] / mechanism.scales[:-1]
    assert 1 < ratios.min() <= ratios.max() <= 1 + claim[0] / (2 * math.log(2 / claim[1]))
    assert mechanism.scales[-1] * claim[0] / 2 >= 2 * halves + 1
    assert (
        mechanism.scales[mechanism.rung(np.zeros((2, 1), dtype=np.int64))]
        >= 4 * halves / (claim[0])
    )


def test_many_ratings_are_released_well():
    """At (1, 1e-6) with 40,000 ratings of two equal items, the scale is 0.02, not 4."""
    mechanism = SmoothCosineRelease(1.0, 1e-6, 1)
    scale = mechanism.scales[mechanism.rung(np.ones((2, 40_000), dtype=np.int64))]
    assert 0.01 < scale / mechanism.halves < 0.025


def test_ratings_beyond_the_bound_are_clamped():
    """A giant rating counts as the bound, in the cosine and in its noise."""
    mechanism = SmoothCosineRelease(1.0, 1e-6, 2)
    wild, tame = (np.array([[value, 1], [1, 2]]) for value in (10**9, 2))
    assert distribution(mechanism, wild) == distribution(mechanism, tame)


def test_event():
    """What one cosine costs is the pair asked for."""
    assert SmoothCosineRelease(0.5, 1e-6, 2).event == SmoothSensitivity(0.5, 1e-6)


@pytest.mark.parametrize("ratings", [np.zeros(3), np.zeros((3, 2)), np.full((2, 2), 0.5)])
def test_odd_ratings_are_refused(ratings):
    """Two rows of whole numbers."""
    with pytest.raises(DataError):
        SmoothCosineRelease(1.0, 1e-6, 2)(ratings)


@pytest.mark.parametrize(
    "fields",
    [
        (0.0, 1e-6, 2),
        (1e-4, 1e-6, 2),
        (1.0, 0.0, 2),
        (1.0, 0.6, 2),
        (1.0, math.nan, 2),
        (1.0, 1e-6, 0),
        (1.0, 1e-6, 2, 0),
    ],
)
def test_fields_in_range(fields):
    """A field that makes no sense, or makes the ladder endless, is refused."""
    with pytest.raises(ConfigError):
        SmoothCosineRelease(*fields)


def test_an_immense_epsilon_has_a_finite_ladder():
    """No rung overflows, and the answer is the rounded cosine."""
    mechanism = SmoothCosineRelease(1e300, 1e-6, 2)
    assert np.isfinite(mechanism.scales).all()
    assert mechanism([[1, 2], [2, 2]]) == pytest.approx(6 / math.sqrt(40), abs=1e-6)


@pytest.mark.parametrize("people", [1, 3, 40, 400, 4_000])
def test_the_rung_is_the_largest_that_any_number_of_others_needs(people):
    """As defined, term by term: after k others went, the rung that one person needs, less k."""
    mechanism = SmoothCosineRelease(1.0, 1e-6, 1, 1000)
    pair = np.ones((2, people), dtype=np.int64)
    reaches = mechanism.scales * mechanism.epsilon / 2 * (1 - 1e-9)
    largest = 0
    for k, turn in enumerate(turns(pair, 1, len(mechanism.scales))):
        units = math.ceil(min(turn, 2.0) * mechanism.halves) + 1
        largest = max(largest, sum(reach < units for reach in reaches) - k)
    assert mechanism.rung(pair) == largest


def test_many_people_get_less_noise():
    """The noise for 4,000 people is below a tenth of that for four."""
    mechanism = SmoothCosineRelease(1.0, 1e-6, 1, 1000)
    few, many = (np.ones((2, people), dtype=np.int64) for people in (4, 4_000))
    assert distribution(mechanism, many)[1] < distribution(mechanism, few)[1] / 10


def test_rows_of_which_nothing_is_left_may_turn_by_any_angle():
    """Two people with the largest rating in both rows: after one went, a third can turn each row by
    1; after both, by any angle, for which 2 stands."""
    pair = np.array([[3, 3], [3, 3]])
    assert turns(pair, 3, 3).tolist() == [2.0, 4.0, 4.0]
    pair = np.array([[1, 1], [1, -1]])
    assert turns(pair, 1, 2).tolist() == [2.0, 4.0]  # here the one that is left has length 1


def test_the_cosine_of_one_person_and_of_nobody():
    """1 where both rows have one rating of 1, -1 where they differ in sign, 0 without any."""
    rows = ([[1], [1]], [[1], [-1]], [[0], [1]], [[0], [0]])
    assert [cosine(np.array(row)) for row in rows] == [1, -1, 0, 0]


def test_the_answer_is_a_multiple_of_a_millionth():
    """Without its noise, the cosine to the nearest 2^-20."""
    pair = np.array([[1, 2, 0], [2, 2, 1]])
    place, _ = distribution(SmoothCosineRelease(1.0, 1e-6, 2), pair)
    assert place == round(6 / math.sqrt(45) * 2**20)


@pytest.mark.parametrize("claim", [(0.3, 1e-9), (1.0, 1e-6), (7.0, 0.5)])
def test_no_scale_reaches_further_than_epsilon_allows(claim):
    """In fractions: a reach is at most epsilon / 2 times its scale, and less by a hair."""
    mechanism = SmoothCosineRelease(*claim, 1)
    for scale, reach in zip(mechanism.scales.tolist(), mechanism.reaches.tolist(), strict=True):
        most = Fraction(scale) * Fraction(claim[0]) / 2
        assert most * (1 - Fraction(1, 1 << 40)) < Fraction(reach) <= most


def test_the_ladder_begins_where_one_person_moves_least():
    """Two units at least, at epsilon / 2 for each: a scale of 4 / epsilon, here 8 units."""
    assert SmoothCosineRelease(0.5, 1e-6, 1).scales[0] == 8


def test_the_smallest_epsilon():
    """2^-13 ln(2 / delta), at which rungs are 2^-14 apart; the refusal says so."""
    least = 2.0**-13 * math.log(4)
    assert SmoothCosineRelease(least, 0.5, 1, 1).share == 2.0**-14
    with pytest.raises(ConfigError, match=r"epsilon is at least 0\.00017; got"):
        SmoothCosineRelease(math.nextafter(least, 0), 0.5, 1, 1)
