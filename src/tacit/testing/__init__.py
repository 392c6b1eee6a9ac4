"""For authors of recommenders: the suite that every recommender passes."""

from tacit.testing.recommenders import RecommenderConformance

__all__ = ["RecommenderConformance"]
