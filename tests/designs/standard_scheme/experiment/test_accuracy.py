"""What releases cost: whose error is whose, and means over folds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tacit import generate
from tacit.auditing.attacks import auc
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.experiment import accuracy, evaluation
from tacit.designs.standard_scheme.experiment.accuracy import (
    FoldEvaluation,
    MixFigures,
    accuracy_row,
    mix_point,
)
from tacit.designs.standard_scheme.experiment.at_device import POPULARITY
from tacit.designs.standard_scheme.experiment.evaluation import evaluate_hiding
from tacit.designs.standard_scheme.experiment.setup import Experiment
from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.people import ConsentingPeople
from tacit.designs.standard_scheme.training.profiles import ProfileSettings
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.randomness import simulation

PEOPLE, ITEMS, GAP = 120, 20, 1.0


def world(personal=0.0):
    """Stars are an item's mean plus or minus a large gap; everybody rates all.

    personal: by how many levels some people rate higher, and others lower, whatever their label.
    """
    labels = np.arange(PEOPLE) % 2
    means = np.where(np.arange(ITEMS) % 2 == 0, 1.5, 2.5)
    generosity = np.where(np.arange(PEOPLE) // 6 % 2 == 0, personal, -personal)
    levels = means + (np.where(labels == 1, GAP, -GAP) + generosity)[:, None]
    people = ConsentingPeople(
        sparse.csr_array(levels), labels[:, None], ("gender",), (("F", "M"),), n_levels=5
    )
    return Experiment(
        people=people,
        fold_of=np.arange(PEOPLE) // 2 % 3,
        order=sparse.csr_array(np.ones((PEOPLE, ITEMS))),
        weekly=None,
        genres=np.zeros((ITEMS, 0)),
        years=np.full(ITEMS, np.nan),
        minimum=1.0,
        step=1.0,
        published=False,
        profiles=ProfileSettings(factors=1),
        features=None,
        disclosure_epsilon=np.inf,
        contributions=50,
        releases=("none", "scheme"),
        attacks=("lda",),
        schedules=(),
        seed=0,
        penalty=50,
    )


def tables(gap=GAP, keep=MICRO):
    """The world's own gaps, and one chance to show any item."""
    offsets = np.stack([np.full(ITEMS, -gap), np.full(ITEMS, gap)]) * MICRO
    chances = np.full((2, ITEMS), keep)
    zeros = np.zeros((2, ITEMS), dtype=np.int64)
    return Tables(("F", "M"), offsets.astype(np.int64), chances, zeros, None, zeros[0])


def judge(table, personal=0.0):
    """The recommender of the people outside fold 0."""
    experiment = world(personal)
    return FoldEvaluation(experiment, 0, table, experiment.people_outside(0))


@pytest.fixture(autouse=True)
def simulated():
    """Releases here are simulations, whose draws have a seed."""
    with simulation():
        yield


def test_the_device_adds_what_was_subtracted():
    """From obfuscated stars its owner's device predicts without error; the service misses the gap.

    It guesses the attribute from stars that do not hold it, so it is a whole gap off for some.
    """
    found = judge(tables()).errors(RELEASES["scheme"], "scheme")
    assert found["rmse_at_home"] < 0.1
    assert found["rmse"] > 0.5 * GAP
    assert found["mae"] <= found["rmse"]


def test_the_service_reads_true_stars():
    """From true stars the attribute is guessed, and its effect added: nobody is far off."""
    found = judge(tables()).errors(RELEASES["none"], "none")
    assert found["rmse"] < 0.1
    assert found["rmse_at_home"] < 0.1


def test_the_effect_in_true_stars_counts_once():
    """Where people differ by more than their label, too, the gap is not taken for a person's own:
    true stars without it predict like stars from which the device took it."""
    judged = judge(tables(), personal=0.5)
    true = judged.errors(RELEASES["none"], "none")
    obfuscated = judged.errors(RELEASES["scheme"], "scheme")
    assert true["rmse_at_home"] == pytest.approx(obfuscated["rmse_at_home"], abs=0.01)


@pytest.mark.parametrize(("beyond", "end"), [(9.0, 4.0), (4.5, 4.0), (-3.0, 0.0)])
def test_predictions_are_clipped_to_the_scale(monkeypatch, beyond, end):
    """What is predicted above five stars counts as five, below one star as one."""

    def errors_of(level):
        predicts = SimpleNamespace(predict_levels=lambda shown: np.full(shown.shape, level))
        monkeypatch.setattr(accuracy, "train_profiles", lambda *_, **__: predicts)
        return judge(tables(gap=0)).errors(RELEASES["none"], "none")

    assert errors_of(beyond) == errors_of(end)
    assert errors_of(end)["rmse"] > 1
    assert errors_of(2.0)["rmse"] < errors_of(end)["rmse"]


