"""The commands a person types around X-Map, on small generated data."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest

from tacit import load_model
from tacit.cli import app as cli
from tacit.data.synthetic_worlds import generate_domains

DOMAINS = ("--domain-column", "kind", "--source", "source", "--target", "target")


@pytest.fixture(scope="module")
def ratings(tmp_path_factory) -> Path:
    """A file of ratings with a column of domains."""
    made = tmp_path_factory.mktemp("xmap") / "r.csv"
    generated = generate_domains(150, (30, 30), 16.0, seed=5)
    kinds = generated.item_metadata["domain"]
    with made.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "rating", "kind"])
        rows = zip(generated.users, generated.items, generated.values, strict=True)
        writer.writerows((user, item, star, kinds[item]) for user, item, star in rows)
    return made


@pytest.fixture
def typed(ratings, tmp_path) -> Path:
    """The same ratings without domains in Parquet, whose rows decide nothing about each other."""
    path = tmp_path / "typed.parquet"
    pl.read_csv(ratings).drop("kind").write_parquet(path)
    return path


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


def evaluating(ratings, *words):
    return ("evaluate", "xmap", ratings, *DOMAINS, "--seeds", 2, "--workers", 1, *words)


BASELINES = ("--method", "item-average", "--method", "popularity", "--method", "knn-cross")


def test_evaluate_prints_the_machine_output(ratings, as_json):
    """A row per method, k, setting and seed, with the promised fields."""
    result = as_json(
        *evaluating(ratings, *BASELINES),
        *("--k", "5,10", "--overlap", "0.5,1", "--profile-size", "0,2"),
    )
    rows = result["rows"]
    assert {
        "method",
        "variant",
        "epsilon",
        "delta",
        "k",
        "seed",
        "mae",
        "ndcg_at_10",
        "n_test",
    } <= (set(rows[0]))
    settings = {(row["overlap"], row["profile_size"]) for row in rows}
    assert settings == {(1, 0), (0.5, 0), (1, 2)}
    knn = [(row["k"], row["seed"]) for row in rows if row["method"] == "knn-cross"]
    assert sorted(knn) == [(5, 0), (5, 1), *[(10, 0)] * 3, *[(10, 1)] * 3]
    assert result["base"] == {"overlap": 1, "profile_size": 0, "alpha": 0, "k": 10}
    assert result["manifest"]["settings"]["overlaps"] == [0.5, 1]


def test_evaluate_writes_a_report(ratings, tacit, tmp_path):
    """--report writes one page; a folder that does not exist is refused before any work."""
    words = evaluating(ratings, *BASELINES, "--k", "5,10")
    code, out, _ = tacit(*words, "--report", tmp_path / "out.html")
    assert code == 0
    assert "out.html" in out
    assert "<svg" in (tmp_path / "out.html").read_text()
    code, out, err = tacit(*words, "--report", tmp_path / "nowhere" / "out.html")
    assert (code, out, err.count("Error")) == (1, "", 1)


def test_evaluate_says_it_in_words_and_what_comes_next(ratings, tacit):
    """For people: a sentence, the tables, and a next step."""
    code, out, _ = tacit(*evaluating(ratings, *BASELINES, "--k", "5"))
    assert code == 0
    assert "item-average" in out
    assert "not rounded" in out
    assert "Next:" in out


def test_evaluate_names_each_variant(ratings, tacit):
    """The published variant is not called sound, and X-Map without NX-Map is judged."""
    words = ("--method", "item-average", "--method", "x-map-ib", "--variant", "published")
    code, out, _ = tacit(*evaluating(ratings, *words, "--k", "5"))
    assert code == 0
    assert "published 0.3, 0.8" in out
    assert "sound" not in out
    assert "Baselines only" not in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--k", "ten"), 2, "--k takes numbers with commas, such as 10,20,50; got 'ten'"),
        (("--overlap", ","), 2, "--overlap takes numbers with commas"),
        (("--epsilon", "nan"), 2, "--epsilon takes numbers with commas"),
        (("--profile-size", "-1"), 2, "Each profile size is 0 or more; got -1"),
        (("--method", "magic"), 2, "nx-map-ib"),
        (("--variant", "secret"), 2, "sound"),
    ],
)
def test_wrong_settings_are_sentences(ratings, tacit, words, code, said):
    """A misspelt number, method or variant is answered with what is allowed."""
    found, _, err = tacit(*evaluating(ratings), *words)
    assert found == code
    assert said in err


def test_a_missing_domain_column_says_how_to_name_it(ratings, tacit):
    """Ratings without domains point to --domain-column."""
    words = ("evaluate", "xmap", ratings, "--source", "source", "--target", "target")
    code, _, err = tacit(*words)
    assert code == 3
    assert "--domain-column" in err


def test_an_unknown_domain_is_answered_with_those_there_are(ratings, tacit):
    """A misspelt target names the domains of the file."""
    words = ("evaluate", "xmap", ratings, "--domain-column", "kind", "--source", "source")
    code, _, err = tacit(*words, "--target", "music", *BASELINES)
    assert code == 3
    assert "source, target" in err


@pytest.fixture(scope="module")
def model(ratings, tmp_path_factory) -> Path:
    """X-Map without privacy, fitted by the command."""
    out = tmp_path_factory.mktemp("model") / "m.tacit"
    words = ("fit", "xmap", str(ratings), *DOMAINS, "--scale", "1:5:1")
    assert cli.main([*words, "--epsilon", "inf", "-o", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def listed(tmp_path_factory) -> Path:
    """A public catalogue: the items of the ratings, and two that nobody rated."""
    path = tmp_path_factory.mktemp("listed") / "catalogue.csv"
    kinds = [*[(n, "source" if n < 30 else "target") for n in range(60)]]
    rows = [f"{item},{kind},Item {item}" for item, kind in [*kinds, (70, "source"), (71, "target")]]
    path.write_text("\n".join(["item,domain,title", *rows]) + "\n")
    return path


@pytest.fixture
def mine(tmp_path) -> Path:
    """What one person rated in the source domain."""
    path = tmp_path / "mine.csv"
    path.write_text("item,rating\n0,5\n1,4\n2,1\n3,5\n4,2\n5,4\n")
    return path


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_every_variant_is_fitted_and_serves_a_stranger(ratings, as_json, tmp_path, mine, variant):
    """A list of target items, with reasons among her own ratings from sums, with predicted stars as
    published."""
    out = tmp_path / "m.tacit"
    words = ("fit", "xmap", ratings, *DOMAINS, "--scale", "1:5:1", "--variant", variant)
    made = as_json(*words, "--k", 10, "--epsilon", 3, "--delta", 1e-6, "-o", out)
    assert (made["recommender"], made["variant"], made["epsilon"]) == ("x-map", variant, 3)
    items = as_json("recommend", out, "--history", mine, "-n", 5)["items"]
    assert len(items) == 5
    assert all(entry["item_id"] >= 30 for entry in items)  # the target's ids
    assert variant == "sound" or all(1 <= entry["stars"] <= 5 for entry in items)
    assert all(("because" in entry) == (variant == "sound") for entry in items)
    reasons = {each["item_id"] for entry in items for each in entry.get("because", [])}
    assert reasons <= {0, 1, 2, 3, 4, 5}


def test_alpha_weighs_a_history_with_times(ratings, as_json, tacit, tmp_path):
    """`fit xmap --alpha` is kept in the file; `recommend` reads the column of times, found or
    named, and old ratings count less. Without times all ratings count alike."""
    out, file, untimed = tmp_path / "m.tacit", tmp_path / "t.csv", tmp_path / "u.csv"
    words = ("fit", "xmap", ratings, *DOMAINS, "--variant", "published", "--epsilon", "inf")
    as_json(*words, "--alpha", 2, "-o", out)
    stars = (5, 4, 1, 5, 2, 4)
    rows = [f"{item},{star},{100 - item}" for item, star in enumerate(stars)]
    file.write_text("\n".join(["item,rating,timestamp", *rows]) + "\n")
    untimed.write_text("\n".join(["item,rating", *(row.rpartition(",")[0] for row in rows)]) + "\n")

    def stars_of(model, history, *words):
        items = as_json("recommend", model, "--history", history, "-n", 30, *words)["items"]
        return {entry["item_id"]: entry["stars"] for entry in items}

    fitted = load_model(out)
    history = dict(enumerate(map(float, stars)))
    times = {item: 100 - item for item in history}
    expected = fitted.predict(range(30, 60), history=history, history_times=times).clip(1, 5)
    found = stars_of(out, file)
    assert [found[item] for item in range(30, 60)] == pytest.approx(expected.tolist())
    assert found == stars_of(out, file, "--time", "timestamp")
    plain = stars_of(out, untimed)
    assert max(abs(found[item] - plain[item]) for item in found) > 0.01
    even = tmp_path / "even.tacit"
    as_json(*words, "-o", even)
    code, _, error = tacit("recommend", even, "--history", file, "--time", "timestamp")
    assert (code, "was not fitted with --alpha" in error) == (2, True)


def test_the_list_says_because_you_liked(model, mine, tacit):
    """For people, a column of what the recommendation is owed to."""
    code, out, _ = tacit("recommend", model, "--history", mine, "-n", 5)
    assert code == 0
    assert "because you liked" in out
    assert "shows who is protected" in out


def test_a_recommender_without_reasons_prints_none(ratings, mine, tacit, tmp_path):
    """Baselines keep their table of scores."""
    out = tmp_path / "p.tacit"
    assert tacit("fit", "popularity", ratings, "-o", out)[0] == 0
    _, shown, _ = tacit("recommend", out, "--history", mine)
    assert "because" not in shown
    assert "score" in shown


def test_the_card_of_a_model_states_what_it_was_fitted_with(
    ratings, typed, listed, as_json, tmp_path
):
    """Epsilon, delta and unit of the file's card are those of the command."""
    out = tmp_path / "m.tacit"
    words = ("fit", "xmap", typed, *DOMAINS, "--scale", "1:5:1", "--catalogue", listed)
    as_json(*words, "--epsilon", 2, "--delta", 1e-5, "-o", out)
    (card,) = as_json("guarantee", out)["guarantees"]
    assert (card["epsilon"], card["delta"], card["basis"]) == (2, 1e-5, "proved")
    assert card["adjacency"] == {"unit": "user", "change": "add or remove"}


