"""Recommenders without any privacy, to compare with."""

from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization
from tacit.recommenders.baselines.popularity import Popularity

__all__ = ["ItemMean", "MatrixFactorization", "Popularity"]
