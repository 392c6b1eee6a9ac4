"""`tacit reproduce`: an index that covers the papers, and commands that exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from papers_page import page, readme_with_numbers

from tacit.cli import app as cli
from tacit.cli import reproduce as reproducing
from tacit.cli.reproduce import QUICK_COMMANDS, is_named_in, paper_results
from tacit.design import STATUSES, STATUSES_WITHOUT_COMMAND, PaperResult
from tacit.errors import ConfigError
from tacit.evaluation.quantities import find_quantities, shows_something

ROOT = Path(__file__).resolve().parents[2]
MADE = [(paper, result) for paper, result in paper_results() if result.command]
UNNAMED: dict[str, set[str]] = {}
"""Results whose quantities nobody has named yet, by paper. To be empty: name the quantities in
`PaperResult.shows`, then take the result out of this list."""
SLOW: dict[str, set[str]] = {
    "standard-scheme": {
        "Table 1",
        "Table 1 and baselines, with sound estimates",
        "Curve of alpha",
        "Profiles of explicit features",
        "Age as the private feature",
    },
    "xmap": {"Theorem 1", "Figure: MAE by k", "Figure: MAE by k, D2 to D1"},
    "sketches": {"Propositions 2.2 to 2.4"},
}
"""Results whose command takes 15 seconds of processor or more even at its small size, by paper: the
others together take about a minute."""


def run(capsys, *words):
    code = cli.main(list(words))
    return code, *capsys.readouterr()


def test_rows_have_the_names_of_the_machine_output(capsys):
    """Five papers; each row has a status, and a command or a reason."""
    code, out, _ = run(capsys, "reproduce", "--list", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    names = {"paper", "item", "status", "command", "reason", "printed", "shows"}
    assert set(rows[0]) == names
    assert {row["paper"] for row in rows} == {"standard-scheme", "xmap", "sketches", "prec", "pdap"}
    assert all(row["status"] in STATUSES and row["reason"] for row in rows)
    assert all(row["command"] or row["status"] in STATUSES_WITHOUT_COMMAND for row in rows)


def identify(case):
    """Name a case of a test after its paper and item."""
    paper, result = case
    return f"{paper}: {result.item}"


def cases_at_small_size():
    """List the results with named quantities; slow ones are marked `long`."""
    named = [case for case in MADE if case[1].shows]
    for case in named:
        paper, result = case
        marks = [pytest.mark.long] if result.item in SLOW.get(paper, ()) else []
        yield pytest.param(case, id=identify(case), marks=marks)


@pytest.mark.parametrize("case", list(cases_at_small_size()))
def test_the_command_prints_the_quantity(capsys, monkeypatch, tmp_path, request, case):
    """Run at small size, its JSON holds each quantity that the index names, and none is null."""
    _, result = case
    words = result.small_words
    monkeypatch.chdir(tmp_path)
    if "two.csv" in words:
        shutil.copy(request.getfixturevalue("two_domains"), "two.csv")
    if any("FOLDER" in word for word in words):
        folder = request.getfixturevalue("ml_100k").parent
        words = [word.replace("FOLDER", str(folder)) for word in words]
    capsys.readouterr()  # what making two.csv printed
    code, out, error = run(capsys, *words)
    assert code == 0, error
    document = json.loads(out)
    for path in result.shows:
        found = find_quantities(document, path)
        assert found, f"{path} is not in the JSON of  tacit {shlex.join(words)}"
        assert all(map(shows_something, found.values())), f"{path}: {found}"


@pytest.fixture(scope="module")
def two_domains(tmp_path_factory, ml_100k):
    """MovieLens 100K cut in two by genre."""
    file = tmp_path_factory.mktemp("domains") / "two.csv"
    assert cli.main(["data", "domains", str(ml_100k), "-o", str(file), "--json"]) == 0
    return file


@pytest.mark.parametrize("case", MADE, ids=identify)
def test_quantities_are_named(case):
    """Every result with a command says where its JSON has the figure, but those still listed."""
    paper, result = case
    assert bool(result.shows) != (result.item in UNNAMED.get(paper, ()))


def test_listed_results_exist():
    """No list of this file names a result that is gone."""
    known = {(paper, result.item) for paper, result in MADE}
    listed = [(paper, item) for paper, items in (*UNNAMED.items(), *SLOW.items()) for item in items]
    assert len(known) > 20
    assert known.issuperset(listed)


@pytest.mark.parametrize("command", sorted({result.command for _, result in MADE}))
def test_each_command_exists(capsys, command):
    """Its options are known: the command's help is asked for after them."""
    words = shlex.split(command)[1:]
    assert run(capsys, *words, "--help")[0] == 0


