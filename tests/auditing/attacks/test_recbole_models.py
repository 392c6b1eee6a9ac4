"""Trained models of RecBole, and others that answer only for people they learned from.

`Stand-in` classes have the public interface of RecBole 1.2 that is used; the long test runs the
real package.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks.any_model import adapt
from tacit.errors import ConfigError
from tests.support import environments

RECBOLE = """
from pathlib import Path

import numpy as np
import torch
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.data.interaction import Interaction
from recbole.quick_start import load_data_and_model
from recbole.utils import get_model, get_trainer, init_seed

import tacit
from tacit.data.tables.research_folders import write_research_folder
from tacit.auditing.attacks.any_model import adapt

folder = Path(FOLDER)
ratings = tacit.generate(users=150, items=80, ratings=3500, seed=1)
write_research_folder(ratings, "recbole", folder / "toy")
settings = {
    "data_path": str(folder), "epochs": 3, "state": "ERROR", "show_progress": False,
    "use_gpu": False, "checkpoint_dir": str(folder / "saved"),
    "load_col": {"inter": ["user_id", "item_id", "rating"]},
    "eval_args": {"split": {"RS": [1, 0, 0]}, "order": "RO", "mode": "full"},
}
for name in ("BPR", "ItemKNN", "EASE"):
    config = Config(model=name, dataset="toy", config_dict=settings)
    init_seed(1, True)
    dataset = create_dataset(config)
    assert (dataset.user_num - 1, dataset.item_num - 1) == (150, ratings.n_items)
    assert dataset.inter_num == len(ratings)
    train, _, _ = data_preparation(config, dataset)
    model = get_model(name)(config, train._dataset).to(config["device"])
    trainer = get_trainer(config["MODEL_TYPE"], name)(config, model)
    trainer.fit(train, saved=True, show_progress=False)
    trained = (model, dataset)
    if name == "BPR":  # also as a reader loads it from a file
        (file,) = (folder / "saved").glob("BPR*.pth")
        trained = load_data_and_model(str(file))
        model, dataset = trained[1:3]
    answers = adapt(trained).fit(ratings)
    for user in ratings.user_ids[:20].tolist():
        own = ratings.history(user)
        listed = ratings.item_ids[answers.rank_for_person(user, own, 10)].tolist()
        number = dataset.token2id("user_id", str(user))
        scores = model.full_sort_predict(Interaction({"user_id": torch.tensor([number])}))
        order = np.argsort(-scores.detach().numpy().ravel(), kind="stable")
        best = [dataset.id2token("item_id", int(each)) for each in order if each]
        theirs = [int(token) for token in best if int(token) not in own][:10]
        assert listed == theirs, (name, listed, theirs)
result = tacit.compare(ratings, [trained], seeds=range(2), attacks=False)
rows = {row["design"]: row["value"] for row in result.rows if row["metric"] == "ndcg@10"}
assert rows["EASE"] > rows["popularity"], rows
print("done")
"""


class StandInTensor:
    """An array that is moved and read as a tensor of torch is."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


class StandInInteraction(dict):
    """Columns of a batch by their fields, on a device."""

    def to(self, device):
        assert device == "cpu"
        return self


class StandInDataset:
    """A data set with RecBole's fields: ids of 0 are its padding, tokens are texts."""

    uid_field, iid_field = "user_id", "item_id"

    def __init__(self, users, items):
        self.tokens = {
            "user_id": np.array(["[PAD]", *map(str, users)]),
            "item_id": np.array(["[PAD]", *map(str, items)]),
        }
        self.field2token_id = {
            field: {token: number for number, token in enumerate(tokens.tolist())}
            for field, tokens in self.tokens.items()
        }

    def id2token(self, field, ids):
        return self.tokens[field][ids]


class StandInBPR:
    """Scores of the items of a person, padding first, as `full_sort_predict` gives them."""

    device = "cpu"

    def __init__(self, scores):
        self.scores = scores
        self.is_trained_mode = True

    def eval(self):
        self.is_trained_mode = False

    def full_sort_predict(self, interaction):
        assert not self.is_trained_mode
        return StandInTensor(self.scores[interaction["user_id"]].ravel())


@pytest.fixture(scope="module")
def ratings():
    return tacit.generate(users=40, items=30, ratings=500, seed=1)


@pytest.fixture
def trained(ratings, monkeypatch):
    """A model and its data set, whose numbers are other than those of the ratings."""
    module = ModuleType("recbole.data.interaction")
    module.Interaction = StandInInteraction
    for name in ("recbole", "recbole.data"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "recbole.data.interaction", module)
    generator = np.random.default_rng(1)
    users, items = (generator.permutation(ids) for ids in (ratings.user_ids, ratings.item_ids))
    dataset = StandInDataset(users[1:], items[1:])  # RecBole filtered one of each away
    scores = generator.normal(size=(len(users), len(items)))
    scores[:, 0] = 100.0  # of the padding
    scores[3, 5] = np.nan
    return StandInBPR(scores), dataset


