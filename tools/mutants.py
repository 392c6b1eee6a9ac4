"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                        every mutant (hours)
    python tools/mutants.py --sample 300 --seed 1  so many of all, drawn at random
    python tools/mutants.py --done verdicts.txt    goes on where the last run ended
    python tools/mutants.py --part designs         only experiments, planners, training and so on
    python tools/mutants.py --done verdicts.txt --again   tries the survivors of that run again

A mutant is one file with one number, comparison, operator or function replaced. Tests run on each
mutant in a process forked from one in which all other packages are imported; the quickest test
first, up to the first failure. A mutant that no test fails on has survived: a test is missing, or
the mutant is equivalent and stands in equivalent.toml with the reason.

There are two parts. A file of FORMULAS is held by the quick tests near it that import it. A file of
DESIGNS (steps, training, worlds, experiments, planners, judging) is held by all tests of its design
and of the commands that name the design, slow ones included: those of files that import the changed
one first, then the others, the cheapest first in both, as far as `--most` seconds of processor
reach. Files of FOR_SURVIVORS, which run all designs for minutes, are tried with `--again` alone.
In both parts, a test that never calls the changed function is left out. What tests cost and call
is found out once for each design; `--costs` keeps it in a file for the next run.
It is a small tool of our own, since which tests hold a file is known here, and the whole suite
takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import resource
import select
import signal
import sys
import threading
import time
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Container, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/tacit")
FORMULAS: dict[str, str] = {
    "designs/*/theory.py": "tests/designs/{design}",
    "designs/*/device.py": "tests/designs/{design}",
    "designs/xmap/recommender.py": "tests/designs/xmap",
    "mechanisms/*.py": "tests/mechanisms",
    "accounting/*.py": "tests/accounting",
}
"""Files of the part `formulas`, and where the tests lie that hold them."""
DESIGNS = "designs/*/**/*.py"
"""Files of the part `designs`, but those of FORMULAS and these:"""
LEFT_OUT = frozenset(
    {"design.py", "commands.py", "settings.py", "guarantees.py", "messages.py", "files.py"}
    | {"audit", "audit.py", "serve", "serve.py"}
)
"""Files and folders of a design whose texts, declarations and bytes other tests compare whole."""
FOR_SURVIVORS = frozenset({"test_reproduce.py", "test_demo.py", "test_compare.py"})
"""Test files of commands that run every design: only mutants that survive all others reach them."""
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
"""Mutants that change nothing a test could see, and why."""
_SLOW = 2.0
"""Seconds of processor: slower tests of formulas, on the unchanged file, are left out."""
MOST = 60.0
"""Seconds of processor for the tests of one mutant of the part `designs`, by default."""
_WITHIN, _FAULT = 1800, 99
_MORE, _START = 3, 20.0
"""A mutant whose tests need so many times the processor's time of the unchanged file, and so many
seconds more, is taken for one that does not end."""
_PACKAGES = ["numpy", "scipy.stats", "scipy.sparse.linalg", "hypothesis", "polars", "pydantic"]
_PACKAGES += ["numba", "opendp.prelude", "sklearn.linear_model", "fastapi", "sqlalchemy"]
"""Imported once for all tests of the part `designs`; what is missing is imported by each."""
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
    """place: `file:line:column: change`. text: the file. within: its function's first line."""

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
    place = _place(file, node, [*_changes(node)][change])
    return Mutant(file, place, ast.unparse(tree), _function_at(tree, getattr(node, "lineno", 0)))


