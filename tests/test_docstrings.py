"""Docstrings of what packages export: arrays have a shape, and errors a name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from import_circles import walk_statements

import tacit

PACKAGE = Path(__file__).resolve().parents[1] / "src"
SHAPE = re.compile(
    r"\([\w ()]+,[\w ,]*\)|arrays of|scalar|shape|matrix|column|one (for each|per) |as long as"
)
ERROR = re.compile(r"Error|Refused|Unavailable|Unknown|MissingExtra|[Rr]efuse")
Definition = ast.FunctionDef | ast.ClassDef


@cache
def exported() -> set[tuple[str, str]]:
    """Module that defines it, and name, of everything that a package's `__init__` exports."""
    sources = {module_of(file): ast.parse(file.read_text()) for file in PACKAGE.rglob("*.py")}
    found = set()
    for file in PACKAGE.rglob("__init__.py"):
        package = module_of(file)
        for name in exported_names(sources[package]):
            home = home_of(package, name, sources)
            if home is not None:
                found.add((home, name))
    return found


def module_of(file: Path) -> str:
    """Dotted name of a file of the package."""
    dotted = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    return dotted.removesuffix(".__init__")


def exported_names(tree: ast.Module) -> set[str]:
    """Names that an `__init__` exports: by `import N as N`, by `__all__`, or, where it has no code
    of its own, by importing them."""
    own = {node.name for node in tree.body if isinstance(node, Definition)}
    own = {name for name in own if not name.startswith("_")}
    listed = set()
    for node in tree.body:
        if ast.unparse(node).startswith("__all__"):
            listed |= set(ast.literal_eval(ast.unparse(node.value))) if is_list(node) else set()
    exported = own & listed
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit"):
            for alias in node.names:
                if alias.asname == alias.name or alias.name in listed or not own:
                    exported.add(alias.name)
    return {name for name in exported if not name.startswith("_")}


def is_list(node: ast.stmt) -> bool:
    """Whether a statement assigns a list of literals."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.List)


def home_of(module: str, name: str, sources: Mapping[str, ast.Module]) -> str | None:
    """Module that defines a name, followed through imports; None for a constant or a module."""
    while module in sources:
        tree = sources[module]
        if any(isinstance(node, Definition) and node.name == name for node in tree.body):
            return module
        imports = [node for node in walk_statements(tree) if isinstance(node, ast.ImportFrom)]
        sources_of_name = [
            node.module for node in imports if name in {alias.name for alias in node.names}
        ]
        if not sources_of_name or sources_of_name[0] in (None, module):
            return None
        module = sources_of_name[0]
    return None


def arrays(files: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """By module, the annotations that hold an array: numpy's and scipy's names, and aliases."""
    own = {
        module: {*re.findall(r"^(\w+) = NDArray\[", text, re.MULTILINE)}
        for module, text in files.items()
    }
    found = {}
    for module, text in files.items():
        aliases = {"NDArray", "csr_array"} | own[module]
        for node in walk_statements(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                aliases |= {one.name for one in node.names} & own.get(node.module or "", set())
        found[module] = re.compile(rf"\b({'|'.join(sorted(aliases))})\b")
    return found


def functions(tree: ast.Module, names: set[str]) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Public functions and methods under these names, each with all docstrings that speak of it."""
    for node in tree.body:
        if isinstance(node, Definition) and node.name in names:
            about = ast.get_docstring(node) or ""
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            for one in inside:
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                    yield one, about + (ast.get_docstring(one) or "")


def faults(tree: ast.Module, names: set[str], array: re.Pattern[str]) -> Iterator[str]:
    for function, about in functions(tree, names):
        given = [one.annotation for one in (*function.args.args, *function.args.kwonlyargs)]
        typed = " ".join(ast.unparse(one) for one in (*given, function.returns) if one)
        if array.search(typed) and not SHAPE.search(about):
            yield f"{function.name}: no shape of its arrays"
        raised = [one.exc for one in ast.walk(function) if isinstance(one, ast.Raise) and one.exc]
        named = [text for one in raised if (text := ast.unparse(one).split("(")[0])[0].isupper()]
        if {*named} - {"NotImplementedError", "AssertionError"} and not ERROR.search(about):
            yield f"{function.name}: raises {sorted({*named})}, and names no error"


def test_every_exported_name_is_seen():
    """The checks below see each of the names that `import tacit` offers."""
    seen = {name for _, name in exported()}
    assert len(tacit.__all__) >= 29
    assert {*tacit.__all__} - {"__version__"} - seen == set()


def test_arrays_have_a_shape_and_errors_a_name():
    """Of every exported function and of public methods of exported classes."""
    files = {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(
            ".__init__"
        ): file.read_text()
        for file in PACKAGE.rglob("*.py")
    }
    array, public = arrays(files), exported()
    assert len(public) > 150
    found = {
        module: [
            *faults(ast.parse(text), {name for at, name in public if at == module}, array[module])
        ]
        for module, text in files.items()
    }
    assert {module: lines for module, lines in found.items() if lines} == {}


def test_a_planted_docstring_is_found():
    """Without a shape, and without the name of what it raises."""
    planted = 'def f(x: NDArray[float]) -> None:\n    """Of x."""\n    raise DataError("no")\n'
    array = arrays({"m": "Floats = NDArray[np.float64]"})["m"]
    assert len([*faults(ast.parse(planted), {"f"}, array)]) == 2
    mended = planted.replace("Of x.", "x: (people,); or DataError.").replace(
        "NDArray[float]", "Floats"
    )
    assert [*faults(ast.parse(mended), {"f"}, array)] == []
