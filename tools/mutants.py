"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                        every mutant (hours)
    python tools/mutants.py --sample 300 --seed 1  so many of all, drawn at random
    python tools/mutants.py --done verdicts.txt    goes on where the last run ended
    python tools/mutants.py --part designs         only experiments, planners, training and so on
    python tools/mutants.py --done verdicts.txt --again   tries the survivors of that run again

A mutant is one file with one number, comparison, operator or function replaced. Tests run on each
mutant in a process forked from one in which all other packages are imported; the quickest test
first, up to the first failure. A mutant that no test fails on has survived: a test is missing, or
the mutant is equivalent and stands in equivalent.toml with the reason. In the part `designs` the
tests are imported before the fork as well, and the mutant's functions get their changed code there;
a change outside functions is imported with the tests.

There are two parts. A file of FORMULAS is held by the quick tests near it that import it. A file of
DESIGNS (steps, training, worlds, experiments, planners, judging) is held by the test file that is
named after it, then by those of its design that import it, each test up to FIRST_SECONDS; where
there is none, it survives at first. Survivors are tried with `--again` on all tests of the design
and of the commands that name it, slow ones included. In both cases test files are gone through one
by one, near ones first, in each the cheapest test first, and of all together as far as `--most`
seconds of processor reach. A test that never calls the changed function is left out. What the tests
of a file cost and call is found out when they are first asked; `--costs` keeps it for the next run.
It is a small tool of our own, since which tests hold a file is known here, and the whole suite
takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
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
from collections.abc import Callable, Iterator
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
LAST = ("test_reproduce.py", "test_demo.py", "test_compare.py")
"""Test files of commands that run every design for minutes: a survivor is tried on them at last."""
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
"""Mutants that change nothing a test could see, and why."""
_SLOW = 2.0
"""Seconds of processor: slower tests of formulas, on the unchanged file, are left out."""
FIRST_SECONDS = 2.0
"""Seconds of processor: a test of a design that takes more is for survivors."""
MOST = 60.0
"""Seconds of processor for the tests of one mutant of the part `designs`, by default."""
_WITHIN, _FAULT, NEEDS_MORE_TESTS = 1800, 99, 98
_MORE, _START = 3, 20.0
"""A mutant whose tests need so many times the processor's time of the unchanged file, and so many
seconds more, is taken for one that does not end."""
_PACKAGES = ["numpy", "scipy.stats", "scipy.sparse.linalg", "hypothesis", "polars", "pydantic"]
_PACKAGES += ["numba", "opendp.prelude", "sklearn.linear_model", "fastapi", "sqlalchemy"]
"""Imported once for all tests of the part `designs`; what is missing is imported by each."""
_PYTEST = ["-q", "-p", "no:cacheprovider", "-m", "not long", "--hypothesis-seed=0"]
_PYTEST.append("--assert=plain")  # pytest cannot rewrite plugins that are imported already
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
    return [
        str(test.relative_to(ROOT)) for test in near.rglob("test_*.py") if imports_file(test, file)
    ]


def own_tests(design: str) -> list[str]:
    """List the test files of a design."""
    own = sorted((ROOT / "tests" / "designs" / design).rglob("test_*.py"))
    return [str(test.relative_to(ROOT)) for test in own]


def tests_of_design(design: str) -> list[str]:
    """List the test files of a design, then those of commands that name it, LAST at the end."""
    name = f'"{design.replace("_", "-")}"'
    commands = sorted((ROOT / "tests" / "cli").glob("test_*.py"))
    naming = [test for test in commands if name in test.read_text()]
    naming.sort(key=lambda test: test.name in LAST)
    return own_tests(design) + [str(test.relative_to(ROOT)) for test in naming]


def by_nearness(file: Path, *, again: bool) -> list[str]:
    """List the test files of a mutant of a design, in the order in which they are tried.

    Args:
        file: the changed file.
        again: whether those that do not import it are among them, and those of commands.
    """
    design = design_of(file)
    tests = tests_of_design(design) if again else own_tests(design)
    near = [test for test in tests if imports_file(ROOT / test, file)]
    named = [test for test in near if file.stem in Path(test).stem]
    importing = [test for test in near if test not in named]
    if not again:
        return named + importing
    return named + importing + [test for test in tests if test not in near]


