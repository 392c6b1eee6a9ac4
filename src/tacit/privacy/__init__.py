"""A privacy claim that a person can read and a machine can check.

A claim without a proof has no epsilon: `epsilon=None`, a stated model under which the release is
independent of the secret, and the measured success of attackers. No field may be left to the
reader's imagination: unit, adversary's view, assumptions and what is not covered are required.
Every view of a card begins with `first_line`, the basis in plain words, and `refuted_first` orders
several cards. "Neighbour" itself is kept for nearest neighbours: inputs are neighbouring.

Of a panel of attackers, one measurement of a card is trained on PANEL and is of the strongest:
`auc` is 0.5 plus its distance from 0.5, `high` the bound that holds for all attackers at once with
95 % confidence. Another, trained on PERMUTED, is the same on labels dealt out at random. Card,
report, README and page all show `figure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from tacit.errors import ConfigError
from tacit.views import table

__all__ = [
    "Adjacency",
    "Basis",
    "Claim",
    "Guarantee",
    "Measurement",
    "Trust",
    "control",
    "figure",
    "refuted_first",
    "worst",
]


Unit = Literal["user", "rating", "attribute value", "vote history", "reward", "visit"]
Change = Literal["add or remove", "replace"]

PANEL = "panel"
PERMUTED = "permuted labels"
LEAST_PEOPLE, LEAST_OF_RAREST = 2000, 500
SMALL = 0.15
"""A distance from 0.5 below which so few people could not tell it from none."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """What two neighbouring inputs differ in, and how."""

    unit: Unit
    change: Change

    def __str__(self) -> str:
        return f"{self.change} one {self.unit}"


class Trust(StrEnum):
    """The party that sees raw data."""

    NOBODY = "nobody but one's own device"
    PLATFORM = "the platform, with everybody's ratings"
    OWN_VENDOR = "one's own vendor, not the others"


class Basis(StrEnum):
    """What a claim rests on."""

    PROVED = "proved"
    EXACT = "exact"
    CONDITIONAL = "conditional"
    REFUTED = "refuted"
    MEASURED = "measured"
    UNMEASURED = "unmeasured"
    NONE = "none"

    @property
    def first_line(self) -> str:
        """The basis in plain words. Every card begins with it."""
        return _FIRST_LINES[self]


_FIRST_LINES = {
    Basis.PROVED: "Proved, under the assumptions below.",
    Basis.EXACT: "Calculated exactly, under the assumptions below.",
    Basis.CONDITIONAL: "Proved only if a condition holds that is not checked here.",
    Basis.REFUTED: "Refuted: the claim for this method is false. Do not rely on it.",
    Basis.MEASURED: "Measured, not proved: other attacks may succeed more often.",
    Basis.UNMEASURED: "Neither proved nor measured: how well this protects is not known.",
    Basis.NONE: "No protection is claimed.",
}


@dataclass(frozen=True)
class Measurement:
    """How well an attacker did. AUC: 0.5 is guessing, and the distance from it is what counts.

    people, rarest: how many were attacked, and how many of them hold the rarest value.
    """

    attack: str
    trained_on: str
    release: str
    auc: float
    low: float
    high: float
    data: str
    people: int = 0
    rarest: int = 0

    def __str__(self) -> str:
        return (
            f"{self.attack}, trained on {self.trained_on} data, against {self.release}: AUC "
            f"{self.auc:.3f} (95 % interval {self.low:.3f} to {self.high:.3f}) on {self.data}"
        )


@dataclass(frozen=True)
class Claim:
    """What a paper claims, what became of it, and the numbers that decide."""

    text: str
    verdict: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """One guarantee for one group of people. epsilon in nats; None means: no epsilon, measured.

    epsilon, delta: per release. lifetime_epsilon, lifetime_delta: of everything that is ever
    released about one unit; None: nothing bounds it, and `lifetime` says how it grows.
    """

    name: str
    sentence: str
    protects: str
    adjacency: Adjacency
    against: str
    trust: Trust
    basis: Basis
    epsilon: float | None
    delta: float | None
    lifetime: str
    assumptions: tuple[str, ...]
    not_covered: tuple[str, ...]
    sources: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    lifetime_epsilon: float | None = None
    lifetime_delta: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) != (self.delta is None):
            raise ConfigError("A guarantee states epsilon and delta together, or neither.")
        if self.epsilon is None and self.basis in (Basis.PROVED, Basis.EXACT):
            raise ConfigError("A guarantee without an epsilon cannot be called proved or exact.")
        for epsilon in (self.epsilon, self.lifetime_epsilon):
            if epsilon is not None and not 0 <= epsilon < math.inf:
                raise ConfigError("A guarantee needs a finite epsilon >= 0.")
        for delta in (self.delta, self.lifetime_delta):
            if delta is not None and not 0 <= delta <= 1:
                raise ConfigError("A guarantee needs a delta between 0 and 1.")
        self._check_lifetime()
        self._check_basis()
        if not self.sentence or not self.not_covered or not self.sources:
            raise ConfigError(
                "A guarantee says what it means, what it does not cover, and its source."
            )

    @property
    def first_line(self) -> str:
        """The basis in plain words, as every view of a card shows it first."""
        return self.basis.first_line

    def _repr_html_(self) -> str:
        """The card as a notebook shows it."""
        spent = None if self.epsilon is None else f"epsilon {self.epsilon:g}, delta {self.delta:g}"
        adjacent = f"{self.adjacency.change} one {self.adjacency.unit}"
        rows = (
            ("Basis", self.first_line),
            ("Meaning", self.sentence),
            ("Protects", self.protects),
            ("Against", self.against),
            ("Who must be trusted", self.trust.value),
            ("One release", spent and f"{spent}, {adjacent}"),
            ("Over a lifetime", self.lifetime),
            *(("It holds if", each) for each in self.assumptions),
            *(("Measured", str(each)) for each in self.measurements),
            *(("It does not cover", each) for each in self.not_covered),
        )
        return table(self.name, (), rows)

    def _check_basis(self) -> None:
        """The basis and what the card lists agree."""
        if self.basis is Basis.MEASURED and not self.measurements:
            raise ConfigError("A measured guarantee lists measurements; without, it is unmeasured.")
        if self.basis is Basis.UNMEASURED and self.measurements:
            raise ConfigError("A guarantee with measurements is not unmeasured.")
        if self.basis is Basis.REFUTED and not self.claims:
            raise ConfigError("A refuted guarantee names the false claim and the evidence.")

    def _check_lifetime(self) -> None:
        epsilon, delta = self.lifetime_epsilon, self.lifetime_delta
        if (epsilon is None) != (delta is None):
            raise ConfigError("A guarantee states epsilon and delta of a lifetime, or neither.")
        if epsilon is None or delta is None:
            return
        if self.epsilon is None or self.delta is None:
            raise ConfigError("Without an epsilon per release there is none for a lifetime.")
        if epsilon < self.epsilon or delta < self.delta:
            raise ConfigError("A lifetime costs at least what one release costs.")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "name": self.name,
            "first_line": self.first_line,
            "sentence": self.sentence,
            "protects": self.protects,
            "adjacency": {"unit": self.adjacency.unit, "change": self.adjacency.change},
            "against": self.against,
            "trust": self.trust.value,
            "basis": self.basis.value,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lifetime": self.lifetime,
            "lifetime_epsilon": self.lifetime_epsilon,
            "lifetime_delta": self.lifetime_delta,
            "assumptions": list(self.assumptions),
            "not_covered": list(self.not_covered),
            "sources": list(self.sources),
            "claims": [
                {"text": c.text, "verdict": c.verdict, "evidence": list(c.evidence)}
                for c in self.claims
            ],
            "measurements": [vars(m) | {} for m in self.measurements],
        }


def refuted_first(cards: Iterable[Guarantee]) -> tuple[Guarantee, ...]:
    """The same cards, those of refuted claims before all others."""
    return tuple(sorted(cards, key=lambda card: card.basis is not Basis.REFUTED))


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
