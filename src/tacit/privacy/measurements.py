"""Measurements of how well attackers did, and the sentence that describes them.

A panel of attackers gives a card two measurements. The first has PANEL as `trained_on`: it is that
of the strongest attacker, its `auc` is 0.5 plus the distance of the AUC from 0.5, and `high` is the
bound that holds for all attackers at once with 95 % confidence. The second has PERMUTED as
`trained_on`: the attackers were trained on labels in random order, and so could learn nothing.
Cards, the results of commands and the tables of experiments all show `attack_summary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

PANEL = "panel"
"""`trained_on` of the measurement of a panel's strongest attacker."""
PERMUTED = "permuted labels"
"""`trained_on` of the measurement of attackers who were given labels in random order."""
LEAST_PEOPLE = 2000
"""With fewer people, an AUC near 0.5 says nothing."""
LEAST_OF_RAREST = 500
"""With fewer people who hold the rarest value, an AUC near 0.5 says nothing."""
SMALL_DISTANCE = 0.15
"""An AUC is near 0.5 if its distance from 0.5 is below this."""


@dataclass(frozen=True)
class Measurement:
    """How well one attacker did. Guessing has an AUC of 0.5; the distance from 0.5 counts."""

    attack: str
    """The attacker, in words."""
    trained_on: str
    """The data that it learned from, in words; PANEL or PERMUTED for the two of a panel."""
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
        if self.trained_on == PANEL:
            attacker = self.attack  # says in words what its strongest attacker was trained on
        elif self.trained_on == PERMUTED:
            attacker = f"{self.attack}, trained on {PERMUTED}"
        else:
            attacker = f"{self.attack}, trained on {self.trained_on} data"
        return (
            f"{attacker}, against {self.release}: AUC "
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
    """Return the measurement of a panel's strongest attacker; None if no panel attacked."""
    return _find_measurement(measurements, PANEL)


def permuted_measurement(measurements: Iterable[Measurement]) -> Measurement | None:
    """Return the measurement of attackers with permuted labels; None if there is none."""
    return _find_measurement(measurements, PERMUTED)


def _find_measurement(measurements: Iterable[Measurement], trained_on: str) -> Measurement | None:
    """Return the first measurement with this `trained_on`; None if there is none."""
    for measurement in measurements:
        if measurement.trained_on == trained_on:
            return measurement
    return None


def has_too_few_people(people: int, rarest: int) -> bool:
    """Say whether there are too few people for an AUC near 0.5 to mean anything.

    Args:
        people: Number of people who were attacked.
        rarest: Number of them who hold the rarest value.
    """
    return people < LEAST_PEOPLE or rarest < LEAST_OF_RAREST


def attack_summary(measurements: Iterable[Measurement]) -> str | None:
    """Describe in sentences how well the strongest attacker did.

    Returns:
        The sentences; None if the measurements are not those of a panel. If there are too few
        people, and the AUC is near 0.5, they say that nothing can be concluded.
    """
    all_measurements = tuple(measurements)
    strongest = strongest_measurement(all_measurements)
    if strongest is None:
        return None
    has_too_few = has_too_few_people(strongest.people, strongest.rarest)
    if has_too_few and strongest.auc - 0.5 < SMALL_DISTANCE:
        return (
            f"Too few people to say: {strongest.people:,}, of whom {strongest.rarest:,} hold the "
            f"rarest value; {LEAST_PEOPLE:,} and {LEAST_OF_RAREST:,} are needed. The 95 % bound "
            f"for the attackers together is AUC {strongest.high:.3f} on {strongest.data}."
        )
    permuted = permuted_measurement(all_measurements)
    comparison = "" if permuted is None else f", and {permuted.auc:.3f} on permuted labels"
    return (
        f"The {strongest.attack} reached AUC {strongest.auc:.3f} on {strongest.data}; the 95 % "
        f"bound for the attackers together is {strongest.high:.3f}{comparison}. Other attackers "
        "may do better."
    )
