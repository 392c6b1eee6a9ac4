"""A guarantee card: a privacy claim that a person can read and a machine can check.

A card states its unit, the adversary's view, its assumptions and what it does not cover. A claim
without a proof has no epsilon (`epsilon=None`): instead, the card says under which model the
release is independent of the secret, or how well attackers did. Views of a card begin with
`first_line`, the basis in plain words, except for the officer's page, which begins with a verdict.
Several cards are shown in the order of `sort_refuted_first`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from tacit.errors import ConfigError
from tacit.privacy.measurements import Measurement
from tacit.privacy.printed_bounds import format_upper_bound
from tacit.views import table

Unit = Literal["user", "rating", "attribute value", "vote history", "reward", "visit"]
Change = Literal["add or remove", "replace", "learn or not learn"]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """How two neighbouring inputs differ."""

    unit: Unit
    """What differs between them."""
    change: Change
    """How it differs."""

    def __str__(self) -> str:
        return f"{self.change} one {self.unit}"


class Trust(StrEnum):
    """The party that sees raw data, and so must be trusted."""

    NOBODY = "nobody but one's own device"
    READERS_GUESS = "one's own device; readers of what it sends can still guess"
    PLATFORM = "the platform, with everybody's ratings"
    OWN_VENDOR = "one's own vendor, not the others"


class Basis(StrEnum):
    """The kind of evidence for a claim; `first_line` explains each value."""

    PROVED = "proved"
    EXACT = "exact"
    CONDITIONAL = "conditional"
    REFUTED = "refuted"
    MEASURED = "measured"
    UNMEASURED = "unmeasured"
    NONE = "none"

    @property
    def first_line(self) -> str:
        """The basis in plain words, with which a card begins."""
        return _FIRST_LINES[self]


_FIRST_LINES = {
    Basis.PROVED: "Proved, under the assumptions below.",
    Basis.EXACT: "Calculated exactly, under the assumptions below.",
    Basis.CONDITIONAL: "Proved only if a condition holds that is not checked here.",
    Basis.REFUTED: "Refuted: the claim for this method is false. Do not rely on it.",
    Basis.MEASURED: "Measured, not proved: other attacks may succeed more often.",
    Basis.UNMEASURED: "Not proved, nor measured on this model: how well it protects is not known.",
    Basis.NONE: "No protection is claimed.",
}


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and whether it holds."""

    text: str
    """The claim, as the paper makes it."""
    verdict: str
    """Whether it holds, in words."""
    evidence: tuple[str, ...]
    """Sentences with the numbers that decide whether it holds."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"text": self.text, "verdict": self.verdict, "evidence": list(self.evidence)}


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A guarantee card: one guarantee for one group of people."""

    name: str
    """The release, in a few words."""
    sentence: str
    """What the guarantee means to the person who is protected."""
    protects: str
    """What is protected, on some cards also from whom; "nobody" if nothing is."""
    adjacency: Adjacency
    """The unit that epsilon protects, and how neighbouring inputs differ in it."""
    against: str
    """The adversary: what they see and what they know."""
    trust: Trust
    """Who sees raw data."""
    basis: Basis
    """The kind of evidence for the claim."""
    epsilon: float | None
    """Loss of what the card is about, such as one release, in nats; None if none is claimed."""
    delta: float | None
    """Delta at which epsilon holds, from 0 to 1; None without an epsilon."""
    lifetime: str
    """How the loss grows over releases, in words."""
    assumptions: tuple[str, ...]
    """Conditions under which the claim holds."""
    not_covered: tuple[str, ...]
    """Things that the claim does not protect; at least one."""
    sources: tuple[str, ...]
    """Where the proof or the measurement was published; at least one."""
    claims: tuple[Claim, ...] = ()
    """Claims of the paper, and whether they hold."""
    measurements: tuple[Measurement, ...] = ()
    """How well attackers did."""
    lifetime_epsilon: float | None = None
    """Loss of all releases about one unit together, in nats; None if nothing bounds it."""
    lifetime_delta: float | None = None
    """Delta at which `lifetime_epsilon` holds; None without one."""

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
        """The basis in plain words, with which the card begins."""
        return self.basis.first_line

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the card without claims, sources and lifetime epsilon."""
        one_release = None
        if self.epsilon is not None:
            epsilon = format_upper_bound(self.epsilon)
            delta = format_upper_bound(self.delta or 0.0)
            one_release = f"epsilon {epsilon}, delta {delta}, {self.adjacency}"
        rows = [
            ("Basis", self.first_line),
            ("Meaning", self.sentence),
            ("Protects", self.protects),
            ("Against", self.against),
            ("Who must be trusted", self.trust.value),
            ("One release", one_release),
            ("Over a lifetime", self.lifetime),
        ]
        rows += [("It holds if", assumption) for assumption in self.assumptions]
        rows += [("Measured", str(measurement)) for measurement in self.measurements]
        rows += [("It does not cover", limit) for limit in self.not_covered]
        return table(self.name, (), rows)

    def _check_basis(self) -> None:
        """Raise ConfigError if the card's claims or measurements contradict its basis."""
        if self.basis is Basis.MEASURED and not self.measurements:
            raise ConfigError(
                "A measured guarantee lists measurements; without any, it is unmeasured."
            )
        if self.basis is Basis.UNMEASURED and self.measurements:
            raise ConfigError("A guarantee with measurements is not unmeasured.")
        if self.basis is Basis.REFUTED and not self.claims:
            raise ConfigError("A refuted guarantee names the false claim and the evidence.")

    def _check_lifetime(self) -> None:
        """Raise ConfigError unless the loss over a lifetime fits that of one release.

        It has both epsilon and delta or neither, and each is at least that of one release.
        """
        epsilon = self.lifetime_epsilon
        delta = self.lifetime_delta
        if (epsilon is None) != (delta is None):
            raise ConfigError("A guarantee states epsilon and delta of a lifetime, or neither.")
        if epsilon is None or delta is None:
            return
        if self.epsilon is None or self.delta is None:
            raise ConfigError("Without an epsilon per release there is none for a lifetime.")
        if epsilon < self.epsilon or delta < self.delta:
            raise ConfigError("A lifetime costs at least what one release costs.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
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
            "claims": [claim.to_dict() for claim in self.claims],
            "measurements": [measurement.to_dict() for measurement in self.measurements],
        }


def sort_refuted_first(cards: Iterable[Guarantee]) -> tuple[Guarantee, ...]:
    """Return the refuted cards first, and then all others; each group keeps its order."""
    return tuple(sorted(cards, key=lambda card: card.basis is not Basis.REFUTED))
