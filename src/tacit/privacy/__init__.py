"""The words a privacy claim is made of: adjacency, trust, guarantee."""

from tacit.privacy.adjacency import Adjacency
from tacit.privacy.guarantee import Basis, Claim, Guarantee, Measurement, refuted_first
from tacit.privacy.panel import control, figure, worst
from tacit.privacy.trust import Trust

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
