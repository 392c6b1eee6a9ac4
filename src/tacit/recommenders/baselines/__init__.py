"""Recommenders to compare with: without any privacy, but for `PrivatePopularity`.

baseline.py              what baselines share, and the file they are saved in
popularity.py            counts, exact and noisy
averages.py              means of items and people
matrix_factorization.py  latent factors of stars
item_knn.py              similar items, for stars; item_item.py: for lists
remote_user.py           people who are alike in another domain
ease.py                  ridge regressions on likes
als.py                   latent factors of likes
registry.py              all of them, for model files
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
