"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                        every mutant (hours)
    python tools/mutants.py --sample 300 --seed 1  300 of them, drawn at random
    python tools/mutants.py --done verdicts.txt    continue a run that wrote its verdicts there
    python tools/mutants.py --part designs         only experiments, planners, training and so on
    python tools/mutants.py --done verdicts.txt --again   try the survivors of that run again

A mutant is one file with one number, comparison, operator or function replaced. It is killed when a
test fails on it. A mutant on which no test fails has survived: a test is missing, or the mutant is
equivalent, and equivalent.toml says why.

There are two parts: files of FORMULAS, and files of DESIGNS (steps, training, worlds, experiments,
planners, judging). A mutant is tried on the test file that is named after the changed file, then on
others of its design or package that import the file; if there are none, on those in the folder that
corresponds to the file's. This ends at the first failure, or after `--most` seconds of processor.

A test that fails on a mutant, or takes `_SLOWER` times as long as it may and does so again, is run
on the shipped file. If it fails there too, or takes more than FIRST_SECONDS, it is left out from
then on. `--again` tries survivors on all test files of the design or package, and on others that
import the design or name it in a command, with tests of up to AGAIN_SECONDS.

Tests are imported once, in a process that forks itself for each mutant; the fork gives the changed
functions their new code. If a mutant changes code outside functions, the tests import it in a
process of their own. This tool is the project's own because it knows which tests belong to a file,
while the whole suite takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import resource
import select
import signal
import sys
import time
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.outcomes import OutcomeException

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/tacit")
FORMULAS = (
    "designs/*/theory.py",
    "designs/*/device.py",
    "designs/xmap/recommender.py",
    "mechanisms/*.py",
    "accounting/*.py",
)
"""Files of the part `formulas`."""
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
FIRST_SECONDS, AGAIN_SECONDS = 1.0, 30.0
"""Seconds of processor that a test may take on the shipped file: at first, and for survivors."""
MOST = 60.0
"""Seconds of processor for the tests of one mutant, by default."""
_LONGEST_RUN = 1800
"""Seconds of the clock after which a process that runs tests is stopped."""
_FAULT = 99
"""Code of a run in which this tool or pytest failed."""
NEEDS_MORE_TESTS = 98
"""Code of a run whose mutant changes more than functions, so that it must be imported."""
NO_IMPORT = 2
"""Code of a run whose tests could not be imported."""
_SLOWER = 3
"""A test is stopped after this many times the time that it may take."""
_START_SECONDS = 10.0
"""Seconds of processor that a process may take in addition to its tests."""
_PACKAGES = ["numpy", "scipy.stats", "scipy.sparse.linalg", "hypothesis", "polars", "pydantic"]
_PACKAGES += ["numba", "opendp.prelude", "sklearn.linear_model", "fastapi", "sqlalchemy"]
"""Packages that are imported once for all processes; each process imports others for itself."""
_PYTEST = ["-q", "-p", "no:cacheprovider", "-m", "not long", "--hypothesis-seed=0"]
_PYTEST.append("--assert=plain")  # pytest cannot rewrite plugins that are imported already
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
"""For each comparison, the one that replaces it."""
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
"""For each operator, the one that replaces it."""
_NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "ceil": "floor"}
"""For each name of a function that is called, the one that replaces it."""


class Mutant(NamedTuple):
    """One file with one change."""

    file: Path
    """The file, relative to ROOT."""
    place: str
    """`FILE:LINE:COLUMN: OLD -> NEW`, with the file relative to PACKAGE."""
    text: str
    """The changed text of the file."""


@cache
def list_mutants(file: Path) -> tuple[tuple[int, int], ...]:
    """List the mutants of a file: the number of a syntax node, and of a change of that node."""
    found = []
    for number, node in enumerate(ast.walk(ast.parse((ROOT / file).read_text()))):
        changes = len([*_changes(node)])
        found += [(number, change) for change in range(changes)]
    return tuple(found)


