"""What every recommender offers, model files by name, and the baselines."""

from tacit.recommenders.base import Recommendation, Recommendations, Recommender
from tacit.recommenders.model_files import load_model

__all__ = ["Recommendation", "Recommendations", "Recommender", "load_model"]
