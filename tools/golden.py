"""Write golden/: messages, answers and refusals that every client has to agree with, byte for byte.

All data are made up here. `python tools/golden.py` writes; a test fails where the files differ from
what the code writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import golden_item_table
import golden_private_lists
import golden_scheme
import golden_scheme_lives
import golden_scheme_refused
import golden_sketches
import golden_sketches_refused
from tracked import ROOT

FOLDER = ROOT / "golden"
FILES: dict[str, Callable[[], dict[str, list[Any]]]] = {
    "item-table.json": golden_item_table.content,
    "private-lists.json": golden_private_lists.content,
    "sketches.json": golden_sketches.content,
    "sketches-refused.json": golden_sketches_refused.content,
    "standard-scheme.json": golden_scheme.content,
    "standard-scheme-lives.json": golden_scheme_lives.content,
    "standard-scheme-refused.json": golden_scheme_refused.content,
}


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of each file."""
    for name, content in FILES.items():
        yield name, spelled(content())


def spelled(content: Mapping[str, Sequence[Any]]) -> str:
    """JSON with one vector on each line."""
    lists = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, vectors)) + "\n]"
        for name, vectors in content.items()
    )
    return "{\n" + ",\n".join(lists) + "\n}\n"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts():
        (FOLDER / name).write_text(text, encoding="ascii")
        print(f"golden/{name}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
