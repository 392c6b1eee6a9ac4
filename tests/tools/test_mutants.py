"""The mutation tool: a mutant is one step of a file changed, and a test that holds it kills it."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import mutants

FILE = Path("src/tacit/accounting/base.py")


def test_each_mutant_is_another_program():
    """Every place gives a file that differs from the shipped one and can be read."""
    shipped = ast.unparse(ast.parse((mutants.ROOT / FILE).read_text()))
    made = [mutants.mutant(FILE, *place) for place in mutants.places(FILE)]
    assert len(made) > 5
    for one in made:
        assert one.text != shipped
        ast.parse(one.text)


def test_files_are_there_and_each_has_tests():
    """Patterns that match nothing, and tests that were moved, would pass for a full score."""
    for pattern in mutants.TARGETS:
        files = list((mutants.ROOT / mutants.PACKAGE).glob(pattern))
        assert files
        assert any(mutants.tests_of(pattern, file.relative_to(mutants.ROOT)) for file in files)


def test_a_test_that_holds_a_line_kills_its_mutant(tmp_path):
    """The copy is as it was afterwards."""
    shutil.copytree(mutants.ROOT / "src", tmp_path / "src")
    number = next(
        place for place in mutants.places(FILE) if "->" in mutants.mutant(FILE, *place).place
    )
    broken = mutants.mutant(FILE, *number)._replace(text="raise RuntimeError\n")
    assert mutants.killed(broken, ["tests/accounting/test_rounding.py"], tmp_path)
    assert (tmp_path / FILE).read_text() == (mutants.ROOT / FILE).read_text()
