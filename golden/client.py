"""Write golden/: messages, answers and refusals that every client has to agree with, byte for byte.

All data are made up here. `python -m golden.client` writes; a test fails where the files differ
from what the code writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from golden import (
    item_table,
    private_lists,
    scheme,
    scheme_lives,
    scheme_refused,
    sketches,
    sketches_refused,
)

FOLDER = Path(__file__).parent
FILES: dict[str, Callable[[], dict[str, list[Any]]]] = {
    "item-table.json": item_table.content,
    "private-lists.json": private_lists.content,
    "sketches.json": sketches.content,
    "sketches-refused.json": sketches_refused.content,
    "standard-scheme.json": scheme.content,
    "standard-scheme-lives.json": scheme_lives.content,
    "standard-scheme-refused.json": scheme_refused.content,
}


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of each file."""
    for name, content in FILES.items():
        yield name, spell(content())


def spell(content: Mapping[str, Sequence[Any]]) -> str:
    """Write JSON with one vector on each line."""
    lists = []
    for name, vectors in content.items():
        lines = ",\n".join(map(json.dumps, vectors))
        lists.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(lists) + "\n}\n"


def main() -> int:
    """Write the files."""
    for name, text in texts():
        (FOLDER / name).write_text(text, encoding="ascii")
        print(f"golden/{name}: {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
