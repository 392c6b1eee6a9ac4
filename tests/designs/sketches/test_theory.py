"""The bounds have the printed values, and what is claimed to be sharper is."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.synthetic_worlds import example_blocks
from tacit.designs.sketches import theory

getcontext().prec = 50
epsilons = st.floats(0.01, 8)


@pytest.mark.parametrize(
    ("eps", "truth", "rho"),
    [
        (0.1, 0.52497918747894, 0.04995837495788),
        (1.0, 0.731058578630005, 0.462117157260010),
        (math.log(3), 0.75, 0.5),
        (2.0, 0.880797077977882, 0.761594155955765),
    ],
)
def test_bit_release(eps, truth, rho):
    """Proposition 2.4's chance of the truth and the signal left, to twelve digits."""
    assert theory.truth(eps) == pytest.approx(truth, abs=1e-12)
    assert theory.rho(eps) == pytest.approx(rho, abs=1e-12)


def exactly(N, w, eps, eta=Decimal("0.1")):  # noqa: N803
    """The three bounds in decimal arithmetic, written down anew."""
    eps = Decimal(str(eps))
    half, e = (eps / 2).exp(), eps.exp()
    tanh, sinh = (half - 1 / half) / (half + 1 / half), (half - 1 / half) / 2
    bits = ((1 - eta) * N - 1) * Decimal(2).ln()
    adaptive = ((1 - 2 * eta) * N / (w * (e - 1))) ** 2
    return bits / (eps * tanh), bits * N / (w * sinh**2), adaptive


GOLDEN = [
    (100, 1, 1, "133.49", "22719", "2167.7"),
    (200, 20, 1, "268.49", "4569.2", "21.68"),
    (1000, 30, 0.5, "5088.5", "325500", "1689.7"),
    (1000, 1000, 1, "1348.4", "2294.8", "0.22"),
]


@pytest.mark.parametrize(("N", "w", "eps", "ldp", "scarce", "adaptive"), GOLDEN)
def test_lower_bounds(N, w, eps, ldp, scarce, adaptive):  # noqa: N803
    """Fewest people: the table's values in all their digits, and ten digits of exact arithmetic."""
    ours = (
        theory.ldp_bound(N, eps, 0.1),
        theory.scarce_bound(N, w, eps, 0.1),
        theory.adaptive_bound(N, w, eps, 0.1),
    )
    assert ours == pytest.approx([float(value) for value in exactly(N, w, eps)], rel=1e-10)
    for found, printed in zip(ours, (ldp, scarce, adaptive), strict=True):
        digits = len(printed.partition(".")[2])
        unit = 50 if printed == "325500" else 10**-digits / 2
        assert abs(found - float(printed)) <= unit * 1.0001


@given(epsilons)
def test_sharper_information_is_sharper(eps):
    """eps tanh(eps / 2) is below eps and below eps^2 / 2."""
    assert theory.sharper_information(eps) < eps
    assert theory.sharper_information(eps) <= eps**2 / 2


@given(epsilons, st.floats(0.01, 0.99))
def test_a_bit_tells_at_most_the_bound(eps, share):
    """Randomized response of a coin, computed exactly, stays below the sharper bound."""

    def entropy(p):
        return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)

    t = theory.truth(eps)
    told = entropy(share * t + (1 - share) * (1 - t)) - entropy(t)
    assert told <= theory.sharper_information(eps) + 1e-12


@pytest.mark.parametrize(("N", "w", "eps"), [(4, 1, 1.0), (4, 2, 0.5), (5, 2, 2.0), (5, 5, 1.0)])
def test_label_information_holds(N, w, eps):  # noqa: N803
    """What one private bit about (set, likes) tells of all labels, enumerated, is in the bound."""
    rng = np.random.default_rng(N * w)
    labels = list(itertools.product((0, 1), repeat=N))
    sets = list(itertools.combinations(range(N), w))
    most = 0.0
    for _ in range(20):
        answer = {}  # a random private question: the chance of a 1 for every value of the data
        for items in sets:
            for likes in itertools.product((0, 1), repeat=w):
                answer[items, likes] = theory.truth(eps if rng.random() < 0.5 else -eps)
        ones = np.array(
            [np.mean([answer[s, tuple(z[i] for i in s)] for s in sets]) for z in labels]
        )
        mean = ones.mean()
        told = np.mean(ones * np.log(ones / mean) + (1 - ones) * np.log((1 - ones) / (1 - mean)))
        most = max(most, float(told))
    assert 0 < most <= theory.label_information(N, w, eps)


