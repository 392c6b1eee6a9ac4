"""Places of lists: addresses that cannot be read, and tables without a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.data.list_stores import ListTable, check_place, write_lists
from tacit.errors import ConfigError


@pytest.mark.parametrize(
    "place",
    ["redis://[::1", "redis://h:secret/0", "rediss://:secret/x@h", "postgresql://u:secret[@h/db"],
)
def test_addresses_that_cannot_be_read_are_refused(place: str) -> None:
    """Before any list is made, and without the password."""
    if place.startswith("postgresql"):
        pytest.importorskip("psycopg")
    with pytest.raises(ConfigError, match="cannot be read") as refused:
        check_place(place)
    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_an_address_of_several_servers_is_read() -> None:
    """PostgreSQL tries one after the other."""
    pytest.importorskip("psycopg")
    check_place("postgresql://a:1,b:2/db")


@pytest.mark.parametrize("people", [0, 2])
def test_json_lines_have_no_blank_line(tmp_path: Path, people: int) -> None:
    """There is a line for each person, and none without people."""
    column = np.arange(people)
    write_lists(ListTable(column, column, column, column / 2), str(tmp_path / "lists.jsonl"))
    lines = (tmp_path / "lists.jsonl").read_text().splitlines()
    assert [line for line in lines if line] == lines
    assert len(lines) == people
