"""The demonstrations: one module per design, found by name.

A module `tacit.cli.demos.NAME` has `LINE`, a title; `run(advance) -> dict`, which does the work and
tells `advance(steps)` of each of its `STEPS`; and `show(result)`, which prints it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

DEMOS = ("standard-scheme",)
"""In the order of the list; the first runs when none is named."""


def demo(name: str) -> ModuleType:
    """The module of a demonstration in `DEMOS`."""
    return import_module(f"tacit.cli.demos.{name.replace('-', '_')}")