def make_mutant(file: Path, number: int, change: int) -> Mutant:
    """Make one of the mutants that `list_mutants` lists, from both of its numbers."""
    tree = ast.parse((ROOT / file).read_text())
    node = list(ast.walk(tree))[number]
    place = _place(file, node, [*_changes(node)][change])
    return Mutant(file, place, ast.unparse(tree))


@cache
def list_places(file: Path) -> tuple[str, ...]:
    """List the place of each mutant of a file, in the order of `list_mutants`."""
    nodes = list(ast.walk(ast.parse((ROOT / file).read_text())))
    found = []
    for number, change in list_mutants(file):
        copied = copy.deepcopy(nodes[number])
        found.append(_place(file, copied, [*_changes(copied)][change]))
    return tuple(found)


def _place(file: Path, node: ast.AST, change: Callable[[], str]) -> str:
    """Make a change to a node, and return the mutant's place."""
    position = f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
    return f"{file.relative_to(PACKAGE)}:{position}: {ast.unparse(node)} -> {change()}"


def read_equivalent() -> dict[str, str]:
    """Read the reasons for which mutants are equivalent, by their places."""
    reasons = {}
    for file, reasons_of_file in tomllib.loads(EQUIVALENT.read_text()).items():
        for position_and_change, reason in reasons_of_file.items():
            reasons[f"{file}:{position_and_change}"] = reason
    return reasons


def _changes(node: ast.AST) -> Iterator[Callable[[], str]]:
    """Yield functions, each of which makes one change to the node and returns its new text."""
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
    """Set a field of a node, and return the node's new text."""
    setattr(node, field, value)
    return ast.unparse(node)


def files_of_formulas() -> list[Path]:
    """List the files of the part `formulas`."""
    found = []
    for pattern in FORMULAS:
        paths = sorted((ROOT / PACKAGE).glob(pattern))
        found += [path.relative_to(ROOT) for path in paths]
    return found


def files_of_designs() -> list[Path]:
    """List the files of the part `designs`."""
    formulas = files_of_formulas()
    found = []
    for path in sorted((ROOT / PACKAGE).glob(DESIGNS)):
        file = path.relative_to(ROOT)
        if file not in formulas and LEFT_OUT.isdisjoint(file.parts):
            found.append(file)
    return found


def folder_of_tests(file: Path) -> Path:
    """Return the folder of the tests of a file's design or package."""
    folders = file.relative_to(PACKAGE).parts
    return Path("tests", *folders[: 2 if folders[0] == "designs" else 1])


def tests_of(folder: Path) -> list[str]:
    """List the test files of a folder."""
    found = sorted((ROOT / folder).rglob("test_*.py"))
    return [str(test.relative_to(ROOT)) for test in found]


@lru_cache
def tests_of_survivors(folder: Path) -> list[str]:
    """List the test files of a folder, then those elsewhere that import its design or run a command
    with its name. Those of LAST come at the end."""
    name = f'"{folder.name.replace("_", "-")}"'
    found = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if test.is_relative_to(ROOT / folder):
            continue
        text = test.read_text()
        if f"tacit.designs.{folder.name}" in text or (test.parent.name == "cli" and name in text):
            found.append(test)
    found.sort(key=lambda test: test.name in LAST)
    return tests_of(folder) + [str(test.relative_to(ROOT)) for test in found]


def tests_by_nearness(file: Path, *, again: bool) -> list[str]:
    """List the test files of a mutant, in the order in which they are tried.

    Args:
        file: The changed file.
        again: True lists those that do not import the file as well, and those of other folders.
            False lists those that import it; if there are none, those in the folder that
            corresponds to the file's.
    """
    folder = folder_of_tests(file)
    tests = tests_of_survivors(folder) if again else tests_of(folder)
    importing = [test for test in tests if imports_file(ROOT / test, file)]
    named = [test for test in importing if file.stem in Path(test).stem]
    beside = Path("tests") / file.parent.relative_to(PACKAGE)
    neighbours = [test for test in tests if Path(test).parent == beside]
    if not again:
        return list(dict.fromkeys(named + importing)) or neighbours
    return list(dict.fromkeys(named + importing + neighbours + tests))