def imports_file(test: Path, file: Path) -> bool:
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


def _stop(*_signal: object) -> None:
    # Without a traceback: where a signal arrives there may be no line.
    raise pytest.fail.Exception("takes longer than it may", pytrace=False)


class _InOrder:
    """Notes what each test costs, and which functions of the traced files it calls; where costs are
    known, runs only the tests that have one, in that order."""

    def __init__(
        self, known: dict[str, float], traced: list[Path], slowest: float = math.inf
    ) -> None:
        self._known = known
        self._slowest = slowest
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

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        if math.isinf(self._slowest):
            return (yield)
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, self._slowest)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def _tested(
    tests: list[str], known: dict[str, float], one: Mutant | None, traced: list[Path]
) -> dict[str, Any]:
    """Runs in a process of its own: what pytest says, what tests cost, what was imported, which
    functions of the `traced` files each test calls."""
    sys.path.insert(0, str(ROOT / "src"))
    _be_silent()
    if one is not None:
        sys.meta_path.insert(0, _Changed(one))
    plugin = _InOrder(known, traced)
    asked = [*_PYTEST, *tests]
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


def _be_silent() -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


class Held(NamedTuple):
    """Of each test on the shipped files: seconds of processor, and the functions that it calls, by
    file and first line."""

    seconds: dict[str, float]
    calls: dict[str, list[tuple[str, int]]]

    def of(self, one: Mutant, most: float = math.inf) -> dict[str, float]:
        """Choose the tests of a mutant, with their seconds: the cheapest, up to `most` in all.

        They call the changed function. Where no test is seen to call it (another process does, or
        it is compiled), they call any function of the file; where none does, they are all.
        """
        called = self.calling(one, most) or self.calling(one._replace(within=None), most)
        return called or _cheapest(self.seconds, most)

    def calling(self, one: Mutant, most: float = math.inf) -> dict[str, float]:
        """Choose as `of` does, but none where no test is seen to call the changed function.

        Of what runs when the module is imported, any test is that calls a function of the file, or
        none at all: it may read a constant.
        """
        file = str(one.file)
        calling = [name for name, calls in self.calls.items() if (file, one.within) in calls]
        if one.within is None:
            for name, calls in self.calls.items():
                if not calls or file in {called for called, _ in calls}:
                    calling.append(name)
        return _cheapest({name: self.seconds[name] for name in calling}, most)


def _cheapest(seconds: dict[str, float], most: float) -> dict[str, float]:
    chosen: dict[str, float] = {}
    left = most
    for name in sorted(seconds, key=lambda name: seconds[name]):
        left -= seconds[name]
        if left < 0 and chosen:
            break
        chosen[name] = seconds[name]
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


class Workshop:
    """A process that has imported test files, and forks itself to run some of their tests."""

    def __init__(self, tests: list[str]) -> None:
        reading, self._requests = os.pipe()
        self._answers, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            # Also those of workshops before it, which would else wait for requests for ever.
            low, high = sorted((reading, writing))
            os.closerange(3, low)
            os.closerange(low + 1, high)
            os.closerange(high + 1, 4096)
            try:
                _work(tests, reading, writing)
            finally:
                os._exit(0)
        os.close(reading)
        os.close(writing)
        self._lines = os.fdopen(self._answers, "r")

    def run(
        self,
        tests: list[str],
        one: Mutant | None,
        traced: list[Path],
        most: float,
        slowest: float = math.inf,
    ) -> dict[str, Any] | None:
        """Run tests on a mutant, up to the first failure; all of them on the shipped file.

        Args:
            tests: their names, or those of their files.
            one: the mutant; None for the shipped file.
            traced: files whose called functions are noted.
            most: seconds of processor of all.
            slowest: seconds of processor after which a test fails.

        Returns:
            What `_tested` returns; None where tests need more. The code is NEEDS_MORE_TESTS where
            the mutant changes more than functions that are imported already.
        """
        asked = {
            "tests": tests,
            "one": one and [str(one.file), *one[1:]],
            "traced": [str(file) for file in traced],
            "most": most,
            "slowest": slowest,
        }
        os.write(self._requests, (json.dumps(asked) + "\n").encode())
        answer = self._lines.readline()
        if not answer:
            raise SystemExit(f"tests cannot be imported: {' '.join(tests)[:200]}")
        found: dict[str, Any] | None = json.loads(answer)
        return found

    def end(self) -> None:
        """End the process."""
        os.close(self._requests)
        os.waitpid(self._process, 0)


