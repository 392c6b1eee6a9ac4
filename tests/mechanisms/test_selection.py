"""Selection has the chances it says, within the loss it claims, and agrees with OpenDP."""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from tacit.errors import ConfigError, DataError
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source, integers_below, secure

FALSE_ALARM = 1e-6
SCORES = np.array([0.0, 1.0, 2.0, 2.0, 3.0])
DRAWS = 100_000

dp.enable_features("contrib")


def selection(epsilon=1.0, candidates=5, **fields):
    return Selection(
        epsilon,
        candidates,
        **{"sensitivity": 1.0, "lower": 0.0, "upper": 4.0, "resolution": 1.0} | fields,
    )


def exponential_mechanism(scores, rate):
    weights = np.exp(rate * (scores - scores.max()))
    return weights / weights.sum()


@pytest.mark.parametrize(("monotonic", "rate"), [(False, 0.5), (True, 1.0)])
def test_rate_is_twice_as_large_for_monotonic_scores(monotonic, rate):
    """epsilon / (2 sensitivity) a step, and epsilon / sensitivity if no two scores move apart."""
    assert selection(monotonic=monotonic).rate == rate


def test_chances_are_those_of_the_exponential_mechanism():
    """The chances agree with e^(epsilon s / 2) to one part in 10^9."""
    expected = exponential_mechanism(SCORES, 0.5)
    np.testing.assert_allclose(selection().probabilities(SCORES), expected, rtol=1e-9)


def counts(mechanism, draws=DRAWS):
    chosen = mechanism(np.tile(SCORES, (draws, 1)), secure())
    return np.bincount(chosen, minlength=len(SCORES))


def test_draws_have_their_chances():
    """100,000 draws fit the chances (chi-square, false alarm 1e-6)."""
    expected = DRAWS * exponential_mechanism(SCORES, 0.5)
    assert chisquare(counts(selection()), expected).pvalue > FALSE_ALARM


def test_catches_a_missing_factor_two():
    """The same test refuses draws at twice the rate, and at a rate five per cent off."""
    expected = DRAWS * exponential_mechanism(SCORES, 0.5)
    for epsilon in (2.0, 1.05):
        assert chisquare(counts(selection(epsilon), 4 * DRAWS), 4 * expected).pvalue < FALSE_ALARM


def test_agrees_with_opendp():
    """Draws fit OpenDP's Gumbel noisy max, which is this mechanism (chi-square, 1e-6)."""
    space = (
        dp.vector_domain(dp.atom_domain(T="f64", nan=False)),
        dp.linf_distance(T="f64"),
        dp.zero_concentrated_divergence(),
    )
    peer = dp.m.make_noisy_max(*space, 2.0)
    theirs = np.bincount([peer(SCORES.tolist()) for _ in range(6000)], minlength=5)
    assert chi2_contingency([counts(selection()), theirs]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("candidates", "loss"), [(2, 0.500), (10, 0.897), (100, 0.990), (10_000, 0.9999)]
)
def test_golden_losses(candidates, loss):
    """Worst pair at epsilon 1, one score up and all others down: the published closed form."""
    mechanism = selection(candidates=candidates, upper=1.0)
    scores = np.zeros(candidates)
    scores[0] = 1
    first, other = (mechanism.probabilities(rows)[0] for rows in (scores, 1 - scores))
    grown = math.exp(0.5)
    formula = 0.5 + math.log((1 + (candidates - 1) * grown) / (grown + candidates - 1))
    assert math.log(first / other) == pytest.approx(formula, abs=1e-9)
    assert math.log(first / other) == pytest.approx(loss, abs=5e-4)


@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=3),
    st.lists(st.integers(-2, 2), min_size=3, max_size=3),
    st.sampled_from([0.01, 1.0, 7.0, 60.0]),
    st.booleans(),
)
def test_loss_is_within_the_claim(scores, moves, epsilon, monotonic):
    """Moved by up to the sensitivity, no chance changes by more than e^epsilon; exact integers."""
    if monotonic:
        moves = [abs(move) for move in moves]
    mechanism = selection(epsilon, 3, sensitivity=2.0, upper=40.0, monotonic=monotonic)
    one, other = (
        mechanism.weights(rows).tolist()
        for rows in (np.array(scores), np.clip(np.add(scores, moves), 0, 40))
    )
    for mine, its in zip(one, other, strict=True):
        ratio = (mine * sum(other)) / (its * sum(one))
        assert abs(math.log(ratio)) <= epsilon + 1e-12


