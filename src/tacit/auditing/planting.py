"""Replace methods of shipped classes for a while: how a bug is planted into code that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def planted(steps: dict[type, dict[str, Any]]) -> Iterator[None]:
    """Inside, the mechanisms have these methods."""
    kept = {kind: {name: getattr(kind, name) for name in steps[kind]} for kind in steps}
    for kind, methods in steps.items():
        for name, method in methods.items():
            setattr(kind, name, method)
    try:
        yield
    finally:
        for kind, methods in kept.items():
            for name, method in methods.items():
                setattr(kind, name, method)