WORLD = example_blocks(2)
ARGS = (WORLD.people, WORLD.items, WORLD.likes)


def test_both_liked():
    """bhat of the two-by-two example, by hand."""
    expected = [[0.45, 0.21], [0.21, 0.34]]
    assert np.allclose(theory.pair_liked_chances(WORLD.people, WORLD.likes), expected)


def test_both_alike():
    """Identical preference in the two-by-two example, by hand: both liked or both disliked."""
    expected = [[0.70, 0.32], [0.32, 0.68]]
    assert np.allclose(theory.pair_alike_chances(WORLD.people, WORLD.likes), expected)


def spectrum(likes, people=None, items=None, eps=1.0, c=1.0):
    """Theorem 3.5's look at a world; equal shares unless they are given."""
    likes = np.array(likes)
    people = np.full(len(likes), 1 / len(likes)) if people is None else np.array(people)
    items = np.full(likes.shape[1], 1 / likes.shape[1]) if items is None else np.array(items)
    chances = theory.pair_chances(eps, c, theory.pair_liked_chances(people, likes))
    return theory.pair_spectrum(chances, items)


def test_the_offset_of_the_noise_makes_one_class_learnable():
    """One class of people: liked pairs alone have rank one, the answers' chances rank two. By
    hand: at eps ln 3 the offset is 1/4 and rho 1/2, and (.25 + .405)(.25 + .005) - .295^2 = .08."""
    found = spectrum([[0.9, 0.1]], eps=math.log(3))
    assert np.prod(found.eigenvalues) == pytest.approx(0.08 / 4)
    assert found.eigenvalues.sum() == pytest.approx((0.655 + 0.255) / 2)
    assert found.has_distinct_eigenvalues
    assert found.has_distinct_rows


def test_pairs_that_tell_nothing_are_recognised():
    """Equal clusters, and people who rated one item: no number of people is enough."""
    equal = spectrum([[0.9, 0.9], [0.3, 0.3]])
    unrated = spectrum([[0.9, 0.2], [0.3, 0.8]], c=0.0)
    for found in (equal, unrated):
        assert found.smallest == 0
        assert np.array_equal(found.rows[:, -1], np.zeros(2))
        assert not found.has_distinct_eigenvalues
        assert not found.has_distinct_rows
    flat = theory.pair_chances(1.0, 0.0, np.ones((2, 2)))
    assert theory.pairwise_users(60, flat, np.full(2, 0.5), 0.1) == math.inf


def test_the_conditions_are_two():
    """Three clusters of one class have an eigenvalue 0 and different rows; three clusters that
    each please one class have two equal eigenvalues and different rows."""
    line = spectrum([[0.9, 0.5, 0.1]])
    assert (line.smallest, line.has_distinct_eigenvalues, line.has_distinct_rows) == (
        0,
        False,
        True,
    )
    symmetric = spectrum(np.full((3, 3), 0.1) + 0.8 * np.eye(3))
    assert symmetric.smallest > 0
    assert not symmetric.has_distinct_eigenvalues
    assert symmetric.has_distinct_rows


def test_eigenvectors_have_the_papers_norm():
    """sum_l beta_l y_s(l)^2 is 1 for each, and B y = value y, with unequal shares."""
    beta, likes = np.array([0.2, 0.8]), np.array([[0.9, 0.2], [0.3, 0.8]])
    found = spectrum(likes, people=[0.7, 0.3], items=beta)
    assert beta @ found.rows**2 == pytest.approx(np.ones(2))
    liked = theory.pair_liked_chances(np.array([0.7, 0.3]), likes)
    matrix = theory.pair_chances(1.0, 1.0, liked) * beta
    assert np.allclose(matrix @ found.rows, found.rows * found.eigenvalues)
    assert abs(found.eigenvalues[0]) > abs(found.eigenvalues[1])


