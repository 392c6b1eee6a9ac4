"""Answers are true as often as they say, lies are uniform, and the loss is the one claimed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import Source, secure

FALSE_ALARM = 1e-6
DRAWS = 400_000


def test_golden_chances():
    """At ln 3 a bit is released as it is with chance 3/4, and flipped with 1/4."""
    assert float(BitRelease(math.log(3)).truth) == pytest.approx(0.75, abs=1e-15)


@pytest.mark.parametrize("bit", [0, 1])
def test_bits_are_true_as_often_as_they_say(bit):
    """Of 400,000 bits the stated share is true (exact binomial test, false alarm 1e-6)."""
    mechanism = BitRelease(math.log(3))
    true = int((mechanism(np.full(DRAWS, bit), secure()) == bit).sum())
    assert binomtest(true, DRAWS, float(mechanism.truth)).pvalue > FALSE_ALARM


def test_catches_a_chance_off_by_one_per_cent():
    """The same test refuses bits released at a chance one per cent higher."""
    bold = BitRelease(math.log(0.76 / 0.24))
    true = int(bold(np.ones(DRAWS), secure()).sum())
    assert binomtest(true, DRAWS, 0.75).pvalue < FALSE_ALARM


def chances(mechanism, value):
    lie = (1 - float(mechanism.truth)) / (mechanism.categories - 1)
    return np.where(np.arange(mechanism.categories) == value, float(mechanism.truth), lie)


@pytest.mark.parametrize("value", [0, 2, 4])
def test_answers_have_the_stated_chances(value):
    """400,000 answers fit the chances of truth and each lie (chi-square, false alarm 1e-6)."""
    mechanism = KaryResponse(1.0, 5)
    counts = np.bincount(mechanism(np.full(DRAWS, value), secure()), minlength=5)
    assert chisquare(counts, DRAWS * chances(mechanism, value)).pvalue > FALSE_ALARM


class Scripted(Source):
    is_private = False

    def __init__(self, *rounds):
        self.rounds = list(rounds)

    def words(self, count):
        return np.array(self.rounds.pop(0), dtype=np.uint64)


def test_lies_are_exactly_uniform():
    """Of 2^64 words the last names no third of three lies, and is drawn again."""
    source = Scripted([2**64 - 1], [1], [2**53 - 1])  # the lie, again, and that it is one
    assert KaryResponse(1.0, 4)(0, source) == 2
    assert source.rounds == []


def test_catches_a_lie_that_may_be_the_truth():
    """The same test refuses lies drawn from all answers, the true one included."""
    mechanism = KaryResponse(1.0, 5)
    generator = np.random.default_rng()
    honest = generator.random(DRAWS) < float(mechanism.truth)
    answers = np.where(honest, 2, generator.integers(0, 5, DRAWS))
    counts = np.bincount(answers, minlength=5)
    assert chisquare(counts, DRAWS * chances(mechanism, 2)).pvalue < FALSE_ALARM


def test_agrees_with_opendp():
    """OpenDP's response at the same chance has the same loss, and its draws fit ours."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    mechanism = KaryResponse(1.5, 4)
    peer = dp.m.make_randomized_response([0, 1, 2, 3], float(mechanism.truth))
    assert peer.map(1) == pytest.approx(1.5)
    counts = np.bincount([peer(1) for _ in range(5000)], minlength=4)
    assert chisquare(counts, 5000 * chances(mechanism, 1)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("mechanism", [BitRelease(0.3), BitRelease(4.0), KaryResponse(2.0, 7)])
def test_accountant_charges_the_claim(mechanism):
    """The event costs epsilon, to the rounding of a chance to 2^-53."""
    spent = PureAccountant().add(mechanism.event).epsilon()
    assert spent == pytest.approx(mechanism.epsilon, abs=1e-12)


def test_event_states_the_chance_that_is_used():
    """The chance in the event is the exact one, not a rounding of it."""
    mechanism = KaryResponse(0.7, 9)
    assert Fraction(mechanism.event.truth) == mechanism.truth


def test_shapes_are_kept():
    """One answer per entry, for one value, a matrix, or none."""
    for shape in ((), (0,), (3, 2)):
        assert BitRelease(1.0)(np.zeros(shape), secure()).shape == shape
        assert KaryResponse(1.0, 3)(np.zeros(shape), secure()).shape == shape


@pytest.mark.parametrize("value", [-1, 2, 0.5, "1", None])
def test_other_answers_are_refused(value):
    """What is not among the answers is refused, unrepeated."""
    with pytest.raises(DataError) as refusal:
        BitRelease(1.0)(np.array([0, value]), secure())
    assert refusal.value.found is None
    assert "whole numbers from 0 to 1," in str(refusal.value)


def test_without_noise_the_truth_is_certain():
    """Its chance is 1, and answers are what was given."""
    exact = KaryResponse(math.inf, 3)
    assert (exact.truth, exact([2, 0, 1], secure()).tolist()) == (1, [2, 0, 1])


@pytest.mark.parametrize("categories", [2, 3, 6])
def test_a_lie_is_every_other_answer(categories):
    """At the smallest epsilon lies occur, each of the others, and none outside the answers."""
    answers = KaryResponse(1e-9, categories)(np.zeros(2000), secure())
    assert answers.dtype == np.int64
    assert set(answers.tolist()) == set(range(categories))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, 1e-12])
def test_epsilon_in_range(epsilon):
    """No epsilon, no release."""
    with pytest.raises(ConfigError, match="epsilon"):
        BitRelease(epsilon)


@pytest.mark.parametrize("categories", [1, 0, 2.5, True, 1 << 21])
def test_categories_in_range(categories):
    """Fewer than two answers, or more than 2^20, are refused."""
    with pytest.raises(ConfigError, match="categories"):
        KaryResponse(1.0, categories)
