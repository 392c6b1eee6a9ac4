"""Lists of people who agreed not to be protected: nobody is read as one who did not agree."""

from __future__ import annotations

import pytest

from tacit.data.tables.consent_lists import read_consenting
from tacit.errors import DataError


def read(tmp_path, text):
    """Read a list with this text."""
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    return read_consenting(path)


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("user\n7\n007\n\nann\n", [7, "007", "ann"]),
        ("Customer ID\n7\n", [7]),
        ("7\n8\n", [7, 8]),
        ("users\nann@example.org\n", ["ann@example.org"]),
        ('\ufeffuser_id\n"a,b"\n', ["a,b"]),
        ("user,agreed\n1,yes\n2,no\n3,\n4,TRUE\n5,0\n", [1, 4]),
        ("agreed;user\n1;7\n0;8\n", [7]),
        ("user\n\u00b2\n", ["\u00b2"]),
    ],
)
def test_people_who_agreed(tmp_path, text, people):
    """A column of ids; beside a column of answers those alone who said yes."""
    assert read(tmp_path, text) == people


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (",user\n0,500\n1,501\n", "not certain which column"),
        ("user,answer\n1,yes\n2,no\n", "not certain which column"),
        ("user,since\n1,2024\n", "not certain which column"),
        ("user,withdrawn\n1,\n2,2024\n", "not certain which column"),
        ("name,user\nAnn,1\n", "not certain which column"),
        ("user,client\n1,2\n", "not certain which column"),
        ("500,yes\n501,no\n", "not certain which column"),
        ("user;since,agreed\n1;2,yes\n", "more than one sign"),
        ("user,agreed\n1,maybe\n", "neither yes nor no"),
        ("user,agreed\n,yes\n", "no person"),
        ("user,agreed\n1,yes\n1,no\n", "twice"),
        ("user\n1\n1\n", "twice"),
        ("agreed\n1\n0\n", "heading"),
        ("age\n31\n32\n", "heading"),
        ("rating\n4\n5\n", "heading"),
        ("item\na\nb\n", "heading"),
        ("refused\nann\nbob\n", "heading"),
        ("non_consenting_users\nann\nbob\n", "heading"),
        ("ann\nbob\n", "heading"),
        ("7\nann\n", "heading"),
        ('user\n"1\n2"\n', "another line"),
        ("user\n1\n2,no\n", "number of cells"),
        ("\n", "empty"),
    ],
)
def test_anything_uncertain_is_refused(tmp_path, text, complaint):
    """An index, an answer, a further column, a person named twice, another heading."""
    with pytest.raises(DataError, match=complaint):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user,agreed\n\n1,yes\n\n2,maybe\n", 5),
        ("user,agreed\n\n1,yes\n2\n", 4),
        ("user,agreed\n1,yes\n\n,yes\n", 4),
        ("user\n1\n" + "x" * 200_000 + "\n", 3),
    ],
)
def test_the_line_of_an_error_is_that_of_the_file(tmp_path, text, line):
    """Empty lines count; a cell that is too long to be read is refused in a sentence."""
    with pytest.raises(DataError) as refused:
        read(tmp_path, text)
    assert refused.value.row == line