def test_the_published_card_is_refuted_with_numbers(ratings, as_json, tmp_path):
    """No epsilon, and each claim of the paper with its verdict."""
    out = tmp_path / "m.tacit"
    words = ("fit", "xmap", ratings, *DOMAINS, "--variant", "published", "--epsilon", 0.3)
    as_json(*words, "--epsilon-prime", 0.8, "-o", out)
    (card,) = as_json("guarantee", out)["guarantees"]
    assert (card["epsilon"], card["basis"]) == (None, "refuted")
    assert card["claims"]


def test_a_card_can_be_read_before_anything_is_fitted(as_json, tacit):
    """`tacit guarantee xmap --epsilon 1` is the card of the sound variant."""
    (card,) = as_json("guarantee", "xmap", "--epsilon", 1, "--delta", 1e-6)["guarantees"]
    assert (card["epsilon"], card["delta"]) == (1, 1e-6)
    (none,) = as_json("guarantee", "xmap", "--epsilon", "inf")["guarantees"]
    assert (none["epsilon"], none["protects"]) == (None, "nobody")
    assert "tacit audit xmap" in tacit("guarantee", "xmap", "--epsilon", 1)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("xmap",), "add --epsilon"),
        (("xmap", "--epsilon", -1), "epsilon is above 0"),
        (("xmap", "--epsilon", 1, "--delta", 0), "needs a delta above 0"),
        (("xmap", "--epsilon", 1, "--variant", "published"), "tacit fit xmap"),
        (("standard-scheme", "--epsilon", 1), "is no option of standard-scheme"),
    ],
)
def test_a_card_that_cannot_be_is_a_sentence(tacit, words, said):
    """Missing or impossible budgets say what to add."""
    code, _, err = tacit("guarantee", *words)
    assert code == 2
    assert said in err


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Path:
    """Ratings of three domains, an item's by its id."""
    made = tmp_path_factory.mktemp("three") / "r.csv"
    generated = generate_domains(150, (30, 30), 16.0, seed=6)
    rows = zip(generated.users, generated.items, generated.values, strict=True)
    lines = [f"{user},{item},{star:g},{'abc'[item % 3]}" for user, item, star in rows]
    made.write_text("\n".join(["user,item,rating,kind", *lines]) + "\n")
    return made


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        (("--source", "a", "--target", "b,c"), ["a"]),
        (("--source", "a, b", "--source", "c", "--target", "b", "--target", "c"), ["a", "b", "c"]),
        (("--target", "b,c"), None),
    ],
)
def test_several_sources_and_targets(three, as_json, tmp_path, words, sources):
    """Names with commas or one by one; without --source every other domain leads there."""
    out = tmp_path / "m.tacit"
    fit = ("fit", "xmap", three, "--domain-column", "kind", "--epsilon", 3)
    made = as_json(*fit, *words, "-o", out)
    assert (made["source"], made["target"]) == (sources, ["b", "c"])
    all_of_them = as_json("recommend", out, "-n", 60)["items"]
    assert {entry["item_id"] % 3 for entry in all_of_them} == {1, 2}
    only = as_json("recommend", out, "-n", 60, "--target", "c")["items"]
    assert {entry["item_id"] % 3 for entry in only} == {2}


