"""tacit on a person's device: `tacit.client`. All else is in the distribution `tacit-rec`."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"tacit-client has no '{name}': it holds the device's part alone (tacit.client). "
        "For the rest:  pip install tacit-rec"
    )