def imports_file(test: Path, file: Path) -> bool:
    """Say whether a test file imports the module, or one of its names from a package above it."""
    module = module_name(file)
    for imported, named in _imports(test):
        if module in (imported, *(f"{imported}.{name}" for name in named)):
            return True
        if module.startswith(f"{imported}.") and named & _defined_names(file):
            return True
    return False


@cache
def _imports(test: Path) -> tuple[tuple[str, frozenset[str]], ...]:
    """List the modules that a file imports, each with the names that it takes from the module."""
    found = []
    for node in ast.walk(ast.parse(test.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, frozenset[str]()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, frozenset(alias.name for alias in node.names)))
    return tuple(found)


@cache
def _defined_names(file: Path) -> frozenset[str]:
    """Return the names of a module's functions and classes, and those that it assigns."""
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        names.add(getattr(node, "name", ""))
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(getattr(target, "id", "") for target in targets)
    return frozenset(names)


def module_name(file: Path) -> str:
    """Return the dotted name of the module in a file."""
    return ".".join(file.relative_to("src").with_suffix("").parts)


class _MutantImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant instead of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = module_name(mutant.file)

    def find_spec(
        self, name: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the mutant's module; None leaves another one to Python."""
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, ROOT / self._mutant.file, loader=self)

    def exec_module(self, module: Any) -> None:
        """Run the mutant's text as the module."""
        exec(compile(self._mutant.text, module.__file__, "exec"), module.__dict__)  # noqa: S102


class _TooLong(OutcomeException):
    """A test takes longer than it may.

    pytest keeps this outcome for a fixture as it keeps a failure. Hypothesis does not take it for a
    failing example, which it would try to make smaller.
    """


def _stop(*_signal: object) -> None:
    """End the running test, when the timer's signal arrives."""
    raise _TooLong


class RunRequest(NamedTuple):
    """Tests to run."""

    tests: Sequence[str]
    """Names of the tests, or of their files."""
    without: Sequence[str] = ()
    """Names of tests that are left out."""
    first: Sequence[str] = ()
    """Names of tests that come first, in this order."""
    most: float = MOST
    """Seconds of processor after which no other test is begun."""
    slowest: float = AGAIN_SECONDS
    """Seconds of processor after which a test, or its setup, is stopped."""


class _TestWatcher:
    """A plugin of pytest that notes the time and the failures of tests, and stops slow ones.

    A fixture that took too long for one test fails at once for the next test that needs it.
    """

    def __init__(self, slowest: float) -> None:
        """Begin with a limit in seconds of processor, for the setup and the call of each test."""
        self._slowest = slowest
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.slow: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note the seconds of a whole test."""
        started_at = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - started_at
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Limit the time of a test's setup."""
        return (yield from self._limit_time())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Limit the time of a test's call."""
        return (yield from self._limit_time())

    def _limit_time(self) -> Iterator[None]:
        """Run the hook's own work, and stop it by a timer of processor time."""
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, self._slowest)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """Report a stopped test without a traceback, since a signal may arrive outside any line."""
        stopped = call.excinfo is not None and call.excinfo.errisinstance(_TooLong)
        if not stopped or call.when == "collect":
            return None
        self.slow.append(item.nodeid)
        said = "takes longer than it may"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", said, call.when)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failed test, unless it was stopped."""
        if report.failed and report.nodeid not in self.slow:
            self.failed.append(report.nodeid)


