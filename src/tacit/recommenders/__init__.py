"""Five published designs and the baselines. No design imports another."""

from tacit.recommenders.base import Recommendation, Recommendations, Recommender
from tacit.recommenders.files import load_model

__all__ = ["Recommendation", "Recommendations", "Recommender", "load_model"]
