"""Recommenders to compare with: without any privacy, but for `PrivatePopularity`."""

from tacit.recommenders.baselines.likes import ALS as ALS
from tacit.recommenders.baselines.likes import EASE as EASE
from tacit.recommenders.baselines.likes import ItemItem as ItemItem
from tacit.recommenders.baselines.likes import Ridge as Ridge
from tacit.recommenders.baselines.neighbours import ItemKNN as ItemKNN
from tacit.recommenders.baselines.neighbours import RemoteUser as RemoteUser
from tacit.recommenders.baselines.stars import ItemMean as ItemMean
from tacit.recommenders.baselines.stars import MatrixFactorization as MatrixFactorization
from tacit.recommenders.baselines.stars import Popularity as Popularity
from tacit.recommenders.baselines.stars import PrivatePopularity as PrivatePopularity
from tacit.recommenders.baselines.stars import UserAverage as UserAverage
from tacit.recommenders.baselines.stars import UserItemMean as UserItemMean
