"""When a ledger in a file was last copied, and up to which entry: a note beside it."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.container import write_whole
from tacit.errors import OutputError


@dataclass(frozen=True)
class Copied:
    """at: seconds since 1970. entries: of the log, in the copy."""

    at: int
    entries: int


def _note(store: Path) -> Path:
    return store.with_name(f"{store.name}.copied")


def note_copy(store: Path, copy: Path) -> Copied:
    """After a copy was made. A folder that cannot be written to has no note; nothing else fails."""
    address = f"{copy.absolute().as_uri()}?immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as opened:
        (entries,) = opened.execute("SELECT sequence FROM ledger_head").fetchone()
    made = Copied(int(time.time()), entries)
    with suppress(OutputError):
        write_whole(_note(store), json.dumps(asdict(made)).encode())
    return made


def last_copy(store: Path) -> Copied | None:
    """The newest; None where none was made by `tacit ledger backup`."""
    try:
        return Copied(**json.loads(_note(store).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