def test_small_options_replace_those_of_the_command():
    """Wherever they stand and however often; options without a value keep none."""
    command = "tacit simulate x --method a --seeds 20 --method b --fast --people 5"
    result = PaperResult("T", "bound", command, "r", small="--method c --seeds 1 --alpha 0.1")
    words = "simulate x --fast --people 5 --method c --seeds 1 --alpha 0.1 --json"
    assert result.small_words == words.split()


@pytest.mark.parametrize(
    ("status", "command", "reason", "shows", "said"),
    [
        ("proved", "tacit audit x", "r", (), "no status 'proved'"),
        ("exact", "", "r", (), "no command"),
        ("no figure", "tacit audit x", "r", (), "no command"),
        ("exact", "tacit audit x", "", (), "give a reason"),
        ("no figure", "", "r", ("a.b",), "there is none"),
    ],
)
def test_a_result_that_cannot_be_is_refused(status, command, reason, shows, said):
    """On construction, with the item's name."""
    with pytest.raises(ConfigError, match=said):
        PaperResult("Theorem 9", status, command, reason, shows=shows)


def test_the_page_is_the_index():
    """docs/reproduce.md is generated."""
    assert (ROOT / "docs" / "reproduce.md").read_text() == page()


def test_the_readme_has_the_numbers_of_the_index():
    """How many rows of each paper have which status, as the tool writes them; others differ."""
    readme = (ROOT / "README.md").read_text()
    assert readme_with_numbers(readme) == readme
    changed = readme.replace("| [xmap](docs/reproduce.md#xmap) | 0 |", "| xmap | 7 |")
    assert changed != readme
    assert readme_with_numbers(changed) == readme


def test_one_item_is_run(capsys):
    """The quantity of its command, by name, and what is compared."""
    code, out, error = run(capsys, "reproduce", "prec", "Theorem 6")
    assert code == 0
    assert "Theorem 6 (bound)" in out
    assert re.search(r"loss_lower_bound\W+\d", out)
    assert "Here: " in out
    assert "$ tacit plan prec" in error


def test_our_figure_stands_beside_the_papers(capsys, monkeypatch):
    """Every entry that a path names is a line; a list is cut to one line."""
    made = PaperResult(
        "Table 9",
        "measured",
        "tacit walk --json",
        "other data",
        printed="accuracy 70 %",
        shows=("rows[].accuracy", "curve"),
    )
    monkeypatch.setattr(reproducing, "paper_results", lambda: [("pdap", made)])
    printed = {"rows": [{"accuracy": 0.5}, {"accuracy": 0.75}], "curve": list(range(99))}

    def main(_):
        sys.stdout.write(json.dumps(printed))
        return 0

    monkeypatch.setattr(cli, "main", main)
    shown = reproducing.reproduce("pdap", "Table 9", False, False, False, None, False)
    table, *sentences = shown.shown
    assert [row[0] for row in table.rows] == ["rows[0].accuracy", "rows[1].accuracy", "curve"]
    assert [row[1] for row in table.rows][:2] == [0.5, 0.75]
    assert table.rows[2][1].endswith(" …")
    assert sentences == ["Here: other data.", "The paper: accuracy 70 %."]
    assert "$ tacit walk --json" in capsys.readouterr().err


def test_all_parts_of_an_item_are_shown(capsys):
    """One run of their command, and a table for each part."""
    parts = [result.item for _, result in MADE if result.item.startswith("Theorem 1, part")]
    assert len(parts) == 3
    code, out, error = run(capsys, "reproduce", "standard-scheme", "Theorem 1")
    assert code == 0
    assert [part in out for part in parts] == [True] * 3
    assert out.count("Here: ") == 3
    assert error.count("$ tacit") == 1


