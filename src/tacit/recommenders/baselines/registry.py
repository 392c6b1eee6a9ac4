"""All baselines, for the registry of model files."""

from __future__ import annotations

from tacit.recommenders.baselines.als import ALS
from tacit.recommenders.baselines.averages import ItemMean, UserAverage, UserItemMean
from tacit.recommenders.baselines.baseline import Baseline
from tacit.recommenders.baselines.ease import EASE, Ridge
from tacit.recommenders.baselines.item_item import ItemItem
from tacit.recommenders.baselines.item_knn import ItemKNN
from tacit.recommenders.baselines.matrix_factorization import MatrixFactorization
from tacit.recommenders.baselines.popularity import Popularity, PrivatePopularity
from tacit.recommenders.baselines.remote_user import RemoteUser

BASELINES: tuple[type[Baseline], ...] = (
    ALS,
    EASE,
    ItemItem,
    Ridge,
    ItemKNN,
    RemoteUser,
    ItemMean,
    MatrixFactorization,
    Popularity,
    PrivatePopularity,
    UserAverage,
    UserItemMean,
)
"""Classes of all baselines."""
