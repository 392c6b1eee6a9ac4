"""Measurements of attackers on a card, and the sentence in which they are shown.

A panel of attackers leaves two measurements on a card. One is trained on PANEL and is that of the
strongest attacker: `auc` is 0.5 plus its distance from 0.5, `high` the bound that holds for all
attackers at once with 95 % confidence. The other, trained on PERMUTED, is of labels dealt out at
random. Card, report, README and page all show `attack_summary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

PANEL = "panel"
"""`trained_on` of the strongest attacker of a panel."""
PERMUTED = "permuted labels"
"""`trained_on` of the attackers whose labels were dealt out at random."""
LEAST_PEOPLE = 2000
"""People below which a small figure means nothing."""
LEAST_OF_RAREST = 500
"""People with the rarest value below which a small figure means nothing."""
SMALL = 0.15
"""A distance from 0.5 below which so few people could not tell it from none."""


@dataclass(frozen=True)
class Measurement:
    """The success of one attacker. An AUC of 0.5 is guessing; the distance from it counts."""

    attack: str
    """The attacker, in words."""
    trained_on: str
    """The data that it learned from, in words."""
    release: str
    """The release that it attacked, in words."""
    auc: float
    """Area under its ROC curve, from 0 to 1."""
    low: float
    """Lower end of the 95 % interval of the AUC."""
    high: float
    """Upper end of the 95 % interval of the AUC."""
    data: str
    """The people who were attacked, in words."""
    people: int = 0
    """Number of people who were attacked."""
    rarest: int = 0
    """Number of them who hold the rarest value."""

    def __str__(self) -> str:
        return (
            f"{self.attack}, trained on {self.trained_on} data, against {self.release}: AUC "
            f"{self.auc:.3f} (95 % interval {self.low:.3f} to {self.high:.3f}) on {self.data}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "attack": self.attack,
            "trained_on": self.trained_on,
            "release": self.release,
            "auc": self.auc,
            "low": self.low,
            "high": self.high,
            "data": self.data,
            "people": self.people,
            "rarest": self.rarest,
        }


def strongest_measurement(measurements: Iterable[Measurement]) -> Measurement | None:
    """Return the strongest attacker's measurement; None where no panel attacked."""
    return next((each for each in measurements if each.trained_on == PANEL), None)


def permuted_measurement(measurements: Iterable[Measurement]) -> Measurement | None:
    """Return the measurement on permuted labels; None where there is none."""
    return next((each for each in measurements if each.trained_on == PERMUTED), None)


def has_too_few_people(people: int, rarest: int) -> bool:
    """Say whether the people are too few for a small figure to mean anything.

    Args:
        people: Number of people who were attacked.
        rarest: Number of them who hold the rarest value.
    """
    return people < LEAST_PEOPLE or rarest < LEAST_OF_RAREST


def attack_summary(measurements: Iterable[Measurement]) -> str | None:
    """Return one or two sentences with the strongest attacker's figure; None without a panel."""
    known = tuple(measurements)
    strongest = strongest_measurement(known)
    if strongest is None:
        return None
    few = has_too_few_people(strongest.people, strongest.rarest)
    if few and strongest.auc - 0.5 < SMALL:
        return (
            f"Too few people to say: {strongest.people:,}, of whom {strongest.rarest:,} hold the "
            f"rarest value; {LEAST_PEOPLE:,} and {LEAST_OF_RAREST:,} are needed. The 95 % bound "
            f"for the attackers together is AUC {strongest.high:.3f} on {strongest.data}."
        )
    chance = permuted_measurement(known)
    permuted = "" if chance is None else f", and {chance.auc:.3f} on permuted labels"
    return (
        f"The {strongest.attack} reached AUC {strongest.auc:.3f} on {strongest.data}; the 95 % "
        f"bound for the attackers together is {strongest.high:.3f}{permuted}. Other attackers may "
        "do better."
    )
