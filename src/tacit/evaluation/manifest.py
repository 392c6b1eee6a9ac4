"""Describe how a result was made: command, settings, versions, date and data."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings

PACKAGES = ("tacit-rec", "numpy", "scipy", "scikit-learn", "numba", "polars")
"""Packages whose versions are in a manifest."""


def manifest(ratings: Ratings, *, seed: int, command: str, **settings: Any) -> dict[str, Any]:
    """Describe a run on ratings, as values for JSON.

    Args:
        ratings: Ratings that the run used. Their hash, sizes and scale are described; no single
            rating is. The hash has no key and the sizes are exact, so that anyone who knows all
            rows but one person's can check a guess of these: results are for those who may see the
            data.
        seed: Seed of the run.
        command: Command line that was typed.
        **settings: Settings of the run, as JSON can hold them.
    """
    data = {
        "sha256": ratings.digest,
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "scale": str(ratings.scale),
    }
    return {"seed": seed} | describe_run(command, settings) | {"data": data}


def describe_run(
    command: str, settings: Mapping[str, Any], packages: Sequence[str] = PACKAGES
) -> dict[str, Any]:
    """Describe a run, as values for JSON: command, settings, versions, platform and date in UTC.

    Args:
        command: Command line that was typed.
        settings: Settings of the run, as JSON can hold them.
        packages: Installed packages whose versions are described.
    """
    from importlib.metadata import version  # help of a command need not wait for it

    versions = {"python": platform.python_version()}
    versions |= {package: version(package) for package in packages}
    return {
        "command": command,
        "settings": dict(settings),
        "versions": versions,
        "platform": f"{sys.platform} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
