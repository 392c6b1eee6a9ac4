"""The estimator and the component in examples/ run in scikit-learn and LensKit themselves."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit.cli.app import main
from tacit.data.tables.folder import write_ratings
from tacit.errors import ConfigError
from tacit.recommenders.baselines import EASE, ItemItem
from tests.support import environments

EXAMPLES = Path(__file__).parents[1] / "examples"

LENSKIT = """
from pathlib import Path

import pandas as pd
import tacit
from tacit.cli.app import main
from lenskit.batch import recommend
from lenskit.data import Dataset, from_interactions_df
from lenskit.metrics import NDCG, ListGini, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight
from lenskit.pipeline import topn_pipeline
from lenskit.splitting import SampleN, sample_users
from private_scorer import TacitConfig, TacitScorer

from tacit.data.tables.research_folders import write_research_folder
from tacit.evaluation.metrics import gini, ranking_by_person
import numpy as np
from scipy import sparse

ratings = tacit.generate(users=150, items=80, ratings=3500, seed=1)
frame = pd.DataFrame({
    "user_id": ratings.user_ids[ratings.users],
    "item_id": ratings.item_ids[ratings.items],
    "rating": ratings.values,
})
folder = Path(FOLDER)
write_research_folder(ratings, "lenskit", folder / "lk")
loaded = Dataset.load(folder / "lk")
columns = ["user_num", "item_num", "rating"]
table = loaded.interaction_table(format="pandas", original_ids=False)[columns]
assert (table["user_num"].to_numpy() == ratings.users).all()
assert (table["item_num"].to_numpy() == ratings.items).all()
assert (table["rating"].to_numpy() == ratings.values).all()
assert list(loaded.users.ids()) == ratings.user_ids.tolist()
assert set(ratings.user_attributes) <= set(loaded.entities("user").attributes)
from_interactions_df(frame).save(folder / "theirs")  # and the way back: their own folder
words = ["data", "import", str(folder / "theirs"), "-o", str(folder / "back"), "--yes"]
assert main(words) == 0
read = tacit.load(folder / "back")
assert (read.user_ids == ratings.user_ids).all()
assert (read.items == ratings.items).all()
assert (read.values == ratings.values).all()
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

NOTEBOOK = """
import executed
from pathlib import Path

text = Path(PAGE).read_text("utf-8")
(generated,) = [line for line in text.splitlines() if line.startswith("ratings = tacit.generate(")]
text = text.replace(generated, "ratings = tacit.load(FOLDER)")
names = {"__name__": "__main__"}
values = []
printed = ""
for cell in executed.cells(text):
    if cell.language == "python":
        said, value = executed.run(cell, "notebook", names)
        printed += said
        values.append(value)
result = names["result"]
figures = {}
for row in result.rows:
    figures.setdefault(row["metric"], {})[row["design"], row["epsilon"]] = row["value"]
claimed = [("private", epsilon) for epsilon in (0.5, 1.0, 3.0, float("inf"))]
open_to_all = ("Cosine", "AlternatingLeastSquares", "ItemKNNScorer", "ease")
for entry in [*claimed, *((name, None) for name in open_to_all)]:
    assert 0 < figures["ndcg@10"][entry] < 1, entry
    assert 0 < figures["membership_auc"][entry] <= 1, entry
assert result.excluded_designs == {}, result.excluded_designs
assert sum(value is not None and "<svg" in value._repr_html_() for value in values) == 2
assert chr(92) + "toprule" in printed
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
    python = environments.find_python("lenskit")
    python = python or environments.make_python("lenskit", tmp_path / "env")
    if python is None:
        missing("lenskit cannot be installed here")
    example = EXAMPLES / "a_lenskit_component"
    code = LENSKIT.replace("FOLDER", repr(str(tmp_path)), 1)
    assert environments.run_beside_tacit(python, code, example).strip().endswith("done")


@pytest.mark.long
def test_the_notebook_compares_the_real_packages_on_movielens(ml_100k, tmp_path, missing):
    """Own cosine, implicit, LensKit, EASE and private: table, pictures, attacks and LaTeX."""
    python = environments.find_python("lenskit")
    python = python or environments.make_python("lenskit", tmp_path / "env")
    if python is None:
        missing("lenskit cannot be installed here")
    page = EXAMPLES.parent / "docs" / "notebooks" / "comparison-of-designs.md"
    code = NOTEBOOK.replace("PAGE", repr(str(page))).replace("FOLDER", repr(str(ml_100k)))
    tools = EXAMPLES.parent / "tools"
    assert environments.run_beside_tacit(python, code, tools).strip().endswith("done")


@pytest.mark.long
def test_recbole_is_trained_anew_on_each_split(tmp_path, monkeypatch):
    """The example in RecBole's own environment: its item kNN learns, no split knows the other."""
    python = environments.find_python("recbole")
    if python is None:
        pytest.skip("TACIT_RECBOLE_PYTHON names no environment (tests/environments/recbole.txt)")
    monkeypatch.setenv("RECBOLE_PYTHON", str(python))
    monkeypatch.chdir(tmp_path)
    ratings = tacit.generate(users=150, items=80, ratings=3500, seed=1)
    model = f"{EXAMPLES / 'a_recbole_model' / 'recbole_model.py'}:RecBole"
    path = tmp_path / "ratings.csv"
    write_ratings(ratings, path)
    words = ["--design", "private", "--epsilon", "1", "--no-attacks", "--seeds", "2", "--json"]
    settings = ["--model", model, "--set", "name=EASE", "--set", "epochs=1", "--workers", "1"]
    out = StringIO()
    with redirect_stdout(out):
        assert main(["compare", str(path), *words, *settings]) == 0
    rows = json.loads(out.getvalue())["rows"]
    found = {row["design"]: row for row in rows if row["metric"] == "ndcg@10"}
    assert found["RecBole"]["variant"] == "own model"
    assert abs(found["RecBole"]["value"] - found["ease"]["value"]) < 0.1
    assert found["RecBole"]["value"] > found["popularity"]["value"]


def test_without_its_environment_the_example_says_so(monkeypatch):
    """A sentence names the variable."""
    monkeypatch.delenv("RECBOLE_PYTHON", raising=False)
    monkeypatch.syspath_prepend(str(EXAMPLES / "a_recbole_model"))
    from recbole_model import RecBole

    ratings = tacit.generate(users=20, items=10, ratings=100, seed=1)
    with pytest.raises(ConfigError, match="RECBOLE_PYTHON is not set"):
        RecBole().fit(ratings)
