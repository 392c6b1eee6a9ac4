"""The text files that belong to the project: those that git tracks, or would if they were added."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text_files(*patterns: str) -> Iterator[tuple[Path, str]]:
    """Yield each text file and its content.

    Args:
        patterns: Git pathspecs that limit the files; none for all files.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    listing = subprocess.run([*command, *patterns], cwd=ROOT, capture_output=True, check=True)
    for name in sorted(set(listing.stdout.decode().split("\0")) - {""}):
        file = ROOT / name
        if not file.is_file():
            continue
        content = file.read_bytes()
        if b"\0" not in content:
            yield file, content.decode("utf-8")
