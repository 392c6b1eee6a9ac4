"""What a report tells is computed as enumeration has it, and lies within the lemmas' bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tacit.designs.sketches import information, theory


def report_chances(N, w, question, truth):  # noqa: N803
    """P(S = 1 | labels) for every labeling, and all (data, chance of a 1), by enumeration.

    question: from (rated set, labels of rated items by item) to the true bit.
    """
    by_labels = []
    by_data = []
    sets = list(itertools.combinations(range(N), w))
    for labels in itertools.product((0, 1), repeat=N):
        chances = []
        for rated in sets:
            bit = question({item: labels[item] for item in rated})
            chances.append(truth if bit else 1 - truth)
            by_data.append((rated, tuple(labels[item] for item in rated), chances[-1]))
        by_labels.append(np.mean(chances))
    return np.array(by_labels), by_data


def told(chances):
    """Mutual information of a bit with equally likely causes, nats."""
    mean = np.mean(chances)
    parts = []
    for chance in chances:
        for given, overall in ((chance, mean), (1 - chance, 1 - mean)):
            parts.append(given * math.log(given / overall) if given > 0 else 0.0)
    return sum(parts) / len(chances)


def matching_mean(N, by_data, bit):  # noqa: N803
    """Lemma 4.1's bracket for one value of the bit: two draws of the data given it."""
    weights = {}
    for rated, likes, chance in by_data:
        key = rated, likes
        weights[key] = weights.get(key, 0.0) + (chance if bit else 1 - chance)
    total = sum(weights.values())
    mean = 0.0
    for (first, one), p in weights.items():
        for (second, other), q in weights.items():
            shared = set(first) & set(second)
            if all(one[first.index(i)] == other[second.index(i)] for i in shared):
                mean += p * q / total**2 * 2 ** len(shared)
    return mean - 1


CASES = [
    ("maxsense", lambda own: any(own.get(item) for item in (0, 1, 2)), 3),
    ("pairwise-preference", lambda own: own.get(0) == 1 == own.get(1), None),
    ("pairwise-identical", lambda own: own.get(0, 8) == own.get(1, 9), None),
]


@pytest.mark.parametrize("eps", [0.5, 2.0])
@pytest.mark.parametrize(("method", "question", "size"), CASES)
def test_information_is_that_of_an_enumeration(method, question, size, eps):
    """Five items of which two are rated: both informations, Lemma 4.1's side and the shifts."""
    N, w = 5, 2  # noqa: N806
    by_labels, by_data = report_chances(N, w, question, theory.truth(eps))
    if size is None:
        found = information.pair_information(N, w, eps, identical=method == "pairwise-identical")
    else:
        found = information.maxsense_information(N, w, eps, size)
    data_chances = [chance for _, _, chance in by_data]
    assert found.method == method
    assert found.about_labels == pytest.approx(told(by_labels))
    assert found.about_person == pytest.approx(told(data_chances))
    mean = np.mean(data_chances)
    lemma = mean * matching_mean(N, by_data, True) + (1 - mean) * matching_mean(N, by_data, False)
    assert found.lemma_4_1 == pytest.approx(lemma)
    shifts = [chance / mean - 1 for chance in data_chances]
    shifts += [(1 - chance) / (1 - mean) - 1 for chance in data_chances]
    assert found.shifts == pytest.approx((min(shifts), max(shifts)))


def test_a_question_about_one_item_is_that_of_an_enumeration():
    """Theorem 4.3's question to people who rated one of four items, without noise."""
    by_labels, by_data = report_chances(4, 1, lambda own: own.get(2) == 1, 1.0)
    found = information.one_bit_information(4)
    assert found.about_labels == pytest.approx(told(by_labels))
    assert found.about_person == pytest.approx(told([chance for _, _, chance in by_data]))
    assert found.about_labels <= found.theorem_4_3 == 1 / 4
    mean = 1 / 8
    lemma = mean * matching_mean(4, by_data, True) + (1 - mean) * matching_mean(4, by_data, False)
    assert found.lemma_4_1 == pytest.approx(lemma)


@pytest.mark.parametrize(("N", "w", "size"), [(100, 1, 70), (1682, 50, 34), (40, 40, 2)])
@pytest.mark.parametrize("eps", [0.01, 1.0, 6.0])
def test_a_report_keeps_the_bounds(N, w, size, eps):  # noqa: N803
    """Lemmas 3.1, 4.1 and 4.5 are above what the report tells, the sharper bounds too."""
    for found in (
        information.maxsense_information(N, w, eps, size),
        information.pair_information(N, w, eps),
        information.pair_information(N, w, eps, identical=True),
    ):
        rounding = 1e-12
        assert found.about_labels <= found.about_person + rounding
        assert found.about_person <= found.sharper + rounding
        assert found.sharper <= found.lemma_3_1
        assert found.about_labels <= found.lemma_4_1 + rounding
        assert found.lemma_4_1 <= found.lemma_4_5 + rounding
        assert found.allowed_shifts[0] <= found.shifts[0] + rounding
        assert found.shifts[1] <= found.allowed_shifts[1] * (1 + rounding)


@pytest.mark.parametrize("N", [10, 1682])
@pytest.mark.parametrize("eps", [1e-9, 1e-4, 0.01, 0.3])
def test_little_information_is_not_lost_in_rounding(N, eps):  # noqa: N803
    """Far below the rounding of an entropy it is half of Lemma 4.1's side, which is above it."""
    for found in (
        information.maxsense_information(N, 2, eps, 3),
        information.pair_information(N, 2, eps),
        information.pair_information(N, 2, eps, identical=True),
    ):
        assert 0 < found.about_labels <= found.lemma_4_1
        assert found.about_labels == pytest.approx(found.lemma_4_1 / 2, rel=0.2)


@pytest.mark.parametrize("identical", [False, True])
def test_who_rated_one_item_reveals_nothing_about_pairs(identical):
    """Who rated one item answers no about every pair, so a report moves no chance."""
    found = information.pair_information(5, 1, 1.0, identical=identical)
    assert found.shifts == pytest.approx((0.0, 0.0))
    assert found.about_person == pytest.approx(0.0)


def test_shared_items_by_hand():
    """Two of five items each: three of ten pairs miss a given pair; Lemma 4.7 has 1 - 4/5."""
    found = information.shared_items(5, 2)
    assert found.exact == pytest.approx(0.3)
    assert found.lemma_4_7 == pytest.approx(0.2)
    assert information.shared_items(5, 3) == information.SharedItems(0.0, 0.0)
    near = information.shared_items(10**6, 30)
    assert near.lemma_4_7 == pytest.approx(near.exact, abs=1e-6)


def test_too_large_a_set_has_no_sum():
    """Beyond a million items the sum is not made, and nothing is said."""
    assert information.maxsense_information(10**9, 2, 1.0, 10**8) is None


def test_a_yes_to_the_one_bit_question_shifts_the_law_of_the_profile():
    """One of the 2 N profiles says yes: told so, its chance is 2 N times what it was, and that of
    any other 0."""
    assert information.one_bit_information(20).shifts == pytest.approx((-1.0, 39.0))