def named(file: Path) -> Iterator[str]:
    """The place of each mutant of a file."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        for change in range(len([*_changes(node)])):
            copied = copy.deepcopy(node)
            yield _place(file, copied, [*_changes(copied)][change])


def _place(file: Path, node: ast.AST, change: Callable[[], str]) -> str:
    at = f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
    return f"{file.relative_to(PACKAGE)}:{at}: {ast.unparse(node)} -> {change()}"


def equivalent() -> dict[str, str]:
    """Reasons by place."""
    files = tomllib.loads(EQUIVALENT.read_text())
    return {f"{file}:{at}": why for file, one in files.items() for at, why in one.items()}


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


def files_of_formulas() -> list[tuple[str, Path]]:
    """List the files of the part `formulas`, each with the pattern that names it."""
    found = []
    for pattern in FORMULAS:
        paths = sorted((ROOT / PACKAGE).glob(pattern))
        found += [(pattern, path.relative_to(ROOT)) for path in paths]
    return found


def files_of_designs() -> list[Path]:
    """List the files of the part `designs`."""
    formulas = {file for _, file in files_of_formulas()}
    found = []
    for path in sorted((ROOT / PACKAGE).glob(DESIGNS)):
        file = path.relative_to(ROOT)
        if file not in formulas and LEFT_OUT.isdisjoint(file.parts):
            found.append(file)
    return found


def design_of(file: Path) -> str:
    """Name the design's folder that a file lies in."""
    return file.relative_to(PACKAGE / "designs").parts[0]


def tests_of_formula(pattern: str, file: Path) -> list[str]:
    """List the test files near this file that import it, or what it defines."""
    near = ROOT / FORMULAS[pattern].format(design=file.parent.name)
    return [str(test.relative_to(ROOT)) for test in near.rglob("test_*.py") if _holds(test, file)]


def tests_of_design(design: str) -> list[str]:
    """List the test files of a design, and those of commands that name it."""
    own = sorted((ROOT / "tests" / "designs" / design).rglob("test_*.py"))
    commands = [test for test in _commands_naming(design) if test.name not in FOR_SURVIVORS]
    return [str(test.relative_to(ROOT)) for test in (*own, *commands)]


def tests_for_survivors(design: str) -> list[str]:
    """List the files of FOR_SURVIVORS that name a design."""
    commands = [test for test in _commands_naming(design) if test.name in FOR_SURVIVORS]
    return [str(test.relative_to(ROOT)) for test in commands]


def _commands_naming(design: str) -> list[Path]:
    name = f'"{design.replace("_", "-")}"'
    commands = sorted((ROOT / "tests" / "cli").glob("test_*.py"))
    return [test for test in commands if name in test.read_text()]


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


