"""Every import contract of pyproject.toml sees a violation that is planted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
OUTSIDE = {name for one in CONTRACTS for name in one.get("protected_modules", ())}
PLANTED = {
    "designs/prec/voters.py": (
        *sorted(name for name in OUTSIDE if not name.startswith("tacit.")),
        *("tacit.service.limits", "tacit.designs.xmap.model"),
        *("tacit.designs.prec.audit", "tacit.designs.prec.serve.rounds"),
    ),
    "service/limits.py": ("tacit.designs.prec.voters",),
    "designs/sketches/server.py": ("tacit.designs.sketches.device",),
    "designs/sketches/device.py": ("numpy",),
    "client/__init__.py": ("numpy",),
    "profile_sums/people.py": ("tacit.designs.private.model",),
    "privacy/__init__.py": ("tacit.accounting.base",),
}
"""By file, the modules that are imported there besides."""
HIDDEN = '\nfrom importlib import import_module\n\nimport_module("tacit.service.limits")\n'
"""A statement that no other contract sees; planted in `service/keys.py`."""


def broken(source: Path) -> set[str]:
    """Names of the contracts that do not hold for the package in this folder."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache"]
    path = os.pathsep.join([str(source), str(ROOT)])
    here = {**os.environ, "PYTHONPATH": path, "COLUMNS": "400"}
    answer = subprocess.run(
        [*command, "--config", str(ROOT / "pyproject.toml")],
        env=here,
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(.+) BROKEN( \(.*\))?$", answer.stdout, flags=re.MULTILINE)
    return {name for name, _ in found}


def test_each_contract_sees_what_it_forbids(tmp_path):
    """One import that each of them forbids, all in one copy of the package: each is broken."""
    package = tmp_path / "tacit"
    shutil.copytree(ROOT / "src" / "tacit", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, modules in PLANTED.items():
        file = package / name
        lines = "".join(f"\nimport {module}" for module in modules)
        file.write_text(file.read_text("utf-8") + lines + "\n", "utf-8")
    keys = package / "service" / "keys.py"
    keys.write_text(keys.read_text("utf-8") + HIDDEN, "utf-8")
    assert broken(tmp_path) == {contract["name"] for contract in CONTRACTS}
