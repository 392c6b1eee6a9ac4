"""The command `tacit data`: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.app import main
from tacit.data import generate, load, movielens


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line; its exit code, standard output and standard error."""

    def runner(*words: object) -> tuple[int, str, str]:
        code = main(["data", *map(str, words)])
        return code, *capsys.readouterr()

    return runner


def test_generate_writes_what_describe_reads(run: Any, tmp_path: Path) -> None:
    """The two files of `generate` hold the generated ratings and the attribute."""
    out = tmp_path / "r.csv"
    size = ("--users", 60, "--items", 40, "--ratings", 1500, "--seed", 3)
    code, text, _ = run("generate", out, *size, "--json")
    written = json.loads(text)
    assert code == 0
    assert written["users_file"] == str(tmp_path / "r-users.csv")
    code, text, _ = run("describe", out, "--users", written["users_file"], "--json")
    found = json.loads(text)
    direct = generate(users=60, items=40, ratings=1500, seed=3)
    assert found["digest"] == written["digest"] == direct.digest
    assert found["user_attributes"] == {"gender": {"M": 42, "F": 18}}
    assert (found["users"], found["items"], found["ratings"]) == (60, 40, 1500)
    assert sum(found["stars"].values()) == 1500
    assert found["ratings_per_user"]["mean"] == 25


def test_generate_into_a_missing_folder(run: Any, tmp_path: Path) -> None:
    """The same exit code as for a model or a report that cannot be written, and the reason."""
    code, _, errors = run("generate", tmp_path / "nowhere" / "r.csv", "--seed", 1)
    assert code == 1
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in errors


def test_describe_for_people(run: Any, tmp_path: Path) -> None:
    """The table holds the counts, the scale and the attribute."""
    out, people = tmp_path / "r.tsv", tmp_path / "r-users.tsv"
    assert run("generate", out, "--ratings", 20000, "--seed", 1)[0] == 0
    code, text, _ = run("describe", out, "--users", people)
    assert code == 0
    for part in ("1,000", "20,000", "1:5:1", "gender", "30.0%", load(out).digest):
        assert part in text


def test_generate_says_what_comes_next(run: Any, tmp_path: Path) -> None:
    """The last line is a command that works."""
    _, text, _ = run("generate", tmp_path / "r.csv", "--ratings", 20000, "--seed", 1)
    _, command = text.strip().rsplit("\n  tacit data ", 1)
    assert run(*command.split())[0] == 0


def test_describe_names_its_columns(run: Any, tmp_path: Path) -> None:
    """Options name columns and the scale."""
    path = tmp_path / "r.txt"
    path.write_text("who;what;n\na;x;3\nb;x;1\n")
    named = ("--user", "who", "--item", "what", "--rating", "n", "--scale", "1:7:1")
    code, text, _ = run("describe", path, *named, "--json")
    assert code == 0
    assert json.loads(text)["scale"] == "1:7:1"
    assert json.loads(text)["first"] is None


def test_a_bad_row_is_one_paragraph(run: Any, tmp_path: Path) -> None:
    """Exit code 3, nothing on standard output, file and row on standard error."""
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n1,2,x\n")
    code, text, errors = run("describe", path)
    assert (code, text) == (3, "")
    assert f"{path}, row 2, column 'rating'" in errors
    assert "Traceback" not in errors


