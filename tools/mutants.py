"""Change one thing in the formulas at a time and see whether a test notices: mutation testing.

    python tools/mutants.py                        every mutant (hours)
    python tools/mutants.py --sample 300 --seed 1  so many of all, drawn at random
    python tools/mutants.py --done verdicts.txt    goes on where the last run ended
    python tools/mutants.py --part designs         only experiments, planners, training and so on
    python tools/mutants.py --done verdicts.txt --again   tries the survivors of that run again

A mutant is one file with one number, comparison, operator or function replaced. It is killed when a
test fails on it. A mutant that no test fails on has survived: a test is missing, or the mutant is
equivalent and stands in equivalent.toml with the reason.

There are two parts: files of FORMULAS, and files of DESIGNS (steps, training, worlds, experiments,
planners, judging). The test file that is named after the changed file is tried first, then others
of its design or package that import it, or all in the folder beside it where none does, up to the
first failure, and of all together as far as `--most` seconds of processor reach. A test that fails,
or takes _MORE times as long as it may and does so again, is run on the shipped file: where it fails
there too, or takes more than FIRST_SECONDS, it is left out from then on. `--again` tries survivors
on all test files of the design or package, and on others that import it or name it in a command,
with tests of up to AGAIN_SECONDS.

Tests are imported once, in a process that forks itself for each mutant; there the changed functions
get their new code. A change outside functions is imported with the tests in a process of its own.
It is a small tool of our own, since which tests hold a file is known here, and the whole suite
takes minutes.
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
from functools import lru_cache, partial
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
_WITHIN, _FAULT, NEEDS_MORE_TESTS, NO_IMPORT = 1800, 99, 98, 2
_MORE, _START = 3, 10.0
"""A test that takes so many times what it may, and tests that take so many seconds more than all of
them may, are stopped."""
_PACKAGES = ["numpy", "scipy.stats", "scipy.sparse.linalg", "hypothesis", "polars", "pydantic"]
_PACKAGES += ["numba", "opendp.prelude", "sklearn.linear_model", "fastapi", "sqlalchemy"]
"""Imported once for all tests; what is missing is imported by each."""
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
_NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "ceil": "floor"}


class Mutant(NamedTuple):
    """place: `file:line:column: change`. text: the changed file."""

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
    place = _place(file, node, [*_changes(node)][change])
    return Mutant(file, place, ast.unparse(tree))


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
    """Name the folder of the tests that lie near a file: of its design, or of its package."""
    folders = file.relative_to(PACKAGE).parts
    return Path("tests", *folders[: 2 if folders[0] == "designs" else 1])


def tests_of(folder: Path) -> list[str]:
    """List the test files of a folder."""
    found = sorted((ROOT / folder).rglob("test_*.py"))
    return [str(test.relative_to(ROOT)) for test in found]


@lru_cache
def tests_of_survivors(folder: Path) -> list[str]:
    """List the test files of a folder, then those elsewhere that import its design or whose command
    names it, LAST at the end."""
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


def by_nearness(file: Path, *, again: bool) -> list[str]:
    """List the test files of a mutant, in the order in which they are tried.

    Args:
        file: the changed file.
        again: whether those that do not import it are among them, and those elsewhere. Else there
            are such ones only where none imports it: those in the folder beside the file.
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
    """Whether a test file imports the module, or what it defines from a package above it."""
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


class _TooLong(OutcomeException):
    """A test takes longer than it may. Fixtures keep it as their result; Hypothesis lets it pass,
    where it would take pytest's own failure for an example to make smaller."""


def _stop(*_signal: object) -> None:
    raise _TooLong


class Asked(NamedTuple):
    """Tests to run.

    tests: their names, or those of their files.
    without: names of tests that are left out.
    first: names of tests that come first, in this order.
    most: seconds of processor after which no other test is begun.
    slowest: seconds of processor after which a test is stopped, and before it what it is given.
    """

    tests: Sequence[str]
    without: Sequence[str] = ()
    first: Sequence[str] = ()
    most: float = MOST
    slowest: float = AGAIN_SECONDS


class _Watched:
    """Notes what each test costs and which fail, and stops those that take too long. What takes too
    long to be given to one test is not made again for the next."""

    def __init__(self, slowest: float) -> None:
        self._slowest = slowest
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.slow: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = time.process_time()
        found = yield
        self.seconds[item.nodeid] = time.process_time() - began
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        return (yield from self._limited())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        return (yield from self._limited())

    def _limited(self) -> Iterator[None]:
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
        """Report what took too long without a traceback: where a signal arrives, there may be no
        line."""
        stopped = call.excinfo is not None and call.excinfo.errisinstance(_TooLong)
        if not stopped or call.when == "collect":
            return None
        self.slow.append(item.nodeid)
        said = "takes longer than it may"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", said, call.when)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.slow:
            self.failed.append(report.nodeid)


