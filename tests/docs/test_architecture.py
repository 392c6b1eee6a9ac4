"""The walks of the architecture page: each names files that exist, none twice."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = PAGE.split("\n## ")[1:]
WALKED_FILE = re.compile(r"^\| `([^`]+\.py)` \|", re.MULTILINE)


def test_there_are_six_walks_of_existing_files():
    """Six walks; each file is in the package."""
    assert len(WALKS) == 6
    for walk in WALKS:
        files = WALKED_FILE.findall(walk)
        assert len(files) >= 8
        missing = [name for name in files if not (ROOT / "src" / "tacit" / name).is_file()]
        assert missing == []


def test_no_walk_enters_a_file_twice():
    """A reader never turns back."""
    for walk in WALKS:
        files = WALKED_FILE.findall(walk)
        assert len(files) == len(set(files))
