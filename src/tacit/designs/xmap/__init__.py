"""X-Map: recommend in a domain where a person has never rated, from what they rated elsewhere.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017), and its technical report. docs/xmap.md has the paper's symbols.

The published claims are refuted, with numbers, on the card of variant="published". The sound
variant (settings.py) is the design `private` and shares no mechanism with the paper.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.xmap.model import XMap

__all__ = ["XMap"]


def __getattr__(name: str) -> Any:
    """The name loads on first use: commands that list designs do not need it."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.model"), name)
