"""Recommenders to compare with: without any privacy, but for `PrivatePopularity`."""

from tacit.recommenders.baselines.als import ALS
from tacit.recommenders.baselines.ease import EASE, Ridge
from tacit.recommenders.baselines.item_item import ItemItem
from tacit.recommenders.baselines.item_knn import ItemKNN
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization
from tacit.recommenders.baselines.popularity import Popularity
from tacit.recommenders.baselines.private_popularity import PrivatePopularity
from tacit.recommenders.baselines.remote_user import RemoteUser
from tacit.recommenders.baselines.user_average import UserAverage
from tacit.recommenders.baselines.user_item_mean import UserItemMean

__all__ = [
    "ALS",
    "EASE",
    "ItemItem",
    "ItemKNN",
    "ItemMean",
    "MatrixFactorization",
    "Popularity",
    "PrivatePopularity",
    "RemoteUser",
    "Ridge",
    "UserAverage",
    "UserItemMean",
]
