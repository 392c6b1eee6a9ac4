"""docs/service-cookbook.md: every block runs against `tacit serve --demo`, in three languages.

The curl blocks are one script, the Python blocks one interpreter, and the TypeScript blocks one
module that imports the client as a package; each language has a person of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import executed
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "service-cookbook.md"
CLIENT = ROOT / "client"
LANGUAGES = ("sh", "python", "typescript")
AROUND = "declare const process: { env: Record<string, string> };\ndeclare const Buffer: any;\n"
"""What node has, and the page need not say."""


def code_of(language):
    """All blocks of it, in order."""
    return [cell for cell in executed.cells(PAGE.read_text("utf-8")) if cell.language == language]


def ran(command, folder, settings):
    """A command that has to succeed."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_curl(demonstration, tmp_path):
    """Every block of `sh`, as one script; the receipt at its end is of everything before."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not there")
    script = "\n".join(cell.code for cell in code_of("sh"))
    ran(["bash", "-euo", "pipefail", "-c", script], tmp_path, demonstration)
    assert json.loads((tmp_path / "receipt.json").read_text())["user"] == "ann"


def test_python(demonstration, tmp_path, monkeypatch):
    """Every block of `python`, in one interpreter."""
    monkeypatch.chdir(tmp_path)
    for name, value in demonstration.items():
        monkeypatch.setenv(name, value)
    names = {"__name__": "__main__"}
    for cell in code_of("python"):
        executed.run(cell, str(PAGE), names)
    assert names["receipt"]["gone"]
    assert names["sent"].receipt == {"counted": True}


def test_typescript(demonstration, tmp_path):
    """Every block of `typescript`, type-checked, as one module that node runs."""
    compilers = [CLIENT / place / "node_modules/.bin/tsc" for place in (".", "page")]
    compiler = next((str(one) for one in compilers if one.exists()), None)
    if shutil.which("node") is None or compiler is None:
        pytest.skip("no node or no TypeScript compiler: run `make page`")
    package = tmp_path / "node_modules" / "tacit-client"
    package.mkdir(parents=True)
    shutil.copy(CLIENT / "package.json", package)
    ran(
        [compiler, "-p", CLIENT / "tsconfig.build.json", "--outDir", package / "dist"],
        tmp_path,
        demonstration,
    )
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "around.d.ts").write_text(AROUND)
    (tmp_path / "cookbook.ts").write_text("\n".join(cell.code for cell in code_of("typescript")))
    strict = json.loads((CLIENT / "tsconfig.json").read_text())["compilerOptions"]
    options = {**strict, "types": [], "noEmit": False, "noUnusedLocals": False}
    options["noUncheckedIndexedAccess"] = False
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    ran([compiler, "-p", "."], tmp_path, demonstration)
    assert "the ratings that you gave" in ran(["node", "cookbook.js"], tmp_path, demonstration)


def test_every_recipe_is_there_in_each_language():
    """As many blocks of each under every heading."""
    parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    found = {
        part.splitlines()[0]: [
            sum(c.language == one for c in executed.cells(part)) for one in LANGUAGES
        ]
        for part in parts[1:]
    }
    assert set(found) >= {"People", "Feedback", "Lists", "Visits", "Campaigns", "Rounds"}
    assert [name for name, counts in found.items() if len(set(counts)) > 1 or not counts[0]] == []
