"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                      every mutant (hours)
    python tools/mutants.py --sample 10 --seed 1 ten of each file

A mutant is one file with one number, comparison, operator or function replaced. The tests that hold
the file's formulas run on a copy of the package. A mutant that no test fails on has survived: a
test is missing, or the mutant is equivalent and stands in EQUIVALENT with the reason. It is a small
tool of our own, since which tests hold a file is known here, and the whole suite takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/tacit")
TARGETS: dict[str, tuple[str, ...]] = {
    "designs/*/theory.py": ("tests/designs/{design}/test_theory.py",),
    "designs/*/device.py": ("tests/designs/{design}/test_device.py",),
    "designs/xmap/private_neighbours.py": (
        "tests/designs/xmap/test_private_neighbours.py",
        "tests/designs/xmap/test_theory.py",
    ),
    "mechanisms/*.py": ("tests/mechanisms/test_{name}.py", "tests/mechanisms/test_conformance.py"),
    "accounting/*.py": ("tests/accounting",),
}
"""Files, and the tests that hold them; those that do not exist are left out."""
EQUIVALENT = {
    "mechanisms/guarantees.py:37: 10 -> 11": "an example's length, which its card states as well",
    "mechanisms/guarantees.py:210: 1000 -> 1001": "the card's epsilon is the same to the last bit",
    "designs/sketches/device.py:306: 30 -> 31": "a report that names two items ends at byte 30",
    "designs/prec/theory.py:181: 1 -> 0.25": (
        "how far out pieces are laid: those beyond are below e^-38 and never the largest"
    ),
    "designs/prec/theory.py:194: 1.0 -> 0.25": (
        "caps shares of pieces that never decide: with 2 to 12 objects and 4 to 10^6 rounds kappa "
        "is the same to the last bit"
    ),
}
"""`file:line: change` of mutants that change nothing, and why."""
_WITHIN = 240
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
_REPLACED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "ceil": "floor"}


class Mutant(NamedTuple):
    """place: `file:line: change`. text: the whole file."""

    file: Path
    place: str
    text: str


def places(file: Path) -> list[tuple[int, int]]:
    """Of every mutant: the number of its node and of the change made to that."""
    nodes = enumerate(ast.walk(ast.parse((ROOT / file).read_text())))
    return [(number, change) for number, node in nodes for change in range(len([*_changes(node)]))]


def mutant(file: Path, number: int, change: int) -> Mutant:
    """One of `places`."""
    tree = ast.parse((ROOT / file).read_text())
    node = next(one for at, one in enumerate(ast.walk(tree)) if at == number)
    before, line = ast.unparse(node), getattr(node, "lineno", 0)
    after = [*_changes(node)][change]()
    place = f"{file.relative_to(PACKAGE)}:{line}: {before} -> {after}"
    return Mutant(file, place, ast.unparse(tree))


def _changes(node: ast.AST) -> Iterator[Callable[[], str]]:
    """Each changes the node and gives its new text."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        for value in (number + 1, number / 4 if number else -1):
            yield partial(_set, node, "value", value)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        yield lambda: _set(node, "ops", [_COMPARED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _REPLACED:
        yield lambda: _set(node, "op", _REPLACED[type(node.op)]())
    elif isinstance(node, ast.Call):
        called = node.func
        name = getattr(called, "id", getattr(called, "attr", ""))
        if name in _NAMES:
            field = "id" if isinstance(called, ast.Name) else "attr"
            yield lambda: _set(called, field, _NAMES[name]) and ast.unparse(node)
        if name in ("max", "min", "maximum", "minimum") and len(node.args) == 2:
            yield lambda: _set(node, "args", node.args[:1])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda: _set(node, "op", ast.UAdd())


def _set(node: ast.AST, field: str, value: object) -> str:
    setattr(node, field, value)
    return ast.unparse(node)


def tests_of(pattern: str, file: Path) -> list[str]:
    """Tests that hold this file."""
    named = {"design": file.parent.name, "name": file.stem}
    found = [test.format(**named) for test in TARGETS[pattern]]
    return [test for test in found if (ROOT / test).exists()]


def killed(one: Mutant, tests: list[str], folder: Path) -> bool:
    """Whether a test fails on the mutant, or does not end."""
    place = folder / one.file
    shipped = place.read_text()
    place.write_text(one.text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=_WITHIN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_text(shipped)
    return done.returncode == 1 or done.returncode == 2


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the formulas.")
    parser.add_argument("--sample", type=int, help="mutants of each file; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path holds this")
    given = parser.parse_args()
    counts, began = dict.fromkeys(("killed", "equivalent", "survived"), 0), time.perf_counter()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder / "src", ignore=skipped)
        for one, tests in _chosen(given.sample, given.seed, given.only):
            verdict = _verdict(one, tests, folder)
            counts[verdict] += 1
            print(f"{verdict:10} {one.place}", flush=True)
    score = round(counts["killed"] / max(1, counts["killed"] + counts["survived"]), 4)
    seconds = round(time.perf_counter() - began)
    print(json.dumps({**counts, "score": score, "seconds": seconds}))
    return 1 if counts["survived"] else 0


def _chosen(sample: int | None, seed: int, only: str) -> Iterator[tuple[Mutant, list[str]]]:
    """Mutants with the tests that hold them."""
    draw = random.Random(seed)  # noqa: S311  # which mutants are run is no secret
    for pattern in TARGETS:
        for path in sorted((ROOT / PACKAGE).glob(pattern)):
            file = path.relative_to(ROOT)
            tests, every = tests_of(pattern, file), places(file)
            if only not in str(file) or not tests:
                continue
            some = every if sample is None else draw.sample(every, min(sample, len(every)))
            for number, change in some:
                yield mutant(file, number, change), tests


def _verdict(one: Mutant, tests: list[str], folder: Path) -> str:
    if one.place in EQUIVALENT:
        return "equivalent"
    return "killed" if killed(one, tests, folder) else "survived"


if __name__ == "__main__":
    sys.exit(main())