def test_a_target_that_is_none_is_a_sentence(model, ratings, tacit, tmp_path):
    """The targets a model has are named; a model without domains says so."""
    code, _, err = tacit("recommend", model, "--target", "source")
    assert (code, "It has: target" in err) == (2, True)
    out = tmp_path / "p.tacit"
    assert tacit("fit", "popularity", ratings, "-o", out)[0] == 0
    code, _, err = tacit("recommend", out, "--target", "source")
    assert (code, "no target domains" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--epsilon", 1, "--per-item", 3), 5, "--per-item"),
        (("--epsilon", 1, "--per-user", 3), 5, "--per-user"),
        (("--epsilon", 1, "--recommender", "user-based"), 5, "holds no people"),
        (("--epsilon", 1, "--variant", "magic"), 2, "'sound' or 'published'"),
        (("--epsilon", 0), 2, "epsilon is above 0"),
        ((), 2, "--epsilon"),
    ],
)
def test_fits_that_cannot_be_are_sentences(ratings, tacit, tmp_path, words, code, said):
    """Refused before the ratings are read, and nothing is written."""
    out = tmp_path / "m.tacit"
    found, _, err = tacit("fit", "xmap", ratings, *DOMAINS, *words, "-o", out)
    assert found == code
    assert said in err
    assert not out.exists()


