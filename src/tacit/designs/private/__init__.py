"""The design `private`: lists for everybody's data from four noisy sums over people.

Names load on first use, so that a device needs the standard library alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.private.guarantees import plan
    from tacit.designs.private.lists import Reason
    from tacit.designs.private.model import Private
    from tacit.designs.private.releases import Account
    from tacit.designs.private.settings import Settings, events

__all__ = ["Account", "Private", "Reason", "Settings", "events", "plan"]
_PLACES = ("releases", "model", "lists", "settings", "settings", "guarantees")
_HOME = dict(zip(__all__, _PLACES, strict=True))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
