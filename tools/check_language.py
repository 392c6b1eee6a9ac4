"""List names and docstrings whose meaning a reader has to guess.

python tools/check_language.py [PATH ...] [--variables]

PATH is a folder or a file; by default it is src/tacit. Two things are listed:

names     of modules, classes, functions and methods that consist of participles, adjectives,
          adverbs, prepositions and pronouns only: `united`, `within`, `each_of`
openings  of docstrings that continue a sentence which the reader has not seen: "Of a row: ..."

tools/language.toml holds the names that are allowed, each with its reason. If the whole package is
read, an allowed name that nothing has is listed too. `--variables` also lists local names, which
the check does not, since a short loop may have a short name.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tacit"
LANGUAGE_FILE = Path(__file__).with_name("language.toml")
LANGUAGE = tomllib.loads(LANGUAGE_FILE.read_text("utf-8"))
ALLOWED: dict[str, str] = LANGUAGE["names"]
"""Names that stay, each with its reason."""

WORDS = {name: frozenset(text.split()) for name, text in LANGUAGE["words"].items()}
UNCLEAR = WORDS["function_words"] | WORDS["participles"] | WORDS["adjectives"]
OPENING = re.compile(
    r"(Of|The same|What|As|In|On|At|By|From|With|Without|Within|Before|After|Where|When|Who|Which"
    r"|It|They|He|His|Its|And|But|Or|So|Also|Again|Both|Not|Twice|Once|Until|Unless|If|Likewise"
    r"|Otherwise|That|This|These|Those|Such|Then|To)\b"
)


@dataclass(frozen=True)
class Finding:
    """One name or docstring that reads badly."""

    file: Path
    """Where it is."""
    line: int
    """Line of the file, from 1."""
    name: str
    """The name, or for a docstring the name of its function, class or module and the first word."""
    reason: str
    """What is wrong with it."""

    def __str__(self) -> str:
        file = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        return f"{file}:{self.line}: {self.reason}"


def is_unclear(word: str) -> bool:
    """Say whether a lower-case word is no verb and no noun."""
    if word in WORDS["nouns_and_verbs"]:
        return False
    if word in UNCLEAR:
        return True
    return len(word) > 4 and re.search(r"(ed|ing|ly)$", word) is not None


def words_of(name: str) -> list[str]:
    """Split `snake_case` and `CamelCase` into lower-case words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in spaced.lower().split("_") if word]


def is_suspicious(name: str) -> bool:
    """Say whether a name has no verb and no noun."""
    words = words_of(name)
    return bool(words) and all(map(is_unclear, words))


def findings(file: Path, *, variables: bool = False) -> Iterator[Finding]:
    """Yield the names and docstrings of one Python file that read badly.

    Args:
        file: The file, read as UTF-8.
        variables: Whether local names count too.
    """
    if is_suspicious(file.stem):
        yield Finding(file, 1, file.stem, f"module '{file.stem}' is no noun")
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            if is_suspicious(node.name):
                reason = f"{kind} '{node.name}' has no verb and no noun"
                yield Finding(file, node.lineno, node.name, reason)
        elif variables and _is_variable(node) and is_suspicious(node.id):
            yield Finding(file, node.lineno, node.id, f"variable '{node.id}'")
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _opening(file, node)


def _is_variable(node: ast.AST) -> TypeGuard[ast.Name]:
    """Say whether a node is a name that is assigned."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _opening(
    file: Path, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Finding]:
    """Yield a finding if a docstring begins with a word that needs a sentence before it."""
    text = ast.get_docstring(node)
    if text is None:
        return
    match = OPENING.match(text)
    if match is not None:
        name = file.stem if isinstance(node, ast.Module) else node.name
        first = text.splitlines()[0]
        line = node.body[0].lineno
        yield Finding(file, line, f'{name}: "{match.group()}"', f'docstring begins "{first[:60]}"')


def main() -> int:
    """Print all findings; the exit code is 1 if there are any."""
    parser = argparse.ArgumentParser(description="List names and docstrings that read badly.")
    parser.add_argument("paths", nargs="*", type=Path, default=[PACKAGE])
    parser.add_argument("--variables", action="store_true", help="list local names as well")
    options = parser.parse_args()
    used: set[str] = set()
    lines = []
    for path in options.paths:
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        for file in files:
            for finding in findings(file.resolve(), variables=options.variables):
                if finding.name in ALLOWED:
                    used.add(finding.name)
                else:
                    lines.append(str(finding))
    if options.paths == [PACKAGE]:
        unused = sorted(set(ALLOWED) - used)
        lines += [
            f"{LANGUAGE_FILE.name}: nothing is named '{name}', take it off" for name in unused
        ]
    print("\n".join(lines) or "Every name has a verb or a noun, every docstring a beginning.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
