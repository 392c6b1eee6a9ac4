"""The generated people and films that all demonstrations are about."""

from __future__ import annotations

from functools import lru_cache

from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate

ITEMS = 200
_SEED = 7


@lru_cache(maxsize=1)
def population() -> Ratings:
    """Ratings of generated people of two genders. No row is about anybody."""
    return generate(users=600, items=ITEMS, ratings=24_000, seed=_SEED)
