"""What programs read from tacit stays: answers with --json, the HTTP interface, files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from golden import outputs as golden
from tacit import load_model
from tacit.cli.app import main

MODELS = sorted(file.name for file in golden.FILES.glob("*.tacit"))


@pytest.fixture(scope="module")
def answers() -> dict[str, object]:
    """Each command line, and the form of its answer now."""
    with golden.made() as (_, frozen):
        return frozen


@pytest.mark.parametrize("line", json.loads(golden.OUTPUTS.read_text("utf-8")))
def test_answers_of_commands_are_as_frozen(answers, line):
    """Same fields, and numbers where no noise is in them; if meant: python -m golden.outputs."""
    assert answers[line] == json.loads(golden.OUTPUTS.read_text("utf-8"))[line]


def test_no_command_is_missing(answers):
    """Every command line that is run has a frozen answer."""
    assert set(answers) == set(json.loads(golden.OUTPUTS.read_text("utf-8")))


def test_the_interface_is_as_frozen():
    """Paths, methods, statuses and schemas of the service."""
    assert golden.interface() == json.loads(golden.INTERFACE.read_text("utf-8"))


@pytest.mark.parametrize("name", MODELS)
def test_stored_models_open(name):
    """A model file that was written before is read, and has its card."""
    assert load_model(golden.FILES / name).guarantees() is not None


def test_a_stored_ledger_is_sound(tmp_path: Path, capsys):
    """A ledger that was written before is read, replayed, and found sound."""
    folder = Path(shutil.copytree(golden.FILES, tmp_path / "files"))
    assert main(["ledger", "verify", str(folder / "budgets.db"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sound"] is True
