"""The estimator and the component in examples/ run in scikit-learn and LensKit themselves."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit.recommenders.baselines import EASE, ItemItem

EXAMPLES = Path(__file__).parents[1] / "examples"

LENSKIT = """
import sys

import pandas as pd
import tacit
from lenskit.batch import recommend
from lenskit.data import from_interactions_df
from lenskit.metrics import NDCG, ListGini, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight
from lenskit.pipeline import topn_pipeline
from lenskit.splitting import SampleN, sample_users
from private_scorer import TacitConfig, TacitScorer

from tacit.evaluation.metrics import gini, ranking_by_person
import numpy as np
from scipy import sparse

ratings = tacit.generate(users=150, items=80, ratings=3500, seed=1)
frame = pd.DataFrame({
    "user_id": ratings.user_ids[ratings.users],
    "item_id": ratings.item_ids[ratings.items],
    "rating": ratings.values,
})
split = sample_users(from_interactions_df(frame), 60, SampleN(3), rng=1)
kinds = (("private", {"epsilon": 3.0}), ("ease", {}), ("item-item", {}))
for name, settings in kinds:
    pipeline = topn_pipeline(TacitScorer(TacitConfig(model=name, settings=settings)))
    pipeline.train(split.train)
    lists = recommend(pipeline, split.test.keys(), n=10, n_jobs=1)
    assert len(lists) == 60
    metric = NDCG(10, weight=LogRankWeight(offset=1))
    found = RunAnalysis(metric).measure(lists, split.test).list_metrics()["NDCG@10"]
    numbers = {item: place for place, item in enumerate(ratings.item_ids.tolist())}
    ours = np.full((60, 10), -1)
    relevant = np.zeros((60, 80))
    keys = [key.user_id for key in lists.keys()]
    for row, user in enumerate(keys):
        ids = lists.lookup(user_id=user).ids()
        ours[row, : len(ids)] = [numbers[item] for item in ids]
        relevant[row, [numbers[item] for item in split.test.lookup(user_id=user).ids()]] = 1
    values = ranking_by_person(ours, sparse.csr_array(relevant))["ndcg"]
    theirs = [found.loc[user] for user in keys]
    assert np.allclose(values, np.asarray(theirs, float).ravel()), (values, theirs)
    metric = ListGini(10, items=80)
    data = [metric.compute_list_data(each, None) for each in lists.lists()]
    assert abs(metric.global_aggregate(data) - gini(ours, 80)) < 1e-6
print("done")
"""


@pytest.fixture
def estimator(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES / "a_scikit_estimator"))
    from list_estimator import ListEstimator

    return ListEstimator


@pytest.fixture(scope="module")
def stars():
    made = tacit.generate(users=80, items=30, ratings=1200, seed=1)
    return sparse.csr_matrix(made.matrix)


@pytest.mark.parametrize("kind", [tacit.Private(1.0), EASE(), ItemItem()])
def test_an_estimator_is_cloned_and_runs_in_a_pipeline(estimator, stars, kind):
    """Parameters come back, the clone is unfitted, and a pipeline predicts each cell."""
    unfitted = estimator(kind, scale=tacit.RatingScale(1, 5, 1))
    copied = clone(unfitted)
    assert copied is not unfitted
    assert not hasattr(copied, "recommender_")
    inner = {f"recommender__{name}" for name in kind.get_params()}
    assert inner <= set(copied.get_params())
    pipeline = make_pipeline(FunctionTransformer(lambda x: x, accept_sparse=True), copied)
    scores = pipeline.fit(stars).predict(stars[:5])
    assert scores.shape == (5, stars.shape[1])
    assert np.isfinite(scores).any(axis=1).all()


def test_an_argument_of_the_recommender_is_set_by_its_name(estimator, stars):
    """As a grid search sets it."""
    made = estimator(tacit.Private(1.0)).set_params(recommender__epsilon=3.0)
    assert made.recommender.epsilon == 3.0


@pytest.mark.long
def test_the_component_runs_in_lenskit(tmp_path, missing):
    """In its pipeline and batch evaluation; NDCG and Gini of its lists are those of LensKit.

    LensKit's NDCG clips ranks by default; with an offset of 1 its discount is log2(k + 1).
    """
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    made = subprocess.run(
        [python, "-m", "pip", "install", "-q", "lenskit>=2025.8"], capture_output=True, check=False
    )
    if made.returncode:
        missing("lenskit cannot be installed here")
    home = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    source = Path(tacit.__file__).parents[1]
    example = EXAMPLES / "a_lenskit_component"
    paths = [example, source, home, sysconfig.get_paths()["purelib"]]
    ran = subprocess.run(
        [python, "-c", LENSKIT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip().endswith("done"), ran.stderr
