"""Refuse import circles between files, and imports hidden behind `import_module`.

Contract types of import-linter, named in pyproject.toml and run by `lint-imports`:

no_circles          no two files import each other, directly or through others, except the circles
                    that `open_circles` lists; a listed one that is no circle is refused too
no_hidden_imports   no `import_module("tacit...")` with a literal name, which the other contracts
                    would not see
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Set
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

Graph = Mapping[str, Set[str]]
"""By module, the modules of the same package that it imports, wherever in the file."""
_IMPORTING = ("import_module", "__import__")
"""Names of the functions whose call imports a module."""


@cache
def read_modules(package: Path) -> dict[str, list[ast.AST]]:
    """Read the imports of every file of a package, once for both contracts.

    Args:
        package: The package's folder, for example `src/tacit`.

    Returns:
        What `list_imports` lists, by dotted module name, for example `tacit.data.ratings`.
    """
    modules = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        modules[".".join(parts)] = list_imports(file.read_text("utf-8"))
    return modules


def list_imports(text: str) -> list[ast.AST]:
    """List the import statements of a file, and its calls if one of them may import."""
    tree = ast.parse(text)
    may_call = any(name in text for name in _IMPORTING)
    nodes = ast.walk(tree) if may_call else walk_statements(tree)
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def walk_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every statement of a file, wherever it stands, without its expressions."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        for node in ast.iter_child_nodes(waiting.popleft()):
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
                yield node
                waiting.append(node)


def import_graph(modules: Mapping[str, list[ast.AST]]) -> dict[str, set[str]]:
    """Find which modules import which; `import_module` with a literal name is an import too."""
    graph = {}
    for name, nodes in modules.items():
        imported: set[str] = set()
        for node in nodes:
            imported.update(_imported_names(node, modules))
        graph[name] = imported - {name}
    return graph


def _imported_names(node: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield the package's modules that one statement or call imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name in modules:
                yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in modules:
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            yield submodule if submodule in modules else node.module
    elif isinstance(node, ast.Call):
        hidden = hidden_import(node)
        if hidden is not None and hidden in modules:
            yield hidden


def hidden_import(node: ast.AST) -> str | None:
    """Return the literal module name that a call of `import_module` or `__import__` loads."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = node.func
    called = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    name = node.args[0]
    if called not in _IMPORTING or not isinstance(name, ast.Constant):
        return None
    return name.value if isinstance(name.value, str) else None


def find_circles(graph: Graph) -> list[list[str]]:
    """Find the groups of modules that import each other, directly or through one another.

    Returns:
        The strongly connected components with more than one module, each sorted.
    """
    reached = {module: _reachable(graph, module) for module in graph}
    circles = []
    placed: set[str] = set()
    for module in sorted(graph):
        if module in placed or module not in reached[module]:
            continue
        circle = sorted(other for other in reached[module] if module in reached[other])
        placed.update(circle)
        circles.append(circle)
    return circles


def _reachable(graph: Graph, start: str) -> set[str]:
    """Return the modules that `start` imports, directly or through others."""
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting.extend(graph.get(module, ()))
    return reached


def _is_inside_any(circle: set[str], others: list[set[str]]) -> bool:
    """Say whether all modules of a circle are in one of the other groups."""
    return any(circle <= other for other in others)


def _contains_any(group: set[str], circles: list[set[str]]) -> bool:
    """Say whether a group of modules has all modules of one of the circles."""
    return any(circle <= group for circle in circles)


class _PackageContract(Contract):
    """A contract on the files of one package."""

    package: Any = fields.StringField()

    def modules(self) -> dict[str, list[ast.AST]]:
        """Read the imports of the package as it would be imported here."""
        spec = find_spec(str(self.package))
        if spec is None or spec.origin is None:
            raise ValueError(f"No package '{self.package}' can be imported.")
        return read_modules(Path(spec.origin).parent)


class NoCircles(_PackageContract):
    """No two files import each other in a circle, except the circles in the list."""

    type_name = "no_circles"
    open_circles: Any = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compare the circles of the package with the list."""
        circles = [set(circle) for circle in find_circles(import_graph(self.modules()))]
        listed = [set(line.split()) for line in self.open_circles or ()]
        new = [circle for circle in circles if not _is_inside_any(circle, listed)]
        closed = [allowed for allowed in listed if not _contains_any(allowed, circles)]
        return ContractCheck(
            kept=not new and not closed,
            metadata={
                "new": [sorted(circle) for circle in new],
                "closed": [sorted(circle) for circle in closed],
            },
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each circle that is not listed, and each listed one that does not exist."""
        for circle in check.metadata["new"]:
            output.print_error(f"These files import each other: {', '.join(circle)}")
        for circle in check.metadata["closed"]:
            output.print_error(f"No circle any more, take it off the list: {', '.join(circle)}")


class NoHiddenImports(_PackageContract):
    """No module of the package is imported by `import_module` with a literal name."""

    type_name = "no_hidden_imports"
    still_hidden: Any = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Compare the hidden imports of the package with the list."""
        found = []
        for name, nodes in self.modules().items():
            for node in nodes:
                hidden = hidden_import(node)
                if hidden is not None and hidden.split(".")[0] == self.package:
                    found.append(f"{name} -> {hidden}")
        listed = set(self.still_hidden or ())
        return ContractCheck(
            kept=set(found) == listed,
            metadata={"new": sorted(set(found) - listed), "gone": sorted(listed - set(found))},
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each hidden import that is not listed, and each listed one that does not exist."""
        for line in check.metadata["new"]:
            output.print_error(f"import_module hides an import: {line}")
        for line in check.metadata["gone"]:
            output.print_error(f"Hidden no more, take it off the list: {line}")
