"""Fitting the yardsticks from the command line, and asking them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tacit.cli.app import main
from tacit.data import generate, with_domains, write_ratings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ratings of books (even ids) and films (odd ids), and one person's history of books."""
    ratings = generate(users=40, items=20, ratings=400, seed=2)
    kinds = {item: ("books", "films")[item % 2] for item in ratings.item_ids.tolist()}
    write_ratings(with_domains(ratings, kinds), tmp_path / "r.csv")
    (tmp_path / "mine.csv").write_text("item,rating\n2,5\n4,1\n6,4\n")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run one command line; exit code, JSON or nothing, standard error."""

    def runner(*words: object) -> tuple[int, Any, str]:
        code = main([*map(str, words), "--json"])
        out, errors = capsys.readouterr()
        return code, json.loads(out) if out else None, errors

    return runner


@pytest.mark.parametrize(
    ("words", "films_only"),
    [
        (("user-average",), False),
        (("user-item-mean", "--item-damping", 3, "--user-damping", 1), False),
        (("item-knn", "--k", 5, "--significance", 0), False),
        (("item-knn", "--domain", "films"), True),
        (("ease", "--penalty", 20), False),
        (("item-item", "--k", 5, "--weighting", "bm25"), False),
        (("private-popularity", "--epsilon", 1), False),
        (("private-popularity", "--epsilon", "inf", "--domain", "films"), True),
        (("remote-user", "--source", "books", "--target", "films", "--k", 5), True),
    ],
)
def test_fit_and_recommend(run: Any, folder: Path, words: Any, films_only: bool) -> None:
    """The model serves a history; restricted to a domain, it recommends from it alone."""
    name, *options = words
    model = folder / "m.tacit"
    given = (folder / "r.csv", "--domain-column", "domain", *options, "-o", model)
    assert run("fit", name, *given)[0] == 0
    books = name in ("item-knn", "private-popularity") and films_only
    history = () if books else ("--history", folder / "mine.csv")
    code, made, _ = run("recommend", model, *history, "-n", 8)
    items = [entry["item_id"] for entry in made["items"]]
    assert (code, len(items)) == (0, 8)
    assert not films_only or all(item % 2 for item in items)


def test_private_popularity_is_proved_with_a_catalogue(run: Any, folder: Path) -> None:
    """With catalogue and scale from outside the basis is 'proved', and no exact count is shown."""
    ids = "".join(f"{item}\n" for item in range(1, 21))
    (folder / "c.csv").write_text(f"item\n{ids}")
    words = ("private-popularity", folder / "r.csv", "--epsilon", 1, "-o", folder / "m.tacit")
    assert run("fit", *words)[1]["basis"] == "conditional"
    words = (words[0], folder / "r.parquet", *words[2:])
    pl.read_csv(folder / "r.csv").drop("domain", "timestamp", strict=False).write_parquet(
        folder / "r.parquet"
    )
    given = ("--catalogue", folder / "c.csv", "--scale", "1:5:1")
    made = run("fit", *words, *given)[1]
    assert made["basis"] == "proved"
    assert not {"people", "ratings", "data"} & set(made)


def test_als_names_the_line_that_installs_it(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package nothing is written, and the error says what to run."""
    monkeypatch.setitem(sys.modules, "implicit.als", None)
    code, _, errors = run("fit", "als", folder / "r.csv", "-o", folder / "m.tacit")
    assert code == 6
    assert "pip install 'tacit-rec[als]'" in errors
    assert not (folder / "m.tacit").exists()


def test_an_unknown_domain_is_refused(run: Any, folder: Path) -> None:
    """The error lists the domains of the file."""
    given = (folder / "r.csv", "--domain-column", "domain", "-o", folder / "m.tacit")
    code, _, errors = run("fit", "item-knn", *given, "--domain", "games")
    assert code == 3
    assert "one of books, films" in " ".join(errors.split())


def test_domains_have_to_be_named(run: Any, folder: Path) -> None:
    """Without a domain column the error names the option."""
    given = ("--source", "books", "--target", "films", "-o", folder / "m.tacit")
    code, _, errors = run("fit", "remote-user", folder / "r.csv", *given)
    assert code == 3
    assert "--domain-column" in errors
