"""What a result was made with, so that it can be made again."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tacit.data.ratings import Ratings

SEED = "The same seed gives the same splits, people and draws."
WORKERS = "Processes; 0 for all cores."
REPORT = "Write one self-contained page here."
"""Help of the options that every experiment has."""
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
    return {"seed": seed} | made_with(command, settings)


def made_with(
    command: str, settings: Mapping[str, Any], packages: Sequence[str] = PACKAGES
) -> dict[str, Any]:
    """The same without a seed. packages: those whose versions count."""
    return {
        "command": command,
        "settings": dict(settings),
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in packages},
        "platform": f"{sys.platform} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
