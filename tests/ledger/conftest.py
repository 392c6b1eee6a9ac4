"""Ledgers of the tests: in memory where there is a file system for it, and edited by hand."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacit.ledger import Ledger, open_ledger
from tests.support.ledger_requests import ANCHOR, by_hand


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: for tests that are not about disks."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def ledger_at() -> Iterator[Callable[..., Ledger]]:
    """Opens ledgers with the test's operator, and closes them at the end."""
    opened: list[Ledger] = []

    def open_at(where: str | Path, **settings: object) -> Ledger:
        given = {"operator": ANCHOR, **settings}
        opened.append(open_ledger(where, **given))  # type: ignore[arg-type]
        return opened[-1]

    yield open_at
    for ledger in opened:
        ledger.close()


@pytest.fixture
def edit() -> Callable[..., None]:
    """Changes a store in a file as somebody who knows SQL and takes the guards away first."""

    def edited(path: Path, *statements: str) -> None:
        with by_hand(path) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                connection.execute(statement)

    return edited
