"""Recommenders without any privacy, to compare with."""

from tacit.recommenders.baselines.ease import EASE, Ridge
from tacit.recommenders.baselines.item_knn import ItemKNN
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization
from tacit.recommenders.baselines.popularity import Popularity
from tacit.recommenders.baselines.remote_user import RemoteUser
from tacit.recommenders.baselines.user_average import UserAverage
from tacit.recommenders.baselines.user_item_mean import UserItemMean

__all__ = [
    "EASE",
    "ItemKNN",
    "ItemMean",
    "MatrixFactorization",
    "Popularity",
    "RemoteUser",
    "Ridge",
    "UserAverage",
    "UserItemMean",
]