def test_share_of_shown_ratings():
    """Everything without selection; with chances of a half, about half (8 sd of 560 coins)."""
    half = judge(tables(keep=MICRO // 2))
    assert half.accuracy(RELEASES["scheme"], "a")["shown"] == 1
    shown = half.accuracy(RELEASES["scheme+selection"], "b")["shown"]
    assert abs(shown - 0.5) < 8 * 0.5 / np.sqrt(560)


def test_lists_at_home_are_made_from_true_stars():
    """What devices would release changes no list at home, and changes the release's own lists."""
    all_shown, half_shown = judge(tables()), judge(tables(keep=MICRO // 2))
    for judged in (all_shown, half_shown):
        judged.judge_device_lists()
        judged.accuracy(RELEASES["scheme+selection"], "release")
    for name in ("popularity", "at-device-16", "at-device-32"):
        np.testing.assert_array_equal(all_shown.lists.ndcg[name], half_shown.lists.ndcg[name])
    assert (all_shown.lists.ndcg["release"] != half_shown.lists.ndcg["release"]).any()


def test_lists_hold_no_item_that_the_person_rated_before():
    """Of twenty items fourteen were rated: all places of a list go to the other six, and popular
    ones are liked. A list of ten among those that were rated would find nothing."""
    one = judge(tables())
    one.judge_device_lists()
    assert np.nanmean(one.lists.ndcg[POPULARITY]) > 0.5


def test_the_penalty_of_lists_is_chosen_without_the_first_fold(monkeypatch):
    """The 40 people of fold 0 choose nothing: two thirds of 120 people do."""
    chosen_on = []

    def choose(levels, n_levels, simulate, *, seed):
        chosen_on.append(levels.shape[0])
        return 400

    monkeypatch.setattr(accuracy, "choose_penalty", choose)
    assert accuracy.choose_list_penalty(world(), tables()) == 400
    assert chosen_on == [80]


def test_a_third_of_the_ratings_is_held_out():
    """Predictions are judged on ratings that no release had: 14 of 20 are seen, 6 held out."""
    experiment = world()
    seen = []

    def watch(levels, *_, **__):
        seen.append(np.diff(levels.indptr))
        return levels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tacit.designs.standard_scheme.experiment.accuracy.simulate_one_release",
            lambda _, levels, *rest: watch(levels, *rest),
        )
        FoldEvaluation(experiment, 0, tables(), experiment.people_outside(0)).errors(
            RELEASES["none"], "none"
        )
    assert set(seen[0]) == {14}


def test_row_of_a_release_by_hand():
    """Means over folds, and Student's interval of the error: 1 and 2 give 1.5 +- 6.35."""
    fold = dict.fromkeys(
        ("rmse", "mae", "rmse_at_home", "ndcg", "recall_at_10", "ndcg_stars", "shown"), 0.5
    )
    row = accuracy_row("scheme", [fold | {"rmse": 1.0, "ndcg": 0.2}, fold | {"rmse": 2.0}])
    assert (row.rmse, row.ndcg, row.mae) == (1.5, pytest.approx(0.35), 0.5)
    assert row.rmse_high - row.rmse == pytest.approx(6.3531, abs=1e-3)


def test_point_of_the_curve_by_hand():
    """Means of each attacker's AUC and of the error over folds."""
    point = mix_point(0.25, [MixFigures({"lda": 0.6}, 1.0), MixFigures({"lda": 0.7}, 2.0)])
    assert (point.mix, point.rmse) == (0.25, 1.5)
    assert point.aucs == {"lda": pytest.approx(0.65)}


def test_mean_of_the_folds_own_areas(monkeypatch):
    """`auc_of_folds` is the mean of each fold's AUC among its own people, as the patent has it."""
    ratings = generate(users=90, items=30, ratings=1500, how=0.3, share=0.45, seed=1)
    areas = []
    original = evaluation.run_fold

    def watched(experiment, fold, pairs, penalty):
        result = original(experiment, fold, pairs, penalty)
        labels = experiment.labels[experiment.people_inside(fold)]
        (key,) = (key for key in result.scores if key.trained_on == "raw")
        areas.append(auc(labels, result.scores[key]))
        return result

    monkeypatch.setattr(evaluation, "run_fold", watched)
    settings = {"folds": 3, "factors": 2, "workers": 1, "attacks": ("lda",), "schedules": ()}
    table = evaluate_hiding(ratings, "gender", releases=("none",), **settings)
    (row,) = (row for row in table.rows if row.trained_on == "raw")
    assert len(areas) == 3
    assert row.auc_of_folds == pytest.approx(np.mean(areas))
    assert row.auc_of_folds != row.auc