def _run_items(session: pytest.Session, request: RunRequest, *, to_the_end: bool) -> dict[str, Any]:
    """Run collected tests, all of them or up to the first failure.

    Returns:
        As JSON holds it: `seconds` of each test, the tests that `failed`, those that were stopped
        as `slow`, and the `code`: 1 if a test failed or was stopped, otherwise 0.
    """
    watcher = _TestWatcher(request.slowest)
    session.config.pluginmanager.register(watcher)
    items = []
    for item in session.items:
        named = item.nodeid in request.tests or item.nodeid.partition("::")[0] in request.tests
        if named and item.nodeid not in request.without:
            items.append(item)
    order = {name: place for place, name in enumerate(request.first)}
    items.sort(key=lambda item: order.get(item.nodeid, len(order)))
    for item, following in zip(items, [*items[1:], None], strict=False):
        if (watcher.failed and not to_the_end) or sum(watcher.seconds.values()) >= request.most:
            break
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    found = {"seconds": watcher.seconds, "failed": watcher.failed, "slow": watcher.slow}
    return found | {"code": 1 if watcher.failed or watcher.slow else 0}


class _SingleRun:
    """A plugin that runs the tests of one request instead of pytest's own loop."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request
        self.result: dict[str, Any] = {"code": NO_IMPORT}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, unless they cannot be imported."""
        if not session.testsfailed:
            self.result = _run_items(session, self._request, to_the_end=False)
        return True


def run_importing(mutant: Mutant, request: RunRequest) -> dict[str, Any] | None:
    """Run tests that import the mutant, in a process of their own.

    Returns:
        The result as of `Workshop.run`; its code is NO_IMPORT if they cannot import the mutant.
    """
    return run_forked(partial(_import_and_test, mutant, request), _time_limit(request))


def _import_and_test(mutant: Mutant, request: RunRequest) -> dict[str, Any]:
    """Import the mutant instead of its module, and run the tests."""
    sys.path.insert(0, str(ROOT / "src"))
    _silence_output()
    sys.meta_path.insert(0, _MutantImporter(mutant))
    files = {name.partition("::")[0] for name in request.tests}
    run = _SingleRun(request)
    pytest.main([*_PYTEST, *sorted(files)], plugins=[run])
    return run.result


def run_forked(
    work: Callable[[], dict[str, Any]], most: float = _LONGEST_RUN
) -> dict[str, Any] | None:
    """Run a function in a forked process.

    Args:
        work: Returns values that JSON can hold.
        most: Seconds of processor that it may take; in addition, `_LONGEST_RUN` limits the clock.

    Returns:
        The result of `work`; None if the process died or took too long.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (round(most), round(most) + 1))
        try:
            with os.fdopen(writing, "w") as out:
                json.dump(_run_or_report_fault(work), out)
        finally:
            os._exit(0)
    os.close(writing)
    answer = _read_to_end(reading, time.monotonic() + _LONGEST_RUN)
    os.close(reading)
    os.kill(child, signal.SIGKILL)  # it has written its answer, or takes too long
    os.waitpid(child, 0)
    try:
        return dict(json.loads(answer))
    except ValueError:
        return None


def _read_to_end(pipe: int, deadline: float) -> bytes:
    """Read a pipe until its writer closes it, or until `deadline` of the monotonic clock."""
    content = b""
    while True:
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0 or not select.select([pipe], [], [], seconds_left)[0]:
            return content
        part = os.read(pipe, 1 << 16)
        if not part:
            return content
        content += part


def _run_or_report_fault(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of `work`, or the code `_FAULT` with its error.

    Such an error is of this tool or of pytest, and kills no mutant.
    """
    try:
        return work()
    except BaseException as error:
        return {"code": _FAULT, "failed": repr(error)}


