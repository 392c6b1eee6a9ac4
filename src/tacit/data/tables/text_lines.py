"""Lines of a text file that a cluster hands over one by one, split into cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tacit.data.tables.names import Role
from tacit.data.tables.rows import split_lines
from tacit.data.tables.table import TextForm
from tacit.errors import DataError


@dataclass(frozen=True)
class TextLines:
    """How the lines of a text file are split: each one is a row, whatever other lines hold."""

    form: TextForm
    """Delimiter and quote; the lines are decoded already."""
    headers: tuple[str, ...]
    """Names of all columns."""

    def split(self, lines: Any, header_of_role: Mapping[Role, str]) -> Any:
        """Split the lines of an Arrow table of one column into the columns of the roles.

        Raises:
            DataError: A line has another number of cells than the header, or a quoted cell does not
                end in its line.
        """
        texts = pl.Series(pl.from_arrow(lines[0]))
        names = [*header_of_role.values()]
        split = split_lines(texts, self.form, self.headers, names, noun="header")
        for what in split.problems.values():
            raise DataError(
                what,
                expected="one row in each line",
                fix="Write the ratings as Parquet.",
            )
        columns = {role: split.frame[name] for role, name in header_of_role.items()}
        return pl.DataFrame(columns).to_arrow(compat_level=pl.CompatLevel.oldest())
