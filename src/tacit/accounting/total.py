"""Adding guarantees up, where that means anything."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.accounting.rounding import sum_above
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import Basis, Guarantee


def total(guarantees: Iterable[Guarantee]) -> tuple[float, float]:
    """(epsilon, delta) of all of them together, about one unit of one person's data.

    Basic composition (Dwork, Roth, 2014, Theorem 3.16): valid always, rarely tight; an accountant
    over the events is tighter. Never below the exact sum. Guarantees with different adjacencies,
    without an epsilon, or refuted do not add up: PrivacyError.
    """
    cards = list(guarantees)
    if not cards:
        raise ConfigError("There is nothing to add up: give at least one guarantee.")
    first = cards[0]
    pairs: list[tuple[float, float]] = []
    for card in cards:
        if card.adjacency != first.adjacency:
            raise PrivacyError(
                f"'{first.name}' protects against '{first.adjacency}', '{card.name}' against "
                f"'{card.adjacency}': epsilons of different units never add up. State both."
            )
        if card.basis is Basis.REFUTED or card.epsilon is None or card.delta is None:
            raise PrivacyError(
                f"'{card.name}' has no epsilon that holds (basis: {card.basis.value}), so a total "
                "with it has none either. State it separately."
            )
        pairs.append((card.epsilon, card.delta))
    epsilon, delta = (sum_above(parts) for parts in zip(*pairs, strict=True))
    return epsilon, min(1.0, delta)
