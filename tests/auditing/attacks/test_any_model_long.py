"""The attacks on real ratings and real libraries; each in minutes."""

from __future__ import annotations

import pytest

import tacit
from tests.support import environments

pytestmark = pytest.mark.long

LENSKIT = """
import tacit
from lenskit.knn import ItemKNNScorer
ratings = tacit.generate(users=150, items=120, ratings=4000, seed=1)
found = tacit.attack(
    ItemKNNScorer(feedback="implicit"), ratings, attacks=("membership", "reconstruction"),
    targets=50, shadows=6, victims=3, length=20,
)
assert max(row.auc for row in found.rows) > 0.7, found.rows
print("done")
"""


def test_implicit_als_gives_membership_away_and_popularity_does_not(ml_100k):
    """MovieLens 100K: AUC .75 or more by lists, measured .99; .5 in the interval of popularity."""
    als = pytest.importorskip("implicit.als").AlternatingLeastSquares
    ratings = tacit.load(ml_100k)
    found = tacit.attack(
        als(num_threads=1, random_state=0), ratings, attacks=("membership",), shadows=8, victims=4
    )
    assert max(row.auc for row in found.rows) >= 0.75
    popular = tacit.attack(
        tacit.Popularity(), ratings, attacks=("membership",), shadows=4, victims=2
    )
    assert all(row.low <= 0.5 <= row.high for row in popular.rows)


def test_lenskit_in_an_environment_of_its_own(tmp_path, missing):
    """The real package, which tacit does not depend on: its item kNN is attacked."""
    python = environments.find_python("lenskit")
    python = python or environments.make_python("lenskit", tmp_path / "env")
    if python is None:
        missing("lenskit cannot be installed here")
    assert environments.run_beside_tacit(python, LENSKIT).strip().endswith("done")
