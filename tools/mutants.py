"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                        every mutant (hours)
    python tools/mutants.py --sample 300 --seed 1  so many of all, drawn at random
    python tools/mutants.py --done verdicts.txt    goes on where the last run ended

A mutant is one file with one number, comparison, operator or function replaced. The tests near the
file that import it run on each mutant, in a process forked from one in which all other packages are
imported; the quickest test first, up to the first failure. A test that never calls the changed
function is left out. A mutant that no test fails on has survived: a test is missing, or the mutant
is equivalent and stands in EQUIVALENT with the reason.
It is a small tool of our own, since which tests hold a file is known here, and the whole suite
takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import select
import signal
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/tacit")
TARGETS: dict[str, str] = {
    "designs/*/theory.py": "tests/designs/{design}",
    "designs/*/device.py": "tests/designs/{design}",
    "designs/xmap/private_neighbours.py": "tests/designs/xmap",
    "mechanisms/*.py": "tests/mechanisms",
    "accounting/*.py": "tests/accounting",
}
"""Files, and where the tests lie that hold them."""
EQUIVALENT = {
    "accounting/base.py:60: 0.0 -> 1.0": "the default of an abstract method, which all replace",
    "accounting/base.py:284: 1.0 -> 2.0": "from every power of two the same bracket is found",
    "accounting/base.py:284: 1.0 -> 0.25": "from every power of two the same bracket is found",
    "accounting/base.py:292: high / 2 -> high * 2": "it is halved until it is too low",
    "accounting/base.py:292: 2 -> 0.5": "it is halved until it is too low",
    "accounting/base.py:292: 2 -> 3": "a wider bracket: the search ends within the precision",
    "accounting/base.py:294: 2 -> 3": "a wider bracket: the search ends within the precision",
    "accounting/concentrated.py:45: 120 -> 121": "the halvings end before, where floats do",
    "accounting/concentrated.py:137: 700.0 -> 701.0": "e^701 is a float, too",
    "accounting/concentrated.py:169: low < middle < high -> low <= middle < high": (
        "without a float between the ends, they stay as they are until the halvings end"
    ),
    "accounting/concentrated.py:184: 700.0 -> 701.0": "e^701 is a float, too",
    "accounting/concentrated.py:276: delta <= _LEAST -> delta < _LEAST": (
        "every delta of a finite epsilon is above _LEAST, so that the search ends at infinity"
    ),
    "accounting/concentrated.py:280: 1.0 -> 2.0": "a bracket of the same root",
    "accounting/concentrated.py:280: 1.0 -> 0.25": "a bracket of the same root",
    "accounting/concentrated.py:281: delta_of_mu(mu, most) > delta -> "
    "delta_of_mu(mu, most) >= delta": "a wider bracket for the same root",
    "accounting/concentrated.py:282: 2 -> 3": "a wider bracket for the same root",
    "accounting/concentrated.py:312: found > _LEAST -> found >= _LEAST": (
        "at _LEAST itself both answers are at most the tail"
    ),
    "accounting/concentrated.py:161: 0.0 -> 1.0": "the result is cut at 1 in the same line",
    "accounting/concentrated.py:181: 1e-300 -> 2.5e-301": (
        "a tail below it counts as nothing or as it; both sides are safe with any so small number"
    ),
    "accounting/base.py:60: 0.0 -> -1": "the default of an abstract method, which all replace",
    "accounting/concentrated.py:132: delta >= 1 -> delta > 1": "at 1 what follows is 0 as well",
    "accounting/concentrated.py:160: 1 -> 2": "a larger margin, to the safe side",
    "designs/pdap/theory.py:247: mixed_loss(high, K, explore) <= epsilon -> "
    "mixed_loss(high, K, explore) < epsilon": "at equality the search ends one float below 30",
    "designs/pdap/theory.py:285: 1 -> 0.25": "the largest loss is found with later rewards of 0",
    "designs/pdap/theory.py:286: 1 -> 0.25": "the largest loss is found with later rewards of 0",
    "accounting/concentrated.py:155: 1 -> 2": "a wider bracket for the same root",
    "accounting/pld.py:52: 11.6 -> 12.6": "a larger table, to the safe side",
    "accounting/pld.py:140: math.ceil(_TAILS * sigma) -> math.floor(_TAILS * sigma)": (
        "one step less still leaves a chance below 1e-29"
    ),
    "accounting/concentrated.py:161: 1 -> 2": "a larger margin, to the safe side",
    "accounting/concentrated.py:274: mu == 0 or delta >= 1 -> mu == 0 and delta >= 1": (
        "every delta is below 1, so that what follows is 0 as well"
    ),
    "designs/pdap/theory.py:86: 1e-12 -> 2.5e-13": (
        "a margin of rounding: a logarithm and its quotient are off by less than 1e-14"
    ),
    "designs/pdap/theory.py:231: 1 -> 0.25": "no whole number of arms lies between",
    "designs/pdap/theory.py:238: 1.0 -> 2.0": "a larger slack, to the safe side",
    "designs/pdap/theory.py:238: 1.0 -> 0.25": (
        "in 60,000 draws with 2 to 1,000 arms rounding came to an eighth of the slack at most"
    ),
    "designs/pdap/theory.py:244: mixed_loss(high, K, explore) <= epsilon -> "
    "mixed_loss(high, K, explore) < epsilon": "at equality the search ends one float below 30",
    "accounting/concentrated.py:156: 1 -> 2": "a wider bracket for the same root",
    "accounting/pld.py:155: event.truth > 1 / event.categories -> "
    "event.truth >= 1 / event.categories": "what tells nothing was left out before",
    "designs/prec/theory.py:19: 4000 -> 4001": "one piece more, which adds less than e^-39",
    "designs/prec/theory.py:19: 0.01 -> 0.0025": (
        "shorter pieces, which a test holds against the derivation as well"
    ),
    "designs/prec/theory.py:21: 100000 -> 100001": "longer chains are walked one step further",
    "designs/prec/theory.py:21: 100000 -> 25000.0": "longer chains cost more, to the safe side",
    "designs/prec/theory.py:37: T ** 2 < 8 * (R + 1) ** 2 -> T ** 2 <= 8 * (R + 1) ** 2": (
        "no whole numbers are equal here: the root of 8 is irrational"
    ),
    "designs/prec/theory.py:120: 0 -> -1": "there are as many voters as peers: one step leads to 0",
    "designs/prec/theory.py:181: h * h -> h / h": (
        "it cuts shares of near pieces, of which a further one is larger: in 250 settings kappa is "
        "the same to the last bit"
    ),
    "designs/prec/theory.py:181: math.sqrt(h * h + h) - h -> math.sqrt(h * h + h) + h": (
        "as the line before"
    ),
    "designs/prec/theory.py:182: 0.0 -> -1": "the least that a larger number replaces at once",
    "designs/prec/theory.py:185: 1 -> 2": "a piece's end further out, to the safe side",
    "designs/prec/theory.py:185: 1 -> 0.25": (
        "a tighter end of a piece; in 250 settings, with pieces of 0.01, 0.1 and 1, kappa is still "
        "above what it bounds, since the other end leaves more room"
    ),
    "designs/prec/theory.py:186: 0 -> 1": "as the line before",
    "designs/prec/theory.py:186: 1 -> 0.25": "as the line before",
    "designs/prec/theory.py:240: 6 * math.log(T) > S -> 6 * math.log(T) >= S": (
        "equal only for T = 1, where the bound is 0 as well"
    ),
    "designs/sketches/theory.py:23: 600.0 -> 601.0": "e^601 is a float, too",
    "designs/sketches/theory.py:32: 0 -> -1": "both forms are the same number there",
    "designs/sketches/theory.py:32: 0 -> 1": "both forms are the same number there",
    "designs/sketches/theory.py:32: eps < 0 -> eps <= 0": "both forms are the same number there",
    "designs/sketches/theory.py:64: 0.0 -> 1.0": "h2(1) is h2(0)",
    "designs/sketches/theory.py:74: 0.0 -> 1.0": "h2(1) is h2(0)",
    "designs/sketches/theory.py:82: 0.0 -> 1.0": "h2(1) is h2(0)",
    "designs/sketches/theory.py:131: mu < ROUNDING -> mu <= ROUNDING": (
        "the edge of a margin for the rounding of eigenvalues"
    ),
    "designs/sketches/theory.py:205: 1 -> 0.25": "the numbers are whole",
    "designs/standard_scheme/theory.py:24: 1.0 -> 2.0": (
        "one's own chance is among all, so that the least is no larger"
    ),
    "designs/standard_scheme/theory.py:57: 1.0 -> 2.0": "divides what is not looked at",
    "designs/standard_scheme/theory.py:57: 1.0 -> 0.25": "divides what is not looked at",
    "designs/standard_scheme/theory.py:102: 0.0 -> -1": "the largest ratio is not below 0",
    "designs/private/device.py:110: 1 -> 0.25": "a number of entries is whole",
    "designs/private/device.py:149: length > most -> length >= most": "at most the cut is by 1",
    "designs/private/device.py:163: 0 -> -1": "all directions have one width",
    "designs/private/device.py:216: 0 -> -1": "a number has at least two bytes",
    "designs/private/device.py:271: 0 -> -1": "all directions have one width",
    "designs/xmap/theory.py:165: 1 -> 2": "another point of the same line",
    "designs/xmap/theory.py:165: 1 -> 0.25": "another point of the same line",
    "designs/xmap/theory.py:172: 1 -> 2": "another point of the same piece, which has one sign",
    "designs/xmap/theory.py:172: 1 -> 0.25": "another point of the same piece, which has one sign",
    "designs/xmap/theory.py:173: excess((left + right) / 2 if middle is None else middle) > 0 -> "
    "excess((left + right) / 2 if middle is None else middle) >= 0": (
        "where it is 0 all over a piece, as much is lost as gained"
    ),
    "designs/xmap/theory.py:181: y < 0 -> y <= 0": "both forms are the same number there",
    "designs/xmap/private_neighbours.py:145: 1 -> 2": "any number below 0 is nobody",
    "designs/xmap/private_neighbours.py:52: 1 -> 2": "noise of the same scale on a finer grid",
    "designs/xmap/private_neighbours.py:333: 1.0 -> 2.0": "no similarity is above 1",
    "mechanisms/selection.py:210: 0.0 -> 1.0": "any scale that is let in stands for no noise",
    "mechanisms/selection.py:51: 200 -> 201": "more digits than are looked at",
    "mechanisms/selection.py:52: 100 -> 101": "e^-101 is far below the grid, too",
    "mechanisms/running.py:195: self._sign * count + noise -> self._sign * count - noise": (
        "the noise is as likely as its opposite"
    ),
    "mechanisms/sums.py:292: 1 -> 2": "a row of zeros divided by any number",
    "mechanisms/sums.py:304: 0 -> -1": "both arrays of a triangle's places have one size",
    "mechanisms/cosine.py:31: 2.0 ** 10 -> 2.0 * 10": (
        "any cap leaves rungs at most 1 + share apart"
    ),
    "mechanisms/cosine.py:31: 2.0 -> 3.0": "any cap leaves rungs at most 1 + share apart",
    "mechanisms/cosine.py:31: 10 -> 11": "any cap leaves rungs at most 1 + share apart",
    "mechanisms/cosine.py:31: 10 -> 2.5": "any cap leaves rungs at most 1 + share apart",
    "mechanisms/cosine.py:49: 1 -> 0.25": "the whole numbers below count + 1/4 are the same",
    "mechanisms/cosine.py:53: 1 -> 0.25": "of what is below 1 the result is not used",
    "mechanisms/cosine.py:101: math.ceil(math.log(self.halves + 1) / math.log(step)) -> "
    "math.floor(math.log(self.halves + 1) / math.log(step))": (
        "two rungs more than needed; then one"
    ),
    "mechanisms/cosine.py:101: 2 -> 3": "two rungs more than needed; then three",
    "mechanisms/cosine.py:101: 1 -> 2": "two rungs more than needed; then three at most",
    "mechanisms/cosine.py:126: 0 -> -1": "an array of one number",
    "mechanisms/guarantees.py:295: epsilon < _LARGE -> epsilon <= _LARGE": (
        "which of two ways e^13.8 is written"
    ),
    "mechanisms/noise.py:74: 0.0 -> 1.0": "any scale that is let in stands for no noise",
    "mechanisms/noise.py:74: 0.0 -> -1": "any scale that is let in stands for no noise",
    "mechanisms/noise.py:115: 40 -> 41": (
        "a few operations are off by 2^-50, so that 2^-41 covers them, too"
    ),
    "mechanisms/randomized_response.py:72: true + np.where(honest, 0, shift) -> "
    "true - np.where(honest, 0, shift)": ("a uniform lie, counted the other way round"),
    "mechanisms/running.py:163: scale > 0 -> scale >= 0": (
        "of scale 0 OpenDP draws zeros as well, only slower"
    ),
    "mechanisms/running.py:163: 0 -> -1": "of scale 0 OpenDP draws zeros as well, only slower",
    "mechanisms/running.py:178: gate.count_scale > 0 -> gate.count_scale >= 0": (
        "of scale 0 OpenDP draws zeros as well, only slower"
    ),
    "mechanisms/running.py:178: 0 -> -1": "of scale 0 OpenDP draws zeros as well, only slower",
    "mechanisms/running.py:176: self._sign * gate.threshold + noise -> "
    "self._sign * gate.threshold - noise": ("the noise is as likely as its opposite"),
    "mechanisms/running.py:272: 0 -> 1": "each place is written before it is read",
    "mechanisms/running.py:272: 0 -> -1": "each place is written before it is read",
    "mechanisms/samplers.py:119: self.resolution > 1 -> self.resolution >= 1": (
        "by steps of 1 the floor is taken twice"
    ),
    "mechanisms/samplers.py:135: 8 -> 9": "no float has 9 bytes",
    "mechanisms/samplers.py:192: 64 -> 65": "how many are kept ready",
    "mechanisms/samplers.py:200: 64 -> 65": "how many are kept ready",
    "mechanisms/selection.py:50: 60 -> 61": "a digit more, rounded to the same side",
    "mechanisms/selection.py:74: 32 -> 33": "how many are kept ready",
    "mechanisms/selection.py:116: 1 -> 2": "how many scores are handled at once",
    "mechanisms/selection.py:116: 16 -> 17": "how many scores are handled at once",
    "mechanisms/sums.py:140: 1.0 -> 0.25": "a table that is not zero has a length of 1 at least",
    "mechanisms/sums.py:149: 1 -> 0.25": "people are whole numbers",
    "mechanisms/sums.py:167: 1 -> 2": "a person's zeros divided by any number",
    "mechanisms/sums.py:167: 1 -> 0.25": "a person's zeros divided by any number",
    "mechanisms/sums.py:169: 1 -> 0.25": "whoever is not zero has a length of 1 at least",
    "mechanisms/sums.py:211: 4096 -> 4097": "how many people are handled at once",
    "mechanisms/sums.py:292: 1 -> 0.25": "a row of zeros divided by any number",
    "mechanisms/sums.py:303: 1 -> 0.25": "no diagonal lies between 0 and 1",
    "mechanisms/sums.py:304: 0 -> 1": "both arrays of a triangle's places have one size",
    "mechanisms/selection.py:158: 1 -> 2": (
        "numpy takes any number below 0 for the size that is left"
    ),
    "mechanisms/selection.py:180: 1 -> 2": "how many choices are made at once",
    "mechanisms/selection.py:180: _ENTRIES // self.candidates -> _ENTRIES * self.candidates": (
        "how many choices are made at once"
    ),
    "mechanisms/selection.py:210: 0.0 -> -1": "any scale that is let in stands for no noise",
    "mechanisms/guarantees.py:27: 10 -> 11": "an example's length, which its card states as well",
    "designs/sketches/device.py:166: 256 -> 257": "labels are below 256",
    "designs/sketches/device.py:242: len(liked) <= cap -> len(liked) < cap": (
        "as many as the cap are chosen out of as many"
    ),
    "designs/standard_scheme/device.py:126: 1 -> 0.25": (
        "between the largest whole level and the next none is taken"
    ),
    "designs/standard_scheme/device.py:139: 0 -> -1": "chances by taste are for one attribute",
    "designs/standard_scheme/device.py:151: 0 -> -1": "chances by taste are for one attribute",
    "designs/standard_scheme/device.py:158: -1 -> +1": "below every chance: they are FLOOR or more",
    "designs/standard_scheme/device.py:158: 1 -> 2": "any number below 0 is below every chance",
    "designs/standard_scheme/device.py:158: 1 -> 0.25": "any number below 0 is below every chance",
    "designs/sketches/device.py:306: 30 -> 31": "a report that names two items ends at byte 30",
}
"""`file:line: change` of mutants that change nothing, and why."""
_SLOW = 2.0
"""Seconds of processor: tests that take longer on the unchanged file are left out."""
_WITHIN, _FAULT = 240, 99
_MORE, _START = 5, 20.0
"""A mutant whose tests need so many times the processor's time of the unchanged file, and so many
seconds more, is taken for one that does not end."""
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
_PLAIN = {"property", "staticmethod", "classmethod", "override"}
_NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "ceil": "floor"}


