"""The conformance suite for metrics of lists."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate


class MetricConformance:
    """Tests of a metric of lists. Subclass this class, and write `make`.

    A metric is called with `lists`, (people, n) int64 item numbers, best first, and -1 after the
    end of a shorter list; `relevant`, a CSR array (people, items) with 1 for each item to find; and
    `train`, the `Ratings` that the recommender was fitted to. It returns a float.
    """

    def make(self) -> Any:
        """Return the metric."""
        raise NotImplementedError

    def test_lists_have_a_finite_value(self) -> None:
        """Lists of ten items have a finite value."""
        assert math.isfinite(float(self.make()(*_make_lists())))

    def test_lists_that_end_early_have_a_value(self) -> None:
        """Lists of one item and empty lists have a finite value too."""
        lists, relevant, train = _make_lists()
        for length in (1, 0):
            short = lists.copy()
            short[:, length:] = -1
            assert math.isfinite(float(self.make()(short, relevant, train)))

    def test_people_have_no_order(self) -> None:
        """The value does not depend on the order of the people's lists."""
        lists, relevant, train = _make_lists()
        reversed_value = self.make()(lists[::-1].copy(), relevant[::-1], train)
        assert math.isclose(reversed_value, self.make()(lists, relevant, train), rel_tol=1e-9)

    def test_arguments_stay_unchanged(self) -> None:
        """The metric does not change its arguments, which other metrics read too."""
        lists, relevant, train = _make_lists()
        lists_before = lists.copy()
        relevant_before = relevant.toarray()
        self.make()(lists, relevant, train)
        assert np.array_equal(lists, lists_before)
        assert np.array_equal(relevant.toarray(), relevant_before)


@cache
def _make_lists() -> tuple[np.ndarray[Any, Any], sparse.csr_array, Ratings]:
    """Make the arguments of a metric: lists (40, 10), items to find (40, 30), training ratings."""
    train = generate(users=40, items=30, ratings=400, seed=1)
    generator = np.random.default_rng(2)
    lists = np.array([generator.permutation(30)[:10] for _ in range(40)], dtype=np.int64)
    is_relevant = generator.random((40, 30)) < 0.2
    return lists, sparse.csr_array(is_relevant.astype(float)), train
