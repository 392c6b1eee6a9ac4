"""The experiment on hiding: complete, repeatable, and able to see a leak."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit import generate
from tacit.auditing.attacks import (
    ATTACKS,
    LogisticRegression,
    SupportVectorMachine,
    auc,
    distance,
)
from tacit.data.ratings import RatingScale
from tacit.errors import ConfigError, DataError
from tacit.evaluation import hiding_fold
from tacit.evaluation.hiding import evaluate_hiding, steps
from tacit.randomness import replay, simulation
from tacit.recommenders.standard_scheme.messages import MICRO, RELEASES
from tacit.recommenders.standard_scheme.population import release
from tacit.recommenders.standard_scheme.training import consenting, estimate

FOLDS = 3
QUICK = {"folds": FOLDS, "factors": 2, "workers": 1, "attacks": ("naive-bayes", "lda")}


@pytest.fixture(scope="module")
def ratings():
    return generate(users=150, items=40, ratings=3000, how=0.3, share=0.45, seed=1)


@pytest.fixture(scope="module")
def table(ratings):
    """Every release and every attack; penalties given, for choosing them takes longest."""
    given = {
        "logistic-regression": lambda: LogisticRegression([0.01]),
        "svm": lambda: SupportVectorMachine([0.01]),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hiding_fold, "ATTACKS", {**ATTACKS, **given})
        return evaluate_hiding(ratings, "gender", folds=FOLDS, factors=2, workers=1)


def test_every_cell_is_there(table):
    """Ten releases, four attacks, frozen and retrained: 80 rows, each with its folds."""
    cells = {(row.release, row.attack, row.trained_on) for row in table.rows}
    assert cells == {(r, a, t) for r in RELEASES for a in ATTACKS for t in ("raw", "released")}
    assert len(table.rows) == len(cells) == 80
    assert all(len(row.folds) == FOLDS for row in table.rows)
    assert [row.release for row in table.accuracy] == list(RELEASES)
    assert [row.attack for row in table.control] == list(ATTACKS)


def test_areas_are_areas(table):
    """An AUC is the mean over its folds and lies in its interval, between 0 and 1."""
    for row in table.rows:
        assert row.auc == pytest.approx(np.mean(row.folds))
        assert 0 <= row.low <= row.auc <= row.high <= 1


def test_nothing_released_nothing_to_learn_anew(table):
    """On true stars the retrained attacker is the frozen one."""
    for attack in ATTACKS:
        raw, released = (table.row("none", attack, how) for how in ("raw", "released"))
        assert raw.folds == released.folds


def test_true_stars_tell(table):
    """Every attack finds the attribute in true stars: there is something to hide."""
    assert min(table.row("none", attack, "raw").auc for attack in ATTACKS) > 0.65


def test_control_finds_nothing(table):
    """On labels dealt out at random every attack is near guessing.

    The standard error of an AUC of 150 people is .05; .15 is three of them. The seed is fixed.
    """
    assert max(distance(row.auc) for row in table.control) < 0.15


def test_errors_are_in_stars(table):
    """Errors are in stars and of their size; what is shown is everything unless selected."""
    for row in table.accuracy:
        assert 0.5 < row.rmse < 2
        assert row.rmse_low <= row.rmse <= row.rmse_high
        assert (row.shown == 1) == ("selection" not in row.release)


def test_tradeoff_runs_from_true_stars_to_the_scheme(table):
    """The curve starts at the attacks on true stars and has one point for each mix."""
    assert [point.mix for point in table.tradeoff] == list(hiding_fold.MIXES)
    for attack in ATTACKS:
        raw = table.row("none", attack, "raw").auc
        assert table.tradeoff[0].aucs[attack] == pytest.approx(raw)


def test_scores_are_those_of_all_people(table):
    """The pooled scores hold everybody once, and rank as the table says."""
    labels, scores = table.scores["none", "lda"]
    assert len(labels) == len(scores) == table.people == 150
    assert auc(labels, scores) == pytest.approx(table.row("none", "lda", "raw").auc, abs=0.05)


def test_measurements_of_a_card(table):
    """A card gets its release's eight attacks and, to compare, four on true stars."""
    made = table.measurements("coupling", "generated")
    assert len(made) == 12
    assert {(m.release, m.trained_on) for m in made} == {
        ("none", "raw"),
        ("coupling", "raw"),
        ("coupling", "released"),
    }


def test_plain_values(table):
    """The table survives JSON."""
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["people"] == 150


def test_workers_change_nothing(ratings):
    """One worker or two: the same numbers to the last bit, and as many steps as announced."""
    made = []
    for workers in (1, 2):
        done = []
        settings = QUICK | {"workers": workers, "releases": ("none", "coupling+selection")}
        made.append(evaluate_hiding(ratings, "gender", **settings, progress=done.append))
        assert sum(done) == steps(FOLDS)
    assert made[0].to_dict() == made[1].to_dict()


