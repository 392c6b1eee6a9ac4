"""Where results go: every command names a place itself, and replaces nothing unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.cli.app import main
from tacit.ledger import open_ledger
from tests.support.program import all_commands


def test_no_command_requires_a_place_for_its_result() -> None:
    """Where a command has --out it may be left out, and -o is its short form."""
    commands = all_commands()
    assert {"fit private", "data import", "ledger backup", "recommend"} <= commands.keys()
    with_out = {}
    for name, command in commands.items():
        for parameter in command.params:
            if "--out" in parameter.opts:
                with_out[name] = parameter
    assert len(with_out) > 10
    for name, parameter in with_out.items():
        assert not parameter.required, name
        assert "-o" in parameter.opts, name


def test_commands_with_ratings_or_ledgers_have_force() -> None:
    """A result beside its input is replaced with --force alone; an export makes a new folder."""
    for name, command in all_commands().items():
        options = {option for parameter in command.params for option in parameter.opts}
        is_beside = "--out" in options and name not in ("guarantee", "data get", "data export")
        assert ("--force" in options) == is_beside, name


@pytest.mark.parametrize(
    ("words", "written"),
    [(("backup",), "budgets-backup.db"), (("export",), "budgets-log.json")],
)
def test_copies_of_a_ledger_lie_beside_it(
    words: tuple[str, ...], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --out the copy and the log of budgets.db lie beside it, replaced with --force."""
    ledger = tmp_path / "budgets.db"
    with open_ledger(ledger):
        pass
    command = ["ledger", *words, str(ledger), "--json"]
    assert main(command) == 0
    made = tmp_path / written
    assert json.loads(capsys.readouterr().out)["written"] == str(made)
    earlier = made.read_bytes() + b"of before"  # it still begins as a ledger's copy does
    made.write_bytes(earlier)
    assert main(command) != 0
    assert "--force" in capsys.readouterr().err
    assert made.read_bytes() == earlier
    assert main([*command, "--force"]) == 0
    assert made.read_bytes() != earlier
    others = {"budgets.db", "budgets.db.head", written}
    assert {path.name for path in tmp_path.iterdir()} <= others
