"""The glossary defines the terms that every guarantee card shows."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tacit.privacy import Basis, Change, Trust, Unit

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
TERMS = (*get_args(Unit), *get_args(Change), *(basis.value for basis in Basis), *Trust)


@pytest.mark.parametrize("term", TERMS)
def test_defined(term):
    """A unit, a change, a basis and a trusted party are set in italics, where they are defined."""
    assert f"*{term.lower()}*" in " ".join(GLOSSARY.split())
