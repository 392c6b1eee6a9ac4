"""Ranking metrics equal trec_eval's (by way of ir-measures), and keep their stated conventions."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG
from scipy import sparse

from tacit.errors import DataError
from tacit.evaluation import metrics
from tacit.evaluation.metrics import (
    coverage,
    diversity,
    gini,
    novelty,
    ranking_by_person,
    ranking_metrics,
)


def instance(seed, n):
    """Random lists, some cut short or empty, and graded gains; some people have none."""
    generator = np.random.default_rng(seed)
    n_users, n_items = 12, 25
    lists = np.argsort(generator.random((n_users, n_items)), axis=1)[:, :n]
    lengths = generator.integers(0, n + 1, size=n_users)
    lists[np.arange(n) >= lengths[:, None]] = -1
    gains = generator.integers(1, 5, size=(n_users, n_items)).astype(np.float64)
    gains *= generator.random((n_users, n_items)) < generator.random((n_users, 1)) - 0.2
    gains[0, 0] = 1.0  # somebody has one
    return lists, sparse.csr_array(gains)


MEASURES = {
    "ndcg": nDCG,
    "recall": R,
    "precision": P,
    "mrr": RR,
    "hit_rate": Success,
    "map": AP,
}


def by_trec_eval(cases, n):
    """Return each measure of each person of each case, by (case, person)."""
    qrels, run = [], []
    for case, (lists, relevant) in enumerate(cases):
        for user, item, gain in zip(*sparse.find(relevant), strict=True):
            qrels.append(ir_measures.Qrel(f"{case} {user}", str(item), int(gain)))
        for user, row in enumerate(lists):
            for rank, item in enumerate(row):
                if item >= 0:
                    run.append(ir_measures.ScoredDoc(f"{case} {user}", str(item), float(-rank)))
    wanted = [measure @ n for measure in MEASURES.values()]
    found = {str(measure): {} for measure in wanted}
    for one in ir_measures.iter_calc(wanted, qrels, run):
        found[str(one.measure)][one.query_id] = one.value
    return {name: found[str(measure @ n)] for name, measure in MEASURES.items()}


@pytest.mark.parametrize("n", [1, 3, 10])
def test_agrees_with_trec_eval(n):
    """An independent implementation, in 1,000 cases in all: short, empty and graded lists."""
    cases = [instance((n, seed), n) for seed in range(334)]
    theirs = by_trec_eval(cases, n)
    for case, (lists, relevant) in enumerate(cases):
        ours = ranking_by_person(lists, relevant)
        for name, values in ours.items():
            for person, value in enumerate(values.tolist()):
                if np.isfinite(value):
                    expected = theirs[name].get(f"{case} {person}", 0.0)
                    assert value == pytest.approx(expected, abs=1e-9)


def test_means_are_those_of_people():
    """Of everybody with a relevant item."""
    lists, relevant = instance(5, 10)
    by_person = ranking_by_person(lists, relevant)
    metrics = ranking_metrics(lists, relevant)
    assert metrics.ndcg == pytest.approx(np.nanmean(by_person["ndcg"]))
    assert metrics.mean_average_precision == pytest.approx(np.nanmean(by_person["map"]))
    assert metrics.users == np.isfinite(by_person["ndcg"]).sum()


@given(st.integers(0, 2**32))
def test_order_of_people_does_not_matter(seed):
    """Shuffling people, lists and gains alike, changes nothing."""
    lists, relevant = instance(seed, 5)
    order = np.random.default_rng(seed + 1).permutation(len(lists))
    before, after = ranking_metrics(lists, relevant), ranking_metrics(lists[order], relevant[order])
    assert before.ndcg == pytest.approx(after.ndcg)
    assert before.recall == pytest.approx(after.recall)
    assert before.users == after.users


def test_best_list_scores_one():
    """Items in falling order of gain have NDCG 1, whatever the gains."""
    relevant = sparse.csr_array(np.array([[3.0, 0.0, 1.0, 2.0], [0.0, 5.0, 0.0, 0.5]]))
    metrics = ranking_metrics(np.array([[0, 3, 2], [1, 3, 0]]), relevant)
    assert metrics.ndcg == pytest.approx(1.0)
    assert metrics.recall == metrics.mrr == metrics.hit_rate == 1.0


def test_worked_example():
    """By hand: gains 1 and 2 at ranks 3 and 1 of a list of 4, one relevant item missed."""
    relevant = sparse.csr_array(np.array([[2.0, 0.0, 1.0, 0.0, 0.0, 1.0]]))
    metrics = ranking_metrics(np.array([[0, 3, 2, -1]]), relevant)
    dcg = 2 / np.log2(2) + 1 / np.log2(4)
    ideal = 2 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert metrics.ndcg == pytest.approx(dcg / ideal)
    assert metrics.recall == pytest.approx(2 / 3)
    assert metrics.precision == pytest.approx(2 / 4)
    assert metrics.mrr == 1.0
    assert metrics.coverage == pytest.approx(3 / 6)


def test_people_without_relevant_items_are_counted_not_averaged():
    """They change the counts and the coverage, nothing else."""
    lists = np.array([[0, 1], [2, 3]])
    relevant = sparse.csr_array(np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    both, one = ranking_metrics(lists, relevant), ranking_metrics(lists[:1], relevant[:1])
    assert (both.users, both.users_left_out, one.users_left_out) == (1, 1, 0)
    assert (both.ndcg, both.recall, both.mrr) == (one.ndcg, one.recall, one.mrr)
    assert (both.coverage, one.coverage) == (1.0, 0.5)


def test_stored_zero_is_not_relevant():
    """A gain of 0 counts as no gain, stored or not."""
    stored = sparse.csr_array((np.array([0.0, 1.0]), (np.array([0, 0]), np.array([0, 1]))))
    assert ranking_metrics(np.array([[0]]), stored).hit_rate == 0.0
    assert ranking_metrics(np.array([[1]]), stored).recall == 1.0


def test_unsorted_gains_are_found():
    """The order of entries within a row does not matter, and the input is left as it was."""
    relevant = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([3, 0]), np.array([0, 2])), shape=(1, 4)
    )
    assert ranking_metrics(np.array([[0, 3]]), relevant).ndcg == pytest.approx(1.0)
    assert relevant.indices.tolist() == [3, 0]


def test_coverage_of_a_smaller_catalogue():
    """Coverage is a share of what could be recommended."""
    assert coverage(np.array([[0, 1], [1, 2]]), 6) == 0.5
    with pytest.raises(DataError, match="catalogue"):
        coverage(np.array([[0, 1], [1, 2]]), 2)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (np.array([[0, 0]]), "row 1: a list holds an item twice"),
        (np.array([[0, 4]]), "no column"),
        (np.array([[0, -2]]), "negative"),
        (np.array([[0.0, 1.0]]), "whole item numbers"),
        (np.array([0, 1]), "whole item numbers"),
        (np.empty((1, 0), dtype=np.int64), "whole item numbers"),
        (np.array([[0], [1]]), "different numbers of people"),
    ],
)
def test_malformed_lists_are_refused(lists, message):
    """A list that would be judged wrongly is not judged."""
    with pytest.raises(DataError, match=message):
        ranking_metrics(lists, sparse.csr_array(np.array([[1.0, 0.0, 0.0, 1.0]])))


def test_empty_ranks_are_no_repeat():
    """-1 may stand at several ranks."""
    relevant = sparse.csr_array(np.array([[1.0, 0.0]]))
    assert ranking_metrics(np.array([[-1, 0, -1]]), relevant).mrr == 0.5


@pytest.mark.parametrize("gain", [-1.0, np.nan])
def test_bad_gains_are_refused(gain):
    """A gain is a number of 0 or more."""
    with pytest.raises(DataError, match="a gain is"):
        ranking_metrics(np.array([[0]]), sparse.csr_array(np.array([[1.0, gain]])))


def test_nobody_relevant_is_refused():
    """There is no mean over nobody."""
    with pytest.raises(DataError, match="nobody has a relevant"):
        ranking_metrics(np.array([[0]]), sparse.csr_array((1, 3)))


@given(st.integers(0, 2**32))
def test_gini_is_that_of_all_pairs(seed):
    """Half the mean absolute difference of two items' counts, divided by the mean count."""
    lists, _ = instance(seed, 5)
    n_items = 25
    if (lists < 0).all():
        return
    counts = np.bincount(lists[lists >= 0], minlength=n_items)
    differences = np.abs(counts[:, None] - counts[None, :]).mean()
    assert gini(lists, n_items) == pytest.approx(differences / (2 * counts.mean()))


