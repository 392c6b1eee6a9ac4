"""Events in, (epsilon, delta) out. Standard library only, but for `pld`.

events      immutable facts about one release     pure, zcdp, gdp, pld  an accountant each
base        what all accountants share            privacy_filter        a budget that stops
rounding    sums that are never too low           calibration           the least noise for a budget
"""

from tacit.accounting.base import Accountant
from tacit.accounting.calibration import smallest_noise
from tacit.accounting.events import (
    ComposedEvent,
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    Event,
    Exponential,
    Gate,
    Gaussian,
    Laplace,
    NonPrivate,
    PostProcessing,
    RandomizedResponse,
    TopK,
    Tree,
    compose,
    repeat,
)
from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.privacy_filter import PrivacyFilter
from tacit.accounting.pure import PureAccountant
from tacit.accounting.zcdp import ZCDPAccountant

__all__ = [
    "Accountant",
    "ComposedEvent",
    "DiscreteGaussian",
    "DiscreteGaussianVector",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "GDPAccountant",
    "Gate",
    "Gaussian",
    "Laplace",
    "NonPrivate",
    "PostProcessing",
    "PrivacyFilter",
    "PureAccountant",
    "RandomizedResponse",
    "TopK",
    "Tree",
    "ZCDPAccountant",
    "compose",
    "repeat",
    "smallest_noise",
]
