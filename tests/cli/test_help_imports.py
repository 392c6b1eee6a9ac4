"""Help of commands is printed without the modules that compute."""

from __future__ import annotations

import json
import subprocess
import sys

import tacit
from tacit.cli.app import COMMANDS, PARTS
from tacit.design import design, names

HEAVY = ("numpy", "scipy", "numba", "polars", "sklearn", "opendp", "fastapi", "altair")

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


SHOW_CARD = """
import contextlib, io, json, sys
from tacit.cli.app import main
with contextlib.redirect_stdout(io.StringIO()) as printed:
    code = main(["guarantee", sys.argv[1], "--json"])
assert '"guarantees"' in printed.getvalue()
print(json.dumps([name for name in json.loads(sys.argv[2]) if name in sys.modules]))
"""


def test_a_model_s_card_needs_no_compiler_and_no_data_frames(tmp_path):
    """`tacit guarantee MODEL` of private lists loads neither numba nor polars."""
    model = tmp_path / "m.tacit"
    generated = tacit.generate(users=60, items=20, ratings=600, seed=1)
    tacit.Private(epsilon=1.0).fit(generated).save(model)
    heavy = json.dumps(["numba", "polars", "sklearn", "opendp", "fastapi"])
    run = [sys.executable, "-c", SHOW_CARD, str(model), heavy]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert json.loads(shown) == []
