"""How large the package is, and how far a reader of one task has to walk through it.

python tools/house.py [--json]

lines, files      Python under src/tacit
published         lines without the design `private`, which came after the goal for lines was set
wide, long        folders with more than 20 files, files above 350 lines
function          median lines of logic of a function: docstring, blank lines, comments left out
fit_xmap, visit   files whose code runs in `tacit fit xmap` and in a visit across two vendors
contracts         kept and broken import contracts (pyproject.toml)
goals             of each figure, and whether it is met
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import median
from typing import Any

import golden_outputs
from tracked import ROOT

PACKAGE = ROOT / "src" / "tacit"
LATER = PACKAGE / "designs" / "private"
MOST_FILES, MOST_LINES = 20, 350
GOALS: dict[str, float] = {
    "lines": 58_000,
    "published": 58_000,
    "files": 330,
    "wide": 0,
    "long": 0,
    "function": 7,
    "fit_xmap": 36,
    "visit": 42,
    "contracts_broken": 0,
}


def sizes() -> dict[str, Any]:
    """Lines and files, and what is above the limits."""
    lines = {file: len(file.read_text("utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    folders = Counter(file.parent for file in lines)
    return {
        "lines": sum(lines.values()),
        "published": sum(n for file, n in lines.items() if LATER not in file.parents),
        "files": len(lines),
        "wide": sorted(_named(folder) for folder, n in folders.items() if n > MOST_FILES),
        "long": sorted(_named(file) for file, n in lines.items() if n > MOST_LINES),
        "function": median(n for file in lines for n in lengths(file.read_text("utf-8"))),
    }


def _named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def lengths(text: str) -> Iterator[int]:
    """Lines of logic of each function of a module."""
    source = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            inside = source[body[0].lineno - 1 : body[-1].end_lineno] if body else []
            yield sum(1 for line in inside if line.strip() and line.strip()[0] != "#")


class Walk:
    """Which files of the package run, in all threads begun inside.

    What runs while a module is imported does not count, class bodies and decorators included.

    with Walk() as walk:
        prepare()
        walk.begin()
        task()
    walk.crossed()
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._counting = False
        self._importing = threading.local()

    def begin(self) -> None:
        """Count from here on."""
        self._counting = True

    def end(self) -> None:
        """Count no more: what is prepared is taken down again."""
        self._counting = False

    def _watch(self, frame: Any, event: str, _: object) -> None:
        code, depth = frame.f_code, getattr(self._importing, "depth", 0)
        if code.co_name == "<module>" and event in ("call", "return"):
            self._importing.depth = max(0, depth + (1 if event == "call" else -1))
        elif self._counting and event == "call" and not depth:
            self.files.add(code.co_filename)

    def crossed(self) -> int:
        """How many of the files are the package's."""
        return sum(Path(name).is_relative_to(PACKAGE) for name in self.files)

    def __enter__(self) -> Walk:
        threading.setprofile(self._watch)
        sys.setprofile(self._watch)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def fit_xmap(folder: Path) -> int:
    """Of `tacit fit xmap` with noise, on made-up data."""
    folder.mkdir()
    golden_outputs.prepare(folder)
    line = f"fit xmap {{folder}}/two.csv {golden_outputs.DOMAINS} --epsilon 3 -o {{folder}}/m.tacit"
    with Walk() as walk:
        walk.begin()
        golden_outputs.answer(line, folder)
    return walk.crossed()


def visit(folder: Path) -> int:
    """Of one visit and its reward at a vendor that forwards to another, both in this process."""
    sys.path[:0] = [str(ROOT / "tests" / "service")]
    place = ROOT / "tests" / "service" / "vendors" / "conftest.py"
    spec = spec_from_file_location("two_vendors", place)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{place} cannot be imported.")
    vendors = module_from_spec(spec)
    sys.modules["two_vendors"] = vendors
    spec.loader.exec_module(vendors)
    with Walk() as walk, contextmanager(vendors.open_pair)(folder) as pair:
        walk.begin()
        pair.home.reward(pair.home.visit().json())
        walk.end()
    return walk.crossed()


def contracts() -> dict[str, int]:
    """What lint-imports finds."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    counts = re.search(r"(\d+) kept, (\d+) broken", found)
    if counts is None:
        raise SystemExit(f"lint-imports said nothing that is known:\n{found}")
    return {"contracts_kept": int(counts[1]), "contracts_broken": int(counts[2])}


def figures() -> dict[str, Any]:
    """All of them, and which goals are met."""
    with tempfile.TemporaryDirectory() as name:
        walks = {"fit_xmap": fit_xmap(Path(name) / "a"), "visit": visit(Path(name) / "b")}
    if not all(walks.values()):
        raise SystemExit(f"Nothing of {PACKAGE} ran: is another tacit installed? See PYTHONPATH.")
    found = {**sizes(), **walks, **contracts()}
    met = {name: _number(found[name]) <= goal for name, goal in GOALS.items()}
    return {**found, "goals": GOALS, "met": met}


def _number(value: Any) -> float:
    return len(value) if isinstance(value, list) else float(value)


def main() -> int:
    found = figures()
    if "--json" in sys.argv:
        print(json.dumps(found, indent=1))
        return 0
    for name, goal in GOALS.items():
        value = found[name]
        listed = f": {', '.join(value)}" if isinstance(value, list) and value else ""
        state = "met" if found["met"][name] else "not met"
        print(f"{name:18}{_number(value):>10g}  goal {goal:g}, {state}{listed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
