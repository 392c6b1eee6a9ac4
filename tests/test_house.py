"""The house holds together: declarations, lock and public names agree."""

from __future__ import annotations

import ast
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
from import_circles import walk_statements
from packaging.markers import default_environment
from packaging.requirements import Requirement

import tacit
from tacit import data as tacit_data
from tacit import errors
from tacit.cli.app import EXIT_CODES

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def locked() -> dict[str, str]:
    """Name to version of every pin whose marker holds here."""
    pins = re.findall(r"^([\w.-]+==[^\\\n]+?) \\$", LOCK, flags=re.MULTILINE)
    requirements = [Requirement(pin) for pin in pins]
    here = default_environment()
    return {
        requirement.name: str(requirement.specifier).removeprefix("==")
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate({**here, "extra": ""})
    }


@pytest.mark.parametrize(
    "line",
    [
        *PROJECT["dependencies"],
        *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
    ],
)
def test_lock_satisfies_the_declaration(line):
    """Each declared dependency is pinned, to a version that the declaration allows."""
    requirement = Requirement(line)
    assert requirement.specifier.contains(locked()[requirement.name])


def imported() -> set[str]:
    """Top-level names of every third-party module that the package imports, wherever it does."""
    names: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in walk_statements(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, "tacit"}


def test_declared_is_imported():
    """The core dependencies are exactly what the package imports: none missing, none idle.
    What comes from an extra is named here; uvicorn imports uvloop and httptools itself."""
    modules = {"pyspark-client": "pyspark", "scikit-learn": "sklearn"}
    modules["vl-convert-python"] = "vl_convert"
    declared = {Requirement(line).name for line in PROJECT["dependencies"]}
    extras = PROJECT["optional-dependencies"]
    optional = {
        "accounting": {Requirement(line).name for line in extras["accounting"]},
        "als": {"implicit"},
        "datasets": {"pooch"},
        "duckdb": {"duckdb"},
        "ledger": {"sqlalchemy"},
        "opendp": {"opendp"},
        "plots": {"altair", "vl-convert-python"},
        "postgres": {"psycopg"},
        "service": {Requirement(line).name for line in extras["service"]} - {"httptools", "uvloop"},
        "spark": {"pyarrow", "pyspark-client"},
    }
    for extra, names in optional.items():
        assert names <= {Requirement(line).name for line in extras[extra]}
    behind = {name for names in optional.values() for name in names}
    found = {modules.get(name, name.replace("-", "_")) for name in declared | behind}
    assert found == imported()


def test_every_pin_has_a_hash():
    """No package of the lock is installed unseen."""
    entries = re.split(r"\n(?=[\w.-]+==)", LOCK)
    assert [entry.split(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_lock_holds_no_address():
    """The lock works behind any mirror: it names no address and no index."""
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ file", LOCK)


def _assigned(node: ast.stmt) -> list[str]:
    """Names of an assignment; none of other statements."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("package", [tacit, tacit_data])
def test_every_public_name_has_one_home(package):
    """What type checkers read and the table of lazy names agree, and no name has two homes."""
    tree = ast.parse(Path(package.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    checked = sorted((node.module, alias.asname) for node in imports for alias in node.names)
    table = next(node.value for node in tree.body if "_HOMES" in _assigned(node))
    homes = [(home, name) for home, names in ast.literal_eval(table).items() for name in names]
    prefix = "" if package is tacit else "tacit.data."
    assert sorted((prefix + home, name) for home, name in homes) == checked
    assert len({name for _, name in homes}) == len(homes)


def test_every_exit_code_is_documented():
    """The help names the exit code of every error in the tree."""
    documented = {int(code) for code in re.findall(r"\b(\d+) ", EXIT_CODES)}
    tree = [errors.TacitError, *errors.TacitError.__subclasses__()]
    assert {error.exit_code for error in tree} <= documented


CUSTOMARY = {"_asdict", "_exit", "_fields", "_replace", "_repr_html_"}
"""Public by convention, in spite of the underscore: of named tuples, of `os` and of notebooks."""


def private_reads(source: str) -> list[str]:
    """Names with an underscore that a module takes from something else than itself."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            names = [] if own else [node.attr]
        found += [name for name in names if re.match("_(?!_)", name) and name not in CUSTOMARY]
    return found


def test_no_test_reads_a_private_attribute():
    """A test asks as a caller does, so that what is behind a name can change; a planted read, by
    attribute or by import, is found. Left out is `support`, which plants faults behind names."""
    planted = "from a import _b\nc.d._e = self._f + c._asdict()[c.__doc__]\n"
    assert private_reads(planted) == ["_b", "_e"]
    support = ROOT / "tests/support"
    files = [file for file in (ROOT / "tests").rglob("*.py") if support not in file.parents]
    found = {str(file): private_reads(file.read_text()) for file in files}
    assert len(found) > 300
    assert {file: names for file, names in found.items() if names} == {}


def shared_errors(source: str) -> list[str]:
    """Constants that a module raises as they are."""
    statements = walk_statements(ast.parse(source))
    raised = [each.exc for each in statements if isinstance(each, ast.Raise)]
    return [each.id for each in raised if isinstance(each, ast.Name) and each.id.isupper()]


def test_no_error_is_raised_twice():
    """An exception keeps the frames that it was raised in: one that lives as long as the process
    would keep every request it refused. A planted one is found."""
    assert shared_errors("try:\n    raise _LATE from None\nexcept E as e:\n    raise\n") == [
        "_LATE"
    ]
    files = sorted((ROOT / "src").rglob("*.py"))
    assert {str(file): names for file in files if (names := shared_errors(file.read_text()))} == {}


def test_a_test_has_one_thread():
    """Numerical libraries keep to OMP_NUM_THREADS, which is 1 unless someone set it: tests side by
    side with several threads each would mostly wait for each other."""
    import sklearn.ensemble  # noqa: F401  # loads OpenMP
    from threadpoolctl import threadpool_info

    found = {library["num_threads"] for library in threadpool_info()}
    assert found == {int(os.environ["OMP_NUM_THREADS"])}
