"""The standard scheme as the registry knows it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.design import Design, option
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """What the cards depend on."""

    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    release: str = option("What devices send.", default="scheme+selection+rounding")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """For the person who hides an attribute, and for those who consented to training."""
    from tacit.designs.standard_scheme import StandardScheme, guarantees

    model = StandardScheme(variant=settings.variant, release=settings.release)  # type: ignore[arg-type]  # checked there
    return (
        guarantees.for_the_person(
            attributes=model.attributes,
            release=settings.release,
            mix=1.0,
            variant=settings.variant,
            measurements=(),
        ),
        guarantees.for_the_consenting(epsilon=math.inf, contributions=model.contributions),
    )


DESIGN = Design(
    "standard-scheme",
    "Standard scheme",
    "US patent application: Privacy protection against curious recommenders",
    {"standard-scheme": "StandardScheme"},
    CardSettings,
    cards,
    "tacit attack standard-scheme RATINGS  measures the attacks.",
)
