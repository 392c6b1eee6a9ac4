"""Recommenders to compare with. Only `PrivatePopularity` has any privacy.

baseline.py              base classes of baselines, and their model files
popularity.py            counts, exact and noisy
averages.py              means of items and people
matrix_factorization.py  predicts stars from latent factors
item_knn.py              predicts stars from similar items
item_item.py             makes lists from similar items
remote_user.py           predicts stars from people with similar ratings in another domain
ease.py                  makes lists by ridge regressions on likes
als.py                   makes lists from latent factors of likes
registry.py              all baselines, for model files
"""

from tacit.recommenders.baselines.als import ALS as ALS
from tacit.recommenders.baselines.averages import ItemMean as ItemMean
from tacit.recommenders.baselines.averages import UserAverage as UserAverage
from tacit.recommenders.baselines.averages import UserItemMean as UserItemMean
from tacit.recommenders.baselines.ease import EASE as EASE
from tacit.recommenders.baselines.ease import Ridge as Ridge
from tacit.recommenders.baselines.item_item import ItemItem as ItemItem
from tacit.recommenders.baselines.item_knn import ItemKNN as ItemKNN
from tacit.recommenders.baselines.matrix_factorization import (
    MatrixFactorization as MatrixFactorization,
)
from tacit.recommenders.baselines.popularity import Popularity as Popularity
from tacit.recommenders.baselines.popularity import PrivatePopularity as PrivatePopularity
from tacit.recommenders.baselines.remote_user import RemoteUser as RemoteUser
