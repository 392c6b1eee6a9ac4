"""PNSA and PNCF as printed: the formulas, the draws, and the person they tell."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tacit.auditing.output_distributions import distribution
from tacit.designs.xmap import theory
from tacit.designs.xmap.baseliner import make_baseline
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.private_neighbours import (
    Candidates,
    NeighbourParameters,
    admit_candidates,
    candidates_of_items,
    draw_item_neighbours,
    draw_neighbours,
    longest_rating_vector,
    measure_candidates,
)
from tacit.randomness import replay, secure, simulation

DRAWS = 20_000


def drawn_neighbours(lists, k, budget, source):
    """Draw with |v| the number of candidates."""
    return draw_neighbours(lists, NeighbourParameters(k, budget, "counted"), 0, source)


def neighbour_chances(exponents, k):
    """Every ordered list of k neighbours, drawn without repetition, and its chance."""
    found = {}
    for chosen in permutations(range(len(exponents)), k):
        left, chance = list(range(len(exponents))), 1.0
        for one in chosen:
            weights = np.exp(exponents[left] - exponents[left].max())
            chance *= weights[left.index(one)] / weights.sum()
            left.remove(one)
        found[chosen] = chance
    return found


def profiles_of(rows):
    matrix = sparse.csr_array(np.array(rows, dtype=float))
    return Profiles(matrix, np.zeros(matrix.nnz), None)


@given(
    st.lists(
        st.lists(st.sampled_from([0, 1, 2, 4, 5]), min_size=4, max_size=4), min_size=3, max_size=8
    ).filter(lambda rows: all(sum(row) for row in rows))
)
def test_candidates_are_the_formulas(rows):
    """Similarity and SS of every pair, of either sign, are those of the closed formulas."""
    table = make_baseline(sparse.csr_array(np.array(rows, dtype=float))).table
    values = table.values
    dense = np.full(values.shape, math.nan)
    people = np.repeat(np.arange(len(rows)), np.diff(values.indptr))
    dense[people, values.indices] = values.data
    squares = np.nansum(dense**2, axis=0)
    raters = np.flatnonzero(~np.isnan(dense[:, 0]))
    found = measure_candidates(raters, dense[raters, 0], values, squares, 0)
    assert found.numbers.tolist() == [0, 1, 2, 3]
    for j in range(1, 4):
        s = theory.similarity(dense[:, 0], dense[:, j])
        assert found.similarities[j] == pytest.approx(s, abs=1e-12)
        printed = theory.similarity_sensitivity(dense[:, 0], dense[:, j])
        assert found.sensitivities[j] == pytest.approx(printed, rel=1e-6, abs=1e-9)


def test_draws_follow_their_chances():
    """Ordered pairs out of 4 come as often as PNSA says; off by 5 standard deviations in fewer
    than one run of 100,000."""
    one = Candidates(
        np.array([10, 11, 12, 13], dtype=np.int32),
        np.array([0.9, 0.5, 0.3, 0.1]),
        np.array([0.05, 0.2, 0.1, 0.3]),
    )
    exponents = theory.neighbour_exponents(one.similarities, one.sensitivities, 2, 2.0, 4, 0.1)
    expected = neighbour_chances(exponents, 2)
    with simulation():
        items, _ = drawn_neighbours([one] * DRAWS, 2, 2.0, replay(1))
    for (first, second), chance in expected.items():
        found = ((items[:, 0] == 10 + first) & (items[:, 1] == 10 + second)).mean()
        assert abs(found - chance) < 5 * math.sqrt(chance / DRAWS) + 1e-4
    assert abs(expected[0, 1] - 1 / 12) > 0.02  # uniform draws would fail


@pytest.mark.parametrize("kept", ["theory", "shipped"])
def test_similarities_below_the_truncation_count_as_it(kept):
    """Chances of one neighbour of five follow from max(Sim, Sim_k - w), computed here by hand:
    w = 4 k SS / epsilon' ln(k (n - k) / rho) = 0.02 ln 40, so that three of them are raised."""
    similarities, sensitivity, epsilon = np.array([0.9, 0.88, 0.5, 0.3, 0.2]), 0.01, 2.0
    raised = np.maximum(similarities, 0.9 - 0.02 * math.log(40))
    assert (raised > similarities).sum() == 3
    weights = np.exp(epsilon * (raised - 0.9) / (4 * sensitivity))
    expected = weights / weights.sum()
    if kept == "theory":
        exponents = theory.neighbour_exponents(similarities, np.full(5, sensitivity), 1, epsilon, 5)
        found = {chosen[0]: p for chosen, p in neighbour_chances(exponents, 1).items()}
    else:
        one = Candidates(np.arange(5, dtype=np.int32), similarities, np.full(5, sensitivity))
        drawn = distribution(lambda: int(drawn_neighbours([one], 1, epsilon, secure())[0][0, 0]))
        found = {place: float(chance) for place, chance in drawn.items()}
    assert [found[place] for place in range(5)] == pytest.approx(expected.tolist(), rel=1e-6)


