"""What every recommender offers, model files by name, and the baselines.

Names load on first use: a device takes its files from here and has no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.recommenders.base import Recommendation, Recommendations, Recommender
    from tacit.recommenders.inputs import load_model

_HOME = {
    "Recommendation": "base",
    "Recommendations": "base",
    "Recommender": "base",
    "load_model": "inputs",
}

__all__ = ["Recommendation", "Recommendations", "Recommender", "load_model"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
