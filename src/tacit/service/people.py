"""What is kept of a person, and how it is forgotten: every noun that keeps something says so here.

A served thing keeps what it knows of people in kept states of the ledger. It may offer
`forget(user) -> Iterable[Kept]`, which names them, also of a person it never heard of; `DELETE
/api/users/{user}` then takes them out of each, one transaction after the other, and gives a
receipt. It may say what cannot be taken back, `released() -> str`, and which budgets are theirs
alone, `holders(user) -> Iterable[Holder]`. Everything reported here is the same whether there is
anything of them or not: receipts are stored for ever, and must not say what they forgot.

Ratings that a person gave to the service lie in a kept state of theirs alone, one for all models.
No model learns from them, so they cost no budget; what is bounded is how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from tacit.randomness import Source
from tacit.service.idempotency import salted, state_of, unsalted


@dataclass(frozen=True)
class Kept:
    """Something of one person in one kept state.

    state: its name within the tenant, as `idempotency.step` takes it. what: text for the receipt.
    without: takes a source and the state, gives the state without the person; None changes nothing.
    """

    state: str
    what: str
    without: Callable[[Source, bytes | None], bytes | None]


MOST = 1000
"""Ratings that are kept of one person, of all models together."""


@dataclass(frozen=True)
class Feedback:
    """of: model to item to stars; names and ids as texts."""

    of: Mapping[str, Mapping[str, float]]

    @classmethod
    def decode(cls, state: bytes | None) -> Self:
        """What `encode` gave; nothing where nothing was kept."""
        content = unsalted(state)
        return cls(json.loads(content) if content else {})

    def encode(self, source: Source) -> bytes:
        """Always with new random bytes in front."""
        text = json.dumps(self.of, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return salted(source, text.encode())

    def rated(self, model: str, item: str, stars: float) -> Self | None:
        """With one rating more or changed; None if there are too many."""
        mine = self.of.get(model, {})
        if item not in mine and len(self) >= MOST:
            return None
        return type(self)({**self.of, model: {**mine, item: stars}})

    def taken_back(self, model: str, item: str) -> Self:
        """Without one rating, whether it was there or not."""
        rest = {one: stars for one, stars in self.of.get(model, {}).items() if one != item}
        others = {name: ratings for name, ratings in self.of.items() if name != model}
        return type(self)({**others, model: rest} if rest else others)

    def __len__(self) -> int:
        return sum(len(ratings) for ratings in self.of.values())


def feedback_state(user: str) -> str:
    """The name of the kept state with one person's ratings."""
    return state_of("feedback", user)


def forget_feedback(user: str) -> Kept:
    """Everything that a person rated. What stays is a state that says: nothing."""
    what = "the ratings that you gave, of every model"
    return Kept(feedback_state(user), what, lambda source, _: Feedback({}).encode(source))
