"""The panel on MovieLens 100K."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.data import load
from tacit.designs.standard_scheme.experiment.evaluation import evaluate_hiding

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="needs MovieLens (TACIT_DATA)"),
]
FOLDS = 3


@pytest.fixture(scope="module")
def ratings():
    return load(Path(os.environ["TACIT_DATA"]) / "ml-100k")


def test_the_default_release(ratings):
    """The default release: nobody is certain, and accuracy keeps what is promised."""
    table = evaluate_hiding(ratings, "gender", folds=FOLDS, workers=1)
    none, default = table.accuracy
    assert default.rmse < 1.015 * none.rmse
    assert default.ndcg > 0.91 * none.ndcg
    assert {row.certain for row in table.known_items} == {0.0}
    assert table.known_items[-1].auc > 0.9
    assert table.worst[1].auc < table.worst[0].auc
