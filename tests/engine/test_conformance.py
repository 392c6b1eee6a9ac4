"""Every engine keeps the laws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from tacit.engine import Engine, Neighbours, Stage, Table, item_item_blocks
from tacit.engine.item_item import check_arguments
from tacit.engine.paths_compiled import check_paths, check_predictions
from tests.support.engine_conformance import EngineConformance
from tests.support.readable_engine import LocalEngine


@dataclass(frozen=True)
class DenseEngine:
    """Whole dense matrices and Python loops: an engine needs nothing but the operations."""

    def neighbours(self, table, *, items, candidates, k, significance=0, counts=True):
        check_arguments(table, items, candidates, k, significance, counts)
        rows = np.repeat(np.arange(table.values.shape[0]), np.diff(table.values.indptr))
        rated, likes = np.zeros((2, *table.values.shape), dtype=bool)
        rated[rows, table.values.indices] = True
        likes[rows, table.values.indices] = table.likes
        values = table.values.toarray()
        lengths = np.linalg.norm(values, axis=0)
        shape = (len(items), k)
        found = Neighbours(
            items,
            np.full(shape, -1, np.int32),
            np.zeros(shape),
            *np.zeros((2, *shape), np.int32),
        )
        for line, item in enumerate(items):
            edges = []
            for other in sorted(set(candidates.tolist()) - {int(item)}):
                both = rated[:, item] & rated[:, other]
                dot = values[:, item] @ values[:, other]
                similarity = dot / (lengths[item] * lengths[other]) if dot else 0.0
                if significance:
                    similarity *= min(both.sum(), significance) / significance
                agreed = (likes[both, item] == likes[both, other]).sum()
                if similarity and (agreed or not counts):
                    tallies = (both.sum(), agreed) if counts else (0, 0)
                    edges.append((-round(abs(similarity), 12), other, similarity, *tallies))
            for place, (_, other, similarity, co_count, agreed) in enumerate(sorted(edges)[:k]):
                found.neighbours[line, place], found.similarities[line, place] = other, similarity
                found.co_counts[line, place], found.agreements[line, place] = co_count, agreed
        return found

    def paths(self, stages, *, starts):
        check_paths(stages, starts)
        sums = np.zeros((2, len(starts), stages[-1].width))
        for line, start in enumerate(starts):
            self._follow(stages, int(start), [], sums[:, line])
        return sums[0], sums[1]

    def _follow(self, stages, place, edges, sums):
        if not stages:
            similarities, agreements, shares = np.array(edges).T
            weight = shares.prod()
            sums[:, place] += weight * np.average(similarities, weights=agreements), weight
            return
        stage = stages[0]
        for e in range(stage.offsets[place], stage.offsets[place + 1]):
            edge = (stage.similarities[e], stage.agreements[e], stage.shares[e])
            self._follow(stages[1:], int(stage.targets[e]), [*edges, edge], sums)

    def predictions(self, deviations, weights, similar):
        check_predictions(deviations, weights, similar)
        towards = similar.toarray().T
        totals = weights.toarray() @ abs(towards)
        sums = (weights.toarray() * deviations.toarray()) @ towards
        return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


class TestLocal(EngineConformance):
    """The readable engine, in blocks of any size."""

    def make(self, block):
        return LocalEngine(cells=block)


class TestCompiled(EngineConformance):
    """The fast engine, in blocks of any size, to the last bit."""

    examples = 150

    def make(self, block):
        return Engine(block=block)


@pytest.mark.parametrize("vectors", [True, False])
def test_dense_beginnings_change_no_bit(monkeypatch, vectors):
    """The fast engine is the readable one's on rows that begin dense, where the processor can, and
    on rows of cells alone."""
    monkeypatch.setattr(item_item_blocks, "HAS_VECTORS", vectors and item_item_blocks.HAS_VECTORS)
    table = a_wide_table()
    items = np.arange(table.values.shape[1], dtype=np.int32)
    rows = item_item_blocks.pack_rows(table, items, len(items), table.values.nnz, counts=True)
    assert rows.heads[:, item_item_blocks.WORDS].any() == item_item_blocks.HAS_VECTORS
    for queried, candidates, counts in (
        (items, items, True),
        (items, items, False),
        (items[:90], items, True),
    ):
        asked = {"items": queried, "candidates": candidates, "k": 7, "counts": counts}
        expected = LocalEngine().neighbours(table, **asked)
        found = Engine(block=4_000).neighbours(table, **asked)
        for name in ("neighbours", "similarities", "co_counts", "agreements"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def a_wide_table():
    """300 people, 700 items; popular items, some people with few stars, some with all different."""
    generator = np.random.default_rng(5)
    rated = generator.random((300, 700)) < np.geomspace(0.9, 0.002, 700)
    stars = generator.integers(1, 6, rated.shape) - generator.normal(3, 0.3, (300, 1))
    stars[::4] = generator.normal(size=(75, 700))
    values = sparse.csr_array(np.where(rated, stars, 0.0))
    return Table(values, generator.random(values.nnz) < 0.5)


class TestDense(EngineConformance):
    """An engine that shares no arithmetic with the others: what they mean, from the definitions."""

    to_the_bit = False

    def make(self, block):
        return DenseEngine()


class Wrong(LocalEngine):
    """Faults that the suite must catch, one at a time."""

    def __init__(self, fault):
        super().__init__()
        object.__setattr__(self, "fault", fault)

    def neighbours(self, table, *, items, candidates, k, significance=0, counts=True):
        if self.fault == "weights":
            significance = 0
        if self.fault == "zeros":
            kept = table.values.data != 0
            table = Table(sparse.csr_array(table.values.toarray()), table.likes[kept])
        return super().neighbours(
            table, items=items, candidates=candidates, k=k, significance=significance, counts=counts
        )

    def paths(self, stages, *, starts):
        if self.fault == "agreements":
            one = np.ones_like
            stages = [
                Stage(s.offsets, s.targets, s.similarities, one(s.agreements), s.shares, s.width)
                for s in stages
            ]
        return super().paths(stages, starts=starts)

    def predictions(self, deviations, weights, similar):
        if self.fault == "turned":
            similar = similar.T.tocsr()
        return super().predictions(deviations, weights, similar)


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("weights", "test_neighbours_are_the_reference_s"),
        ("zeros", "test_neighbours_count_ratings_at_the_mean"),
        ("weights", "test_neighbours_share_the_definition"),
        ("agreements", "test_paths_are_the_reference_s"),
        ("agreements", "test_paths_share_the_definition"),
        ("turned", "test_predictions_are_the_reference_s"),
    ],
)
def test_suite_has_teeth(fault, law):
    """An engine with a planted fault fails."""

    class Faulty(EngineConformance):
        examples = 400  # most cases show no fault; the first that does ends the search

        def make(self, block):
            return Wrong(fault)

    with pytest.raises(AssertionError):
        getattr(Faulty(), law)()


@pytest.mark.parametrize("engine", [LocalEngine(), Engine()])
def test_empty_sides_have_empty_answers(engine):
    """Nobody asked for, nobody to choose from, nobody at all: shapes stay as stated."""
    none = np.zeros(0, dtype=np.int32)
    values = sparse.csr_array((0, 3))
    table = Table(values, np.zeros(0, dtype=bool))
    for items, candidates in product((none, np.arange(3, dtype=np.int32)), repeat=2):
        found = engine.neighbours(table, items=items, candidates=candidates, k=2)
        assert found.neighbours.shape == (len(items), 2)
        assert (found.neighbours == -1).all()
    assert engine.predictions(values, values, sparse.csr_array((3, 3))).shape == (0, 3)
