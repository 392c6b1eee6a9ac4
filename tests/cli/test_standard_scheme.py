"""The commands a person types around the standard scheme, on small generated data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tacit import terminal
from tacit.cli import app as cli
from tacit.data.tabular import load
from tacit.recommenders import load_model
from tests.support.evaluated_once import each_evaluated_once


@pytest.fixture(scope="module")
def _evaluated_once():
    with each_evaluated_once():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, _evaluated_once) -> Path:
    """A folder with ratings, their users, a fitted model and one person's history."""
    made = tmp_path_factory.mktemp("cli")
    generated = ("--users", "240", "--items", "60", "--ratings", "7200", "--seed", "3")
    assert cli.main(["data", "generate", str(made / "r.csv"), *generated]) == 0
    fitted = ("--users", str(made / "r-users.csv"), "--workers", "1", "-o", str(made / "m.tacit"))
    said = ("--service-sees-items", "no")
    assert cli.main(["fit", "standard-scheme", str(made / "r.csv"), *fitted, *said]) == 0
    (made / "mine.csv").write_text("item,rating\n1,5\n2,4\n3,1\n4,3\n5,5\n")
    return made


@pytest.fixture
def tacit(capsys):
    """Run one command line in this process: exit code, standard output, standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def as_json(tacit):
    """Run one command line with --json and parse all of its standard output."""

    def call(*words: object) -> dict:
        code, out, err = tacit(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def test_fit_measures_what_the_card_prints(folder, as_json):
    """The card has the frozen and retrained attacks on this release, and no epsilon."""
    person = as_json("guarantee", folder / "m.tacit")["guarantees"][0]
    assert person["epsilon"] is None
    measured = {(m["release"], m["trained_on"]) for m in person["measurements"]}
    release = "scheme+selection+rounding"
    assert measured == {
        ("none", "raw"),
        (release, "raw"),
        (release, "released"),
        (release, "panel"),
        (release, "permuted labels"),
    }
    assert load_model(folder / "m.tacit").fitted_.measurements


def test_card_and_evaluation_show_the_same_worst_figure(folder, as_json):
    """Without options `fit` puts on the card what `evaluate` prints."""
    people = ("--users", folder / "r-users.csv", "--workers", 1)
    person = as_json("guarantee", folder / "m.tacit")["guarantees"][0]
    (card,) = (m for m in person["measurements"] if m["trained_on"] == "panel")
    shown = as_json("evaluate", "standard-scheme", folder / "r.csv", *people)["worst"]
    (printed,) = (row for row in shown if row["release"] == card["release"])
    assert abs(printed["auc"] - 0.5) == pytest.approx(card["auc"] - 0.5)
    assert printed["upper"] == pytest.approx(card["high"])


def test_a_refit_waits_for_enough_changed_people(folder, tacit, tmp_path):
    """The model at --out is the one before; it stays as it is where too few people changed."""
    model = tmp_path / "m.tacit"
    fit = ("fit", "standard-scheme", tmp_path / "r.csv", "--users", folder / "r-users.csv")
    fit += ("--service-sees-items", "no", "--no-measure", "-o", model)
    lines = (folder / "r.csv").read_text().splitlines(keepends=True)
    (tmp_path / "r.csv").write_text("".join(lines))
    assert tacit(*fit)[0] == 0
    before = model.read_bytes()
    (tmp_path / "r.csv").write_text("".join(lines[:-1]))
    code, _, told = tacit(*fit)
    assert code != 0
    assert "Only 1 of the training people changed" in " ".join(told.split())
    assert model.read_bytes() == before
    (tmp_path / "r.csv").write_text("".join(lines[: len(lines) // 2]))
    assert tacit(*fit)[0] == 0


def test_a_catalogue_needs_no_domains(folder, as_json, tmp_path):
    """A list of items with titles is enough; others are left out."""
    listed = tmp_path / "items.csv"
    listed.write_text("item,title\n" + "".join(f"{n},Film {n}\n" for n in range(1, 41)))
    fit = ("fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    fit += ("--service-sees-items", "no", "--no-measure", "--catalogue", listed)
    assert as_json(*fit, "-o", tmp_path / "m.tacit")["items"] == 40


@pytest.mark.parametrize(
    ("named", "edges"), [((), "25,45"), (("--edges", "age=30,40,50"), "30,40,50")]
)
def test_ages_are_cut_at_public_edges(folder, as_json, tmp_path, named, edges):
    """Without edges at those of the tool, else at the ones that are named."""
    lines = (folder / "r-users.csv").read_text().splitlines()
    aged = [f"{line},{18 + 7 * number % 50}" for number, line in enumerate(lines[1:])]
    (tmp_path / "users.csv").write_text("\n".join([f"{lines[0]},age", *aged]) + "\n")
    fit = ("fit", "standard-scheme", folder / "r.csv", "--users", tmp_path / "users.csv")
    fit += ("--attribute", "age", "--service-sees-items", "no", "--no-measure")
    first, *_, last = edges.split(",")
    bins = as_json(*fit, *named, "-o", tmp_path / "m.tacit")["values"]["age"]
    assert (bins[0], bins[-1]) == (f"below {first}", f"{last} and above")
    assert len(bins) == len(edges.split(",")) + 1


def test_guarantee_of_a_design_needs_no_model(as_json):
    """A design's card can be read before anything is fitted; published ones show the verdict."""
    sound, consenting = as_json("guarantee", "standard-scheme")["guarantees"]
    assert (sound["basis"], consenting["basis"]) == ("unmeasured", "none")
    published = as_json("guarantee", "standard-scheme", "--variant", "published")["guarantees"][0]
    assert published["basis"] == "refuted"
    assert published["claims"]


