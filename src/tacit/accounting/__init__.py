"""Accounting: from events to (epsilon, delta). Only `pld` needs more than the standard library.

events                immutable facts about one release
base                  what all accountants share
pure, zcdp, gdp, pld  one accountant each
rounding              arithmetic whose results are never too low
privacy_filter        a budget that refuses releases beyond it
calibration           the smallest noise that meets a budget
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
