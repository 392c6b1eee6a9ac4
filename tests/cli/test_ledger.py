"""`tacit ledger` shows budgets, tells damage, and writes the log, without changing anything."""

from __future__ import annotations

import hashlib
import json
import sqlite3

import pytest

from tacit.cli.app import main
from tacit.ledger import Cap, Holder, open_ledger
from tests.support.ledger_requests import ask, count


@pytest.fixture
def path(tmp_path):
    """A ledger with two budgets, of which one was spent from."""
    with open_ledger(tmp_path / "budgets.db") as ledger:
        films = Holder.dataset("shop", "films")
        ledger.open_budget(films, Cap.pure("1.5", per_epoch="0.5"))
        ledger.open_budget(Holder.subject("shop", "u1"), Cap.approximate("2", "1e-6"))
        ask(ledger, "first-key", films, steps=100_000)
    return tmp_path / "budgets.db"


def test_show(path, capsys):
    """Caps and spending stand there as decimals, and in JSON as exact steps."""
    assert main(["ledger", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "1.5" in shown
    assert "0.1" in shown
    assert "Sound" in shown
    assert main(["ledger", "show", str(path), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["budgets"]
    assert (first["name"], first["cap"], first["spent"]) == ("films", 1_500_000, 100_000)
    assert (second["unit"], second["delta_cap"]) == ("approximate", 10**12)


def test_show_tells_of_kept_states(path, capsys):
    """Their names, sizes and entries, not what they hold."""
    with open_ledger(path) as ledger:
        for key in "ab":
            count(ledger, key)
    assert main(["ledger", "show", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["states"]
    assert found == [{"name": "rounds/a", "sequence": 6, "size": 1}]
    assert main(["ledger", "show", str(path)]) == 0
    assert "rounds/a" in capsys.readouterr().out


def test_verify(path, capsys):
    """A sound ledger gives 0; an edited one 5, with all that is wrong."""
    assert main(["ledger", "verify", str(path)]) == 0
    connection = sqlite3.connect(path)
    connection.execute("UPDATE ledger_budgets SET cap = cap * 2")
    connection.execute("UPDATE ledger_head SET epoch = 4")
    connection.commit()
    connection.close()
    capsys.readouterr()
    assert main(["ledger", "verify", str(path), "--json"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert not found["sound"]
    assert len(found["problems"]) == 3
    assert main(["ledger", "verify", str(path)]) == 5
    assert "must not be spent from" in capsys.readouterr().out


def test_verify_compares_the_second_place(path, tmp_path, capsys):
    """A missing or foreign second place is a problem, and is not written."""
    gone = tmp_path / "gone"
    assert main(["ledger", "verify", str(path), "--second", str(gone)]) == 5
    assert "missing" in capsys.readouterr().out
    assert not gone.exists()
    open_ledger(tmp_path / "other.db").close()
    assert main(["ledger", "verify", str(path), "--second", str(tmp_path / "other.db.head")]) == 5
    assert "another ledger" in capsys.readouterr().out


def test_export(path, tmp_path):
    """The log can be checked with SHA-256 alone, by whoever has nothing but the file."""
    target = tmp_path / "log.json"
    assert main(["ledger", "export", str(path), "--out", str(target)]) == 0
    document = json.loads(target.read_text())
    before = "0" * 64
    for entry in document["entries"]:
        text = f"{before}\n{entry['sequence']}\n{entry['kind']}\n{entry['body']}"
        before = hashlib.sha256(text.encode()).hexdigest()
        assert before == entry["hash"]
    assert before == document["head"]
    assert "first-key" in target.read_text()


def test_nothing_is_changed(path, tmp_path):
    """Looking leaves store and second place as they were."""
    before = [file.read_bytes() for file in sorted(tmp_path.iterdir())]
    for command in ("show", "verify"):
        assert main(["ledger", command, str(path)]) == 0
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == before


@pytest.mark.parametrize(
    "words", [["show", "none.db"], ["export", "none.db"], ["verify", "http://x"]], ids=" ".join
)
def test_wrong_usage(tmp_path, monkeypatch, capsys, words):
    """A place without a ledger is a sentence, exit code 2, and stays empty."""
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", *words]) == 2
    assert "Error" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
