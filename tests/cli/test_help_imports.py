"""Help is printed without modules that compute, and a model is used without those of others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import tacit
from tacit.cli.app import COMMANDS, PARTS
from tacit.design import design, names

HEAVY = (
    *("numpy", "scipy", "numba", "polars", "sklearn", "opendp", "fastapi", "altair"),
    *("rich", "importlib.metadata", "tacit.evaluation.page"),  # milliseconds, but of every help
)

PRINT_HELP = """
import contextlib, io, json, sys
from tacit.cli.app import main
heavy, commands = json.loads(sys.argv[1])
loaded = {}
for words in commands:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main([*words, "--help"])
    assert "Usage" in printed.getvalue(), words
    found = [name for name in heavy if name in sys.modules]
    if found:
        loaded[" ".join(words)] = found
        break
print(json.dumps(loaded))
"""


def commands():
    """List the words of every command."""
    found = [(name,) for name in COMMANDS]
    for part in PARTS:
        found += [(part, name) for name in names() if part in design(name).parts]
    return [list(words) for words in found]


def heavy_modules_of(listed):
    """Print helps in one fresh process; the first command that loads a heavy module, with them."""
    asked = json.dumps([HEAVY, listed])
    run = [sys.executable, "-c", PRINT_HELP, asked]
    return json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


def test_help_loads_nothing_that_computes():
    """No help of a command or group loads a numeric package."""
    listed = commands()
    assert ["evaluate"] in listed
    assert ["simulate", "pdap"] in listed
    assert ["attack"] in listed
    assert ["fit", "standard-scheme"] in listed
    assert ["guarantee"] in listed
    assert ["fit", "xmap"] in listed
    assert heavy_modules_of(listed) == {}


USE_MODEL = """
import contextlib, io, json, sys
from tacit.cli.app import main
command, model, key, heavy = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    code = main([command, model, "--json"])
assert code == 0
assert json.loads(printed.getvalue())[key]
print(json.dumps([name for name in json.loads(heavy) if name in sys.modules]))
"""


@pytest.mark.parametrize(
    ("command", "key", "heavy"),
    [
        ("guarantee", "guarantees", ["numba", "polars", "sklearn", "opendp", "fastapi"]),
        (
            "recommend",
            "items",
            ["tacit.designs.standard_scheme.model", "scipy.stats", "sklearn", "opendp"],
        ),
    ],
)
def test_private_lists_are_used_without_what_they_do_not_need(tmp_path, command, key, heavy):
    """A card needs no compiler and no data frames; a list needs no model of another design."""
    model = tmp_path / "m.tacit"
    generated = tacit.generate(users=60, items=20, ratings=600, seed=1)
    tacit.Private(epsilon=1.0).fit(generated).save(model)
    run = [sys.executable, "-c", USE_MODEL, command, str(model), key, json.dumps(heavy)]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert json.loads(shown) == []
