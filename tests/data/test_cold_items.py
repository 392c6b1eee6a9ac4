"""Tables of items that nobody has rated: delimiters, and lines in errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.data.cold_items import read_cold_items
from tacit.errors import DataError


@pytest.mark.parametrize(
    ("delimiter", "sign"), [(None, ","), (";", ";"), ("tab", "\t"), ("\\t", "\t"), ("::", "::")]
)
def test_every_delimiter_is_read(tmp_path: Path, delimiter: str | None, sign: str) -> None:
    """Also those that are written as a word or as two signs."""
    table = tmp_path / "cold.csv"
    table.write_text(f"sku{sign}genres\nN-1{sign}red|blue\n")
    assert read_cold_items(table, delimiter) == {"N-1": {"genres": "red|blue"}}


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "ü"])
def test_other_delimiters_are_refused(tmp_path: Path, delimiter: str) -> None:
    """With those that can be used."""
    table = tmp_path / "cold.csv"
    table.write_text("sku,genres\nN-1,red\n")
    with pytest.raises(DataError, match="this delimiter cannot be used"):
        read_cold_items(table, delimiter)


def test_errors_name_the_line_of_the_file(tmp_path: Path) -> None:
    """Also after a cell that spans two lines."""
    table = tmp_path / "cold.csv"
    table.write_text('sku,genres\nN-1,"red\nblue"\nN-2\n')
    with pytest.raises(DataError, match="line 4 has 1 columns"):
        read_cold_items(table)