@given(
    st.floats(-3, 7),
    st.floats(-1, 1),
    st.sampled_from([2.0**-8, 0.25, 4.0]),
)
def test_rounding_keeps_the_distance(value, move, resolution):
    """Two numbers at most 1 apart are at most ceil(1 / resolution) steps apart on the grid."""
    moved = value + move
    if abs(moved - value) > 1:
        return  # rounded apart by the addition itself
    grid = selection(resolution=resolution).grid
    one, other = grid.to_steps([value, moved])
    assert abs(int(one) - int(other)) <= math.ceil(1 / resolution)


def test_rows_are_drawn_on_their_own():
    """Rows may have other scores, and equal rows get other draws; shapes follow the input."""
    mechanism = selection(60.0)
    scores = np.eye(5)[[3, 0, 2]] * 4
    assert mechanism(scores, secure()).tolist() == [3, 0, 2]
    assert mechanism(scores[0], secure()).shape == ()
    assert mechanism(np.empty((0, 5)), secure()).shape == (0,)
    flat = selection(1.0)(np.zeros((1000, 5)), secure())
    assert set(flat.tolist()) == {0, 1, 2, 3, 4}


def test_many_rows_equal_few():
    """More rows than are handled at once keep their order."""
    best = integers_below(secure(), 50, 5000)
    scores = np.zeros((5000, 50))
    scores[np.arange(5000), best] = 4
    assert (selection(100.0, 50)(scores, secure()) == best).all()


def test_scores_beyond_the_bounds_are_clamped():
    """A score beyond a bound has the chance of the bound."""
    wild = np.array([-1e300, 1.0, 2.0, 2.0, 1e300])
    tame = np.array([0.0, 1.0, 2.0, 2.0, 4.0])
    mechanism = selection()
    np.testing.assert_array_equal(mechanism.weights(wild), mechanism.weights(tame))


def test_scores_count_from_the_bounds():
    """Moved with both bounds, scores have the same weights, whatever the bounds' signs."""
    moved = [
        selection(lower=start, upper=start + 4).weights(SCORES + start).tolist()
        for start in (0.0, -3.0, -4.0, -9.0, 7.0)
    ]
    assert moved == moved[:1] * 5


class Scripted(Source):
    is_private = False

    def __init__(self, *rounds):
        self.rounds = list(rounds)

    def words(self, count):
        words = self.rounds.pop(0)
        assert len(words) == count
        return np.array(words, dtype=np.uint64)


def test_draws_are_proportional_to_the_last_unit():
    """Every word below the limit names one unit of weight; words at or above it are redrawn."""
    weights = np.array([[1, 0, 2]] * 4)
    largest = 2**64 - 1  # 2**64 = 1 modulo 3, so only this word is too many
    source = Scripted([0, 1, 2, largest], [largest], [3])
    assert draw_rows(weights, source).tolist() == [0, 2, 2, 0]


@pytest.mark.parametrize("total", [2, 3, 7, 2**32 + 15, 2**61 + 1, 2**62])
def test_no_more_words_are_redrawn_than_uniform_draws_need(total):
    """Of 2^64 words the last (2^64 modulo the sum) are redrawn, so that every remainder is left
    equally often, and no other word is."""
    weights, rest = np.array([[1, total - 1]]), 2**64 % total
    assert draw_rows(weights, Scripted([2**64 - 1 - rest])).tolist() == [1]  # the last remainder
    if rest:
        source = Scripted([2**64 - rest], [1])
        assert draw_rows(weights, source).tolist() == [1]
        assert source.rounds == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sensitivity", 0.0),
        ("sensitivity", math.inf),
        ("resolution", 0.3),
        ("upper", 0.0),
        ("upper", 0.5),
        ("upper", math.nan),
        ("upper", 2.0**21),
        ("candidates", 0),
    ],
)
def test_fields_in_range(field, value):
    """A field that makes no sense is refused."""
    with pytest.raises(ConfigError):
        selection(**{field: value})


@pytest.mark.parametrize("scores", [np.zeros(4), np.zeros((2, 6)), np.zeros((1, 2, 5)), 3.0])
def test_other_candidates_are_refused(scores):
    """The number of candidates is public and fixed."""
    with pytest.raises(DataError, match="shape"):
        selection()(scores, secure())


@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 5, 9, 17])
def test_weights_leave_room_for_their_sum(candidates):
    """All candidates at the top weigh at most 2^62 together, and more than a quarter of that."""
    weights = Selection(1.0, candidates, 1, 0, 1, 1).weights([1.0] * candidates)
    assert 1 << 60 < sum(weights.tolist()) <= 1 << 62


def test_more_candidates_than_are_handled_at_once(monkeypatch):
    """Then row by row."""
    monkeypatch.setattr("tacit.mechanisms.selection._ENTRIES", 3)
    assert selection(60.0)(np.eye(5)[[3, 0, 2]] * 4, secure()).tolist() == [3, 0, 2]
