"""Events in, (epsilon, delta) out. Standard library only."""

from tacit.accounting.base import Accountant, PureAccountant, smallest_noise
from tacit.accounting.budgets import PrivacyFilter
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
    TopK,
    Tree,
    compose,
    repeat,
)

__all__ = [
    "Accountant",
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
    "TopK",
    "Tree",
    "ZCDPAccountant",
    "compose",
    "repeat",
    "smallest_noise",
]