def test_no_card_prints_an_epsilon_for_the_person(folder, tacit):
    """For people, the card says so in words."""
    _, out, _ = tacit("guarantee", folder / "m.tacit")
    assert "Epsilon: none" in out


def test_an_unsafe_release_is_refused(folder, tacit):
    """Unrounded whole stars are a privacy refusal (exit 5), and no model is written."""
    out_file = folder / "unsafe.tacit"
    words = ("fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    code, _, err = tacit(
        *words, "--service-sees-items", "no", "--release", "scheme", "-o", out_file
    )
    assert code == 5
    assert "exactly" in err
    assert not out_file.exists()


def test_a_private_disclosure_has_its_own_card(folder, as_json, tmp_path):
    """With --disclosure-epsilon the training people's card states it, with unit and sensitivity."""
    words = ("fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    said = ("--service-sees-items", "no", "--disclosure-epsilon", "100", "--no-measure")
    as_json(*words, *said, "-o", tmp_path / "p.tacit")
    consenting = as_json("guarantee", tmp_path / "p.tacit")["guarantees"][1]
    assert (consenting["epsilon"], consenting["basis"]) == (100.0, "conditional")
    assert consenting["adjacency"] == {"unit": "user", "change": "add or remove"}


def test_evaluate_prints_the_machine_output(folder, as_json):
    """rows, accuracy, control and manifest have the promised fields."""
    result = as_json(
        "evaluate",
        "standard-scheme",
        folder / "r.csv",
        *("--users", folder / "r-users.csv", "--folds", 3, "--workers", 1),
        *("--release", "none", "--release", "coupling+selection", "--attack", "lda"),
    )
    cells = {(row["release"], row["attack"], row["trained_on"]) for row in result["rows"]}
    assert cells == {
        (release, "lda", trained)
        for release in ("none", "coupling+selection")
        for trained in ("raw", "released")
    }
    assert all(row["low"] <= row["auc"] <= row["high"] for row in result["rows"])
    assert {"release", "rmse", "mae", "ndcg", "shown"} <= set(result["accuracy"][0])
    assert {"release", "auc", "upper", "control"} <= set(result["worst"][0])
    assert result["default_release"] == "coupling+selection"
    assert {"attack", "auc"} <= set(result["control"][0])
    assert {"seed", "versions", "data", "command"} <= set(result["manifest"])


def test_evaluate_writes_a_report(folder, tacit, tmp_path):
    """--report writes one page; a folder that does not exist is refused before any work."""
    words = (
        *("evaluate", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv"),
        *("--folds", 3, "--workers", 1, "--attack", "naive-bayes", "--release", "none"),
        *("--release", "scheme+selection+rounding"),
    )
    code, out, _ = tacit(*words, "--report", tmp_path / "out.html")
    assert code == 0
    assert "out.html" in out
    assert "<table" in (tmp_path / "out.html").read_text()
    code, out, err = tacit(*words, "--report", tmp_path / "nowhere" / "out.html")
    assert (code, out, err.count("Error")) == (1, "", 1)


@pytest.mark.parametrize("recommender", ["standard-scheme", "popularity"])
@pytest.mark.parametrize(
    ("out", "says"), [("nowhere/m.tacit", "does not exist"), (".", "this is a folder")]
)
def test_the_place_of_the_model_is_checked_first(tacit, tmp_path, recommender, out, says):
    """A model that could not be written is refused before the ratings are even looked for."""
    code, _, err = tacit("fit", recommender, tmp_path / "none.csv", "-o", tmp_path / out)
    assert code == 1
    assert says in err
    assert "none.csv" not in err


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "standard-scheme", "r.csv", "-o", "m"),
        ("attack", "standard-scheme", "r.csv"),
        ("data", "generate", "r.csv"),
    ],
)
def test_a_negative_seed_is_wrong_usage(tacit, words):
    """It is refused as an option, in sentences that end, and no bug."""
    code, _, err = tacit(*words, "--seed", -1)
    assert code == 2
    assert "'--seed'" in err
    assert ". See:  tacit" in err