def _work(tests: list[str], reading: int, writing: int) -> None:
    """Import the tests, then answer each line of requests by a line."""
    sys.path.insert(0, str(ROOT / "src"))
    _be_silent()
    requests, answers = os.fdopen(reading, "r"), os.fdopen(writing, "w")

    class _Loop:
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            for line in requests:
                asked = json.loads(line)
                found = forked(partial(_run_items, session, asked), asked["most"])
                print(json.dumps(found), file=answers, flush=True)
            return True

    pytest.main([*_PYTEST, *tests], plugins=[_Loop()])


def _run_items(session: pytest.Session, asked: dict[str, Any]) -> dict[str, Any]:
    """Run the tests of one request, in a process of its own."""
    one = asked["one"] and Mutant(Path(asked["one"][0]), *asked["one"][1:])
    if one and not replace_functions(one):
        return {"code": NEEDS_MORE_TESTS}
    plugin = _InOrder({}, [Path(file) for file in asked["traced"]], asked["slowest"])
    session.config.pluginmanager.register(plugin)
    order = {name: place for place, name in enumerate(asked["tests"])}
    items = [item for item in session.items if item.nodeid in order]
    items = items or [one for one in session.items if one.nodeid.partition("::")[0] in order]
    items.sort(key=lambda item: order.get(item.nodeid, 0))
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if one and plugin.failed:
            break
    found = {"seconds": plugin.seconds, "failed": plugin.failed, "calls": plugin.calls}
    return found | {"code": 1 if plugin.failed else 0}


def replace_functions(one: Mutant) -> bool:
    """Give functions that are imported already the mutant's code.

    Returns:
        False where the mutant changes more than them: what runs when the module is imported.
    """
    path = str(ROOT / one.file)
    source = Path(path).read_text()
    texts = (source, ast.unparse(ast.parse(source)), one.text)
    changed = _changed_functions(*[compile(text, path, "exec") for text in texts])
    if not changed:
        return False
    replaced = set()
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and found.__code__.co_filename == path:
            key = _key(found.__code__)
            if key in changed:
                found.__code__ = changed[key]
                replaced.add(key)
    return replaced == set(changed)


def _changed_functions(
    shipped: types.CodeType, plain: types.CodeType, changed: types.CodeType
) -> dict[tuple[str, int], types.CodeType] | None:
    """Find the outermost functions that differ, with their changed code.

    Args:
        shipped: of the file; its functions have the names and lines of those that are imported.
        plain: of the same, written as `changed` is.
        changed: of the mutant.

    Returns:
        None where the body of the module or of a class differs.
    """
    if shipped.co_flags & inspect.CO_OPTIMIZED:
        return {} if _steps(plain) == _steps(changed) else {_key(shipped): changed}
    if _own_steps(plain) != _own_steps(changed):
        return None
    found: dict[tuple[str, int], types.CodeType] = {}
    inner = zip(_inner(shipped), _inner(plain), _inner(changed), strict=True)
    for three in inner:
        functions = _changed_functions(*three)
        if functions is None:
            return None
        found |= functions
    return found