def test_one_bit_questions_need_a_square_of_people():
    """Theorem 4.3 at the size of MovieLens 100K, by hand: [.9 * 1682 - 1] * 1682 * ln 2."""
    assert theory.one_bit_bound(1682, 0.1) == pytest.approx(1512.8 * 1682 * math.log(2))
    assert round(theory.one_bit_bound(1682, 0.1)) == 1_763_734
    share = theory.unknown_bits(1682, 0.1, 0.2) / theory.unknown_bits(1682, 0.1)
    assert theory.one_bit_bound(1682, 0.1, 0.2) == pytest.approx(share * 1_763_734, rel=1e-6)


def test_maxsense_gap():
    """Scores of two clusters differ by rho (w / N) sum_k alpha_k q_k (b_k1 - b_k2)."""
    scores = theory.maxsense_chances(200, 20, 1.0, 1.0, *ARGS)
    q = theory.no_hit(20, 1.0, WORLD.items, WORLD.likes)
    gap = theory.rho(1.0) * 0.1 * (WORLD.people * q) @ (WORLD.likes[:, 0] - WORLD.likes[:, 1])
    assert scores[0] - scores[1] == pytest.approx(gap)


def test_indistinct_clusters_need_infinitely_many():
    """A world in which classes mirror each other gives MaxSense nothing to see."""
    mirror = np.array([[0.9, 0.2], [0.2, 0.9]])
    separation = theory.separation(1.0, WORLD.people, WORLD.items, mirror)
    assert separation == 0
    assert theory.separation(1.0, np.ones(1), np.ones(1), np.array([[0.9]])) == math.inf
    three = np.array([[0.9, 0.5, 0.4]])
    assert theory.separation(0.0, np.ones(1), np.full(3, 1 / 3), three) == pytest.approx(0.1)
    faint = theory.separation(30.0, np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.8]]))
    assert faint == pytest.approx(0.1 * math.exp(-30 * 0.85), rel=1e-9, abs=0)
    assert theory.theorem_5_1(200, 20, 1.0, 1.0, 0.0, 0.1) == math.inf
    assert theory.clt_users(200, 20, 1.0, 1.0, 0.0, 0.5, 0.1) == math.inf


def test_people_that_are_enough_for_maxsense():
    """Theorem 5.1 and its normal approximation at round numbers: N 10, w 2, theta 1/2, D 1/4, and
    eps ln 3, of which rho is 1/2, so that theta w rho^2 D^2 is 1/64."""
    world = {"N": 10, "w": 2, "eps": math.log(3), "theta": 0.5, "D": 0.25, "eta": 0.1}
    assert theory.rho(world["eps"]) == pytest.approx(0.5)
    bound = theory.theorem_5_1(**world)
    assert bound == pytest.approx(64 * 48 * 100 * math.log(200))
    assert theory.theorem_5_1(**world, questions=4) == pytest.approx(bound / 4)
    near = theory.clt_users(**world, s=0.25)
    assert near == pytest.approx(64 * 8 * (3 / 16) * 100 * math.log(100))
    assert theory.clt_users(**world, s=0.25, questions=4) == pytest.approx(near / 4)


@pytest.mark.parametrize(("eps", "questions"), [(1, 1), (3.05, 1), (3.06, 2), (5, 2), (10, 5)])
def test_best_questions(eps, questions):
    """One question below 3.057, about eps / 2.18 beyond."""
    assert theory.best_questions(eps, 32) == questions


@given(st.floats(0.01, 60), st.integers(1, 32))
def test_no_number_of_questions_is_better(eps, most):
    """The rule's number is the best of all that are allowed."""
    best = theory.best_questions(eps, most)
    values = [theory.signal(q, eps) for q in range(1, most + 1)]
    assert theory.signal(best, eps) >= max(values) * (1 - 1e-12)


