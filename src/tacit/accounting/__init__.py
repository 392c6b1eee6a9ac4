"""Events in, (epsilon, delta) out. Standard library only, but for the optional extra."""

from tacit.accounting.base import Accountant, BasicAccountant, PureAccountant, smallest_noise
from tacit.accounting.budgets import PrivacyFilter, total
from tacit.accounting.concentrated import GDPAccountant, ZCDPAccountant
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
