"""The attacks on real people: MovieLens 100K, where TACIT_DATA holds it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.auditing.attacks import ATTACKS, auc


@pytest.mark.parametrize(
    ("name", "least"),
    [("naive-bayes", 0.74), ("logistic-regression", 0.76), ("svm", 0.75), ("lda", 0.64)],
)
def test_raw_ratings_give_gender_away(ml_100k, name, least):
    """Ten folds by person: an attack as strong as the literature's on undisguised stars."""
    rows = np.loadtxt(ml_100k / "u.data", dtype=np.int64)
    lines = (ml_100k / "u.user").read_text().splitlines()
    labels = np.array([int(line.split("|")[2] == "M") for line in lines])
    ratings = sparse.csr_array((rows[:, 2].astype(np.float64), (rows[:, 0] - 1, rows[:, 1] - 1)))
    fold = np.random.default_rng(0).permutation(len(labels)) % 10
    areas = []
    for number in range(10):
        attack = ATTACKS[name]().fit(ratings[fold != number], labels[fold != number])
        areas.append(auc(labels[fold == number], attack.score(ratings[fold == number])))
    assert np.mean(areas) > least