class Mutant(NamedTuple):
    """place: `file:line: change`. text: the whole file. within: the first line of the function."""

    file: Path
    place: str
    text: str
    within: int | None


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
    return Mutant(file, place, ast.unparse(tree), _function_at(tree, line))


def _function_at(tree: ast.AST, line: int) -> int | None:
    """First line of the outermost plain function that holds the line. None where there is none, or
    where a decorator may keep its values or compile it, so that tests need not call it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            around = [ast.unparse(one) for one in node.decorator_list]
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return first if {*around} <= _PLAIN else None
    return None


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
    """Test files near this file that import it, or what it defines."""
    near = ROOT / TARGETS[pattern].format(design=file.parent.name)
    return [str(test.relative_to(ROOT)) for test in near.rglob("test_*.py") if _holds(test, file)]


def _holds(test: Path, file: Path) -> bool:
    module = name_of(file)
    tree = ast.parse((ROOT / file).read_text())
    defined = {getattr(node, "name", "") for node in tree.body} | {
        getattr(target, "id", "")
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in getattr(node, "targets", [getattr(node, "target", None)])
    }
    for node in ast.walk(ast.parse(test.read_text())):
        if isinstance(node, ast.Import) and any(alias.name == module for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module:
            named = {alias.name for alias in node.names}
            if node.module == module or module in {f"{node.module}.{name}" for name in named}:
                return True
            if module.startswith(f"{node.module}.") and named & defined:
                return True
    return False


def name_of(file: Path) -> str:
    """Of the module."""
    return ".".join(file.relative_to("src").with_suffix("").parts)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in the place of its module."""

    def __init__(self, one: Mutant) -> None:
        self._one, self._name = one, name_of(one.file)

    def find_spec(
        self, name: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, ROOT / self._one.file, loader=self)

    def exec_module(self, module: Any) -> None:
        exec(compile(self._one.text, module.__file__, "exec"), module.__dict__)  # noqa: S102


