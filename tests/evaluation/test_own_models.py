"""A reader's own models in a comparison: every kind, the same rows as ours, attacked too."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import tacit
from tacit.cli import app as cli
from tacit.errors import ConfigError
from tacit.evaluation.compare import compare_entries
from tacit.evaluation.entries import baselines, entries_of_models

COSINE = '''
import numpy as np

class Cosine:
    """Items by cosine; scikit-learn-like."""

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def fit(self, x):
        dense = x.toarray()
        norms = np.sqrt((dense ** 2).sum(axis=0)) + self.shrink + 1e-9
        self.alike = (dense.T @ dense) / np.outer(norms, norms)
        np.fill_diagonal(self.alike, 0)
        return self

    def predict(self, x):
        return x @ self.alike


def favourites(history):
    return sorted(range(1, 61), reverse=True)


class OnlyFits:
    def fit(self, x):
        return self
'''


@pytest.fixture(scope="module")
def ratings():
    return tacit.generate(users=120, items=60, ratings=2500, seed=1)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "mine.py"
    path.write_text(COSINE)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "r.csv"
    ratings = tacit.generate(users=50, items=30, ratings=700, seed=1)
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    rows = zip(users, items, ratings.values, strict=True)
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    return path


def metrics_of(rows, design):
    return {row["metric"] for row in rows if row["design"] == design}


def test_own_models_have_the_rows_of_built_in_ones(ratings, code, capsys, file):
    """Two models of one file, with settings, beside the baselines, attacked as they are."""
    words = [
        "compare", file, "--scale", "1:5:1", "--design", "private", "--epsilon", "1",
        "--model", f"{code}:Cosine", "--model", f"{code}:favourites", "--set", "Cosine.shrink=2",
        "--seeds", "2", "--workers", "1", "--json",
    ]  # fmt: skip
    assert cli.main([str(word) for word in words]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert metrics_of(rows, "Cosine") == metrics_of(rows, "ease")
    assert "membership_auc" in metrics_of(rows, "Cosine")
    assert "membership_auc" not in metrics_of(rows, "favourites")  # it learns from nobody
    assert "ndcg@10" in metrics_of(rows, "favourites")


def test_a_copy_of_a_built_in_model_gets_its_figures(ratings):
    """Popularity as an own model has the figures of popularity."""
    result = tacit.compare(
        ratings, [tacit.Popularity(likes=True)], epsilons=[1.0], seeds=range(2), attacks=False
    )
    values = {}
    for row in result.rows:
        if row["metric"] in ("ndcg@10", "recall@10", "coverage"):
            values.setdefault(row["design"], []).append(row["value"])
    assert values["Popularity"] == values["popularity"]


def test_names_objects_classes_and_functions_are_models(ratings):
    """Designs and baselines by their names, and what Python has; references are always there."""

    def first_ten(history):
        return ratings.item_ids[:20].tolist()

    models = ["private", "als", first_ten, tacit.Popularity, "prec"]
    result = tacit.compare(ratings, models, epsilons=[1.0], seeds=range(1), attacks=False)
    designs = list(dict.fromkeys(row["design"] for row in result.rows))
    assert {"popularity", "ease", "private", "first_ten", "Popularity"} < set(designs)
    assert set(result.excluded_designs) == {"prec"}


def test_the_real_implicit_is_a_model(ratings):
    """By the name of its class, with settings, from the command line's text."""
    pytest.importorskip("implicit")
    result = tacit.compare(
        ratings, ["implicit.als:AlternatingLeastSquares"], seeds=range(1), attacks=False
    )
    assert "ndcg@10" in metrics_of(result.rows, "AlternatingLeastSquares")


def test_a_saved_model_is_judged_and_not_attacked(tmp_path):
    """It is not fitted again; its row says that it was saved."""
    ratings = tacit.generate(users=50, items=30, ratings=700, seed=1)
    path = tmp_path / "lists.tacit"
    tacit.Popularity(likes=True).fit(ratings).save(path)
    result = tacit.compare(ratings, [str(path)], seeds=range(1))
    rows = [row for row in result.rows if row["design"] == "lists.tacit"]
    assert {row["variant"] for row in rows} == {"saved model"}
    assert "ndcg@10" in metrics_of(rows, "lists.tacit")
    assert "membership_auc" not in metrics_of(rows, "lists.tacit")


def test_the_claim_of_a_card_is_in_the_row(ratings):
    """A private model that is given as an object keeps its epsilon."""
    result = tacit.compare(ratings, [tacit.Private(1.0)], seeds=range(1), attacks=False)
    epsilons = [row["epsilon"] for row in result.rows if row["design"] == "Private"]
    assert epsilons == pytest.approx([1.0] * len(epsilons))