def test_its_lists_are_those_of_its_own_scores(ratings, trained):
    """Ids are translated both ways; what the person rated, padding and NaN are not listed first."""
    model, dataset = trained
    answers = adapt(trained).fit(ratings)
    user = int(dataset.tokens["user_id"][3])
    own = ratings.history(user)
    order = np.argsort(-np.nan_to_num(model.scores[3], nan=-np.inf))
    tokens = [int(dataset.tokens["item_id"][place]) for place in order if place > 0]
    expected = [item for item in tokens if item not in own][:10]
    assert ratings.item_ids[answers.rank_for_person(user, own, 10)].tolist() == expected


def test_all_that_recbole_loads_is_a_model(ratings, trained):
    """`load_data_and_model` gives config, model, data set and three loaders."""
    loaded = (SimpleNamespace(), *trained, object(), object(), object())
    user = int(trained[1].tokens["user_id"][1])
    own = ratings.history(user)
    answers, pair = (adapt(each).fit(ratings) for each in (loaded, trained))
    listed = answers.rank_for_person(user, own, 5).tolist()
    assert listed == pair.rank_for_person(user, own, 5).tolist()
    assert len(listed) == 5


def test_who_is_not_in_its_dataset_gets_no_list(ratings, trained):
    """RecBole may have filtered a person away."""
    kept = set(trained[1].tokens["user_id"].tolist())
    (gone,) = [user for user in ratings.user_ids.tolist() if str(user) not in kept]
    assert adapt(trained).fit(ratings).rank_for_person(gone, {}, 5).size == 0


def test_its_row_says_that_it_was_trained_before(ratings, trained):
    """It is not attacked: held-out likes may be among what it learned from."""
    result = tacit.compare(ratings, [trained], seeds=range(1))
    rows = [row for row in result.rows if row["design"] == "StandInBPR"]
    assert {row["variant"] for row in rows} == {"saved model"}
    metrics = {row["metric"] for row in rows}
    assert "ndcg@10" in metrics
    assert "membership_auc" not in metrics


def test_a_history_of_nobody_is_refused_in_a_sentence(ratings, trained):
    """An attack and a split by people ask with histories."""
    with pytest.raises(ConfigError, match="answers only for people it learned from"):
        adapt(trained).fit(ratings).rank({}, 5)


def test_a_sequential_model_is_refused_in_a_sentence(ratings, trained):
    """Histories have no order."""
    trained[0].ITEM_SEQ = "item_id_list"
    with pytest.raises(ConfigError, match="sequential model: it needs the order"):
        adapt(trained).fit(ratings)


class ByPerson:
    """A recommender that knows people by their ids."""

    def fit(self, ratings):
        self.ratings = ratings
        return self

    def recommend(self, user, n):
        number = self.ratings.user_ids.tolist().index(user)
        return np.roll(self.ratings.item_ids, number)[:n].tolist()


def test_a_model_of_known_people_is_compared_and_not_attacked(ratings):
    """It is fitted to each split, so it is no saved model; its lists leave out what they rated."""
    result = tacit.compare(ratings, [ByPerson], seeds=range(1))
    rows = [row for row in result.rows if row["design"] == "ByPerson"]
    assert {row["variant"] for row in rows} == {"own model"}
    assert "membership_auc" not in {row["metric"] for row in rows}
    user = ratings.user_ids[7]
    own = ratings.history(user)
    listed = adapt(ByPerson).fit(ratings).rank_for_person(user, own, 10)
    expected = [item for item in np.roll(ratings.item_ids, 7).tolist() if item not in own]
    assert ratings.item_ids[listed].tolist() == expected[:10]


class Forgetful(ByPerson):
    """A recommender that answers histories, but fails for one without items."""

    def recommend(self, history, n):
        if not history:
            raise ValueError("an account without ratings")
        return self.ratings.item_ids[:n].tolist()


def test_why_a_model_could_not_be_attacked_is_said(ratings):
    """Its lists are judged; the attack asks for an account without ratings."""
    result = tacit.compare(ratings, [Forgetful], seeds=range(1))
    rows = {row["metric"] for row in result.rows if row["design"] == "Forgetful"}
    assert "ndcg@10" in rows
    assert "membership_auc" not in rows
    reason = result.excluded_designs["attack on Forgetful own model –"]
    assert "an account without ratings" in reason


@pytest.mark.long
def test_the_real_recbole(tmp_path):
    """Its BPR, item kNN and EASE learn from a folder that tacit wrote, and list as it ranks."""
    python = environments.find_python("recbole")
    if python is None:
        pytest.skip("TACIT_RECBOLE_PYTHON names no environment (tests/environments/recbole.txt)")
    code = RECBOLE.replace("FOLDER", repr(str(tmp_path)), 1)
    assert environments.run_beside_tacit(python, code, cwd=tmp_path).strip().endswith("done")
