"""`tacit reproduce`: an index that covers the papers, and commands that exist."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from papers_page import page

from tacit.cli import app as cli
from tacit.cli import demo
from tacit.cli.demo import QUICK, index

ROOT = Path(__file__).resolve().parents[2]
STATUSES = {"exact", "bound", "measured", "refuted", "not reproduced", "no figure"}


def run(capsys, *words):
    code = cli.main(list(words))
    return code, *capsys.readouterr()


def test_rows_have_the_names_of_the_machine_output(capsys):
    """Five papers; each row has a status, and a command or a reason."""
    code, out, _ = run(capsys, "reproduce", "--list", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert set(rows[0]) == {"paper", "item", "status", "command", "reason", "printed"}
    assert {row["paper"] for row in rows} == {
        "standard-scheme", "xmap", "sketches", "prec", "pdap",
    }  # fmt: skip
    assert all(row["status"] in STATUSES and row["reason"] for row in rows)
    assert all(row["command"] or row["status"] in ("not reproduced", "no figure") for row in rows)


@pytest.mark.parametrize("command", sorted({row["command"] for row in index()} - {""}))
def test_each_command_exists(capsys, command):
    """Its options are known: the command's help is asked for after them."""
    words = shlex.split(command)[1:]
    assert run(capsys, *words, "--help")[0] == 0


def test_the_page_is_the_index():
    """docs/reproduce.md is generated."""
    assert (ROOT / "docs" / "reproduce.md").read_text() == page()


def test_one_item_is_run(capsys):
    """A plan of the paper's bound, as JSON."""
    code, out, error = run(capsys, "reproduce", "prec", "Theorem 6")
    assert code == 0
    assert json.loads(out)
    assert "$ tacit plan prec" in error


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
        ("", "Theorem 6", False),
    ],
)
def test_an_item_is_found_by_a_part_of_its_name(part, item, named):
    """Whole words, and each member of a list: one theorem of several finds its row."""
    assert demo.is_named_in(part, item) == named


def test_a_part_of_a_name_runs_its_item(capsys):
    """'Theorem 15' is a part of one item of p-REC, and its command runs."""
    code, out, error = run(capsys, "reproduce", "prec", "Theorem 15")
    assert code == 0
    assert json.loads(out)
    assert "$ tacit plan prec" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody",), "No paper 'nobody'"),
        (("prec", "Theorem"), "several items 'Theorem'"),
        (("prec", "Theorem 99"), "has no item"),
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
    assert QUICK
    assert run(capsys, "reproduce", "--all", "--quick")[0] == 0


def test_two_domains_are_made_where_there_are_none(capsys, monkeypatch, tmp_path, ml_latest_small):
    """A command on two.csv runs on a file made of MovieLens, after the paper's figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_DATA", str(ml_latest_small.parent))
    seen, real = [], cli.main

    def main(words):
        if words[0] == "data":
            return real(words)
        seen.append((words, Path(words[2]).read_text()[:40]))
        return 0

    monkeypatch.setattr(cli, "main", main)
    demo.reproduce("xmap", "Figure: MAE by overlap", False, False, False, None, False)
    ((words, head),) = seen
    assert words[:2] == ["evaluate", "xmap"]
    assert head.startswith("user_id,item_id,rating")
    captured = capsys.readouterr()
    assert "The paper: MAE from overlap .2 to .8" in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


def test_a_folder_with_a_space_stays_one_word(monkeypatch, tmp_path):
    """The command's words are parted before the folder is named in them."""
    seen = []
    monkeypatch.setattr(cli, "main", lambda words: seen.append(words) or 0)
    folder = tmp_path / "my data"
    folder.mkdir()
    row = next(row for row in index() if "FOLDER/ml-100k" in row["command"])
    demo.reproduce(row["paper"], row["item"], False, False, False, folder, False)
    assert str(folder / "ml-100k") in seen[0]