def test_one_item_for_machines(capsys):
    """--json reaches the command of the item: one object, and nothing else."""
    code, out, _ = run(capsys, "reproduce", "prec", "Theorem 6", "--json")
    assert code == 0
    assert isinstance(json.loads(out), dict)
    code, _, error = run(capsys, "reproduce", "--all", "--json")
    assert code == 2
    assert "name one ITEM" in error


@pytest.mark.parametrize(
    ("part", "item", "named"),
    [
        ("Theorem 15", "Theorem 7, Lemma 8, Theorem 15", True),
        ("lemma 8", "Theorem 7, Lemma 8, Theorem 15", True),
        ("Theorem 1", "Theorem 7, Lemma 8, Theorem 15", False),
        ("Theorem 4", "Theorem 4.3", False),
        ("4.3", "Theorem 4.3", True),
        ("3", "Theorem 4.3", False),
        ("Theorem 2", "Theorems 1 and 2, Lemmas 3 to 5", True),
        ("Lemma 4", "Theorems 1 and 2, Lemmas 3 to 5", True),
        ("Lemma 2", "Theorems 1 and 2, Lemmas 3 to 5", False),
        ("Lemma 4.5", "Lemmas 4.1 to 4.7, Theorem 4.3", True),
        ("Lemma 4.8", "Lemmas 4.1 to 4.7, Theorem 4.3", False),
        ("Table IV", "Tables III and IV", True),
        ("Table I", "Tables III and IV", False),
        ("", "Theorem 6", False),
    ],
)
def test_an_item_is_found_by_a_part_of_its_name(part, item, named):
    """Whole words, and each member of a list: one theorem of several finds its row."""
    assert is_named_in(part, item) == named


def test_a_part_of_a_name_runs_its_item(capsys):
    """'Theorem 15' is a part of one item of p-REC, and its command runs."""
    code, out, error = run(capsys, "reproduce", "prec", "Theorem 15", "--json")
    assert code == 0
    assert json.loads(out)
    assert "$ tacit plan prec" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody",), "No paper 'nobody'"),
        (("prec", "Theorem"), "Several items have 'Theorem'"),
        (("prec", "Theorem 99"), "prec has no item 'Theorem 99'"),
        (("pdap", "Figures 1 to 5"), "cannot be made here"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(capsys, words, said):
    """What, and what there is."""
    code, _, error = run(capsys, "reproduce", *words)
    assert code == 2
    assert said in " ".join(error.split())


@pytest.mark.long
def test_the_quick_ones_run(capsys):
    """All of them, one after the other."""
    assert QUICK_COMMANDS
    assert run(capsys, "reproduce", "--all", "--quick")[0] == 0


def test_two_domains_are_made_where_there_are_none(capsys, monkeypatch, tmp_path, ml_100k):
    """A command on two.csv runs on a file made of MovieLens, which is removed afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_DATA", str(ml_100k.parent))
    seen, real = [], cli.main

    def main(words):
        if words[0] == "data":
            return real(words)
        seen.append((words, Path(words[2]).read_text()[:40]))
        return 0

    monkeypatch.setattr(cli, "main", main)
    reproducing.reproduce("xmap", "Figure: MAE by overlap", False, False, False, None, True)
    ((words, head),) = seen
    assert words[:2] == ["evaluate", "xmap"]
    assert head.startswith("user_id,item_id,rating")
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.iterdir())


def test_a_folder_with_a_space_stays_one_word(monkeypatch, tmp_path):
    """The command's words are parted before the folder is named in them."""
    seen = []
    monkeypatch.setattr(cli, "main", lambda words: seen.append(words) or 0)
    folder = tmp_path / "my data"
    folder.mkdir()
    paper, result = next(case for case in MADE if "FOLDER/ml-100k" in case[1].command)
    reproducing.reproduce(paper, result.item, False, False, False, folder, True)
    assert str(folder / "ml-100k") in seen[0]


def test_a_result_without_a_command_is_not_suggested(capsys):
    """A list suggests to run an item only if a command makes it."""
    item = "Drawings of the method and of the apparatus"
    code, out, err = run(capsys, "reproduce", "standard-scheme", item, "--list")
    assert code == 0
    assert "apparatus" in out
    assert "runs one of these" not in out + err
    code, out, err = run(capsys, "reproduce", "standard-scheme", "--list")
    assert "runs one of these" in out + err
