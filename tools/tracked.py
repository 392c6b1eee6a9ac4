"""The text files that belong to the project: what git tracks or would track."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text_files(*patterns: str) -> Iterator[tuple[Path, str]]:
    """Each file (of these git pathspecs, if given) and its content; binary files are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listing = subprocess.run([*command, *patterns], cwd=ROOT, capture_output=True, check=True)
    for name in sorted(set(listing.stdout.decode().split("\0")) - {""}):
        file = ROOT / name
        if not file.is_file():
            continue
        content = file.read_bytes()
        if b"\0" not in content:
            yield file, content.decode("utf-8")
