"""The words a privacy claim is made of: adjacency, trust, guarantee."""

from tacit.privacy.guarantee import (
    Adjacency,
    Basis,
    Claim,
    Guarantee,
    Measurement,
    Trust,
    control,
    figure,
    refuted_first,
    worst,
)

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