def test_names_of_releases_are_not_broken(folder, tacit, monkeypatch):
    """At 80 columns the names of releases and attacks stand in one piece."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    release, attack = "scheme+selection+rounding", "logistic-regression"
    words = ("evaluate", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    code, shown, _ = tacit(*words, "--folds", 3, "--workers", 1, "--attack", attack)
    assert code == 0
    assert shown.count(release) >= 2
    assert shown.count(attack) >= 1


def test_attack_reports_distance_and_control(folder, as_json):
    """`tacit attack` compares one release with true stars."""
    result = as_json(
        "attack",
        "standard-scheme",
        folder / "r.csv",
        *("--users", folder / "r-users.csv", "--folds", 3, "--workers", 1, "--attack", "svm"),
    )
    assert [(row["release"], row["trained_on"]) for row in result["rows"]] == [
        ("none", "raw"),
        ("scheme+selection+rounding", "raw"),
        ("scheme+selection+rounding", "released"),
    ]
    assert all(row["distance"] == abs(row["auc"] - 0.5) for row in result["rows"])


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [
        ("--release", "nothing", "coupling"),
        ("--attack", "magic", "lda"),
        ("--variant", "x", "sound"),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(folder, tacit, option, value, known):
    """A misspelt release, attack or variant names what there is."""
    words = ("evaluate", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    code, _, err = tacit(*words, option, value)
    assert code == 2
    assert known in err


def test_a_missing_attribute_says_how_to_name_it(folder, tacit, tmp_path):
    """Ratings without user attributes point to --users."""
    words = ("fit", "standard-scheme", folder / "r.csv", "--service-sees-items", "no")
    code, _, err = tacit(*words, "-o", tmp_path / "m.tacit")
    assert code == 3
    assert "--users" in err


@pytest.mark.parametrize("name", ["popularity", "item-mean", "matrix-factorization"])
def test_baselines_fit_and_recommend(folder, as_json, tmp_path, name):
    """A yardstick is fitted, serves a history, and promises nothing."""
    model = tmp_path / "b.tacit"
    as_json("fit", name, folder / "r.csv", "-o", model)
    result = as_json("recommend", model, "--history", folder / "mine.csv", "-n", 3)
    assert len(result["items"]) == 3
    assert as_json("guarantee", model)["guarantees"] == []


def test_about_has_no_meaning_for_a_baseline(folder, tacit, tmp_path):
    """A recommender that hides nothing does not pretend to."""
    tacit("fit", "popularity", folder / "r.csv", "-o", tmp_path / "b.tacit")
    words = ("recommend", tmp_path / "b.tacit", "--history", folder / "mine.csv")
    code, _, err = tacit(*words, "--about", "gender=F")
    assert code == 2
    assert "hides no attribute" in err


def test_people_and_items_with_few_ratings_are_left_out(folder, as_json):
    """--per-item and --per-user leave what `Ratings.at_least` leaves."""
    left = load(folder / "r.csv").drop_rare(per_item=60, per_user=20)
    shown = as_json("data", "describe", folder / "r.csv", "--per-item", 60, "--per-user", 20)
    assert (shown["users"], shown["items"]) == (left.n_users, left.n_items)
    assert left.n_users < 240
