"""For authors of recommenders and mechanisms: the suites that every one of them passes."""

from tacit.testing.engines import EngineConformance
from tacit.testing.mechanisms import MechanismConformance
from tacit.testing.recommenders import RecommenderConformance

__all__ = ["EngineConformance", "MechanismConformance", "RecommenderConformance"]