def test_without_privacy_items_may_be_filtered(ratings, as_json, tmp_path):
    """--per-item is refused only where something is promised."""
    words = ("--scale", "1:5:1", "--per-item", 3, "--epsilon", "inf")
    assert as_json("fit", "xmap", ratings, *DOMAINS, *words, "-o", tmp_path / "m")["model"]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), ("--catalogue FILE", "--scale MIN:MAX:STEP")),
        (("scale",), ("--catalogue FILE",)),
        (("catalogue",), ("--scale MIN:MAX:STEP",)),
        (("catalogue", "scale"), ()),
    ],
)
def test_what_the_ratings_told_is_a_condition(
    ratings, typed, listed, as_json, tmp_path, given, missing
):
    """Proved only if catalogue and scale come from outside; else the card says what to give."""
    words = {"scale": ("--scale", "1:5:1"), "catalogue": ("--catalogue", listed)}
    out = tmp_path / "m.tacit"
    asked = [word for name in given for word in words[name]]
    made = as_json(
        "fit",
        "xmap",
        typed if "catalogue" in given else ratings,
        *DOMAINS,
        *asked,
        "--epsilon",
        1,
        "-o",
        out,
    )
    (card,) = as_json("guarantee", out)["guarantees"]
    assert made["basis"] == card["basis"] == ("conditional" if missing else "proved")
    assert made["sentence"] == card["sentence"]
    for option in ("--catalogue FILE", "--scale MIN:MAX:STEP"):
        assert (option in card["sentence"]) == (option in missing)
        assert any(f"public: give {option}" in line for line in card["assumptions"]) == (
            option in missing
        )


