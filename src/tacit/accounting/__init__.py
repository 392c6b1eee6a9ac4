"""Events in, (epsilon, delta) out. Standard library only, but for the optional extra."""

from tacit.accounting.base import Accountant, BasicAccountant, PureAccountant
from tacit.accounting.budgets import PrivacyFilter, smallest_noise, total
from tacit.accounting.events import (
    Composed,
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
    SmoothSensitivity,
    TopK,
    Tree,
    compose,
    repeat,
)
from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.zcdp import ZCDPAccountant

__all__ = [
    "Accountant",
    "BasicAccountant",
    "Composed",
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
    "SmoothSensitivity",
    "TopK",
    "Tree",
    "ZCDPAccountant",
    "compose",
    "repeat",
    "smallest_noise",
    "total",
]
