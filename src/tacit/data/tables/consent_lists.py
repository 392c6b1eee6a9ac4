"""Files with the people who agreed not to be protected.

A person who is read from such a file by mistake loses all protection. So a file is refused if
anything in it is unclear, such as a further column, which may hold an answer or an index, or a
person who is named twice.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacit.data.tables.names import is_compound_of, normalize_header
from tacit.data.tables.vectors import as_id, read_text
from tacit.errors import DataError

_EXPECTED = "one column of ids under the heading 'user', or such a column and a column 'agreed'"
"""What messages say that the file must hold."""
_DELIMITERS = (",", ";", "\t")
"""Signs that may separate the two columns."""
_USER_HEADINGS = frozenset(
    ("people", "person", "persons", "id", "ids", "users", "userids", "customers", "customerids")
)
"""Normalized headings of a column of people, beside those that `names` knows."""
_AGREED_HEADINGS = frozenset(
    ("agreed", "agree", "agrees", "consent", "consented", "consents", "hasagreed", "hasconsented")
)
"""Normalized headings of a column of answers."""
_YES = frozenset(("yes", "y", "true", "1"))
_NO = frozenset(("no", "n", "false", "0", ""))
"""Answers, in lower case, of people who agreed and of people who did not."""


def read_consenting(path: Path) -> list[Any]:
    """Read the ids of people who agreed not to be protected.

    Args:
        path: A CSV file with one column of ids; or with a column of ids and a column 'agreed', in
            which only the people with a yes have agreed.

    Returns:
        The ids: integers if they are written as whole numbers, else texts.

    Raises:
        DataError: The file cannot be read, or it is not certain whom it names as consenting.
    """
    rows, line_numbers = _read_rows(path)
    if max(len(row) for row in rows) == 1:
        people = [row[0] for row in rows]
        if _is_heading(people, path):
            del people[0]
    else:
        people = _find_people_who_said_yes(rows, line_numbers, path)
    _refuse_repeated(people, path)
    return [as_id(person) for person in people]


def _read_rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Read the cells of all lines that are not empty, and the numbers of these lines.

    Raises:
        DataError: The file cannot be read, or has no lines, several delimiters, rows of different
            lengths, or cells with characters that are not printable.
    """
    text = read_text(path)
    first_line = text.lstrip().partition("\n")[0]
    delimiters = [delimiter for delimiter in _DELIMITERS if delimiter in first_line]
    if len(delimiters) > 1:
        raise DataError(
            "the columns of the consenting people are separated by more than one sign",
            path=str(path),
            found=first_line,
            expected=_EXPECTED,
        )
    delimiter = delimiters[0] if delimiters else ","
    lines = csv.reader(io.StringIO(text), delimiter=delimiter)
    rows = []
    line_numbers = []
    try:
        for line in lines:
            row = [cell.strip() for cell in line]
            if any(row):
                rows.append(row)
                line_numbers.append(lines.line_num)
    except csv.Error as error:
        raise DataError(
            "the list of consenting people cannot be read",
            path=str(path),
            row=lines.line_num,
            found=str(error),
            expected=_EXPECTED,
        ) from None
    cells = itertools.chain.from_iterable(rows)
    if not all(map(str.isprintable, cells)):
        raise DataError(
            "an id of the consenting people goes on in another line or holds a sign that is not "
            "printed",
            path=str(path),
            expected=_EXPECTED,
        )
    if not rows:
        raise DataError("the list of consenting people is empty", path=str(path))
    for number, row in zip(line_numbers, rows, strict=True):
        if len(row) != len(rows[0]):
            raise DataError(
                "a row of the consenting people has another number of cells than the first",
                path=str(path),
                row=number,
                expected=_EXPECTED,
            )
    return rows, line_numbers


def _is_heading(cells: Sequence[str], path: Path) -> bool:
    """Tell whether the first cell of a single column is its heading.

    A column of whole numbers needs no heading. A column of texts needs one, since a first cell such
    as `refused` or `withdrawn` could be an id or a heading of people who did not agree.

    Raises:
        DataError: The first cell of texts does not say that the column holds people.
    """
    if _names_people(cells[0]):
        return True
    if all(isinstance(as_id(cell), int) for cell in cells):
        return False
    raise DataError(
        "the heading of the consenting people's column does not say that it holds people",
        path=str(path),
        found=cells[0],
        expected=_EXPECTED,
        fix="Write  user  into the first line, above the ids of those who agreed.",
    )


def _find_people_who_said_yes(
    rows: Sequence[Sequence[str]], line_numbers: Sequence[int], path: Path
) -> list[str]:
    """Return the people of a table of people and answers whose answer is yes.

    Args:
        rows: The cells of all rows, with the headings.
        line_numbers: The number of each row's line in the file.
        path: The file, for messages.

    Raises:
        DataError: The columns are not these two, an answer is neither yes nor no or has no person,
            or a person is named twice.
    """
    header = rows[0]
    person_columns = [column for column, name in enumerate(header) if _names_people(name)]
    answer_columns = [column for column, name in enumerate(header) if _names_agreement(name)]
    if len(header) != 2 or len(person_columns) != 1 or len(answer_columns) != 1:
        names = ", ".join(repr(name) for name in header)
        raise DataError(
            "it is not certain which column names the consenting people, and whether another one "
            "says that a person did not agree",
            path=str(path),
            found=f"columns {names}",
            expected=_EXPECTED,
            fix="Write a file that has only the ids of the people who agreed "
            "(pandas: frame[['user']].to_csv(path, index=False)).",
        )
    people = [row[person_columns[0]] for row in rows[1:]]
    answers = [row[answer_columns[0]].lower() for row in rows[1:]]
    if "" in people:
        raise DataError(
            "an answer has no person", path=str(path), row=line_numbers[people.index("") + 1]
        )
    _refuse_repeated(people, path)
    said_yes: list[str] = []
    for number, person, answer in zip(line_numbers[1:], people, answers, strict=True):
        if answer not in _YES | _NO:
            raise DataError(
                "an answer is neither yes nor no",
                path=str(path),
                row=number,
                column=header[answer_columns[0]],
                expected="yes, true or 1; no, false, 0 or nothing",
            )
        if answer in _YES:
            said_yes.append(person)
    return said_yes


def _refuse_repeated(people: Sequence[str], path: Path) -> None:
    """Raise DataError if a person is named twice, which leaves in doubt whether they agreed."""
    if len(set(people)) < len(people):
        raise DataError(
            "a person is twice in the list of consenting people",
            path=str(path),
            expected=_EXPECTED,
            fix="Give each person one row, with their last answer.",
        )


def _names_people(heading: str) -> bool:
    """Tell whether a heading says that its column holds people."""
    return is_compound_of("user", heading) or normalize_header(heading) in _USER_HEADINGS


def _names_agreement(heading: str) -> bool:
    """Tell whether a heading says that its column holds the answers of people."""
    return normalize_header(heading) in _AGREED_HEADINGS
