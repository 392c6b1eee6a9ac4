"""The one figure about a panel of attackers that card, report, README and page all show.

Among a card's measurements one, trained on PANEL, is of the strongest attacker: `auc` is 0.5 plus
its distance from 0.5, `high` the bound that holds for all attackers at once with 95 % confidence.
Another, trained on PERMUTED, is the same on labels dealt out at random.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.privacy.guarantee import Measurement

PANEL = "panel"
PERMUTED = "permuted labels"
LEAST_PEOPLE, LEAST_OF_RAREST = 2000, 500
SMALL = 0.15
"""A distance from 0.5 below which so few people could not tell it from none."""


def worst(measurements: Iterable[Measurement]) -> Measurement | None:
    """The strongest attacker's measurement; None where no panel attacked."""
    return next((each for each in measurements if each.trained_on == PANEL), None)


def control(measurements: Iterable[Measurement]) -> Measurement | None:
    """The same on permuted labels."""
    return next((each for each in measurements if each.trained_on == PERMUTED), None)


def too_few(people: int, rarest: int) -> bool:
    """Whether the people are too few for a small figure to mean anything."""
    return people < LEAST_PEOPLE or rarest < LEAST_OF_RAREST


def figure(measurements: Iterable[Measurement]) -> str | None:
    """One or two sentences with the figure; None where no panel attacked."""
    known = tuple(measurements)
    found, chance = worst(known), control(known)
    if found is None:
        return None
    permuted = "" if chance is None else f", and {chance.auc:.3f} on permuted labels"
    if too_few(found.people, found.rarest) and found.auc - 0.5 < SMALL:
        return (
            f"Too few people to say: {found.people:,}, of whom {found.rarest:,} hold the rarest "
            f"value; {LEAST_PEOPLE:,} and {LEAST_OF_RAREST:,} are needed. The 95 % bound for the "
            f"attackers together is AUC {found.high:.3f} on {found.data}."
        )
    return (
        f"The {found.attack} reached AUC {found.auc:.3f} on {found.data}; the 95 % bound for the "
        f"attackers together is {found.high:.3f}{permuted}. Other attackers may do better."
    )