def test_no_neighbour_twice():
    """With fewer candidates than k, each comes once and the rest stays empty."""
    one = Candidates(np.array([3, 5], dtype=np.int32), np.array([0.5, 0.2]), np.array([0.1, 0.1]))
    none = Candidates(np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
    with simulation():
        items, noisy = drawn_neighbours([one, none], 4, 1.0, replay(2))
    assert sorted(items[0].tolist()) == [-1, -1, 3, 5]
    assert items[1].tolist() == [-1] * 4
    assert (noisy[items < 0] == 0).all()


def test_noise_has_the_printed_scale():
    """The mean |noise| is SS / (epsilon'/2); off by 5 standard errors in one run of a million."""
    one = Candidates(np.array([0], dtype=np.int32), np.array([0.5]), np.array([0.2]))
    with simulation():
        _, noisy = drawn_neighbours([one] * 5000, 1, 0.8, replay(3))
    scale = 0.2 / 0.4
    assert abs(np.abs(noisy - 0.5).mean() - scale) < 5 * scale / math.sqrt(5000)


def mild_and_strong(people, *, present):
    """Stars for t_i, t_1, t_2 and two others: `people` of 4-4-2-2 rate t_i and t_1, as many t_i
    and t_2, and one person gives t_i and t_1 5-5-1-1."""
    rows = [[4, 4, 0, 2, 2]] * people + [[4, 0, 4, 2, 2]] * people
    return profiles_of([*rows, [5, 5, 0, 1, 1]] if present else rows)


def share_of_first(people, *, present, repeats):
    table = make_baseline(mild_and_strong(people, present=present).stars).table
    chosen = []
    with simulation():
        for seed in range(repeats):
            draws = replay(f"{people} {present} {seed}")
            pnsa = NeighbourParameters(1, 0.8, "positive")
            items, _ = draw_item_neighbours(table.values, 0, pnsa, draws)
            chosen.append(items[0, 0] == 1)
    return np.mean(chosen)


def test_one_person_is_seen_in_the_shipped_draw():
    """60 mild people each, positive candidates: with one strong person t_1 is drawn once in 6,700
    times, without her every other time; the claim for this draw is .4 nats. By chance fewer than
    40 of 150 draws without her, or more than 3 with her, come up in one run of a billion."""
    assert share_of_first(60, present=False, repeats=150) > 40 / 150
    assert share_of_first(60, present=True, repeats=150) <= 3 / 150


def test_largest_similarities_at_a_large_budget():
    """With epsilon' of a billion the drawn neighbours are the nearest."""
    one = Candidates(
        np.arange(6, dtype=np.int32), np.array([0.1, 0.9, 0.3, 0.8, 0.2, 0.4]), np.full(6, 0.1)
    )
    with simulation():
        items, noisy = drawn_neighbours([one], 3, 1e9, replay(4))
    assert items[0].tolist() == [1, 3, 5]
    assert noisy[0].tolist() == pytest.approx([0.9, 0.8, 0.4], abs=1e-4)


def test_truncation_takes_the_largest_sensitivity():
    """One draw of k = 1 comes as often as PNSA says, where the truncation lies apart for the
    largest and the smallest SS; off by 5 standard deviations once in 1,000,000 runs."""
    one = Candidates(
        np.arange(4, dtype=np.int32),
        np.array([0.9, 0.6, 0.3, 0.1]),
        np.array([0.3, 0.2, 0.25, 0.1]),
    )
    exponents = theory.neighbour_exponents(one.similarities, one.sensitivities, 1, 8.0, 4, 0.1)
    narrow = theory.neighbour_exponents(one.similarities, np.full(4, 0.1), 1, 8.0, 4, 0.1)
    assert narrow * 0.1 / one.sensitivities != pytest.approx(exponents)
    with simulation():
        items, _ = drawn_neighbours([one] * DRAWS, 1, 8.0, replay(1))
    shares = np.bincount(items[:, 0], minlength=4) / DRAWS
    for (item,), chance in neighbour_chances(exponents, 1).items():
        assert abs(shares[item] - chance) <= 5 * math.sqrt(chance * (1 - chance) / DRAWS)


def test_every_rater_of_every_item_counts():
    """Also the first rater of the first item."""
    values = sparse.csr_array(np.array([[2.0, 1.0], [0.5, 0.0], [0.0, 1.0]]))
    both = np.arange(2, dtype=np.int32)
    first, second = candidates_of_items(values, both, 0)
    expected = 2 / math.sqrt(4.25 * 2)
    assert first.similarities[first.numbers == 1] == pytest.approx([expected])
    assert second.similarities[second.numbers == 0] == pytest.approx([expected])


def columns_of(rows):
    """The dense table, and its arguments of `candidates`."""
    dense = np.array(rows, dtype=float)
    return sparse.csr_array(dense), np.square(dense).sum(axis=0)


@pytest.mark.parametrize(("rest", "counted"), [(8.4e-4, False), (1.1e-3, True)])
def test_who_leaves_next_to_nothing_has_no_terms(rest, counted):
    """Two people with stars 1 and r at both items: without the first one r^4 is left of the norms'
    product, and her quotient is 1 / r^2. It counts from 1e-12 on."""
    columns, squares = columns_of([[1, 1], [rest, rest]])
    found = measure_candidates(np.arange(2), np.array([1.0, rest]), columns, squares, 0)
    expected = 1 / rest**2 if counted else rest**2
    assert found.sensitivities == pytest.approx([expected] * 2, rel=1e-5)


def test_few_who_rated_both_count_for_less():
    """Similarities are multiplied by min(raters of both, 3) / 3; 0 makes no candidate."""
    columns, squares = columns_of(
        [[1, 1, 2, 0, 1], [2, 2, 0, 0, -1], [1, 1, 0, 0, 1], [3, 2, 0, 0, 0], [1, 0, 1, 4, 0]]
    )
    people, stars = np.arange(5), np.array([1.0, 2, 1, 3, 1])
    plain, fewer = (measure_candidates(people, stars, columns, squares, least) for least in (0, 3))
    cosines = [4.0, 12 / math.sqrt(10), 3 / math.sqrt(5), 1.0]
    assert plain.similarities[:4] == pytest.approx([cosine / 4 for cosine in cosines])
    shares = [1, 1, 2 / 3, 1 / 3]
    assert fewer.similarities[:4] == pytest.approx(plain.similarities[:4] * shares)


def test_every_item_is_a_candidate_as_printed():
    """The paper draws among all items: with an immense epsilon' and a wide |v| the three neighbours
    of an item are its one positive item and two others; the restricted reading has the one."""
    stars = sparse.csr_array(np.array([[5.0, 5, 1, 1], [5, 4, 1, 2], [4, 5, 2, 1]]))
    table = make_baseline(stars).table
    with simulation():
        (all_items, _), (positive, _) = (
            draw_item_neighbours(table.values, 0, NeighbourParameters(3, 1.0, reading), replay(1))
            for reading in ("printed", "positive")
        )
    assert sorted(all_items[0].tolist()) == [1, 2, 3]
    assert sorted(positive[0].tolist()) == [-1, -1, 1]


@pytest.mark.parametrize(("reading", "length"), [("printed", 500), ("counted", 5)])
def test_readings_of_v(reading, length):
    """Chances of one neighbour of five, in closed form, with |v| the longest rating vector as
    printed and the number of candidates as counted: w differs, and so does what is raised."""
    similarities, sensitivity, epsilon = np.array([0.9, 0.88, 0.8, 0.3, 0.2]), 0.01, 2.0
    one = Candidates(np.arange(5, dtype=np.int32), similarities, np.full(5, sensitivity))
    pnsa = NeighbourParameters(1, epsilon, reading)
    drawn = distribution(lambda: int(draw_neighbours([one], pnsa, 500, secure())[0][0, 0]))
    raised = np.maximum(similarities, 0.9 - 0.02 * math.log((length - 1) / 0.1))
    weights = np.exp(epsilon * raised / (4 * sensitivity))
    found = [float(drawn[place]) for place in range(5)]
    assert found == pytest.approx((weights / weights.sum()).tolist(), rel=1e-6)


def test_the_printed_length_is_the_longest_rating_vector():
    """Ratings of the item that most people rated; a centred star of 0 is a rating."""
    values = sparse.csr_array((np.array([0.0, 1, -1, 2]), ([0, 0, 1, 2], [0, 1, 0, 0])), (3, 2))
    assert longest_rating_vector(values) == 3
    assert longest_rating_vector(sparse.csr_array((3, 2))) == 0


def test_only_the_restricted_reading_leaves_candidates_out():
    """Negative and zero similarities stay, but for the reading named positive."""
    found = Candidates(np.arange(3, dtype=np.int32), np.array([0.1, 0.0, -0.2]), np.ones(3))
    assert admit_candidates(found, "printed").numbers.tolist() == [0, 1, 2]
    assert admit_candidates(found, "counted").numbers.tolist() == [0, 1, 2]
    assert admit_candidates(found, "positive").numbers.tolist() == [0]
