"""Agreement of partitions does not depend on names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from tacit.errors import DataError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy

labels = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)))
)


@given(labels)
def test_adjusted_rand_is_scikit_learns(pair):
    """The index of Hubert and Arabie, as everybody computes it."""
    assert adjusted_rand(*pair) == pytest.approx(adjusted_rand_score(*pair), abs=1e-9)


@given(labels, st.permutations(range(5)))
def test_names_do_not_matter(pair, names):
    """Renaming clusters changes neither figure, and a renamed copy is perfect."""
    found, true = pair
    renamed = [names[label] for label in found]
    assert label_accuracy(renamed, true) == label_accuracy(found, true)
    assert label_accuracy(renamed, found) == adjusted_rand(renamed, found) == 1.0


def test_accuracy_names_one_to_one():
    """Two found clusters cannot both take the name of one true cluster."""
    assert label_accuracy([0, 0, 1, 1], [0, 0, 0, 0]) == 0.5


def test_unrelated_labels():
    """Random labels are near zero by the index and near one half by accuracy."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 2, (2, 4000))
    assert abs(adjusted_rand(one, other)) < 0.01
    assert label_accuracy(one, other) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("pair", [([], []), ([1], [1, 2]), ([[1]], [[1]])])
def test_unlike_lists_are_refused(pair):
    """Two lists of one length."""
    with pytest.raises(DataError):
        label_accuracy(*pair)
