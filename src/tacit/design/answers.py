"""Parts of the results of commands that fit a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.privacy import Guarantee


def fit_summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    """Summarise a fit without privacy, with the exact numbers of people and ratings.

    Args:
        name: Name of the recommender.
        out: Model file that was written.
        ratings: Ratings that it was fitted to.
    """
    return private_fit_summary(name, out, ratings.n_items) | {
        "people": ratings.n_users,
        "ratings": len(ratings),
        "data": ratings.digest,
    }


def private_fit_summary(name: str, out: Path, items: int) -> dict[str, Any]:
    """Summarise a private fit, without the exact numbers of people and ratings.

    Args:
        name: Name of the recommender.
        out: Model file that was written.
        items: Number of items in the catalogue.
    """
    return {"recommender": name, "model": str(out), "items": items}


def card_summary(card: Guarantee) -> dict[str, Any]:
    """Summarise a guarantee card: its basis, its first line and its sentence."""
    lines = {"first_line": card.first_line, "sentence": card.sentence}
    return {"basis": card.basis.value, **lines}


def guarantee_command(model: Path) -> str:
    """Return a line with the command that shows the cards of a model file, and what it does."""
    return f"tacit guarantee {shlex.quote(str(model))}  says what it promises."
