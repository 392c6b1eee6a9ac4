"""The ratings that one person stored, for all models. They are a state of the ledger.

No model learns from them, so they cost no budget. How many one person may store is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tacit.randomness import Source
from tacit.service.idempotency import add_salt, personal_state_name, remove_salt
from tacit.service.served_things import PersonalState
from tacit.service.service import Service

MOST_RATINGS = 1000
"""Most ratings that are stored of one person, for all models together."""


@dataclass(frozen=True)
class StoredRatings:
    """The ratings of one person."""

    by_model: Mapping[str, Mapping[str, float]]
    """Stars by item, by name of the model. Items are ids as texts."""

    @classmethod
    def decode(cls, state: bytes | None) -> Self:
        """Decode what `encode` returned; for None, where nothing is stored, return no ratings."""
        content = remove_salt(state)
        return cls(json.loads(content) if content else {})

    @classmethod
    def read(cls, service: Service, user: str) -> Self:
        """Read the ratings of a person that are stored now."""
        return cls.decode(service.read_state(ratings_state_name(user)))

    @staticmethod
    def cached_state_size(service: Service, user: str) -> int | None:
        """Return the size in bytes of a person's stored ratings, if the ledger has them in memory.

        None: they are not in memory, so that `read` may wait for a commit or the disk.
        """
        return service.cached_state_size(ratings_state_name(user))

    def encode(self, source: Source) -> bytes:
        """Encode the ratings as a state, with new salt in front.

        Args:
            source: Source of the salt's random bytes.
        """
        text = json.dumps(self.by_model, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return add_salt(source, text.encode())

    def of_model(self, model: str) -> Mapping[str, float]:
        """Return the stars by item for one model."""
        return self.by_model.get(model, {})

    def with_rating(self, model: str, item: str, stars: float) -> Self | None:
        """Return these ratings with one added or changed; None if they would be too many."""
        ratings = self.of_model(model)
        if item not in ratings and len(self) >= MOST_RATINGS:
            return None
        return type(self)({**self.by_model, model: {**ratings, item: stars}})

    def without_rating(self, model: str, item: str) -> Self:
        """Return these ratings without one, which need not be among them."""
        by_model = dict(self.by_model)
        ratings = dict(by_model.pop(model, {}))
        ratings.pop(item, None)
        if ratings:
            by_model[model] = ratings
        return type(self)(by_model)

    def __len__(self) -> int:
        return sum(len(ratings) for ratings in self.by_model.values())


def ratings_state_name(user: str) -> str:
    """Name the state that holds a person's ratings."""
    return personal_state_name("feedback", user)


def all_ratings_state(user: str) -> PersonalState:
    """Describe the state with a person's ratings; erasing leaves a state without ratings."""

    def erase(source: Source, _: bytes | None) -> bytes:
        return StoredRatings({}).encode(source)

    description = "the ratings that you gave, of every model"
    return PersonalState(ratings_state_name(user), description, erase)
