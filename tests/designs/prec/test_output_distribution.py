"""The law of one round: golden values, thresholds, exact draws, rounds of any size."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.designs.prec import theory
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.randomness import replay, simulation

Counts = NDArray[np.int64]


class Scripted:
    """A source that hands out these words, one after the other."""

    is_private = False

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, dtype=np.uint64)


def counts(*values: int) -> Counts:
    return np.array(values, dtype=np.int64)


def literal(votes: Counts, rounds: int, most: int, radius: int) -> list[float]:
    """The paper's law, as printed, in plain floats."""
    ratio = rounds / (radius + 1)
    gamma, rate = most / (3 * ratio - 1), 2 * most * math.log(ratio)
    shares = [count / votes.sum() for count in votes.tolist()]
    weights = [
        0.0 if share <= 1 / (2 * most) else math.exp(rate * share) - math.exp(rate / (2 * most))
        for share in shares
    ]
    return [gamma / len(votes) + (1 - gamma) * weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(
    ("law", "gamma", "rate"),
    [
        (OutputDistribution(1000, 2), 6.6688896e-4, 27.631021),
        (OutputDistribution(10_000, 3, 10), 0.0011004035, 40.874671),
        (OutputDistribution(100_000, 5, 30), 5.1672006e-4, 80.789383),
    ],
)
def test_gamma_and_lambda_of_known_settings(
    law: OutputDistribution, gamma: float, rate: float
) -> None:
    """They are m / (3 T/(R+1) - 1) and 2 m ln(T/(R+1))."""
    assert float(law.gamma) == pytest.approx(gamma, rel=1e-7)
    assert theory.lam(law.objects, law.rounds, law.radius) == pytest.approx(rate, rel=1e-7)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=4).filter(any),
    st.integers(6, 2000),
    st.integers(0, 1),
)
def test_chances_are_the_papers(votes: list[int], rounds: int, radius: int) -> None:
    """Subtracting the maximum and testing in integers changes no chance."""
    found = OutputDistribution(rounds, 4, radius).chances(counts(*votes))
    near = [abs(2 * 4 * count - sum(votes)) > 0 for count in votes]
    wanted = literal(counts(*votes), rounds, 4, radius)
    assert found.sum() == pytest.approx(1)
    if all(near):  # else the literal test of floats may go either way
        assert found.tolist() == pytest.approx(wanted, rel=1e-9)


def test_a_share_of_exactly_rho_has_no_weight() -> None:
    """2 m count = W is on the side of phi = 0, and one vote more is not."""
    law = OutputDistribution(1000, 3)
    on, above = law.chances(counts(10, 25, 25)), law.chances(counts(11, 25, 24))
    assert on[0] == pytest.approx(float(law.gamma) / 3)
    assert above[0] > on[0]


def test_large_exponents_do_not_overflow() -> None:
    """With 1000 objects lambda is far beyond what e^x of floats can hold."""
    chances = OutputDistribution(10**6, 1000).chances(counts(5000, 4999, *[1] * 998))
    assert np.isfinite(chances).all()
    assert chances[0] > chances[1] > chances[2]


def test_nobody_left_is_uniform() -> None:
    """Where no voter counts, all objects are alike."""
    assert OutputDistribution(10, 3).chances(counts(0, 0, 0)).tolist() == [1 / 3] * 3


def test_one_object_is_certain() -> None:
    """A round with a single object has one outcome."""
    assert OutputDistribution(10, 3).chances(counts(7)).tolist() == [1.0]


def test_draws_follow_the_chances() -> None:
    """A chi-square of 20,000 draws; false alarm 1e-4, and half of gamma is noticed."""
    law, votes = OutputDistribution(6, 3), counts(9, 10, 3)
    with simulation():
        source = replay("law")
        drawn = np.bincount([law.draw(votes, source) for _ in range(20_000)], minlength=3)
    expected = 20_000 * law.chances(votes)
    wrong = 20_000 * (law.chances(votes) * (1 - float(law.gamma) / 2) + [float(law.gamma) / 6] * 3)
    assert (((drawn - expected) ** 2) / expected).sum() < 18.42
    assert (((drawn - wrong) ** 2) / wrong).sum() > 18.42


