"""What every `tacit fit` has in common: where the model goes, and what was learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.data.ratings import Ratings
from tacit.privacy import Guarantee

OUT = "Model file to write."


def summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    """Of a model that promises nothing: exact numbers of people and ratings, and the digest."""
    return private_summary(name, out, ratings.n_items) | {
        "people": ratings.n_users,
        "ratings": len(ratings),
        "data": ratings.digest,
    }


def private_summary(name: str, out: Path, items: int) -> dict[str, Any]:
    """Of a private model: exact numbers of people and ratings are in no private release."""
    return {"recommender": name, "model": str(out), "items": items}


def promised(card: Guarantee) -> dict[str, Any]:
    """What the answer of a private fit says of its card."""
    return {
        "basis": card.basis.value,
        "first_line": card.first_line,
        "sentence": card.sentence,
    }
