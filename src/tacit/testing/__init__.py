"""For authors of recommenders, mechanisms, designs, attackers, metrics and data sets: the suites
that every one of them passes."""

from tacit.testing.engines import EngineConformance
from tacit.testing.mechanisms import MechanismConformance
from tacit.testing.parts import (
    AttackerConformance,
    DatasetConformance,
    DesignConformance,
    MetricConformance,
)
from tacit.testing.recommenders import RecommenderConformance

__all__ = [
    "AttackerConformance",
    "DatasetConformance",
    "DesignConformance",
    "EngineConformance",
    "MechanismConformance",
    "MetricConformance",
    "RecommenderConformance",
]
