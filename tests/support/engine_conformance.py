"""What holds for every engine: the compiled one, the readable one, and a dense one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Engine, Floats, Numbers, Stage, Table
from tacit.errors import ConfigError
from tests.support.readable_engine import LocalEngine
from tests.support.seen import require_any

Generator = np.random.Generator


class EngineConformance:
    """Subclass it and write `make`.

    to_the_bit: whether its sums are taken in the stated order; if not, numbers are compared to
    1e-9, on ratings whose sums are exact in any order. examples: how many cases of each law.
    """

    to_the_bit: ClassVar[bool] = True
    examples: ClassVar[int] = 40
    blocks: ClassVar[tuple[int, ...]] = (4, 60, 10**6)

    def make(self, block: int) -> Engine:
        """An engine that works in blocks of this size, in whatever unit it has."""
        raise NotImplementedError

    def test_neighbours_are_the_reference_s(self) -> None:
        """On any table, sides, k and weighting the lists are those of the readable engine."""

        def law(seed: int, k: int, significance: int, counts: bool) -> None:
            generator = np.random.default_rng(seed)
            table = a_table(generator, exact=not self.to_the_bit)
            width = table.values.shape[1]
            items = _some(generator, width)
            candidates = generator.permutation(items) if generator.random() < 0.4 else None
            candidates = _some(generator, width) if candidates is None else candidates
            asked: dict[str, Any] = {
                "items": items,
                "candidates": candidates,
                "k": k,
                "counts": counts,
            }
            asked["significance"] = significance if counts else 0
            expected = LocalEngine().neighbours(table, **asked)
            for block in require_any(self.blocks):
                found = self.make(block).neighbours(table, **asked)
                _equal(found.items, expected.items, "items")
                self._close(found.similarities, expected.similarities)
                # Rounded otherwise, two equal similarities may differ, and their items swap places.
                same = found.neighbours == expected.neighbours
                assert same.all() or not (
                    self.to_the_bit or _apart(expected.similarities)[~same].any()
                )
                for name in ("co_counts", "agreements"):
                    _equal(getattr(found, name)[same], getattr(expected, name)[same], name)

        self._law(law, _SEEDS, st.integers(1, 6), st.sampled_from((0, 3, 50)), st.booleans())

    def test_neighbours_ties_go_by_number(self) -> None:
        """Equally near items are listed by their number, whatever the order they are asked in."""
        values = sparse.csr_array(np.array([[1.0, 1, 1, -1, 1], [1, 1, 1, -1, 1]]))
        table = Table(values, values.data > -2)
        for block in self.blocks:
            found = self.make(block).neighbours(
                table,
                items=np.array([2, 0], dtype=np.int32),
                candidates=np.array([4, 3, 1, 0, 2], dtype=np.int32),
                k=3,
            )
            _equal(found.neighbours, np.array([[0, 1, 3], [1, 2, 3]]), "neighbours")

    def test_neighbours_share_the_definition(self) -> None:
        """Two people, two items: the cosine, its weight and the counts are those of the formula."""
        values = sparse.csr_array(np.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 0.0]]))
        table = Table(values, np.array([True, True, False, True, True]))
        both = np.array([0, 1], dtype=np.int32)
        found = self.make(10).neighbours(table, items=both, candidates=both, k=2, significance=50)
        cosine = (1 * 2 - 1 * 0.5) / np.sqrt(6) / np.sqrt(4.25) * 2 / 50
        np.testing.assert_allclose(found.similarities, [[cosine, 0], [cosine, 0]])
        _equal(found.neighbours, np.array([[1, -1], [0, -1]]), "neighbours")
        _equal(found.co_counts[:, 0], np.array([2, 2]), "co_counts")
        _equal(found.agreements[:, 0], np.array([1, 1]), "agreements")

    def test_neighbours_count_ratings_at_the_mean(self) -> None:
        """A stored zero is a rating: it adds nothing to the product, and counts."""
        values = sparse.csr_array(
            ([1.0, 1.0, 0.0, 1.0], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2)
        )
        table = Table(values, np.array([True, True, False, False]))
        both = np.array([0, 1], dtype=np.int32)
        found = self.make(10).neighbours(table, items=both, candidates=both, k=1)
        _equal(found.co_counts, np.array([[2], [2]]), "co_counts")
        _equal(found.agreements, np.array([[2], [2]]), "agreements")

    def test_paths_are_the_reference_s(self) -> None:
        """Through any stages, dead ends and repeated edges included, both sums agree."""

        def law(seed: int, count: int) -> None:
            generator = np.random.default_rng(seed)
            stages = some_stages(generator, count)
            starts = _some(generator, len(stages[0].offsets) - 1)
            expected = LocalEngine().paths(stages, starts=starts)
            for block in self.blocks:
                found = self.make(block).paths(stages, starts=starts)
                for sums, wanted in zip(found, expected, strict=True):
                    self._close(sums, wanted)

        self._law(law, _SEEDS, st.integers(1, 5))

    def test_paths_share_the_definition(self) -> None:
        """X-SIM of two paths, one of (S, s, F) = (4, .5, .4), (1, -.2, .1) and one of (2, .3, .2),
        is .31: the mean of their similarities weighted by their certainties."""
        longer = [
            stage_of([0, 1], [0], [0.5], [4], [0.4], 1),
            stage_of([0, 1], [0], [-0.2], [1], [0.1], 1),
        ]
        direct = [stage_of([0, 1], [0], [0.3], [2], [0.2], 1)]
        start = np.zeros(1, dtype=np.int32)
        pairs = [self.make(10).paths(stages, starts=start) for stages in (longer, direct)]
        weighted, certain = (sum(float(pair[part][0, 0]) for pair in pairs) for part in (0, 1))
        np.testing.assert_allclose(weighted / certain, 0.31)

    def test_predictions_are_the_reference_s(self) -> None:
        """For any ratings, weights and similarities the predicted deviations agree."""

        def law(seed: int) -> None:
            generator = np.random.default_rng(seed)
            deviations = a_table(generator, exact=not self.to_the_bit).values
            similar = _square(generator, deviations.shape[1], exact=not self.to_the_bit)
            data = generator.integers(0, 5, deviations.nnz) / 4
            weights = sparse.csr_array(
                (data, deviations.indices, deviations.indptr), deviations.shape
            )
            expected = LocalEngine().predictions(deviations, weights, similar)
            for block in self.blocks:
                self._close(self.make(block).predictions(deviations, weights, similar), expected)

        self._law(law, _SEEDS)

    def test_nonsense_is_refused(self) -> None:
        """Numbers out of range, lists of nothing and shapes that do not fit are named."""
        engine = self.make(10)
        values = sparse.csr_array(np.eye(3))
        table = Table(values, np.ones(3, dtype=np.bool_))
        three, four = np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32)
        stage = stage_of([0, 1], [0], [1], [1], [1], 1)
        for call in (
            lambda: engine.neighbours(table, items=three, candidates=three, k=0),
            lambda: engine.neighbours(table, items=four, candidates=three, k=1),
            lambda: engine.neighbours(table, items=three, candidates=three[[0, 0]], k=1),
            lambda: engine.neighbours(table, items=three, candidates=three, k=1, significance=-1),
            lambda: engine.neighbours(
                table, items=three, candidates=three, k=1, significance=5, counts=False
            ),
            lambda: engine.neighbours(
                Table(values, np.ones(2, dtype=np.bool_)), items=three, candidates=three, k=1
            ),
            lambda: engine.paths([], starts=three),
            lambda: engine.paths([stage], starts=three),
            lambda: engine.paths([stage_of([0, 1], [1], [1], [1], [1], 1)], starts=three[:1]),
            lambda: engine.paths([stage, stage_of([0, 0, 0], [], [], [], [], 1)], starts=three[:1]),
            lambda: engine.predictions(values, values, sparse.csr_array(np.eye(4))),
            lambda: engine.predictions(values, sparse.csr_array(np.ones((3, 3))), values),
            lambda: engine.predictions(values, -values, values),
        ):
            _refuses(call)

    def _close(self, found: Floats, expected: Floats) -> None:
        if self.to_the_bit:
            _equal(found, expected, "numbers")
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def _law(self, law: Callable[..., None], *strategies: st.SearchStrategy[Any]) -> None:
        settings(max_examples=self.examples, deadline=None)(given(*strategies)(law))()


_SEEDS = st.integers(0, 2**32 - 1)


def _apart(similarities: Floats) -> NDArray[np.bool_]:
    """Which entries of each row, but the last, are farther than rounding from both neighbours."""
    gaps = -np.diff(np.abs(similarities), axis=1) > 1e-9
    ends = np.ones((len(similarities), 1), dtype=bool)
    apart: NDArray[np.bool_] = np.hstack([ends, gaps]) & np.hstack([gaps, ends])
    apart[:, -1:] = False  # what follows it is not in the list
    return apart


def a_table(generator: Generator, *, exact: bool) -> Table:
    """Random ratings: empty rows and columns, stored zeros, many ties. exact: in quarters, so that
    every sum of products is the same in any order."""
    people, items = generator.integers(1, 40), generator.integers(1, 25)
    rated = generator.random((people, items)) < generator.choice([0.0, 0.05, 0.3, 0.9])
    rated[:, generator.integers(items)] = False
    rated[generator.integers(people)] = False
    grid = generator.integers(-4, 5, (people, items)) / 4
    plain = generator.normal(size=(people, items))
    values = grid if exact or generator.random() < 0.5 else plain
    rows, columns = np.nonzero(rated)
    matrix = sparse.csr_array((values[rated], (rows, columns)), shape=(people, items))
    return Table(matrix, generator.random(matrix.nnz) < 0.5)


def some_stages(generator: Generator, count: int) -> list[Stage]:
    """Random layers of a few places, each with up to three edges, some with none."""
    widths = generator.integers(1, 7, count + 1)
    stages = []
    for here, there in pairwise(widths.tolist()):
        degrees = generator.integers(0, 4, here)
        edges = int(degrees.sum())
        stages.append(
            stage_of(
                np.concatenate([[0], np.cumsum(degrees)]),
                generator.integers(0, there, edges),
                generator.uniform(-1, 1, edges),
                generator.integers(1, 30, edges),
                generator.uniform(0.01, 1, edges),
                there,
            )
        )
    return stages


def _square(generator: Generator, items: int, *, exact: bool) -> sparse.csr_array:
    """Similarities of items, some of them stored zeros."""
    kept = generator.random((items, items)) < 0.3
    values = generator.integers(-3, 4, (items, items)) / 4
    if not exact and generator.random() < 0.5:
        values = generator.normal(size=(items, items))
    rows, columns = np.nonzero(kept)
    return sparse.csr_array((values[kept], (rows, columns)), shape=(items, items))


def _some(generator: Generator, count: int) -> Numbers:
    chosen = generator.permutation(count)[: generator.integers(0, count + 1)]
    return chosen.astype(np.int32)


def _equal(found: NDArray[Any], expected: NDArray[Any], name: str) -> None:
    np.testing.assert_array_equal(found, expected, err_msg=name)


def _refuses(call: Callable[[], object]) -> None:
    try:
        call()
    except ConfigError as raised:
        if not str(raised):
            raise AssertionError("the refusal says nothing") from None
    else:
        raise AssertionError("nonsense was answered")


def stage_of(
    offsets: Any, targets: Any, similarities: Any, agreements: Any, shares: Any, width: int
) -> Stage:
    """From anything array-like."""
    edges = (np.asarray(each, dtype=np.float64) for each in (similarities, agreements, shares))
    return Stage(
        np.asarray(offsets, dtype=np.int64), np.asarray(targets, dtype=np.int32), *edges, width
    )
