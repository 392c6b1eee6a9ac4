"""Measure how dense the code of a package is, to compare it before and after a change of style.

python tools/density.py [FOLDER] [--json]

lines           lines of code: without blank lines, comments and docstrings
nodes           syntax nodes per 1,000 lines
comprehensions  list, set and dict comprehensions and generators per 1,000 lines
conditionals    conditional expressions (`a if b else c`) per 1,000 lines
nested          comprehensions inside another one, in all
long_choices    conditional expressions over several lines, in all
starred         starred generators inside a call, in all
fmt_skip        `fmt: skip` marks, in all
circles         groups of files that import each other
init_logic      `__init__.py` files that hold more than names to import
openings        docstrings that begin "Of", "The same", "What" or "As"

FOLDER is a package; by default it is src/tacit. The figures are no goals: code that reads better
with a comprehension keeps it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from import_circles import find_circles, import_graph, read_modules

ROOT = Path(__file__).resolve().parent.parent
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
OPENING = re.compile(r"(Of|The same|What|As)\b")
NAMES_ALONE = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If)
"""Statements that an `__init__.py` may hold beside its docstring and lazy `__getattr__`."""
LAZY = ("__getattr__", "__dir__")


@dataclass
class Density:
    """Figures of one package; rates are per 1,000 lines of code."""

    lines: int
    nodes: float
    comprehensions: float
    conditionals: float
    nested: int
    long_choices: int
    starred: int
    fmt_skip: int
    circles: int
    init_logic: int
    openings: int


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines that have code in them, and not only comments or docstrings."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in text_statements(tree):
        lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def text_statements(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yield statements that are a string alone: docstrings, also those below a constant."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            yield node


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of the module, of its classes and of its functions."""
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            text = ast.get_docstring(node)
            if text is not None:
                yield text


def is_long_choice(node: ast.AST) -> bool:
    """Say whether a node is a conditional expression over several lines."""
    return isinstance(node, ast.IfExp) and node.end_lineno != node.lineno


def count_nested(tree: ast.AST) -> int:
    """Count the comprehensions that stand inside another comprehension."""
    nested: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, Comprehension):
            inside = (inner for inner in ast.walk(node) if isinstance(inner, Comprehension))
            nested.update(inner for inner in inside if inner is not node)
    return len(nested)


def count_starred(tree: ast.AST) -> int:
    """Count the generators that are unpacked in a call: `f(*(g(x) for x in xs))`."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            unpacked = [
                argument.value for argument in node.args if isinstance(argument, ast.Starred)
            ]
            count += sum(isinstance(value, Comprehension) for value in unpacked)
    return count


def holds_logic(tree: ast.Module) -> bool:
    """Say whether an `__init__.py` holds a class, a function that is not lazy, or a statement."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in LAZY:
            continue
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not isinstance(node, NAMES_ALONE):
            return True
    return False


def measure(package: Path) -> Density:
    """Measure all files of a package.

    Args:
        package: The package's folder.

    Returns:
        The figures; SystemExit if the folder holds no Python file.
    """
    modules = read_modules(package)
    if not modules:
        raise SystemExit(f"{package}: no Python file. Name the folder of a package.")
    lines = nodes = comprehensions = conditionals = 0
    figures = Density(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    for file in sorted(package.rglob("*.py")):
        text = file.read_text("utf-8")
        tree = ast.parse(text)
        all_nodes = list(ast.walk(tree))
        lines += code_lines(text, tree)
        nodes += len(all_nodes)
        comprehensions += sum(isinstance(node, Comprehension) for node in all_nodes)
        conditionals += sum(isinstance(node, ast.IfExp) for node in all_nodes)
        figures.nested += count_nested(tree)
        figures.long_choices += sum(map(is_long_choice, all_nodes))
        figures.starred += count_starred(tree)
        figures.fmt_skip += len(re.findall(r"#\s*fmt:\s*skip", text))
        figures.init_logic += file.name == "__init__.py" and holds_logic(tree)
        figures.openings += sum(bool(OPENING.match(docstring)) for docstring in docstrings(tree))
    figures.lines = lines
    figures.nodes = round(1000 * nodes / lines)
    figures.comprehensions = round(1000 * comprehensions / lines, 1)
    figures.conditionals = round(1000 * conditionals / lines, 1)
    figures.circles = len(find_circles(import_graph(modules)))
    return figures


def main() -> int:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description="Measure how dense a package is to read.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src" / "tacit")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    figures = asdict(measure(options.folder))
    if options.json:
        print(json.dumps(figures, indent=1))
        return 0
    for name, value in figures.items():
        print(f"{name:16}{value:>10,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