@pytest.mark.parametrize(("eps", "gain"), [(5, 1.48), (10, 2.90)])
def test_gain_of_several_questions(eps, gain):
    """Against one question, the printed gains."""
    best = theory.best_questions(eps, 32)
    assert theory.signal(best, eps) / theory.signal(1, eps) == pytest.approx(gain, abs=0.005)


def test_no_negative_number_of_bits():
    """Where nearly every label may be wrong nothing has to be learned, and nobody is needed."""
    assert theory.unknown_bits(2, 0.9) == 0
    assert theory.ldp_bound(2, 1.0, 0.9) == 0
    assert theory.adaptive_bound(100, 1, 1.0, 0.6) == 0


@pytest.mark.parametrize("eps", [0.3, 1.0, 5.0])
def test_chance_of_a_lie(eps):
    """truth(-eps) is what is left of truth(eps), and next to 0 where e^eps is no float."""
    assert theory.truth(-eps) == pytest.approx(1 - theory.truth(eps), rel=1e-12)
    assert theory.truth(-1000.0) == 0


def test_label_information_of_a_large_epsilon():
    """(w / N) sinh^2(eps / 2) is (w / N) e^eps / 4 there, up to the largest epsilon of floats."""
    assert theory.label_information(100, 10, 500.0) == pytest.approx(math.exp(500) / 40)


@pytest.mark.parametrize(("N", "w"), [(3, 2), (5, 3), (6, 1), (4, 4)])
def test_both_rated(N, w):  # noqa: N803
    """The share of all sets of w items that hold items 0 and 1, counted."""
    sets = [{0, 1} <= {*chosen} for chosen in itertools.combinations(range(N), w)]
    assert theory.pair_rated_chance(N, w) == pytest.approx(np.mean(sets))


def test_people_for_pairs_by_hand():
    """Two classes that like one cluster each, of shares 1/4 and 3/4; 3 of 5 items rated; eps ln 3.

    bhat is 1/2 times the identity, c is 3/10, rho 1/2 and a lie 1/4, so that a 1 comes with chance
    .325 within a cluster and .25 across; the mean chance is 19/64. The eigenvalues have the sum
    .325 and the product 3/16 (.325^2 - .25^2).
    """
    halves, shares, apart = np.full(2, 0.5), np.array([0.25, 0.75]), np.eye(2)
    liked = theory.pair_liked_chances(halves, apart)
    chances = theory.pair_chances(math.log(3), theory.pair_rated_chance(5, 3), liked)
    assert np.allclose(chances, [[0.325, 0.25], [0.25, 0.325]])
    users = theory.pairwise_users(5, chances, shares, 0.1)
    product = 3 / 16 * (0.325**2 - 0.25**2)
    mu = (0.325 - math.sqrt(0.325**2 - 4 * product)) / 2
    assert users == pytest.approx(4 * (19 / 64) * math.log(50) / mu**2)


def test_sensed_sets_by_hand():
    """w 2 of N 8, theta 1/2: q is (7/8)^2 for who likes half of the items, (3/4)^2 for who likes
    all; a 1 of an item comes by a lie (1/4 at eps ln 3), by others in the set, or by the item."""
    likes, halves, classes = np.array([[1.0, 0.0], [1.0, 1.0]]), np.full(2, 0.5), [0.25, 0.75]
    assert theory.no_hit(2, 0.5, halves, likes) == pytest.approx([49 / 64, 36 / 64])
    found = theory.maxsense_chances(8, 2, math.log(3), 0.5, np.array(classes), halves, likes)
    assert found == pytest.approx([1 / 4 + (99 + n / 4) / 512 for n in (157, 108)])


@pytest.mark.parametrize(
    ("likes", "gap"),
    [([0.5, 0.5 + 2.5e-13], 0), ([0.5, 0.5 + 1e-12], 1e-12), ([0, 1e-12, 1], 0)],
)
def test_a_gap_of_rounding_is_none(likes, gap):
    """Clusters are as far apart as their sums, but up to 1e-12 of the largest sum counts as 0."""
    shares = np.full(len(likes), 1 / len(likes))
    found = theory.separation(0.0, np.ones(1), shares, np.array([likes], dtype=float))
    assert found == pytest.approx(gap, rel=1e-3, abs=0)