def test_get_fetches_into_the_folder(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`get` names the folder, the checksum and the licence."""
    (tmp_path / "ml-100k").mkdir()
    (tmp_path / "ml-100k" / "u.data").write_text("already here")
    code, text, _ = run("get", "ml-100k", "--out", tmp_path, "--json")
    told = json.loads(text)
    assert code == 0
    assert told["folder"] == str(tmp_path / "ml-100k")
    assert told["sha256"] == movielens.ARCHIVES["ml-100k"]
    assert "README" in told["licence"]


def test_get_of_an_unknown_name(run: Any, tmp_path: Path) -> None:
    """Exit code 2 and the names that are offered."""
    code, _, errors = run("get", "ml-none", "--out", tmp_path)
    assert code == 2
    assert "ml-latest-small" in errors


def test_real_data_is_described(run: Any, ml_100k: Path) -> None:
    """MovieLens 100K, with its genders."""
    code, text, _ = run("describe", ml_100k, "--json")
    assert code == 0
    assert json.loads(text)["user_attributes"]["gender"] == {"M": 670, "F": 273}


@pytest.fixture
def catalogue(tmp_path: Path) -> tuple[Path, Path]:
    """Ratings of films 1 to 4 and a file of their genres, one unknown."""
    ratings, items = tmp_path / "r.csv", tmp_path / "i.csv"
    rows = [f"{user},{item},{1 + (user + item) % 5}" for user in (1, 2) for item in (1, 2, 3, 4)]
    ratings.write_text("\n".join(["user,item,rating", *rows, "3,1,5", ""]))
    items.write_text("item,kind\n1,Drama|War\n2,Comedy\n3,Drama\n4,\n")
    return ratings, items


def test_domains_writes_what_can_be_read_with_domains(
    run: Any, tmp_path: Path, catalogue: tuple[Path, Path]
) -> None:
    """The written file has a domain for each item; what is of unknown genre is counted."""
    ratings, items = catalogue
    words = ("--items", items, "--genres", "kind", "--names", "sad, glad", "-o", tmp_path / "o.csv")
    code, text, _ = run("domains", ratings, *words, "--json")
    made = json.loads(text)
    assert code == 0
    assert made["domains"] == {
        "glad": {"items": 1, "ratings": 2, "people": 2},
        "sad": {"items": 2, "ratings": 5, "people": 3},
    }
    assert made["left_out"] == {"items": 1, "ratings": 2}
    assert load(tmp_path / "o.csv", domain="domain").digest == made["digest"]
    code, text, _ = run("describe", tmp_path / "o.csv", "--domain-column", "domain", "--json")
    assert json.loads(text)["domains"] == made["domains"]


def test_domains_names_the_next_command(
    run: Any, tmp_path: Path, catalogue: tuple[Path, Path]
) -> None:
    """The summary for people says what was left out and how to go on."""
    ratings, items = catalogue
    words = ("--items", items, "--genres", "kind", "-o", tmp_path / "o.csv")
    code, text, errors = run("domains", ratings, *words)
    assert code == 0
    shown = " ".join((text + errors).split())
    assert "1 items of unknown genre with 2 ratings are left out" in shown
    assert "tacit fit xmap" in shown
    assert "--domain-column domain --source D1 --target D2 --epsilon 1 --delta 1e-6" in shown


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--names", "one"), 2, "FIRST,SECOND"),
        (("--genres", "nothing"), 3, "no item metadata 'nothing'"),
        (("-o", "o.xlsx"), 2, ".csv, .tsv, .parquet"),
    ],
)
def test_domains_refuses_in_words(
    run: Any,
    tmp_path: Path,
    catalogue: tuple[Path, Path],
    words: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    """A wrong option is named, and nothing is written."""
    ratings, items = catalogue
    given = ("--items", items, "--genres", "kind", "-o", tmp_path / "o.csv")
    words = tuple(str(tmp_path / word) if word == "o.xlsx" else word for word in words)
    found, _, errors = run("domains", ratings, *given, *words)
    assert found == code
    assert says in " ".join(errors.split())
    assert not list(tmp_path.glob("o.*"))


def test_films_are_two_domains_with_genres(run: Any, tmp_path: Path) -> None:
    """The written files hold the domains and a genre of every item."""
    out = tmp_path / "f.csv"
    code, text, _ = run("films", out, "--users", 50, "--json")
    written = json.loads(text)
    assert (code, written["items_file"]) == (0, str(tmp_path / "f-items.csv"))
    made = load(out, domain="domain", items=written["items_file"])
    assert set(made.item_metadata) == {"domain", "genres", "title"}
    assert all(made.item_metadata["genres"].tolist())


def test_generate_writes_genres_where_asked(run: Any, tmp_path: Path) -> None:
    """--labels adds a file of items, and the ratings stay what they were."""
    digests = []
    for name, words in (("a", ()), ("b", ("--labels", 4))):
        size = ("--users", 60, "--items", 40, "--ratings", 1500, "--seed", 3)
        code, text, _ = run("generate", tmp_path / f"{name}.csv", *size, *words, "--json")
        assert code == 0
        digests.append(json.loads(text)["digest"])
    assert digests[0] == digests[1]
    assert not (tmp_path / "a-items.csv").exists()
    assert "label" in (tmp_path / "b-items.csv").read_text()


def test_domains_writes_the_items_with_titles(run: Any, tmp_path: Path) -> None:
    """The catalogue of both domains lies beside the ratings."""
    ratings, out = tmp_path / "r.csv", tmp_path / "two.csv"
    ratings.write_text("user,item,rating\n1,1,4\n1,2,5\n2,2,3\n")
    items = tmp_path / "i.csv"
    items.write_text("item,title,genres\n1,One,A\n2,Two,B\n")
    assert run("domains", ratings, "--items", items, "-o", out)[0] == 0
    made = load(out)
    assert made.item_metadata["title"].tolist() == ["One", "Two"]
    assert (tmp_path / "two-items.csv").read_text().startswith("item_id,")


def test_generate_makes_two_domains(run: Any, tmp_path: Path) -> None:
    """About as many people, items and ratings as asked, with domains and titles."""
    words = ("--domains", "--users", 80, "--items", 31, "--ratings", 800, "--seed", 1)
    assert run("generate", tmp_path / "t.csv", *words)[0] == 0
    made = load(tmp_path / "t.csv", domain="domain")
    assert set(made.item_metadata["domain"].tolist()) == {"source", "target"}
    assert 600 < len(made) < 1000
    assert "title" in made.item_metadata
    assert run("generate", tmp_path / "t.csv", *words, "--items", 1)[0] == 2


@pytest.mark.parametrize(
    "words", [("generate", ".", "--seed", 1), ("films", "."), ("domains", "r.csv", "-o", ".")]
)
def test_a_folder_is_no_table_to_write(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]
) -> None:
    """It is refused in words, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text("user,item,rating\n1,1,5\n2,1,4\n")
    code, _, errors = run(*words)
    assert code == 2
    assert ".csv, .tsv, .parquet" in " ".join(errors.split())
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


def test_the_current_folder_is_exported_into_itself(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no name of its own to make the new folder's from."""
    shape = ("--seed", 1, "--users", 60, "--items", 40, "--ratings", 1500)
    assert run("generate", tmp_path / "a.csv", *shape)[0] == 0
    made = tmp_path / "made"
    code, _, errors = run("import", tmp_path / "a.csv", "-o", made)
    assert code == 0, errors
    monkeypatch.chdir(made)
    code, text, errors = run("export", ".", "--to", "recbole", "--json")
    assert code == 0, errors
    assert json.loads(text)["folder"] == "ratings-recbole"
    assert (made / "ratings-recbole").is_dir()
    code, _, errors = run("export", tmp_path / "a.csv", "--to", "a/b")
    assert code == 2, errors


def test_commands_that_are_printed_have_quotes(run: Any, tmp_path: Path) -> None:
    """The name of a folder may hold a blank."""
    folder = tmp_path / "a b"
    folder.mkdir()
    shape = ("--seed", 1, "--users", 60, "--items", 40, "--ratings", 1500)
    _, text, _ = run("generate", folder / "g.csv", *shape)
    assert f"--users '{folder}/g-users.csv'" in " ".join(text.split("\n  ")).replace("\n", " ")
    _, text, _ = run("generate", folder / "d.csv", *shape[:6], "--ratings", 600, "--domains")
    assert f"--items '{folder}/d-items.csv'" in " ".join(text.split("\n  ")).replace("\n", " ")
    _, _, errors = run("describe", folder / "d.csv")
    assert f"--items '{folder}/d-items.csv'" in " ".join(errors.split())
