"""The density figures count what they say."""

from __future__ import annotations

import density
import pytest

FIRST = '''"""Of a module."""

# a comment
import p.second


def f(xs, ys):
    """The same."""
    rows = [[x for x in ys] for _ in xs]
    total = sum(*(x for x in xs))  # fmt: skip
    return (
        rows
        if total
        else None
    )
'''


@pytest.fixture
def package(tmp_path):
    """A package with each thing that is counted, once or twice."""
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Names."""\n\nclass Logic:\n    pass\n')
    (folder / "first.py").write_text(FIRST)
    (folder / "second.py").write_text("import p.first\n")
    return folder


def test_lines_leave_out_blanks_comments_and_docstrings(package):
    """Nine lines of the first file, two of the `__init__`, one of the second."""
    assert density.measure(package).lines == 9 + 2 + 1


def test_dense_statements_are_counted(package):
    """Nested comprehensions, choices over several lines, starred generators, marks."""
    found = density.measure(package)
    assert (found.nested, found.long_choices, found.starred, found.fmt_skip) == (1, 1, 1, 1)
    assert found.comprehensions == pytest.approx(1000 * 3 / 12)
    assert found.conditionals == pytest.approx(1000 * 1 / 12, abs=0.1)


def test_structure_and_openings_are_counted(package):
    """One circle, one `__init__` with a class, two docstrings that begin badly."""
    found = density.measure(package)
    assert (found.circles, found.init_logic, found.openings) == (1, 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "from a import b as b",
        "__all__ = ['b']",
        "def __getattr__(name):\n    return 1",
        "if TYPE_CHECKING:\n    import a",
    ],
)
def test_an_init_of_names_holds_no_logic(text):
    """Imports, tables of names and lazy loading are no logic."""
    assert not density.holds_logic(density.ast.parse(f'"""A map."""\n{text}\n'))


def test_a_folder_without_python_is_refused(tmp_path):
    """A sentence, not a division by zero."""
    with pytest.raises(SystemExit, match="no Python file"):
        density.measure(tmp_path)