def _silence_output() -> None:
    """Discard what this process prints from now on."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


class Workshop:
    """A process that has imported test files, and forks itself to run some of their tests."""

    def __init__(self, tests: list[str]) -> None:
        """Start the process, which imports these test files."""
        reading, self._requests = os.pipe()
        self._answers, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            # All other files are closed. Earlier workshops would wait for ever for requests if this
            # process held their pipes open.
            low, high = sorted((reading, writing))
            os.closerange(3, low)
            os.closerange(low + 1, high)
            os.closerange(high + 1, 4096)
            try:
                _answer_requests(tests, reading, writing)
            finally:
                os._exit(0)
        os.close(reading)
        os.close(writing)
        self._lines = os.fdopen(self._answers, "r")

    def run(self, request: RunRequest, mutant: Mutant | None = None) -> dict[str, Any] | None:
        """Run tests on a mutant up to the first failure, or all of them on the shipped file.

        Args:
            request: The tests.
            mutant: The mutant; None for the shipped file.

        Returns:
            `seconds` by name, the names that `failed`, those that were too `slow`, and the `code`:
            0 if all passed, 1 if not, NEEDS_MORE_TESTS if the mutant changes more than functions
            that are imported already. None if the tests do not end.
        """
        message = {"request": request, "mutant": mutant and [str(mutant.file), *mutant[1:]]}
        os.write(self._requests, (json.dumps(message) + "\n").encode())
        answer = self._lines.readline()
        if not answer:
            raise SystemExit("tests cannot be imported")
        result: dict[str, Any] | None = json.loads(answer)
        return result

    def end(self) -> None:
        """End the process."""
        os.close(self._requests)
        os.waitpid(self._process, 0)


def _answer_requests(tests: list[str], reading: int, writing: int) -> None:
    """Import the tests, then answer each request, a line of JSON, by a line of JSON.

    Args:
        tests: Test files.
        reading: Descriptor of the pipe of requests.
        writing: Descriptor of the pipe of answers.
    """
    sys.path.insert(0, str(ROOT / "src"))
    _silence_output()
    requests, answers = os.fdopen(reading, "r"), os.fdopen(writing, "w")

    class _Loop:
        """A plugin that answers requests instead of pytest's own loop."""

        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            """Answer each request in a forked process, unless the tests cannot be imported."""
            if session.testsfailed:
                return True
            for line in requests:
                message = json.loads(line)
                request = RunRequest(*message["request"])
                mutant = None
                if message["mutant"]:
                    file, place, text = message["mutant"]
                    mutant = Mutant(Path(file), place, text)
                result = run_forked(
                    partial(_run_changed, session, request, mutant), _time_limit(request)
                )
                print(json.dumps(result), file=answers, flush=True)
            return True

    pytest.main([*_PYTEST, *tests], plugins=[_Loop()])


def _run_changed(
    session: pytest.Session, request: RunRequest, mutant: Mutant | None
) -> dict[str, Any]:
    """Change this process's functions to a mutant's, and run tests; None runs the shipped file."""
    if mutant and not replace_functions(mutant):
        return {"code": NEEDS_MORE_TESTS}
    return _run_items(session, request, to_the_end=mutant is None)


def _time_limit(request: RunRequest) -> float:
    """Return the seconds of processor that a process may take for a request."""
    return request.most + request.slowest + _START_SECONDS


def replace_functions(mutant: Mutant) -> bool:
    """Give the mutant's code to functions that are imported already.

    Returns:
        False if the mutant changes more: code that runs when the module is imported, or a function
        that is not in memory.
    """
    path = str(ROOT / mutant.file)
    source = Path(path).read_text()
    texts = (source, ast.unparse(ast.parse(source)), mutant.text)
    changed = _changed_functions(*[compile(text, path, "exec") for text in texts])
    if not changed:
        return False
    replaced = set()
    gc.unfreeze()  # a run of tests freezes what it imported (tests/support/garbage.py)
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == path:
            key = _key(function.__code__)
            if key in changed:
                function.__code__ = changed[key]
                replaced.add(key)
    return replaced == set(changed)


