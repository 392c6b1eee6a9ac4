"""The commands a person types around the standard scheme, on small generated data."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from tacit.cli import app as cli
from tacit.cli import hiding_tables, output
from tacit.recommenders import load_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with ratings, their users, a fitted model and one person's history."""
    made = tmp_path_factory.mktemp("cli")
    generated = ("--users", "240", "--items", "60", "--ratings", "7200", "--seed", "3")
    assert cli.main(["data", "generate", str(made / "r.csv"), *generated]) == 0
    fitted = ("--users", str(made / "r-users.csv"), "--workers", "1", "-o", str(made / "m.tacit"))
    assert cli.main(["fit", "standard-scheme", str(made / "r.csv"), *fitted]) == 0
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


def test_a_stranger_gets_a_list_without_what_she_rated(folder, as_json):
    """Somebody who was not in training gets n items, none of which she rated."""
    result = as_json("recommend", folder / "m.tacit", "--history", folder / "mine.csv", "-n", 7)
    items = [entry["item_id"] for entry in result["items"]]
    assert len(items) == 7
    assert not {1, 2, 3, 4, 5} & set(items)
    assert result["computed"] == "at home"
    assert result["release"] is None


def test_exclude_and_candidates(folder, as_json):
    """--candidates restricts the list, --exclude takes out of it, unknown ids do no harm."""
    result = as_json(
        "recommend",
        folder / "m.tacit",
        "--candidates",
        "10,11,12,1000",
        "--exclude",
        "11,nobody",
    )
    assert {entry["item_id"] for entry in result["items"]} == {10, 12}


def test_ids_from_a_file(folder, as_json, tmp_path):
    """@FILE holds one id a line."""
    (tmp_path / "ids.txt").write_text("20\n21\n\n")
    result = as_json("recommend", folder / "m.tacit", "--candidates", f"@{tmp_path / 'ids.txt'}")
    assert {entry["item_id"] for entry in result["items"]} == {20, 21}


def test_the_same_stars_leave_as_the_same_bytes(folder, as_json, tmp_path):
    """A second run, and a third with another list length, sends what the first one sent."""
    (tmp_path / "mine.csv").write_text((folder / "mine.csv").read_text())
    words = ("recommend", folder / "m.tacit", "--history", tmp_path / "mine.csv")
    first = as_json(*words, "--about", "gender=F")["release"]
    assert all(
        as_json(*words, "--about", "gender=F", "-n", n)["release"] == first for n in range(1, 8)
    )
    assert (tmp_path / "mine.csv.released.json").exists()


def test_a_broken_memory_stops_the_release(folder, tacit, tmp_path):
    """A memory that cannot be read is never replaced by fresh draws."""
    memory = tmp_path / "memory.json"
    memory.write_text("[[1, 2")
    words = ("recommend", folder / "m.tacit", "--history", folder / "mine.csv")
    code, out, err = tacit(*words, "--about", "gender=F", "--memory", memory)
    assert (code, out) == (3, "")
    assert str(memory) in err
    assert memory.read_text() == "[[1, 2"


def test_the_release_holds_no_attribute(folder, as_json, tmp_path):
    """The bytes name items and stars only."""
    words = ("recommend", folder / "m.tacit", "--history", folder / "mine.csv")
    result = as_json(*words, "--about", "gender=M", "--memory", tmp_path / "m.json")
    assert set(json.loads(result["release"])) == {"version", "message", "disclosure", "ratings"}


@pytest.mark.parametrize(
    ("about", "words"),
    [("gender=X", "F, M"), ("age=3", "gender"), ("gender", "NAME=VALUE")],
)
def test_a_wrong_attribute_is_one_sentence(folder, tacit, about, words, tmp_path):
    """An unknown value or name is refused with what is expected, and leaves no file behind."""
    (tmp_path / "mine.csv").write_text((folder / "mine.csv").read_text())
    code, out, err = tacit(
        "recommend", folder / "m.tacit", "--history", tmp_path / "mine.csv", "--about", about
    )
    assert code in (2, 3)
    assert (out, err.count("Error")) == ("", 1)
    assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_a_history_of_another_catalogue_is_refused(folder, tacit, tmp_path):
    """If the model knows none of the items, it says so."""
    (tmp_path / "h.csv").write_text("item,rating\nfoo,5\nbar,4\n")
    code, _, err = tacit("recommend", folder / "m.tacit", "--history", tmp_path / "h.csv")
    assert code == 3
    assert "knows none of these items" in err


def test_a_star_off_the_scale_is_refused(folder, tacit, tmp_path):
    """Seven stars out of five are no rating; nothing is written."""
    (tmp_path / "h.csv").write_text("item,rating\n1,7\n2,4\n")
    words = ("recommend", folder / "m.tacit", "--history", tmp_path / "h.csv")
    for about in ((), ("--about", "gender=F")):
        code, _, err = tacit(*words, *about)
        assert code == 3
        assert "scale" in err
    assert [path.name for path in tmp_path.iterdir()] == ["h.csv"]


