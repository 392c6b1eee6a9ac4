"""What is kept of a person, and how it is forgotten: every noun that keeps something says so here.

A served thing keeps what it knows of people in kept states of the ledger. It may offer
`forget(user)`, which names them; `DELETE /api/users/{user}` then takes them out of each, one
transaction after the other, and gives a receipt. It may say what cannot be taken back, and which
budgets are theirs. Everything told here is the same whether there is anything of them or not:
receipts are stored for ever, and must not say what they forgot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tacit.ledger import Holder
from tacit.randomness import Source


@dataclass(frozen=True)
class Kept:
    """Something of one person in one kept state.

    state: its name within the tenant, as `idempotency.step` takes it. what: text for the receipt.
    without: takes a source and the state, gives the state without the person; None changes nothing.
    """

    state: str
    what: str
    without: Callable[[Source, bytes | None], bytes | None]


def kept_of(thing: Any, user: str) -> Iterable[Kept]:
    """What a served thing keeps of a person: `forget(self, user) -> Iterable[Kept]`, if it has it.

    Raises nothing for a person it never heard of: it names the states they would be in.
    """
    return thing.forget(user) if hasattr(thing, "forget") else ()


def released_by(thing: Any) -> str | None:
    """What it gave away and nobody can take back: `released(self) -> str`, if it has it."""
    return str(thing.released()) if hasattr(thing, "released") else None


def holders_of(thing: Any, user: str) -> Iterable[Holder]:
    """Budgets that are this person's alone: `holders(self, user) -> Iterable[Holder]`."""
    return thing.holders(user) if hasattr(thing, "holders") else ()