class _InOrder:
    """Notes what each test costs, and which functions of the traced files it calls; where costs are
    known, runs only the tests that have one, in that order."""

    def __init__(self, known: dict[str, float], traced: list[Path]) -> None:
        self._known = known
        self._traced = {str(ROOT / file): str(file) for file in traced}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.calls: dict[str, list[tuple[str, int]]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._known:
            order = {name: place for place, name in enumerate(self._known)}
            chosen = [item for item in items if item.nodeid in order]
            items[:] = sorted(chosen, key=lambda item: order[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began, called = time.process_time(), set[tuple[str, int]]()

        def trace(frame: types.FrameType, _event: str, _argument: object) -> None:
            file = self._traced.get(frame.f_code.co_filename)
            if file is not None:
                called.add((file, frame.f_code.co_firstlineno))

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
    tests: list[str], known: dict[str, float], one: Mutant | None, traced: list[Path]
) -> dict[str, Any]:
    """Runs in a process of its own: what pytest says, what tests cost, what was imported, which
    functions of the `traced` files each test calls."""
    sys.path.insert(0, str(ROOT / "src"))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if one is not None:
        sys.meta_path.insert(0, _Changed(one))
    plugin = _InOrder(known, traced)
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
    """Of each test on the shipped files: seconds of processor, and the functions that it calls, by
    file and first line."""

    seconds: dict[str, float]
    calls: dict[str, list[tuple[str, int]]]

    def of(
        self, one: Mutant, most: float = math.inf, near: Container[str] = ()
    ) -> dict[str, float]:
        """Choose the tests of a mutant, with their seconds, up to `most` in all.

        They call the changed function. Where no test is seen to call it (another process does, or
        it is compiled), they call any function of the file; where none does, they are all. Those of
        the files in `near` come first, and the cheapest of them.
        """
        file = str(one.file)
        calling = [name for name, calls in self.calls.items() if (file, one.within) in calls]
        if not calling:
            calling = [name for name, calls in self.calls.items() if file in {f for f, _ in calls}]
        chosen: dict[str, float] = {}
        left = most

        def far_and_dear(name: str) -> tuple[bool, float]:
            return name.partition("::")[0] not in near, self.seconds[name]

        for name in sorted(calling or self.seconds, key=far_and_dear):
            left -= self.seconds[name]
            if left < 0 and chosen:
                break
            chosen[name] = self.seconds[name]
        return chosen


def held(tests: list[str], file: Path) -> Held:
    """Run the tests of a formula on the shipped file, and leave out slow ones."""
    found = forked(partial(_tested, tests, {}, None, []))
    if found is None or found["code"] not in (0, 5):
        raise SystemExit(f"{' '.join(tests)}: {(found or {}).get('failed', 'no end')} unchanged")
    _import_packages(found["others"])
    seconds = {name: cost for name, cost in found["seconds"].items() if cost < _SLOW}
    called = forked(partial(_tested, tests, seconds, None, [file])) or {}
    return Held(seconds, _pairs(called.get("calls", {})))


def held_by_design(design: str, tests: list[str]) -> Held:
    """Run tests of a design on the shipped files; those that fail unchanged are left out."""
    traced = [file for file in files_of_designs() if design_of(file) == design]
    found = forked(partial(_tested, tests, {}, None, traced), most=36_000)
    if found is None or found["code"] not in (0, 1):
        raise SystemExit(f"{design}: {(found or {}).get('failed', 'no end')} unchanged")
    for name in found["failed"]:
        print(f"fails unchanged and is left out: {name}", file=sys.stderr)
    passed = {name: cost for name, cost in found["seconds"].items() if name not in found["failed"]}
    calls = {name: called for name, called in found["calls"].items() if name in passed}
    return Held(passed, _pairs(calls))


def _pairs(calls: dict[str, list[list[Any]]]) -> dict[str, list[tuple[str, int]]]:
    """Make JSON's lists of two entries pairs again."""
    return {name: [(file, line) for file, line in called] for name, called in calls.items()}


def _import_packages(names: list[str]) -> None:
    """Import other packages here, once for all processes that are forked from this one."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # then each process imports it for itself
            continue


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the formulas and designs.")
    parser.add_argument("--sample", type=int, help="mutants of all files; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path holds this")
    parser.add_argument("--part", choices=("all", "formulas", "designs"), default="all")
    parser.add_argument("--most", type=float, default=MOST, help="seconds of a mutant of a design")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many")
    parser.add_argument("--done", type=Path, help="verdicts so far; more are written to it")
    parser.add_argument("--again", action="store_true", help="run those that survived again")
    parser.add_argument("--costs", type=Path, help="what tests of designs cost and call; is kept")
    given = parser.parse_args()
    os.chdir(ROOT)
    counts, began = Counter[str](), time.perf_counter()
    done = read_verdicts(given.done)
    runs = _Runs(given.most, given.costs, given.again)
    for one, pattern in _chosen(given.part, given.sample, given.seed, given.only):
        verdict = done.get(one.place)
        wanted = verdict == "survived" if given.again else verdict is None
        if not wanted:
            counts[verdict or "not run"] += 1
            continue
        if time.perf_counter() - began > 60 * given.minutes:
            break
        verdict = _verdict(one, *runs.tests_of(one, pattern))
        counts[verdict] += 1
        print(line := f"{verdict:10} {one.place}", flush=True)
        if given.done:
            with given.done.open("a") as out:
                print(line, file=out)
    print(json.dumps(_summary(counts) | {"seconds": round(time.perf_counter() - began)}))
    return 1 if counts["survived"] else 0


class _Runs:
    """What tests cost and call on the shipped files, found out when first asked."""

    def __init__(self, most: float, costs: Path | None, again: bool) -> None:
        self._most = most
        self._costs = costs
        self._again = again
        self._formulas: dict[Path, Held] = {}
        self._designs: dict[str, Held] = read_costs(costs)
        _import_packages(_PACKAGES)

    def tests_of(self, one: Mutant, pattern: str) -> tuple[list[str], dict[str, float]]:
        """Return test files, and the tests in them that run on this mutant with their seconds."""
        if pattern == DESIGNS:
            design = design_of(one.file)
            tests = tests_of_design(design)
            near = [test for test in tests if _holds(ROOT / test, one.file)]
            known = self._held(design, design, tests).of(one, self._most, near)
            if self._again:
                later = tests_for_survivors(design)
                known |= self._held(f"{design}, for survivors", design, later).of(one)
            return sorted({name.partition("::")[0] for name in known}), known
        tests = tests_of_formula(pattern, one.file)
        if one.file not in self._formulas:
            self._formulas[one.file] = held(tests, one.file)
        return tests, self._formulas[one.file].of(one)

    def _held(self, group: str, design: str, tests: list[str]) -> Held:
        if group not in self._designs:
            self._designs[group] = held_by_design(design, tests) if tests else Held({}, {})
            if self._costs:
                write_costs(self._costs, self._designs)
        return self._designs[group]


def read_costs(file: Path | None) -> dict[str, Held]:
    """Read what `write_costs` wrote. Empty where there is no such file yet."""
    if file is None or not file.exists():
        return {}
    groups = json.loads(file.read_text())
    return {name: Held(one["seconds"], _pairs(one["calls"])) for name, one in groups.items()}


def write_costs(file: Path, groups: dict[str, Held]) -> None:
    """Keep what tests of each group cost and call."""
    file.write_text(json.dumps({name: one._asdict() for name, one in groups.items()}))


def read_verdicts(file: Path | None) -> dict[str, str]:
    """Read the verdict of each place in the file: the last one written."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    found = (line.split(maxsplit=1) for line in lines)
    return {place: verdict for verdict, place in found}


def _summary(counts: Counter[str]) -> dict[str, Any]:
    """Counts, and the share of mutants killed with its interval of 95 % (Clopper and Pearson)."""
    from scipy import stats

    killed, survived = counts["killed"], counts["survived"]
    verdicts = ("killed", "equivalent", "survived", "not run")
    found: dict[str, Any] = {name: counts[name] for name in verdicts if counts[name]}
    if killed + survived == 0:
        return found
    share = stats.binomtest(killed, killed + survived)
    low, high = share.proportion_ci(0.95)
    return found | {"score": round(share.statistic, 4), "95 %": [round(low, 4), round(high, 4)]}


def _chosen(part: str, sample: int | None, seed: int, only: str) -> Iterator[tuple[Mutant, str]]:
    """Mutants with the pattern that names their file, in an order drawn at random where they are a
    sample, so that any first part of it is a sample, too."""
    files: list[tuple[str, Path]] = []
    if part != "designs":
        files += [each for each in files_of_formulas() if tests_of_formula(*each)]
    if part != "formulas":
        files += [(DESIGNS, file) for file in files_of_designs()]
    every = []
    for pattern, file in files:
        if only in str(file):
            every += [(pattern, file, place) for place in places(file)]
    if sample is not None:
        draw = random.Random(seed)  # noqa: S311  # which mutants are run is no secret
        every = draw.sample(every, min(sample, len(every)))
    for pattern, file, place in every:
        yield mutant(file, *place), pattern


def _verdict(one: Mutant, tests: list[str], known: dict[str, float]) -> str:
    work = partial(_tested, tests, known, one, [])
    found = forked(work, _MORE * sum(known.values()) + _START)
    if found is not None and found["code"] not in (0, 1, 2):
        raise SystemExit(f"{one.place}: {found}")
    if found is None or found["code"] != 0:
        return "killed"
    return "equivalent" if one.place in equivalent() else "survived"


if __name__ == "__main__":
    sys.exit(main())
