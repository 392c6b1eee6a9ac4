"""`tacit ledger create`, `open-budget`, `advance`: an operator needs no Python."""

from __future__ import annotations

import json

import pytest

from tacit.cli.app import main
from tacit.ledger import BudgetExhausted, Holder, open_ledger
from tests.support.ledger_requests import ask, refused

FILMS = Holder.dataset("shop", "films")


@pytest.fixture
def said(capsys):
    """Runs a command and gives its exit code, its JSON, and what it complained of."""

    def run(*words):
        code = main(["ledger", *map(str, words), "--json"])
        caught = capsys.readouterr()
        return code, (json.loads(caught.out) if caught.out else None), caught.err

    return run


@pytest.fixture
def path(tmp_path, said):
    """A ledger with epochs, made by the command."""
    code, made, _ = said("create", tmp_path / "b.db", "--operator-key", tmp_path / "key")
    assert (code, made["epochs"], made["new_key"]) == (0, True, True)
    return tmp_path / "b.db"


def test_from_nothing_to_a_refusal(path, said):
    """Made, opened, spent to the cap of an epoch, advanced, and spent again."""
    opened = ("open-budget", path, "--tenant", "shop", "--dataset", "films")
    code, found, _ = said(*opened, "--epsilon", "0.00001", "--per-epoch", "0.000004")
    assert code == 0
    assert [(b["cap"], b["epoch_cap"]) for b in found["budgets"]] == [(10, 4)]
    with open_ledger(path) as ledger:
        ask(ledger, "a", FILMS, steps=4)
        refused(BudgetExhausted, lambda: ask(ledger, "b", FILMS))
    code, found, _ = said("advance", path, "--operator-key", path.with_name("key"))
    assert (code, found["epoch"]) == (0, 1)
    with open_ledger(path) as ledger:
        ask(ledger, "b", FILMS, steps=4)
    assert said("verify", path)[1]["sound"]


def test_a_budget_of_fits_is_shown_in_epsilon(path, said, capsys):
    """The lifetime that was set stands in the table, and what is stored beside it."""
    opened = ("open-budget", path, "--tenant", "shop", "--dataset", "films", "--fits")
    code, found, _ = said(*opened, "--epsilon", "5", "--delta", "1e-6")
    assert (code, found["budgets"][0]["unit"]) == (0, "gdp")
    assert abs(found["budgets"][0]["epsilon_cap"] - 5) < 1e-4
    assert main(["ledger", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    for part in ("epsilon", "at most", "1e-06", "0.520564351421"):
        assert part in shown


def test_a_ledger_is_not_made_twice(path, said):
    """A second `create` is refused and leaves what is there."""
    before = path.read_bytes()
    code, _, complaint = said("create", path)
    assert code == 2
    assert "here already" in complaint
    assert path.read_bytes() == before


def test_the_key_is_for_its_owner_only(path, tmp_path, said):
    """Nobody else reads it, it is never printed, and a second ledger may use it."""
    key = tmp_path / "key"
    assert key.stat().st_mode & 0o077 == 0
    code, made, complaint = said("create", tmp_path / "two.db", "--operator-key", key)
    assert (code, made["new_key"]) == (0, False)
    assert key.read_text().strip() not in json.dumps(made) + complaint


def test_a_token_from_another_machine(path, tmp_path, said):
    """The key stays where it is; what it makes begins one epoch, in order, once."""
    tokens = [said("token", n, "--operator-key", tmp_path / "key")[1]["token"] for n in (1, 2)]
    assert said("advance", path, "--token", tokens[1])[0] == 5
    assert said("advance", path, "--token", tokens[0])[1]["epoch"] == 1
    assert said("advance", path, "--token", tokens[0])[0] == 5


def test_several_budgets(path, said):
    """Persons and data sets in one line, with delta or in zCDP; again changes nothing."""
    words = ("open-budget", path, "--tenant", "shop", "--subject", "ann", "--subject", "bob")
    for _ in range(2):
        code, found, _ = said(*words, "--epsilon", "1", "--delta", "1e-6")
        assert code == 0
        assert [(b["kind"], b["unit"], b["delta_cap"]) for b in found["budgets"]] == [
            ("subject", "approximate", 10**12)
        ] * 2
    code, found, _ = said(*words[:4], "--dataset", "films", "--rho", "0.5")
    assert (code, found["budgets"][0]["unit"]) == (0, "zcdp")
    assert said(*words, "--epsilon", "2")[0] == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--dataset", "f"), "one cap"),
        (("--dataset", "f", "--epsilon", "1", "--rho", "1"), "one cap"),
        (("--dataset", "f", "--rho", "1", "--delta", "0.1"), "one cap"),
        (("--epsilon", "1"), "whose budget"),
        (("--dataset", "f", "--epsilon", "nan"), "finite"),
        (("--dataset", "f", "--epsilon", "-1"), "not negative"),
        (("--dataset", "f", "--epsilon", "a lot"), "finite"),
        (("--dataset", "f\n", "--epsilon", "1"), "control characters"),
    ],
)
def test_bad_input_is_a_sentence(path, said, words, sentence):
    """What cannot be opened is told, with exit code 2, and nothing is opened."""
    code, _, complaint = said("open-budget", path, "--tenant", "shop", *words)
    assert code == 2
    assert sentence in complaint
    assert said("show", path)[1]["budgets"] == []


def test_no_ledger_is_made_by_the_way(tmp_path, said):
    """Only `create` makes one."""
    words = ("--tenant", "shop", "--dataset", "films", "--epsilon", "1")
    assert said("open-budget", tmp_path / "none.db", *words)[0] == 2
    assert said("advance", tmp_path / "none.db", "--token", "x")[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_bad_keys(path, tmp_path, said):
    """A key that is missing, short or something else is told without an echo."""
    (tmp_path / "odd").write_text("geheim")
    (tmp_path / "short").write_text("00" * 31)
    for name in ("none", "odd", "short"):
        code, _, complaint = said("advance", path, "--operator-key", tmp_path / name)
        assert code == 2
        assert "geheim" not in complaint
    assert said("advance", path)[0] == 2


def test_tables(path, capsys):
    """For people there is a table, and the next command to type."""
    words = ["ledger", "open-budget", str(path), "--tenant", "shop", "--dataset", "films"]
    assert main([*words, "--epsilon", "1", "--delta", "1e-6"]) == 0
    shown = capsys.readouterr().out
    assert "films" in shown
    assert f"tacit ledger show {path}" in shown
