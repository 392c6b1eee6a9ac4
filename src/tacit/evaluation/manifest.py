"""What a result was made with, so that it can be made again."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tacit.data.ratings import Ratings

PACKAGES = ("tacit-rec", "numpy", "scipy", "scikit-learn", "numba", "polars", "opendp")


def manifest(ratings: Ratings, *, seed: int, command: str, **settings: Any) -> dict[str, Any]:
    """Seed, versions, hash and size of the data, command, settings and date."""
    data = {
        "sha256": ratings.digest,
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "scale": str(ratings.scale),
    }
    return generated(seed=seed, command=command, **settings) | {"data": data}


def generated(*, seed: int, command: str, **settings: Any) -> dict[str, Any]:
    """The same where the data were generated."""
    return {
        "seed": seed,
        "command": command,
        "settings": settings,
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in PACKAGES},
        "platform": f"{sys.platform} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