def test_the_fit_says_what_it_takes_for_public(ratings, tacit, tmp_path):
    """The bare command works, and prints that its promise is conditional."""
    words = ("fit", "xmap", ratings, *DOMAINS, "--epsilon", 1, "-o", tmp_path / "m.tacit")
    code, out, _ = tacit(*words)
    assert code == 0
    assert "which items were rated; the scale detected" in " ".join(out.split())


def test_the_model_file_has_the_items_of_the_catalogue(ratings, listed, tacit, tmp_path):
    """An item that only she rated is not in the file with her, nor without; unrated ones are."""
    from tacit import load_model

    hers = tmp_path / "hers.csv"
    hers.write_text(ratings.read_text() + "9999,999,5,target\n9999,31,4,target\n")
    words = (*DOMAINS, "--scale", "1:5:1", "--catalogue", listed, "--epsilon", 1, "--k", 10)
    for name in (ratings, hers):
        out = tmp_path / "m.tacit"
        assert tacit("fit", "xmap", name, *words, "-o", out)[0] == 0
        model = load_model(out)
        assert model.item_ids_.tolist() == [*range(60), 70, 71]
        assert model.titles_[71] == "Item 71"


def test_a_wrong_catalogue_names_its_file(ratings, tacit, tmp_path):
    """A list without domains, or of other ids, is refused before any fit."""
    path = tmp_path / "c.csv"
    words = ("fit", "xmap", ratings, *DOMAINS, "--epsilon", 1, "--catalogue", path)
    for text, said in (
        ("item,title\n1,A\n", "no domain column"),
        ("item,domain\nx,source\ny,target\n", "no item of the catalogue has a rating"),
        ("item,domain\n1,source\n2,\n", "an item has no domain"),
    ):
        path.write_text(text)
        code, _, err = tacit(*words, "-o", tmp_path / "m")
        assert code == 3
        assert "c.csv" in err
        assert said in " ".join(err.split())


def test_a_private_fit_tells_no_exact_number(ratings, tacit, as_json, tmp_path):
    """Neither people, ratings nor the digest, in words or in JSON: nobody paid for them.

    The noisy number of people, which was paid for, may be the true one by chance: left out here."""
    words = ("fit", "xmap", ratings, *DOMAINS, "--epsilon", 1)
    made = as_json(*words, "-o", tmp_path / "m")
    assert not {"people", "ratings", "data"} & set(made)
    code, out, _ = tacit(*words, "-o", tmp_path / "m")
    assert code == 0
    paid_for = re.compile(r"[Aa]bout -?[\d,]+ (more )?people")
    assert "150" not in paid_for.sub("", out)
    assert "people;" not in out


def test_evaluate_counts_similarities(ratings, as_json, tacit):
    """Pairs at each overlap; a table shows them."""
    options = ("--method", "item-average", "--similarities", "--overlap", "0.5,1")
    found = as_json(*evaluating(ratings, *options))
    assert [row["overlap"] for row in found["similarities"]] == [0.5, 1.0]
    assert all(0 < row["x_sim"] <= row["pairs"] == 900 for row in found["similarities"])
    assert "X-Sim, by meta-paths" in tacit(*evaluating(ratings, *options))[1]
