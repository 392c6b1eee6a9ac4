"""Messy files: each is read as the truth that it was made from, or refused in words.

The generator is `tests/support/messy_files.py`. No file may be read as something else without a
word, and none may end in a traceback.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.messy_reading import read_all

PARTS = 40


def test_messy_files_are_read_right(tmp_path: Path) -> None:
    """Of 40 messy files none is misread, and most are read."""
    refused, wrong = read_all(range(40), tmp_path)
    assert not wrong, "\n".join(wrong)
    assert refused < 20


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_two_thousand_messy_files_are_read_right(part: int, tmp_path: Path) -> None:
    """Of 2,000 further messy files none is misread."""
    _, wrong = read_all(range(70_000 + 50 * part, 70_050 + 50 * part), tmp_path)
    assert not wrong, "\n".join(wrong)
