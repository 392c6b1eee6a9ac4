"""examples/paths: what a shop, a newspaper and an officer type, from an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "paths"
COMMANDS = {"shop": 6, "newspaper": 3, "officer": 4}


def run_path(name: str, folder: Path) -> str:
    """What a path prints, run in a folder on ports that are free."""
    program = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", str(EXAMPLES / f"{name}.sh")],
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PORT": "0",
            "PORT_1": "0",
            "PORT_2": "0",
            "OMP_NUM_THREADS": "1",
            "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
        },
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_path_has_few_commands(name: str) -> None:
    """As many lines that begin with tacit as are promised, and not more."""
    lines = (EXAMPLES / f"{name}.sh").read_text("utf-8").splitlines()
    assert sum(line.startswith("tacit ") for line in lines) == COMMANDS[name]


def test_a_shop_gets_a_list_and_a_served_weekly_model(tmp_path: Path) -> None:
    """Ten items for a person; after the refit, 50 fits of 52 are left."""
    said = run_path("shop", tmp_path)
    assert "Item " in said
    assert "50 fits left" in said
    assert "It is served from now on." in said
    assert (tmp_path / "shop" / "systemd" / "shop-refit.timer").is_file()


def test_two_newspapers_show_an_article(tmp_path: Path) -> None:
    """A reader's visit is answered, and the click is taken."""
    assert "The reader was shown press-1-" in run_path("newspaper", tmp_path)
    first = json.loads((tmp_path / "first.json").read_text())
    second = json.loads((tmp_path / "second.json").read_text())
    assert first["address"] != second["address"]


def test_an_officer_gets_a_page_and_a_checked_record(tmp_path: Path) -> None:
    """The page has a verdict; the ledger's log is sound."""
    said = run_path("officer", tmp_path)
    assert "Sound:" in said
    assert "Protection: <strong>weak</strong>" in (tmp_path / "officer.html").read_text()