def _changed_functions(
    shipped: types.CodeType, plain: types.CodeType, changed: types.CodeType
) -> dict[tuple[str, int], types.CodeType] | None:
    """Find the outermost functions that differ, with their changed code.

    Args:
        shipped: Compiled file; its functions have the names and lines of the imported ones.
        plain: The same, compiled from the text that `ast.unparse` writes, as `changed` is.
        changed: Compiled mutant.

    Returns:
        The changed code by `_key` of the shipped function; None if the body of the module or of a
        class differs.
    """
    if shipped.co_flags & inspect.CO_OPTIMIZED:  # the code of a function
        return {} if _steps(plain) == _steps(changed) else {_key(shipped): changed}
    if _own_steps(plain) != _own_steps(changed):
        return None
    functions: dict[tuple[str, int], types.CodeType] = {}
    inner_codes = zip(_inner(shipped), _inner(plain), _inner(changed), strict=True)
    for inner_shipped, inner_plain, inner_changed in inner_codes:
        inner_functions = _changed_functions(inner_shipped, inner_plain, inner_changed)
        if inner_functions is None:
            return None
        functions |= inner_functions
    return functions


def _key(code: types.CodeType) -> tuple[str, int]:
    """Return the qualified name and the first line of a function's code."""
    return code.co_qualname, code.co_firstlineno


def _inner(code: types.CodeType) -> list[types.CodeType]:
    """Return the code of functions and classes that are defined directly in some code."""
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _own_steps(code: types.CodeType) -> tuple[Any, ...]:
    """Return the instructions, names and values of some code, without the code inside it."""
    constants = [
        constant for constant in code.co_consts if not isinstance(constant, types.CodeType)
    ]
    return code.co_code, code.co_names, [repr(constant) for constant in constants]


def _steps(code: types.CodeType) -> list[tuple[Any, ...]]:
    """Return all that some code does, with the code inside it, but without numbers of lines."""
    steps = [_own_steps(code)]
    for inner in _inner(code):
        steps += _steps(inner)
    return steps


