"""Results of commands: data for programs, and sentences and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar

from tacit.evaluation.intervals import Interval
from tacit.views import table as html_table

Row = TypeVar("Row")
Key = TypeVar("Key")


def group_by(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Group rows by a key, such as their setting; rows of a group keep their order."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


@dataclass(frozen=True)
class Table:
    """A table for people."""

    title: str
    """Title above the table; "": no title."""
    columns: Sequence[str]
    """Headings of the columns."""
    rows: Iterable[Sequence[object]]
    """Cells of each row. None is shown as a dash, a float with three decimals."""
    heads: Sequence[tuple[str, int]] = ()
    """Names of groups of columns, shown above the headings on a page: each with its number of
    columns; "" for no name."""

    @classmethod
    def from_rows(
        cls, title: str, columns: Mapping[str, Callable[[Any], object]], rows: Iterable[Any]
    ) -> Table:
        """Make a table of objects.

        Args:
            title: Title above the table; "": no title.
            columns: Functions that return the cell of an object, by the headings of their columns.
            rows: Objects, one for each row.
        """

        def list_cells(row: Any) -> list[object]:
            return [cell(row) for cell in columns.values()]

        return cls(title, tuple(columns), [list_cells(row) for row in rows])


@dataclass(frozen=True)
class Result:
    """Result of a command, for programs and for people."""

    data: Mapping[str, Any]
    """Content of the output with `--json`. Without `--json`, its entry "warnings" is printed to
    standard error."""
    shown: Sequence[Table | str] = ()
    """Tables and sentences of the output without `--json`."""
    after: str = ""
    """Command that the user may type next, and its effect; "": none."""
    failed: bool = False
    """Whether the command's exit code is 1."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Entry "rows" of `data` as flat mappings that all have the same columns.

        An interval becomes three columns: NAME, NAME_low and NAME_high. A column that a row lacks
        is None in it.
        """
        flat_rows = [_flatten_row(row) for row in self.data.get("rows", ())]
        all_columns: dict[str, Any] = {}
        for row in flat_rows:
            all_columns |= dict.fromkeys(row)
        return [all_columns | row for row in flat_rows]

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame."""
        return self._make_frame("polars")

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Raises:
            ConfigError: pandas is not installed.
        """
        return self._make_frame("pandas")

    def to_csv(self) -> str:
        """Return the rows as CSV with a header."""
        return str(self.to_polars().write_csv())

    def to_latex(self) -> str:
        """Return the rows as a LaTeX table for booktabs, floats with three decimals."""
        begin = rf"\begin{{tabular}}{{{'l' * len(self._columns)}}}"
        lines = [begin, r"\toprule", _format_latex_row(self._columns), r"\midrule"]
        lines += [_format_latex_row(row.values()) for row in self.rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def _repr_html_(self) -> str:
        return html_table("", self._columns, (row.values() for row in self.rows))

    def __repr__(self) -> str:
        return f"Result({len(self.rows)} rows of {', '.join(self._columns) or 'no columns'})"

    def _make_frame(self, backend: Literal["pandas", "polars"]) -> Any:
        """Return the rows as a data frame of pandas or polars."""
        from tacit.data.frames import to_frame

        rows = self.rows
        columns = {}
        for name in self._columns:
            columns[name] = [row[name] for row in rows]
        return to_frame(columns, backend)

    @property
    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


def _flatten_row(row: Any) -> dict[str, Any]:
    """Return a row, a dataclass or a mapping, as a mapping in which intervals are three entries."""
    if is_dataclass(row) and not isinstance(row, type):
        values = {field.name: getattr(row, field.name) for field in fields(row)}
    else:
        values = row
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Interval):
            flat |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat


_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {sign: f"\\{sign}" for sign in "_%&$#{}"}
"""What LaTeX needs in place of each sign that it would read as a command."""


def _format_latex_row(cells: Iterable[object]) -> str:
    """Return a row of a LaTeX table."""
    return " & ".join(map(format_latex_cell, cells)) + r" \\"


def format_latex_cell(cell: object) -> str:
    """Format a value for LaTeX: signs escaped, floats with three decimals, and None as ""."""
    if cell is None:
        return ""
    text = f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return "".join(_LATEX_ESCAPES.get(sign, sign) for sign in text)