def _run_items(session: pytest.Session, asked: Asked, *, to_the_end: bool) -> dict[str, Any]:
    """Run tests that are collected, all of them or up to the first failure.

    Returns:
        The seconds of each, those that failed, those that were stopped, and the code 0 or 1.
    """
    watched = _Watched(asked.slowest)
    session.config.pluginmanager.register(watched)
    items = []
    for item in session.items:
        named = item.nodeid in asked.tests or item.nodeid.partition("::")[0] in asked.tests
        if named and item.nodeid not in asked.without:
            items.append(item)
    order = {name: place for place, name in enumerate(asked.first)}
    items.sort(key=lambda item: order.get(item.nodeid, len(order)))
    for item, following in zip(items, [*items[1:], None], strict=False):
        if (watched.failed and not to_the_end) or sum(watched.seconds.values()) >= asked.most:
            break
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    found = {"seconds": watched.seconds, "failed": watched.failed, "slow": watched.slow}
    return found | {"code": 1 if watched.failed or watched.slow else 0}


class _Once:
    """Runs tests in the place of pytest's loop."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.found: dict[str, Any] = {"code": NO_IMPORT}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self.found = _run_items(session, self._asked, to_the_end=False)
        return True


def run_importing(one: Mutant, asked: Asked) -> dict[str, Any] | None:
    """Let tests import the mutant, in a process of their own.

    Returns:
        What `Workshop.run` returns; the code is NO_IMPORT where they cannot import it.
    """
    return forked(partial(_tested, one, asked), _limit(asked))


def _tested(one: Mutant, asked: Asked) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT / "src"))
    _be_silent()
    sys.meta_path.insert(0, _Changed(one))
    files = {name.partition("::")[0] for name in asked.tests}
    once = _Once(asked)
    pytest.main([*_PYTEST, *sorted(files)], plugins=[once])
    return once.found


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
    except BaseException as error:  # of this tool or of pytest: no mutant is killed by it
        return {"code": _FAULT, "failed": repr(error)}


def _be_silent() -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


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

    def run(self, asked: Asked, one: Mutant | None = None) -> dict[str, Any] | None:
        """Run tests on a mutant up to the first failure, or on the shipped file to the end.

        Returns:
            `seconds` by name, the names that `failed`, those that were too `slow`, and the `code`:
            0 where all passed, 1, or NEEDS_MORE_TESTS where the mutant changes more than functions
            that are imported already. None where the tests do not end.
        """
        request = {"asked": asked, "one": one and [str(one.file), *one[1:]]}
        os.write(self._requests, (json.dumps(request) + "\n").encode())
        answer = self._lines.readline()
        if not answer:
            raise SystemExit("tests cannot be imported")
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
            if session.testsfailed:
                return True
            for line in requests:
                request = json.loads(line)
                asked = Asked(*request["asked"])
                one = request["one"] and Mutant(Path(request["one"][0]), *request["one"][1:])
                found = forked(partial(_run_changed, session, asked, one), _limit(asked))
                print(json.dumps(found), file=answers, flush=True)
            return True

    pytest.main([*_PYTEST, *tests], plugins=[_Loop()])


def _run_changed(session: pytest.Session, asked: Asked, one: Mutant | None) -> dict[str, Any]:
    if one and not replace_functions(one):
        return {"code": NEEDS_MORE_TESTS}
    return _run_items(session, asked, to_the_end=one is None)


def _limit(asked: Asked) -> float:
    return asked.most + asked.slowest + _START


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
    parser.add_argument("--most", type=float, default=MOST, help="seconds of the tests of a mutant")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many")
    parser.add_argument("--done", type=Path, help="verdicts so far; more are written to it")
    parser.add_argument("--again", action="store_true", help="run those that survived again")
    given = parser.parse_args()
    os.chdir(ROOT)
    counts, began = Counter[str](), time.perf_counter()
    done = read_verdicts(given.done)
    runs = Runs(given.most, given.again)
    for one in chosen_mutants(given.part, given.sample, given.seed, given.only):
        verdict = done.get(one.place)
        wanted = verdict == "survived" if given.again else verdict is None
        if not wanted:
            counts[verdict or "not run"] += 1
            continue
        if time.perf_counter() - began > 60 * given.minutes:
            break
        verdict, test = runs.verdict_of(one)
        counts[verdict] += 1
        line = f"{verdict:10} {one.place}"
        by = f"  [{test}]" if test else ""
        print(line + by, flush=True)
        if given.done:
            with given.done.open("a") as out:
                print(line, file=out)
    runs.end()
    print(json.dumps(_summary(counts) | {"seconds": round(time.perf_counter() - began)}))
    return 1 if counts["survived"] else 0


class Runs:
    """Runs tests on mutants, and learns on the way what tests cost and which are left out."""

    def __init__(self, most: float, again: bool) -> None:
        self._most = most
        self._again = again
        self._slowest = AGAIN_SECONDS if again else FIRST_SECONDS
        self._seconds: dict[str, float] = {}
        self._passing: set[str] = set()
        self._left_out: set[str] = set()
        self._workshops: dict[Path, Workshop] = {}

    def verdict_of(self, one: Mutant) -> tuple[str, str]:
        """Say whether a test kills the mutant, and which."""
        test = self._killing_test(one)
        if test:
            return "killed", test
        return ("equivalent" if one.place in equivalent() else "survived"), ""

    def end(self) -> None:
        """End the processes that hold tests."""
        for workshop in self._workshops.values():
            workshop.end()

    def _killing_test(self, one: Mutant) -> str:
        """Find the first test that fails on the mutant, file by file. Empty where there is none."""
        left = self._most
        for file in by_nearness(one.file, again=self._again):
            tried: set[str] = set()
            while left > 0:
                found = self._run(one, file, tried, left)
                if found is None:
                    return f"{file} does not end"
                if found["code"] == NO_IMPORT:
                    return f"{file} cannot be imported"
                tried |= found["seconds"].keys()
                left -= sum(found["seconds"].values())
                slow = self._slow_again(one, found["slow"])
                passing = self._passing_unchanged(one, found["failed"] + slow)
                if passing:
                    return passing[0]
                if not found["failed"]:
                    break
        return ""

    def _slow_again(self, one: Mutant, slow: list[str]) -> list[str]:
        """Run tests that took too long on a mutant again, and choose those that still do, or fail.

        The first time, machine code may have been compiled. A run with more time stores all of it,
        so that the last one measures the tests alone.
        """
        if not slow:
            return []
        self._run_asked(one, Asked(slow, most=AGAIN_SECONDS * len(slow), slowest=AGAIN_SECONDS))
        limit = _MORE * self._slowest
        found = self._run_asked(one, Asked(slow, most=limit * len(slow), slowest=limit))
        if found is None:
            return slow
        passed = found["seconds"].keys() - {*found["failed"], *found["slow"]}
        return [name for name in slow if name not in passed]

    def _run(self, one: Mutant, file: str, tried: set[str], most: float) -> dict[str, Any] | None:
        """Run the tests of a file that are not tried yet, up to the first failure."""
        without = tried | self._left_out
        known = [name for name in self._seconds if name.startswith(f"{file}::")]
        known.sort(key=lambda name: self._seconds[name])
        asked = Asked([file], sorted(without), known, most, _MORE * self._slowest)
        found = self._run_asked(one, asked)
        if found and found["code"] != NO_IMPORT:
            self._learn(found)
        return found

    def _run_asked(self, one: Mutant, asked: Asked) -> dict[str, Any] | None:
        """Run tests on a mutant, in a process of their own where its module must be imported."""
        found = self._workshop(one).run(asked, one)
        if found and found["code"] == NEEDS_MORE_TESTS:
            found = run_importing(one, asked)
        if found and found["code"] == _FAULT:
            raise SystemExit(f"{one.place}: {found}")
        return found

    def _learn(self, found: dict[str, Any]) -> None:
        """Note what tests cost that passed, and leave out slow ones."""
        for name, cost in found["seconds"].items():
            if name not in found["failed"] and name not in found["slow"]:
                self._seconds[name] = cost
                if cost > self._slowest:
                    self._left_out.add(name)

    def _passing_unchanged(self, one: Mutant, names: list[str]) -> list[str]:
        """Choose the tests that pass on the shipped file in the time that they may take."""
        unknown = [name for name in names if name not in self._passing]
        if unknown:
            asked = Asked(unknown, most=len(unknown) * self._slowest, slowest=self._slowest)
            found = self._workshop(one).run(asked) or {"seconds": {}, "failed": [], "slow": []}
            self._learn(found)
            failing = {*unknown} - found["seconds"].keys() | {*found["failed"], *found["slow"]}
            for name in sorted(failing):
                print(f"fails unchanged or is slow, and is left out: {name}", file=sys.stderr)
            self._left_out |= failing
            self._passing |= {*unknown} - failing
        return [name for name in names if name in self._passing]

    def _workshop(self, one: Mutant) -> Workshop:
        folder = folder_of_tests(one.file)
        if folder not in self._workshops:
            _import_packages(_PACKAGES)
            tests = tests_of_survivors(folder) if self._again else tests_of(folder)
            self._workshops[folder] = Workshop(tests)
        return self._workshops[folder]


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


def chosen_mutants(part: str, sample: int | None, seed: int, only: str) -> Iterator[Mutant]:
    """Mutants in an order drawn at random where they are a sample, so that any first part of it is
    a sample, too."""
    files: list[Path] = []
    if part != "designs":
        files += [file for file in files_of_formulas() if by_nearness(file, again=False)]
    if part != "formulas":
        files += files_of_designs()
    every = []
    for file in files:
        if only in str(file):
            for rank, place in zip(ranks(named(file), seed), places(file), strict=True):
                every.append((rank, file, place))
    if sample is not None:
        every = sorted(every)[:sample]
    for _, file, place in every:
        yield mutant(file, *place)


def ranks(named: Iterable[str], seed: int) -> Iterator[bytes]:
    """Draw a rank for each mutant, from its file and its change alone.

    A mutant keeps its rank, and the sample those of its mutants that are still there, when lines
    move or other code changes.
    """
    seen = Counter[str]()
    for place in named:
        file, _, _, change = place.split(":", 3)
        seen[file + change] += 1
        text = f"{seed} {file} {change} {seen[file + change]}"
        yield hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    sys.exit(main())