def in_decimals(votes: list[int], rounds: int, most: int) -> dict[int, Fraction]:
    """Of each object above rho, where its part of [0, 1] ends, in a hundred digits."""
    with localcontext(prec=100):
        log, parts = Decimal(rounds).ln(), {}
        for place, count in enumerate(votes):
            if (excess := 2 * most * count - sum(votes)) > 0:
                parts[place] = (log * excess / sum(votes)).exp() - 1
        ends = accumulate(parts.values())
        whole = sum(parts.values())
        return dict(zip(parts, (Fraction(end / whole) for end in ends), strict=True))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(0, 2**128 - 1))
def test_every_object_has_exactly_its_part(votes: list[int], word: int) -> None:
    """Which one 128 bits name, anywhere and on both sides of each border, as decimals of a hundred
    digits say: where floats are sure, and where they are not."""
    law, ends = OutputDistribution(50, 5), in_decimals(votes, 50, 5)
    never_uniform = 2**64 - 1 - 2**64 % law.gamma.denominator
    borders = [int(end * 2**128) for end in [*ends.values()][:-1]]
    for bits in (word, *(border + aside for border in borders for aside in (-2, 2))):
        source = Scripted(never_uniform, bits >> 64, bits % 2**64, 0)
        wanted = next(place for place, end in ends.items() if Fraction(bits + 1, 2**128) <= end)
        assert law.draw(counts(*votes), source) == wanted


@pytest.mark.parametrize(("word", "further", "place"), [(2**63 - 1, 0, 0), (2**63, 2**40, 1)])
def test_a_draw_on_a_border_asks_for_more(word: int, further: int, place: int) -> None:
    """Two objects alike meet at one half, where 64 bits are not enough to tell."""
    never_uniform = 2**64 - 1 - 2**64 % OutputDistribution(1000, 2).gamma.denominator
    source = Scripted(never_uniform, word, further, 0)
    assert OutputDistribution(1000, 2).draw(counts(50, 50), source) == place


@pytest.mark.parametrize("size", [1, 2, 3])
def test_fewer_objects_tell_no_more(size: int) -> None:
    """Lemma 12 by enumeration: |ln p/p'| is at most 3 lambda / W in rounds of every size."""
    law, worst = OutputDistribution(30, 3), 0.0
    for others in range(18, 24):
        for rest in itertools.product(range(others + 1), repeat=size - 1):
            if sum(rest) > others:
                continue
            votes = counts(*rest, others - sum(rest))
            before = np.log(law.chances(votes))
            for extra in range(size):
                votes[extra] += 1
                change = np.abs(np.log(law.chances(votes)) - before).max()
                worst = max(
                    worst, change * others / (3 * theory.lam(law.objects, law.rounds, law.radius))
                )
                votes[extra] -= 1
    assert worst <= 1
    assert (worst > 0) == (size > 1)


def test_an_empty_object_more_tells_no_less() -> None:
    """Each outcome of a smaller round is no more telling than with an object nobody votes for."""
    law = OutputDistribution(30, 3)
    for first in range(25):
        few, many = counts(first, 24 - first), counts(first, 24 - first, 0)
        for extra in range(2):
            more = np.eye(3, dtype=np.int64)[extra]
            small = np.log(law.chances(few + more[:2]) / law.chances(few))
            large = np.log(law.chances(many + more) / law.chances(many))[:2]
            assert (np.abs(small) <= np.abs(large) + 1e-12).all()
            assert (small * large >= -1e-20).all()


def test_gamma_is_a_fraction() -> None:
    """So that a uniform round is an exact event."""
    assert OutputDistribution(10, 2, 1).gamma == Fraction(4, 28)


def test_the_largest_settings_have_digits() -> None:
    """e^(lambda share) has a million digits there, which decimals as they come do not hold."""
    law = OutputDistribution(2**39, 2**16)
    votes = np.zeros(2**16, dtype=np.int64)
    votes[:2] = 2**31 - 2**15, 2**15
    never_uniform = 2**64 - 1 - 2**64 % law.gamma.denominator
    # Floats put the border at 1, next to this word.
    assert law.draw(votes, Scripted(never_uniform, 2**64 - 1, 0)) == 0