def test_two_models_of_one_class_keep_their_names(ratings):
    """Neither is taken for another setting of the other."""
    models = [tacit.Popularity(likes=True), tacit.Popularity()]
    result = tacit.compare(ratings, models, seeds=range(1), attacks=False)
    designs = {row["design"] for row in result.rows}
    assert {"Popularity 1", "Popularity 2"} < designs


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("OnlyFits", r"lacks recommend\(X, n\) or predict\(X\)"), ("Nothing", "has no 'Nothing'")],
)
def test_an_error_names_the_missing_method(code, file, capsys, kind, missing):
    """Before the ratings are read."""
    assert cli.main(["compare", str(file), "--model", f"{code}:{kind}"]) == 2
    assert re.search(missing, " ".join(capsys.readouterr().err.split()))


def test_a_setting_of_nobody_is_refused(code, file, capsys):
    """With several models it is written with the class."""
    words = ["--model", f"{code}:Cosine", "--model", f"{code}:favourites", "--set", "shrink=2"]
    assert cli.main(["compare", str(file), *words]) == 2
    assert "Cosine.shrink=2" in capsys.readouterr().err


def test_what_cannot_be_sent_to_a_process_is_refused(ratings):
    """A sentence, not a traceback of pickle."""
    with pytest.raises(ConfigError, match="cannot be sent to another process"):
        tacit.compare(ratings, [lambda history: []], seeds=range(1), workers=2)


def test_events_have_no_model_of_stars(ratings):
    """Where all ratings are equal there is no error of stars to measure."""
    events = tacit.Ratings.from_arrays(
        ratings.user_ids[ratings.users], ratings.item_ids[ratings.items], np.ones(len(ratings))
    )
    designs = {entry.design for entry in baselines(events, None, None)}
    assert not designs & {"item-mean", "matrix-factorization"}
    assert "item-mean" in {entry.design for entry in baselines(ratings, None, None)}


class Unpopular:
    """Lists what fewest people rated."""

    def fit(self, x):
        self.counts = np.asarray((x != 0).sum(axis=0)).ravel()
        return self

    def predict(self, x):
        return np.tile(-self.counts.astype(float), (x.shape[0], 1))


class Coin:
    """Popularity with noise that is drawn anew at each fit."""

    def fit(self, x):
        counts = np.asarray((x != 0).sum(axis=0)).ravel()
        self.scores = counts + np.random.default_rng().normal(0, 10, size=len(counts))
        return self

    def predict(self, x):
        return np.tile(self.scores, (x.shape[0], 1))


def test_a_planted_worse_model_is_called_worse(ratings):
    """Rarely rated items against popular ones; a copy of popularity is a tie."""
    models = [Unpopular, tacit.Popularity(likes=True)]
    result = tacit.compare(ratings, models, seeds=range(3), attacks=False)
    against_popularity = {}
    for row in result.differences:
        if row["reference"] == "popularity":
            against_popularity[row["design"]] = row["outcome"]
    assert against_popularity["Unpopular"] == "worse"
    assert against_popularity["Popularity"] == "tie"


class Short:
    """Lists two items, and some that do not exist."""

    def fit(self, ratings):
        self.some = ratings.item_ids[:2].tolist()
        return self

    def recommend(self, history, n):
        return [*self.some, "nothing", "of", "these"]


def test_short_lists_are_said(ratings):
    """A figure near 0 has its reason beside it: on the page, in a notebook and in the answer."""
    result = tacit.compare(ratings, [Short], seeds=range(1), attacks=False)
    (sentence,) = result.short_lists
    assert sentence.startswith("Short: a list holds ")
    assert "where 10.0 can be listed" in sentence
    assert sentence in result.page({}).html()
    assert "Short: a list holds" in result._repr_html_()
    full = tacit.compare(ratings, ["als"], seeds=range(1), attacks=False)
    assert full.short_lists == []


@pytest.mark.parametrize("model", [Coin, Coin()])
def test_arguments_of_a_model_that_is_no_text_are_refused(model):
    """They would be named in its row, and not be used."""
    with pytest.raises(ConfigError, match="Coin takes no arguments here"):
        entries_of_models([model, model], [{"k": 3}, {}])


def test_arguments_are_for_as_many_models_as_there_are():
    """A sentence, not an error of Python."""
    with pytest.raises(ConfigError, match="got 1 mappings for 2 models"):
        entries_of_models([Coin, Coin], [{}])


@pytest.mark.long
def test_two_equal_models_with_noise_are_a_tie():
    """In 95 % of 200 comparisons; 181 or fewer of 200 have a chance of 0.5 % at exactly 95 %."""
    made = tacit.generate(users=60, items=40, ratings=1200, seed=1)
    users, items = made.user_ids[made.users], made.item_ids[made.items]
    ratings = tacit.Ratings.from_arrays(users, items, made.values)
    ties = 0
    for run in range(200):
        entries = entries_of_models([Coin, Coin])
        seeds = range(3 * run, 3 * run + 3)
        result = compare_entries(ratings, entries, seeds=seeds, attacks=False)
        (row,) = result.differences
        ties += row["outcome"] == "tie"
    assert ties > 181
