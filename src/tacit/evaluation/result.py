"""Results of commands: data for programs, sentences and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar

from tacit.evaluation.intervals import Interval
from tacit.views import table as html_table

Row = TypeVar("Row")
Key = TypeVar("Key")


def group_by(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Group rows that share a key, such as those of all seeds of one setting, in their order."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


@dataclass(frozen=True)
class Table:
    """A table for people."""

    title: str
    """Title above the table; "" for none."""
    columns: Sequence[str]
    """Headings of the columns."""
    rows: Iterable[Sequence[object]]
    """Cells. None is an empty cell; floats that are not formatted have three decimals."""
    heads: Sequence[tuple[str, int]] = ()
    """Names above so many columns each, on a page; "" for none."""

    @classmethod
    def from_rows(
        cls, title: str, columns: Mapping[str, Callable[[Any], object]], rows: Iterable[Any]
    ) -> Table:
        """Make a table of objects.

        Args:
            title: Title above the table; "" for none.
            columns: Headings, each with the function that takes an object to its cell.
            rows: Objects, one for each row.
        """

        def write_cells(row: Any) -> list[object]:
            return [cell(row) for cell in columns.values()]

        return cls(title, tuple(columns), [write_cells(row) for row in rows])


@dataclass(frozen=True)
class Result:
    """Result of a command, for programs and for people."""

    data: Mapping[str, Any]
    """What `--json` prints. Without `--json`, its `warnings` are printed to standard error."""
    shown: Sequence[Table | str] = ()
    """Tables and sentences that a person reads."""
    after: str = ""
    """Command to type next, and what it does."""
    failed: bool = False
    """Whether the exit code is 1."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of `data`, each one flat mapping, all with the same columns.

        An interval is three columns: NAME, NAME_low and NAME_high.
        """
        flat = [_flatten(row) for row in self.data.get("rows", ())]
        empty: dict[str, Any] = {}
        for row in flat:
            empty |= dict.fromkeys(row)
        return [empty | row for row in flat]

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame."""
        return self._frame("polars")

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Raises:
            ConfigError: pandas is not installed.
        """
        return self._frame("pandas")

    def to_csv(self) -> str:
        """Write the rows as CSV, with a header."""
        return str(self.to_polars().write_csv())

    def to_latex(self) -> str:
        """Write the rows as a tabular environment of booktabs, floats with three decimals."""
        rows = [self._columns]
        rows += [list(row.values()) for row in self.rows]
        lines = [" & ".join(map(write_latex_cell, row)) + r" \\" for row in rows]
        begin = rf"\begin{{tabular}}{{{'l' * len(self._columns)}}}"
        body = [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        return "\n".join([*body, r"\end{tabular}"]) + "\n"

    def _repr_html_(self) -> str:
        return html_table("", self._columns, (row.values() for row in self.rows))

    def __repr__(self) -> str:
        return f"Result({len(self.rows)} rows of {', '.join(self._columns) or 'no columns'})"

    def _frame(self, backend: Literal["pandas", "polars"]) -> Any:
        from tacit.data.tabular import to_frame

        rows = self.rows
        columns = {}
        for name in self._columns:
            columns[name] = [row[name] for row in rows]
        return to_frame(columns, backend)

    @property
    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


def _flatten(row: Any) -> dict[str, Any]:
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


_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {sign: f"\\{sign}" for sign in "_%&$#{}"}


def write_latex_cell(cell: object) -> str:
    """Write a value for LaTeX: signs escaped, floats with three decimals, nothing for None."""
    if cell is None:
        return ""
    text = f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in text)
