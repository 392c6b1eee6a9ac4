"""Recommenders to compare with: without any privacy, but for `PrivatePopularity`."""

from tacit.recommenders.baselines.likes import ALS, EASE, ItemItem, Ridge
from tacit.recommenders.baselines.neighbours import ItemKNN, RemoteUser
from tacit.recommenders.baselines.stars import (
    ItemMean,
    MatrixFactorization,
    Popularity,
    PrivatePopularity,
    UserAverage,
    UserItemMean,
)

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