def test_seed_decides(ratings):
    """Another seed, other folds and draws."""
    made = [
        evaluate_hiding(ratings, "gender", **QUICK, releases=("none",), seed=seed)
        for seed in (0, 1)
    ]
    assert made[0].rows != made[1].rows


def released_levels(ratings, name):
    """(labels, released levels, offsets) of everybody, in levels."""
    people, _ = consenting(ratings, ["gender"])
    made = estimate(people)["gender"]
    with simulation():
        shown = release(
            people.levels, people.labels, [made], RELEASES[name], n_levels=5, source=replay(2)
        )
    return people.labels[:, 0], shown, made.offsets / MICRO


@pytest.mark.parametrize(("name", "told"), [("scheme", True), ("scheme+rounding", False)])
def test_whole_stars_tell_exactly(ratings, name, told):
    """Unrounded, who adds the public offset back and looks for whole stars is always right.

    The same attacker learns nothing from what was rounded.
    """
    labels, shown, offsets = released_levels(ratings, name)
    rows = np.repeat(np.arange(len(labels)), np.diff(shown.indptr))
    whole = []
    for value in (0, 1):
        back = shown.data + offsets[value, shown.indices]
        whole.append(np.bincount(rows, np.abs(back - np.round(back)) < 1e-9, len(labels)))
    assert auc(labels, whole[1] - whole[0]) == (1.0 if told else pytest.approx(0.5, abs=0.1))


def test_planted_leak_is_seen(ratings, monkeypatch):
    """With offsets of the wrong sign the experiment reports a leak, and a far smaller one without.

    Both attackers see it, the frozen and the retrained.
    """
    name = "scheme+rounding"
    sound = evaluate_hiding(ratings, "gender", **QUICK, releases=(name,))

    def turned(levels, labels, tables, rule, **how):
        wrong = [replace(made, offsets=-made.offsets) for made in tables]
        return release(levels, labels, wrong, rule, **how)

    monkeypatch.setattr(hiding_fold, "release", turned)
    leaky = evaluate_hiding(ratings, "gender", **QUICK, releases=(name,))
    for how in ("raw", "released"):
        assert distance(leaky.row(name, "lda", how).auc) > 0.4
        assert distance(sound.row(name, "lda", how).auc) < 0.25


def test_continuous_scale():
    """Where stars are not whole, couplings are left out; typed digits still tell, unrounded."""
    data = generate(users=90, items=40, ratings=1800, scale=RatingScale(-10, 10, 0), seed=3)
    made = evaluate_hiding(data, "gender", **QUICK)
    kept = {row.release for row in made.accuracy}
    assert kept == {name for name, rule in RELEASES.items() if rule.transform != "coupling"}
    typed = replace(data, values=np.round(data.values, 1))
    read = evaluate_hiding(typed, "gender", **QUICK).fractions
    assert read["scheme"] > 0.99
    assert abs(read["scheme+rounding"] - 0.5) < 0.2


def test_watching_her_rate_tells_at_least_as_much(ratings):
    """What any release has shown holds what the last one shows, with the same draws."""
    people, _ = consenting(ratings, ["gender"])
    table = estimate(people)["gender"]
    given_at = np.concatenate([np.arange(1, n + 1) for n in np.diff(people.levels.indptr)])
    rule = RELEASES["scheme+selection+rounding"]
    with simulation():
        last, watched = (
            release(
                people.levels, people.labels, [table], rule, n_levels=5, source=replay(1), **how
            )
            for how in ({}, {"given_at": given_at})
        )
    assert watched.nnz >= last.nnz
    assert (abs(watched - last).multiply(last != 0)).nnz == 0


def test_three_values():
    """An attribute of three values is attacked value by value."""
    data = generate(users=120, items=40, ratings=2400, seed=4)
    three = replace(data, user_attributes={"gender": np.array(["a", "b", "c"] * 40, dtype=object)})
    made = evaluate_hiding(three, "gender", **QUICK, releases=("none", "scheme+selection+rounding"))
    assert made.values == ("a", "b", "c")
    assert distance(made.row("none", "naive-bayes", "raw").auc) < 0.2  # dealt out: nothing to find


@pytest.mark.parametrize(
    "wrong", [{"releases": ("other",)}, {"attacks": ("other",)}, {"variant": "other"}]
)
def test_unknown_names(ratings, wrong):
    """An unknown release, attack or variant is refused with the known ones."""
    with pytest.raises(ConfigError, match="Known: "):
        evaluate_hiding(ratings, "gender", **QUICK | wrong)


def test_unknown_attribute(ratings):
    """An attribute that nobody has is refused."""
    with pytest.raises(DataError, match="gender"):
        evaluate_hiding(ratings, "age", **QUICK)