def test_a_flipped_byte_is_refused(folder, tacit, tmp_path):
    """A damaged model gives its path and the reason, exit code 4."""
    content = bytearray((folder / "m.tacit").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.tacit").write_bytes(content)
    code, out, err = tacit("recommend", tmp_path / "bad.tacit")
    assert (code, out) == (4, "")
    assert "bad.tacit" in err
    assert "SHA-256" in err


def test_fit_measures_what_the_card_prints(folder, as_json):
    """The card has the frozen and retrained attacks on this release, and no epsilon."""
    person = as_json("guarantee", folder / "m.tacit")["guarantees"][0]
    assert person["epsilon"] is None
    measured = {(m["release"], m["trained_on"]) for m in person["measurements"]}
    release = "scheme+selection+rounding"
    assert measured == {("none", "raw"), (release, "raw"), (release, "released")}
    assert load_model(folder / "m.tacit").measurements_


def test_guarantee_of_a_design_needs_no_model(as_json):
    """A design's card can be read before anything is fitted; published ones show the verdict."""
    sound, consenting = as_json("guarantee", "standard-scheme")["guarantees"]
    assert (sound["basis"], consenting["basis"]) == ("measured", "none")
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
    code, _, err = tacit(*words, "--release", "scheme", "-o", out_file)
    assert code == 5
    assert "exactly" in err
    assert not out_file.exists()


def test_a_private_disclosure_has_its_own_card(folder, as_json, tmp_path):
    """With --disclosure-epsilon the training people's card states it, with unit and sensitivity."""
    words = ("fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    as_json(*words, "--disclosure-epsilon", "2", "--no-measure", "-o", tmp_path / "p.tacit")
    consenting = as_json("guarantee", tmp_path / "p.tacit")["guarantees"][1]
    assert (consenting["epsilon"], consenting["basis"]) == (2.0, "proved")
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
    assert {"release", "rmse", "mae"} <= set(result["accuracy"][0])
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
    assert "<svg" in (tmp_path / "out.html").read_text()
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
        ("evaluate", "baselines", "r.csv"),
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


def test_names_of_releases_are_not_broken(capsys, monkeypatch):
    """At 80 columns every table of an evaluation has its releases and attacks in one piece."""
    monkeypatch.setattr(output, "console", Console(width=80))
    release, attack = "scheme+selection+rounding", "logistic-regression"
    row = {"release": release, "auc": 0.512, "low": 0.45, "high": 0.54, "trained_on": "raw"}
    attacks = ("naive-bayes", attack, "svm", "lda")
    hiding_tables.attacks([{**row, "attack": name} for name in attacks])
    hiding_tables.intervals([{**row, "attack": attack}])
    lists = {"ndcg_at_10": 0.123, "recall_at_10": 0.123}
    numbers = {"rmse": 1.0, "rmse_at_home": 0.9, "shown": 0.5, "ranking": lists}
    hiding_tables.accuracy([SimpleNamespace(release=name, **numbers) for name in ("none", release)])
    shown = capsys.readouterr().out
    assert shown.count(release) == 3
    assert shown.count(attack) == 2


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
    code, _, err = tacit("fit", "standard-scheme", folder / "r.csv", "-o", tmp_path / "m.tacit")
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


def test_evaluate_baselines(folder, as_json):
    """The yardsticks' table has a row each; popularity has no error in stars."""
    rows = as_json("evaluate", "baselines", folder / "r.csv")["rows"]
    assert [row["recommender"] for row in rows] == [
        "popularity",
        "item-mean",
        "matrix-factorization",
    ]
    assert rows[0]["rmse"] is None
    assert rows[2]["rmse"] < rows[1]["rmse"]


def test_the_demo_tells_the_whole_story(as_json):
    """The demo's attacker reads true stars and not the release; the list costs little accuracy."""
    story = as_json("demo")
    assert len(story["recommendations"]) == 5
    assert json.loads(story["bytes"])["message"] == "release"
    assert len(story["bytes"].encode()) == story["n_bytes"]
    assert story["attack"]["auc_before"] > 0.7
    assert abs(story["attack"]["auc_after"] - 0.5) < 0.1
    errors = story["accuracy"]
    assert errors["rmse_true_stars"] < errors["rmse_released"] < 1.02 * errors["rmse_true_stars"]


def test_an_unknown_demo_names_those_there_are(tacit):
    """`tacit demo NAME` is a registry."""
    code, _, err = tacit("demo", "magic")
    assert code == 2
    assert "standard-scheme" in err