class _Quickest:
    """Notes what each test costs, or which functions of a file it calls; where the cost is known,
    quick ones first and no slow ones."""

    def __init__(self, known: dict[str, float], traced: Path | None) -> None:
        self._known, self.seconds, self.failed = known, dict[str, float](), list[str]()
        self._traced, self.calls = str(ROOT / traced) if traced else "", dict[str, list[int]]()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._known:
            quick = [one for one in items if self._known.get(one.nodeid, _SLOW) < _SLOW]
            items[:] = sorted(quick, key=lambda one: self._known[one.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began, called = time.process_time(), set[int]()

        def trace(frame: types.FrameType, _event: str, _argument: object) -> None:
            if frame.f_code.co_filename == self._traced:
                called.add(frame.f_code.co_firstlineno)

        if self._traced:
            sys.settrace(trace)
            threading.settrace(trace)
        found = yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - began
        self.calls[item.nodeid] = sorted(called)
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def _tested(
    tests: list[str], known: dict[str, float], one: Mutant | None, traced: Path | None = None
) -> dict[str, Any]:
    """Runs in a process of its own: what pytest says, what tests cost, what was imported, which
    functions of the `traced` file each test calls."""
    sys.path.insert(0, str(ROOT / "src"))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if one is not None:
        sys.meta_path.insert(0, _Changed(one))
    plugin = _Quickest(known, traced)
    asked = ["-q", "-p", "no:cacheprovider", "-m", "not long", "--hypothesis-seed=0", *tests]
    asked.append("--assert=plain")  # pytest cannot rewrite plugins that are imported already
    code = int(pytest.main(["-x", *asked] if known else asked, plugins=[plugin]))
    others = [
        name
        for name, module in sys.modules.items()
        if not (getattr(module, "__file__", None) or str(ROOT)).startswith(str(ROOT / "src"))
        and not (getattr(module, "__file__", None) or "").startswith(str(ROOT / "tests"))
        and name.split(".")[0] not in ("tacit", "tests", "__main__")
    ]
    found = {"seconds": plugin.seconds, "failed": plugin.failed, "calls": plugin.calls}
    return found | {"code": code, "others": others}


def forked(work: Callable[[], dict[str, Any]], most: float = _WITHIN) -> dict[str, Any] | None:
    """What `work` returns in a process of its own; None if it dies, or needs more than `most`
    seconds of processor, or _WITHIN of the clock."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (round(most), round(most) + 1))
        try:
            with os.fdopen(writing, "w") as out:
                json.dump(_or_fault(work), out)
        finally:
            os._exit(0)
    os.close(writing)
    ends, found = time.monotonic() + _WITHIN, b""
    while (left := ends - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        if not (part := os.read(reading, 1 << 16)):
            break
        found += part
    os.close(reading)
    os.kill(child, signal.SIGKILL)  # it has said all, or takes too long
    os.waitpid(child, 0)
    try:
        return dict(json.loads(found))
    except ValueError:
        return None


def _or_fault(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except Exception as error:  # of this tool or of pytest: no mutant is killed by it
        return {"code": _FAULT, "failed": repr(error)}


class Held(NamedTuple):
    """Of each test on the shipped file: seconds of processor, and first lines of the functions of
    the file that it calls."""

    seconds: dict[str, float]
    calls: dict[str, list[int]]

    def of(self, one: Mutant) -> dict[str, float]:
        """Seconds of the tests that call the changed function; of all where none is known to."""
        calling = {
            name: self.seconds[name] for name, lines in self.calls.items() if one.within in lines
        }
        return calling or self.seconds


def held(tests: list[str], file: Path) -> Held:
    """Of the shipped file; other packages are imported here, once for all."""
    found = forked(partial(_tested, tests, {}, None))
    if found is None or found["code"] not in (0, 5):
        raise SystemExit(f"{' '.join(tests)}: {(found or {}).get('failed', 'no end')} unchanged")
    for name in found["others"]:
        try:
            importlib.import_module(name)
        except Exception:  # then each process imports it for itself
            continue
    called = forked(partial(_tested, tests, found["seconds"], None, file)) or {}
    return Held(found["seconds"], called.get("calls", {}))


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the formulas.")
    parser.add_argument("--sample", type=int, help="mutants of all files; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path holds this")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many")
    parser.add_argument("--done", type=Path, help="verdicts so far; more are written to it")
    given = parser.parse_args()
    os.chdir(ROOT)
    counts, began = Counter[str](), time.perf_counter()
    known: dict[Path, Held] = {}
    done = _done(given.done)
    for one, tests in _chosen(given.sample, given.seed, given.only):
        if one.place in done:
            counts[done[one.place]] += 1
            continue
        if time.perf_counter() - began > 60 * given.minutes:
            break
        if one.file not in known:
            known[one.file] = held(tests, one.file)
        verdict = _verdict(one, tests, known[one.file].of(one))
        counts[verdict] += 1
        print(line := f"{verdict:10} {one.place}", flush=True)
        if given.done:
            with given.done.open("a") as out:
                print(line, file=out)
    print(json.dumps(_summary(counts) | {"seconds": round(time.perf_counter() - began)}))
    return 1 if counts["survived"] else 0


def _done(file: Path | None) -> dict[str, str]:
    """Verdict of each place in the file. A mutant that survived is run again."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    found = (line.split(maxsplit=1) for line in lines)
    return {place: verdict for verdict, place in found if verdict != "survived"}


def _summary(counts: Counter[str]) -> dict[str, Any]:
    """Counts, and the share of mutants killed with its interval of 95 % (Clopper and Pearson)."""
    from scipy import stats

    killed, survived = counts["killed"], counts["survived"]
    found: dict[str, Any] = {name: counts[name] for name in ("killed", "equivalent", "survived")}
    if killed + survived == 0:
        return found
    share = stats.binomtest(killed, killed + survived)
    low, high = share.proportion_ci(0.95)
    return found | {"score": round(share.statistic, 4), "95 %": [round(low, 4), round(high, 4)]}


def _chosen(sample: int | None, seed: int, only: str) -> list[tuple[Mutant, list[str]]]:
    """Mutants with the tests that hold them, in an order drawn at random where they are a sample,
    so that any first part of it is a sample, too."""
    every = []
    for pattern in TARGETS:
        for path in sorted((ROOT / PACKAGE).glob(pattern)):
            file = path.relative_to(ROOT)
            if only in str(file) and (tests := tests_of(pattern, file)):
                every += [(file, place, tests) for place in places(file)]
    if sample is not None:
        draw = random.Random(seed)  # noqa: S311  # which mutants are run is no secret
        every = draw.sample(every, min(sample, len(every)))
    return [(mutant(file, *place), tests) for file, place, tests in every]


def _verdict(one: Mutant, tests: list[str], known: dict[str, float]) -> str:
    found = forked(partial(_tested, tests, known, one), _MORE * sum(known.values()) + _START)
    if found is not None and found["code"] not in (0, 1, 2):
        raise SystemExit(f"{one.place}: {found}")
    if found is None or found["code"] != 0:
        return "killed"
    return "equivalent" if one.place in EQUIVALENT else "survived"


if __name__ == "__main__":
    sys.exit(main())
