"""The commands a person types around X-Map, on small generated data."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tacit.cli import app as cli
from tacit.data.synthetic_domains import generate_domains

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


YARDSTICKS = ("--method", "item-average", "--method", "popularity", "--method", "knn-cross")


def test_evaluate_prints_the_machine_output(ratings, as_json):
    """A row per method, k, setting and seed, with the promised fields."""
    result = as_json(
        *evaluating(ratings, *YARDSTICKS),
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
    assert result["base"] == {"overlap": 1, "profile_size": 0, "k": 10}
    assert result["manifest"]["settings"]["overlaps"] == [0.5, 1]


def test_evaluate_writes_a_report(ratings, tacit, tmp_path):
    """--report writes one page; a folder that does not exist is refused before any work."""
    words = evaluating(ratings, *YARDSTICKS, "--k", "5,10")
    code, out, _ = tacit(*words, "--report", tmp_path / "out.html")
    assert code == 0
    assert "out.html" in out
    assert "<svg" in (tmp_path / "out.html").read_text()
    code, out, err = tacit(*words, "--report", tmp_path / "nowhere" / "out.html")
    assert (code, out, err.count("Error")) == (1, "", 1)


def test_evaluate_says_it_in_words_and_what_comes_next(ratings, tacit):
    """For people: a sentence, the tables, and a next step."""
    code, out, _ = tacit(*evaluating(ratings, *YARDSTICKS, "--k", "5"))
    assert code == 0
    assert "item-average" in out
    assert "not rounded" in out
    assert "Next:" in out


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
    code, _, err = tacit(*words, "--target", "music", *YARDSTICKS)
    assert code == 3
    assert "source, target" in err