def _key(code: types.CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [one for one in code.co_consts if isinstance(one, types.CodeType)]


def _own_steps(code: types.CodeType) -> tuple[Any, ...]:
    values = [repr(one) for one in code.co_consts if not isinstance(one, types.CodeType)]
    return code.co_code, code.co_names, values


def _steps(code: types.CodeType) -> list[tuple[Any, ...]]:
    """What code does, without the lines that it stands on."""
    steps = [_own_steps(code)]
    for inner in _inner(code):
        steps += _steps(inner)
    return steps


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
        verdict = runs.verdict_of(one, pattern)
        counts[verdict] += 1
        print(line := f"{verdict:10} {one.place}", flush=True)
        if given.done:
            with given.done.open("a") as out:
                print(line, file=out)
    runs.end()
    print(json.dumps(_summary(counts) | {"seconds": round(time.perf_counter() - began)}))
    return 1 if counts["survived"] else 0


class _Runs:
    """Runs tests on mutants; what tests cost and call on the shipped files is found out once."""

    def __init__(self, most: float, costs: Path | None, again: bool) -> None:
        self._most = most
        self._file_of_costs = costs
        self._again = again
        self._formulas: dict[Path, Held] = {}
        self._costs = read_costs(costs)
        self._workshops: dict[str, Workshop] = {}
        _import_packages(_PACKAGES)

    def verdict_of(self, one: Mutant, pattern: str) -> str:
        """Say whether a test kills the mutant."""
        if pattern == DESIGNS:
            killed = self._is_killed_by_design(one)
        else:
            tests = tests_of_formula(pattern, one.file)
            if one.file not in self._formulas:
                self._formulas[one.file] = held(tests, one.file)
            killed = _is_killed(one, tests, self._formulas[one.file].of(one))
        if killed:
            return "killed"
        return "equivalent" if one.place in equivalent() else "survived"

    def end(self) -> None:
        """End the processes that hold tests."""
        for workshop in self._workshops.values():
            workshop.end()

    def _is_killed_by_design(self, one: Mutant) -> bool:
        """File by file. With `--again` tests import the mutant: it is the surer way, and dear."""
        design, left = design_of(one.file), self._most
        for test in by_nearness(one.file, again=self._again):
            if left <= 0:
                break
            known = self._held(design, test).calling(one, left)
            if not known:
                continue
            left -= sum(known.values())
            found: dict[str, Any] | None = {"code": NEEDS_MORE_TESTS}
            if not self._again:
                found = self._workshop(design).run([*known], one, [], _limit(known))
            if found is not None and found["code"] == NEEDS_MORE_TESTS:
                if _is_killed(one, [test], known):
                    return True
            elif found is None or found["code"] != 0:
                return True
        return False

    def _held(self, design: str, test: str) -> Held:
        """Return what the tests of a file cost and call."""
        key = f"{test}, slow ones too" if self._again else test
        if key not in self._costs:
            traced = [file for file in files_of_designs() if design_of(file) == design]
            slowest = math.inf if self._again else FIRST_SECONDS
            found = self._workshop(design).run([test], None, traced, 36_000, slowest)
            self._costs[key] = _passed(test, found)
            if self._file_of_costs:
                write_costs(self._file_of_costs, self._costs)
        return self._costs[key]

    def _workshop(self, design: str) -> Workshop:
        if design not in self._workshops:
            tests = tests_of_design(design) if self._again else own_tests(design)
            self._workshops[design] = Workshop(tests)
        return self._workshops[design]


def _passed(test: str, found: dict[str, Any] | None) -> Held:
    """Leave out the tests of a file that fail on the shipped files, or are too slow."""
    if found is None or "seconds" not in found:
        print(f"left out: {test}: {(found or {}).get('failed', 'no end')}", file=sys.stderr)
        return Held({}, {})
    for name in found["failed"]:
        print(f"fails unchanged or is slow, and is left out: {name}", file=sys.stderr)
    passed = {name: cost for name, cost in found["seconds"].items() if name not in found["failed"]}
    calls = {name: called for name, called in found["calls"].items() if name in passed}
    return Held(passed, _pairs(calls))


def read_costs(file: Path | None) -> dict[str, Held]:
    """Read what `write_costs` wrote. Empty where there is no such file yet."""
    if file is None or not file.exists():
        return {}
    costs = json.loads(file.read_text())
    return {name: Held(one["seconds"], _pairs(one["calls"])) for name, one in costs.items()}


def write_costs(file: Path, costs: dict[str, Held]) -> None:
    """Keep what the tests of each file cost and call."""
    file.write_text(json.dumps({name: one._asdict() for name, one in costs.items()}))


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


def _is_killed(one: Mutant, tests: list[str], known: dict[str, float]) -> bool:
    """Let tests import the mutant, in a process of their own."""
    found = forked(partial(_tested, tests, known, one, []), _limit(known))
    if found is not None and found["code"] not in (0, 1, 2):
        raise SystemExit(f"{one.place}: {found}")
    return found is None or found["code"] != 0


def _limit(known: dict[str, float]) -> float:
    return _MORE * sum(known.values()) + _START


if __name__ == "__main__":
    sys.exit(main())
