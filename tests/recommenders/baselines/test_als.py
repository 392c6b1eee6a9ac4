"""Implicit factors: what is said without the package, and a person's factors as they are served."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.data import generate
from tacit.errors import ConfigError, MissingExtra
from tacit.recommenders.baselines import ALS

RATINGS = generate(users=60, items=30, ratings=900, seed=1)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the line that installs it."""
    monkeypatch.setitem(sys.modules, "implicit.als", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tacit-rec\[als\]'"):
        ALS().fit(RATINGS)


def served(model: ALS, liked: list[int]) -> Any:
    return model.predict(RATINGS.item_ids.tolist(), history=dict.fromkeys(liked, 5.0))


@pytest.fixture
def model() -> ALS:
    """Factors that were not fitted: serving needs no package."""
    factors = np.random.default_rng(0).standard_normal((30, 3))
    header = {"settings": {"factors": 3, "regularization": 2.0, "weight": 4.0}}
    header |= {"items": list(range(1, 31)), "titles": None, "liked_from": 3.8}
    return ALS.from_parts(header, {"factors": factors})


def test_a_person_is_the_minimum_of_the_objective(model: ALS) -> None:
    """The served scores minimise 4 (1 - x y)^2 at likes, (x y)^2 elsewhere, and 2 |x|^2."""
    factors = model.item_factors_
    person = np.linalg.lstsq(factors, served(model, [1, 5]), rcond=None)[0]
    scores = factors @ person
    weights, targets = np.ones(30), np.zeros(30)
    weights[[0, 4]], targets[[0, 4]] = 4, 1
    slope = factors.T @ (weights * (scores - targets)) + 2.0 * person
    assert np.abs(slope).max() < 1e-9


def test_the_package_agrees() -> None:
    """A person's factors as the package computes them from likes give the served scores."""
    package = pytest.importorskip(
        "implicit.als", reason="no implicit here: pip install 'tacit-rec[als]'"
    )
    fitted = ALS(factors=4, regularization=2.0, weight=3.0).fit(RATINGS)
    settings = {"factors": 4, "regularization": 2.0, "alpha": 3.0, "use_gpu": False}
    theirs = package.AlternatingLeastSquares(**settings, dtype=np.float64, num_threads=1)
    theirs.item_factors = fitted.item_factors_
    row = sparse.csr_matrix(([1.0, 1.0], [0, 4], [0, 2]), shape=(1, 30))
    person = theirs.recalculate_user(0, row)
    assert served(fitted, [1, 5]) == pytest.approx(fitted.item_factors_ @ np.ravel(person))


@pytest.mark.parametrize(
    "bad", [{"factors": 0}, {"sweeps": 0}, {"regularization": 0.0}, {"weight": 0.5}]
)
def test_impossible_settings_are_refused(bad: dict[str, Any]) -> None:
    """Each parameter out of its range is a configuration error."""
    with pytest.raises(ConfigError):
        ALS(**bad)
