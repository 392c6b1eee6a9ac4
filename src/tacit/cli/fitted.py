"""What every `tacit fit` has in common: where the model goes, and what was learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.writing import check_writable

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings


def _writable(out: Path) -> Path:
    check_writable(out)  # before the hours of work, not after
    return out


Out = Annotated[Path, typer.Option("--out", "-o", callback=_writable, help="Model file to write.")]


def summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    return {
        "recommender": name,
        "model": str(out),
        "people": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "data": ratings.digest,
    }
