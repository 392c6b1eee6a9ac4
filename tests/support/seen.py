"""Loops of tests that must see something: a loop that runs zero times checks nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def require_any(values: Iterable[T]) -> list[T]:
    """Return the values as a list, which is not empty; else the test fails."""
    found = list(values)
    assert found, "a loop of this test has nothing to look at"
    return found