def _import_packages(names: list[str]) -> None:
    """Import other packages here, once for all processes that are forked from this one."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # then each process tries to import it
            continue


def main() -> int:
    """Try mutants and print their verdicts; the exit code is 1 if one survives."""
    parser = argparse.ArgumentParser(description="Mutation testing of the formulas and designs.")
    parser.add_argument("--sample", type=int, help="mutants of all files; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    parser.add_argument("--part", choices=("all", "formulas", "designs"), default="all")
    parser.add_argument("--most", type=float, default=MOST, help="seconds of the tests of a mutant")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after this many minutes")
    parser.add_argument("--done", type=Path, help="file of verdicts, to which more are added")
    parser.add_argument("--again", action="store_true", help="try only survivors of that file")
    options = parser.parse_args()
    os.chdir(ROOT)
    counts = Counter[str]()
    started_at = time.perf_counter()
    earlier_verdicts = read_verdicts(options.done)
    runs = Runs(options.most, options.again)
    for mutant in chosen_mutants(options.part, options.sample, options.seed, options.only):
        verdict = earlier_verdicts.get(mutant.place)
        is_due = verdict == "survived" if options.again else verdict is None
        if not is_due:
            counts[verdict or "not run"] += 1
            continue
        if time.perf_counter() - started_at > 60 * options.minutes:
            break
        verdict, killing_test = runs.verdict_of(mutant)
        counts[verdict] += 1
        line = f"{verdict:10} {mutant.place}"
        print(f"{line}  [{killing_test}]" if killing_test else line, flush=True)
        if options.done:
            with options.done.open("a") as out:
                print(line, file=out)
    runs.end()
    print(json.dumps(_summary(counts) | {"seconds": round(time.perf_counter() - started_at)}))
    return 1 if counts["survived"] else 0


class Runs:
    """Runs tests on mutants, and learns on the way what tests cost and which are left out."""

    def __init__(self, most: float, again: bool) -> None:
        """Begin without any knowledge of tests.

        Args:
            most: Seconds of processor for all tests of a mutant.
            again: Whether survivors are tried on more and slower tests.
        """
        self._most = most
        self._again = again
        self._slowest = AGAIN_SECONDS if again else FIRST_SECONDS
        # By the names of tests: their seconds, those that pass on the shipped file in time, and
        # those that do not.
        self._seconds: dict[str, float] = {}
        self._passing: set[str] = set()
        self._left_out: set[str] = set()
        self._workshops: dict[Path, Workshop] = {}  # by the folder of their tests

    def verdict_of(self, mutant: Mutant) -> tuple[str, str]:
        """Return "killed", "equivalent" or "survived", and the test that kills the mutant or ""."""
        test = self._killing_test(mutant)
        if test:
            return "killed", test
        return ("equivalent" if mutant.place in read_equivalent() else "survived"), ""

    def end(self) -> None:
        """End the processes that hold tests."""
        for workshop in self._workshops.values():
            workshop.end()

    def _killing_test(self, mutant: Mutant) -> str:
        """Find the first test that fails on the mutant only, file by file; "" if there is none."""
        seconds_left = self._most
        for file in tests_by_nearness(mutant.file, again=self._again):
            tried: set[str] = set()
            while seconds_left > 0:
                result = self._run(mutant, file, tried, seconds_left)
                if result is None:
                    return f"{file} does not end"
                if result["code"] == NO_IMPORT:
                    return f"{file} cannot be imported"
                tried |= result["seconds"].keys()
                seconds_left -= sum(result["seconds"].values())
                passing = self._passing_unchanged(mutant, result["failed"])
                # One slow test comes before the others: it is enough if the mutant does not end.
                for slow in (result["slow"][:1], result["slow"][1:]):
                    passing = passing or self._passing_unchanged(
                        mutant, self._still_slow(mutant, slow)
                    )
                if passing:
                    return passing[0]
                if not result["failed"]:
                    break
        return ""

    def _still_slow(self, mutant: Mutant, slow: list[str]) -> list[str]:
        """Run tests that took too long on a mutant twice more; return those that still do, or fail.

        The first time, machine code may have been compiled. The run with more time stores all of
        it, so that the last one measures the tests alone.
        """
        if not slow:
            return []
        self._run_request(
            mutant, RunRequest(slow, most=AGAIN_SECONDS * len(slow), slowest=AGAIN_SECONDS)
        )
        limit = _SLOWER * self._slowest
        result = self._run_request(mutant, RunRequest(slow, most=limit * len(slow), slowest=limit))
        if result is None:
            return slow
        passed = result["seconds"].keys() - {*result["failed"], *result["slow"]}
        return [name for name in slow if name not in passed]

    def _run(
        self, mutant: Mutant, file: str, tried: set[str], most: float
    ) -> dict[str, Any] | None:
        """Run the tests of a file that are not tried yet, up to the first failure.

        Tests whose seconds are known come first, the fastest of them at the beginning.
        """
        without = tried | self._left_out
        fastest_first = [name for name in self._seconds if name.startswith(f"{file}::")]
        fastest_first.sort(key=lambda name: self._seconds[name])
        request = RunRequest([file], sorted(without), fastest_first, most, _SLOWER * self._slowest)
        result = self._run_request(mutant, request)
        if result and result["code"] != NO_IMPORT:
            self._learn(result)
        return result

    def _run_request(self, mutant: Mutant, request: RunRequest) -> dict[str, Any] | None:
        """Run tests on a mutant, in a process of their own if they must import it."""
        result = self._workshop(mutant).run(request, mutant)
        if result and result["code"] == NEEDS_MORE_TESTS:
            result = run_importing(mutant, request)
        if result and result["code"] == _FAULT:
            raise SystemExit(f"{mutant.place}: {result}")
        return result

    def _learn(self, result: dict[str, Any]) -> None:
        """Note the seconds of tests that passed; leave out those that take too long."""
        for name, seconds in result["seconds"].items():
            if name not in result["failed"] and name not in result["slow"]:
                self._seconds[name] = seconds
                if seconds > self._slowest:
                    self._left_out.add(name)

    def _passing_unchanged(self, mutant: Mutant, names: list[str]) -> list[str]:
        """Return those of the tests that pass on the shipped file in time; leave out the others."""
        unknown = [name for name in names if name not in self._passing]
        if unknown:
            request = RunRequest(unknown, most=len(unknown) * self._slowest, slowest=self._slowest)
            result = self._workshop(mutant).run(request) or {
                "seconds": {},
                "failed": [],
                "slow": [],
            }
            self._learn(result)
            not_run = {*unknown} - result["seconds"].keys()
            failing = not_run | {*result["failed"], *result["slow"]}
            for name in sorted(failing):
                print(f"fails unchanged or is slow, and is left out: {name}", file=sys.stderr)
            self._left_out |= failing
            self._passing |= {*unknown} - failing
        return [name for name in names if name in self._passing]

    def _workshop(self, mutant: Mutant) -> Workshop:
        """Return the process that has imported the tests of a mutant; start it the first time."""
        folder = folder_of_tests(mutant.file)
        if folder not in self._workshops:
            _import_packages(_PACKAGES)
            tests = tests_of_survivors(folder) if self._again else tests_of(folder)
            self._workshops[folder] = Workshop(tests)
        return self._workshops[folder]


def read_verdicts(file: Path | None) -> dict[str, str]:
    """Read the last verdict that a file has for each place; nothing from no file."""
    verdicts = {}
    for line in file.read_text().splitlines() if file and file.exists() else []:
        verdict, place = line.split(maxsplit=1)
        verdicts[place] = verdict
    return verdicts


def _summary(counts: Counter[str]) -> dict[str, Any]:
    """Return the counts, and the share of mutants killed with its 95 % interval.

    The interval is that of Clopper and Pearson.
    """
    from scipy import stats

    killed, survived = counts["killed"], counts["survived"]
    verdicts = ("killed", "equivalent", "survived", "not run")
    summary: dict[str, Any] = {name: counts[name] for name in verdicts if counts[name]}
    if killed + survived == 0:
        return summary
    share = stats.binomtest(killed, killed + survived)
    low, high = share.proportion_ci(0.95)
    return summary | {"score": round(share.statistic, 4), "95 %": [round(low, 4), round(high, 4)]}


def chosen_mutants(part: str, sample: int | None, seed: int, only: str) -> Iterator[Mutant]:
    """Yield mutants: all of them file by file, or a sample in random order.

    The beginning of a random order is a sample too, so that a run may end early.

    Args:
        part: "formulas", "designs" or "all".
        sample: Number of mutants; None for all.
        seed: Seed of the random order.
        only: A text that the paths of their files contain; "" for all files.
    """
    files: list[Path] = []
    if part != "designs":
        files += [file for file in files_of_formulas() if tests_by_nearness(file, again=False)]
    if part != "formulas":
        files += files_of_designs()
    ranked = []
    for file in files:
        if only in str(file):
            for rank, numbers in zip(
                ranks(list_places(file), seed), list_mutants(file), strict=True
            ):
                ranked.append((rank, file, numbers))
    if sample is not None:
        ranked = sorted(ranked)[:sample]
    for _, file, (number, change) in ranked:
        yield make_mutant(file, number, change)


def ranks(places: Iterable[str], seed: int) -> Iterator[bytes]:
    """Draw a rank for each mutant, from its file and its change alone.

    So a mutant keeps its rank when lines move or other code changes, and a sample keeps its mutants
    that still exist.

    Args:
        places: Places of the mutants.
        seed: Seed of the ranks.
    """
    seen = Counter[str]()
    for place in places:
        file, _, _, change = place.split(":", 3)
        seen[file + change] += 1
        text = f"{seed} {file} {change} {seen[file + change]}"
        yield hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    sys.exit(main())
