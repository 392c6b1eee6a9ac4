"""Clusters are the best there are, and are found where they exist."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tacit.designs.sketches.clustering import (
    confidence,
    kmeans,
    kmeans_line,
    pair_clusters,
    publish,
    score_clusters,
    spectral_coclusters,
    spectral_embedding,
)
from tacit.designs.sketches.counting import ItemCounts, PairCounts
from tacit.errors import ConfigError, DataError
from tacit.evaluation.metrics import label_accuracy


def spread(values, labels):
    """Sum of squares within clusters."""
    return sum(
        float(((values[labels == k] - values[labels == k].mean()) ** 2).sum())
        for k in np.unique(labels)
    )


@settings(max_examples=60)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9), st.integers(1, 5))
def test_k_means_on_a_line_is_exact(values, clusters):
    """No way to cut the ordered values has a smaller sum of squares."""
    numbers = np.array(values)
    wanted = min(clusters, len(numbers))
    ordered = np.sort(numbers)
    least = min(
        spread(ordered, np.repeat(np.arange(wanted), np.diff([0, *cuts, len(numbers)])))
        for cuts in itertools.combinations(range(1, len(numbers)), wanted - 1)
    )
    labels = kmeans_line(numbers, wanted)
    assert spread(numbers, labels) == pytest.approx(least, abs=1e-6)
    assert (np.diff(labels[np.argsort(numbers, kind="stable")]) >= 0).all()


def test_k_means_in_the_plane():
    """Three far heaps are three clusters."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10]])
    true = np.repeat(np.arange(3), 30)
    points = centres[true] + rng.normal(size=(90, 2))
    labels = kmeans(points, 3)
    assert len({tuple(pair) for pair in zip(labels, true, strict=True)}) == 3


def test_k_means_of_equal_points():
    """Fewer different points than clusters is no error."""
    assert kmeans(np.ones((5, 2)), 3).shape == (5,)


def item_world(people=4_000, seed=0, levels=(0.4, 0.45), size=50):
    rng = np.random.default_rng(seed)
    true = np.repeat(np.arange(len(levels)), size)
    asked = rng.binomial(people, 0.5, len(true))
    return ItemCounts(asked, rng.binomial(asked, np.array(levels)[true])), true


@pytest.mark.parametrize("levels", [(0.4,), (0.3, 0.5), (0.2, 0.4, 0.6), (0.1, 0.3, 0.5, 0.7)])
def test_the_number_of_clusters_is_found(levels):
    """Well-separated levels: as many clusters as levels, in ascending order."""
    counts, true = item_world(levels=levels)
    found = score_clusters(counts)
    assert found.clusters == len(levels)
    assert np.array_equal(found.labels, true)


def test_an_item_that_nobody_was_asked_about_has_the_share_of_all():
    """Three of four answers are yes: half of one item's, all of another's, and so a third one's."""
    counts = ItemCounts(asked=np.array([2, 2, 0]), ones=np.array([1, 2, 0]))
    assert counts.normalised_scores.tolist() == [0.5, 1.0, 0.75]


def test_confidence_of_scores():
    """Far from the border labels are sure; where levels overlap they are not."""
    sure, _ = item_world(levels=(0.3, 0.5))
    unsure, _ = item_world(levels=(0.4, 0.41), people=2_000)
    assert confidence(sure, score_clusters(sure, 2)).min() == 1.0
    found = confidence(unsure, score_clusters(unsure, 2), resamples=100)
    assert found.mean() < 0.95
    assert found.min() < 0.75
    with pytest.raises(ConfigError, match="resample"):
        confidence(sure, score_clusters(sure, 2), resamples=0)


def pair_world(clusters, seed=0, size=20, people=400):
    rng = np.random.default_rng(seed)
    true = rng.permutation(np.repeat(np.arange(clusters), size))
    # A cluster with itself more often than with others, and the later ones more often.
    chance = 0.2 + np.diag(0.1 + 0.1 * np.arange(clusters))
    one, other = np.triu_indices(len(true), 1)
    asked = rng.binomial(people, 0.5, len(one))
    ones = rng.binomial(asked, chance[true[one], true[other]])
    return PairCounts(len(true), asked, ones), true


@pytest.mark.parametrize("clusters", [2, 3])
def test_clusters_of_pairs_are_found(clusters):
    """As many as there are, all items right, all of them sure, numbered by their score."""
    counts, true = pair_world(clusters)
    found = pair_clusters(counts)
    assert np.array_equal(found.labels, true)
    assert confidence(counts, found).min() == 1.0


def test_embeddings_of_many_items_agree(monkeypatch):
    """The sparse eigensolver and the dense one give the same rows, up to sign."""
    counts, _ = pair_world(2, size=30)
    dense = spectral_embedding(counts.matrix(), 2)
    monkeypatch.setattr("tacit.designs.sketches.clustering._DENSE_ITEMS", 10)
    sparse = spectral_embedding(counts.matrix(), 2)
    assert np.allclose(np.abs(sparse), np.abs(dense), atol=1e-6)


def test_the_diagonal_is_filled_in():
    """Without noise the eigenvectors are those of the blocks, although the diagonal is missing."""
    true = np.repeat([0, 1], [10, 20])
    blocks = np.array([[9.0, 2.0], [2.0, 5.0]])[true[:, None], true[None, :]]
    rows = spectral_embedding(blocks - np.diag(np.diag(blocks)), 2)
    for label in (0, 1):
        own = rows[true == label]
        assert np.abs(own - own[0]).max() < 1e-6


def test_publication(campaign):
    """Labels in bytes, scores in millionths of the largest, named by the campaign."""
    counts, true = item_world(levels=(0.3, 0.5), size=20)
    message = publish(campaign(40), score_clusters(counts, 2))
    assert message.labels == bytes(true.tolist())
    assert max(message.scores) <= 1_000_000
    assert message.campaign == campaign(40).digest


@pytest.mark.parametrize("clusters", [0, 101])
def test_impossible_numbers_are_refused(clusters):
    """A cluster has an item."""
    with pytest.raises(ConfigError):
        score_clusters(item_world()[0], clusters)


def test_coclusters_find_blocks():
    """Two groups of people with items of their own are told apart; an unliked item has a label."""
    table = np.kron(np.eye(2), np.ones((20, 15)))
    table = np.hstack([table, np.zeros((40, 1))])
    found = spectral_coclusters(csr_array(table), 2, seed=0)
    assert label_accuracy(found[:30], np.repeat([0, 1], 15)) == 1.0
    assert found[30] in (0, 1)
    with pytest.raises(DataError, match="too few likes"):
        spectral_coclusters(csr_array(table[:2]), 2, seed=0)
