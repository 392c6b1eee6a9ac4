"""Thousands of sparse features are streamed and reduced, and never dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.pdap.experiment import sparse_contexts
from tacit.designs.pdap.experiment.run import simulate
from tacit.designs.pdap.experiment.sparse_contexts import (
    Reduction,
    reduced_contexts,
    sparse_batches,
)
from tacit.designs.pdap.experiment.visitors import generate_contexts
from tacit.designs.pdap.experiment.world import World


def test_people_are_sparse_rows_of_length_one():
    """Some thirty tags each, in batches, the same for the same seed."""
    batches = list(sparse_batches(4500, 1000, seed=3, people_seed=1))
    assert [batch.shape for batch in batches] == [(2000, 1000), (2000, 1000), (500, 1000)]
    rows = sparse.vstack(batches)
    assert np.allclose(rows.multiply(rows).sum(axis=1), 1)
    assert 10 < rows.nnz / 4500 < 30
    again = next(sparse_batches(4500, 1000, seed=3, people_seed=1))
    assert (again != batches[0]).nnz == 0
    other = next(sparse_batches(4500, 1000, seed=3, people_seed=0))
    assert (other != batches[0]).nnz > 0


def test_the_reduction_finds_the_principal_components():
    """Ranks of the first component are those of an exact decomposition, up to its sign."""
    generator = np.random.default_rng(0)
    tall = generator.normal(size=(400, 3)) * [5.0, 2.0, 1.0]
    rows = tall @ generator.normal(size=(3, 40)) + 0.01 * generator.normal(size=(400, 40))
    batch = sparse.csr_matrix(rows)
    reduction = Reduction(lambda: iter([batch[:150], batch[150:]]), 40, 2, seed=0)
    found = reduction.reduce(iter([batch]))
    centred = rows - rows.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    exact = centred @ components[:2].T
    for component in range(2):
        ranks = exact[:, component].argsort().argsort() / 400
        same = np.abs(found[:, component] - ranks).max()
        turned = np.abs(found[:, component] - (399 / 400 - ranks)).max()
        assert min(same, turned) < 0.01


def test_reduced_contexts_fill_the_cube():
    """Numbers in [0, 1], nearly uniform in each feature: ranks among people like them."""
    found = reduced_contexts(3000, 2000, 3, seed=1)
    assert found.shape == (3000, 3)
    assert found.min() >= 0
    assert found.max() <= 1
    deciles = np.quantile(found, np.linspace(0.1, 0.9, 9), axis=0)
    assert np.abs(deciles - np.linspace(0.1, 0.9, 9)[:, None]).max() < 0.05


def test_no_dense_array_is_made(monkeypatch):
    """A sparse batch is never turned into an array of all features."""

    def refuse(*_, **__):
        raise AssertionError("a batch was made dense")

    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_matrix, name, refuse)
    monkeypatch.setattr(sparse_contexts, "FITTED_PEOPLE", 3000)
    assert reduced_contexts(2500, 5000, 2, seed=1).shape == (2500, 2)


def test_visitors_of_a_simulation_can_have_sparse_features(monkeypatch):
    """--features reaches the visitors, and policies see --dimensions numbers."""
    monkeypatch.setattr(sparse_contexts, "FITTED_PEOPLE", 2000)
    world = World(vendors=2, videos=2, dimensions=2, features=300, arrivals=20)
    assert np.array_equal(generate_contexts(world, 40, 1), reduced_contexts(40, 300, 2, seed=1))
    assert simulate(world, "dap", 1.0, 1).rows[-1].arrivals == 20


@pytest.mark.parametrize("dimensions", [1, 4])
def test_groups_of_people_stay_together(dimensions):
    """People of one community lie closer together than people of all, in the first feature."""
    found = reduced_contexts(2000, 1000, dimensions, seed=2)
    assert found.shape == (2000, dimensions)
    assert len(np.unique(found[:, 0])) > 1000
