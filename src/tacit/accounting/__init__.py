"""Events in, (epsilon, delta) out. Standard library only, but for the optional extra."""

from tacit.accounting.events import (
    Composed,
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
    "Composed",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "Gate",
    "Gaussian",
    "Laplace",
    "NonPrivate",
    "PostProcessing",
    "RandomizedResponse",
    "TopK",
    "Tree",
    "compose",
    "repeat",
]
