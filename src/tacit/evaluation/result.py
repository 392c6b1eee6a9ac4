"""What a command found: rows for programs, tables and sentences for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from tacit.evaluation.intervals import Interval
from tacit.views import table as view


@dataclass(frozen=True)
class Table:
    """A table of `shown`; None is an empty cell, floats have three decimals unless formatted."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]

    @classmethod
    def of(
        cls, title: str, columns: Mapping[str, Callable[[Any], object]], rows: Iterable[Any]
    ) -> Table:
        """columns: headings with what stands below them, of each row."""
        cells = [[cell(row) for cell in columns.values()] for row in rows]
        return cls(title, tuple(columns), cells)


@dataclass(frozen=True)
class Result:
    """data: what `--json` prints. shown: what a person reads, in order. after: the command to type
    next, and what it does. failed: whether the exit code is 1.

    `rows` are those of `data`; an interval is three columns of them: NAME, NAME_low, NAME_high.
    """

    data: Mapping[str, Any]
    shown: Sequence[Table | str] = ()
    after: str = ""
    failed: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One flat mapping a row, all with the same columns."""
        found = [_flat(row) for row in self.data.get("rows", ())]
        columns = dict.fromkeys(name for row in found for name in row)
        return [{name: row.get(name) for name in columns} for row in found]

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return self._frame("polars")

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame; ConfigError where pandas is not installed."""
        return self._frame("pandas")

    def to_csv(self) -> str:
        """The rows, with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._columns)
        writer.writerows(row.values() for row in self.rows)
        return text.getvalue()

    def to_latex(self) -> str:
        """The rows as a tabular environment, floats with three decimals."""
        lines = [
            f"\\begin{{tabular}}{{{'l' * len(self._columns)}}}",
            _latex(self._columns),
            "\\hline",
            *(_latex(row.values()) for row in self.rows),
            "\\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        return view("", self._columns, (row.values() for row in self.rows))

    def __repr__(self) -> str:
        return f"Result({len(self.rows)} rows of {', '.join(self._columns) or 'no columns'})"

    def _frame(self, backend: Literal["pandas", "polars"]) -> Any:
        from tacit.data.frames import to_frame

        return to_frame({name: [row[name] for row in self.rows] for name in self._columns}, backend)

    @property
    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


def _flat(row: Any) -> dict[str, Any]:
    given = (
        {field.name: getattr(row, field.name) for field in fields(row)}
        if is_dataclass(row) and not isinstance(row, type)
        else row
    )
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Interval):
            flat |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _latex(cells: Iterable[object]) -> str:
    escaped = (_cell(each).replace("_", "\\_").replace("%", "\\%") for each in cells)
    return " & ".join(escaped) + " \\\\"
