"""For authors of recommenders, mechanisms, designs, attackers, metrics and data sets: the suites
that every one of them passes."""

from typing import TYPE_CHECKING

from tacit.testing.engines import EngineConformance
from tacit.testing.mechanisms import MechanismConformance
from tacit.testing.parts import (
    AttackerConformance,
    DatasetConformance,
    DesignConformance,
    MetricConformance,
)
from tacit.testing.recommenders import RecommenderConformance

if TYPE_CHECKING:
    from tacit.testing.ledgers import LedgerConformance

__all__ = [
    "AttackerConformance",
    "DatasetConformance",
    "DesignConformance",
    "EngineConformance",
    "LedgerConformance",
    "MechanismConformance",
    "MetricConformance",
    "RecommenderConformance",
]


def __getattr__(name: str) -> object:
    """The ledger's suite needs the extra `ledger`, which authors of recommenders may not have."""
    if name == "LedgerConformance":
        from tacit.testing.ledgers import LedgerConformance

        return LedgerConformance
    raise AttributeError(f"module 'tacit.testing' has no attribute '{name}'")