@given(st.integers(0, 2**32))
def test_diversity_is_that_of_each_pair(seed):
    """One less the cosine, pair by pair; an item without raters is like no other."""
    lists, relevant = instance(seed, 4)
    dense = (relevant.toarray() > 0).astype(float)
    means = []
    for row in lists:
        items = row[row >= 0].tolist()
        pairs = [(one, other) for one in items for other in items if one < other]
        distances = []
        for one, other in pairs:
            norm = np.linalg.norm(dense[:, one]) * np.linalg.norm(dense[:, other])
            distances.append(1 - (dense[:, one] @ dense[:, other] / norm if norm else 0.0))
        if distances:
            means.append(np.mean(distances))
    assert diversity(lists, relevant) == pytest.approx(np.mean(means) if means else 0.0)


def test_diversity_does_not_depend_on_blocks(monkeypatch):
    """Items and entries are taken in blocks; the mean is over all lists."""
    lists, relevant = instance(3, 4)
    whole = diversity(lists, relevant)
    monkeypatch.setattr(metrics, "ITEMS_AT_A_TIME", 4)
    monkeypatch.setattr(metrics, "ENTRIES_AT_A_TIME", 7)
    assert diversity(lists, relevant) == pytest.approx(whole)


def test_novelty_is_counted_in_bits():
    """Of seven people, one rated the listed item: two bits."""
    assert novelty(np.array([[0, -1]]), np.array([1, 7]), people=7) == pytest.approx(2.0)
