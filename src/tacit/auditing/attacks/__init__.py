"""Attacks that guess a private attribute from ratings, and how they are judged.

A `Panel` holds attackers of the registry by name. Each learns from some people's releases and
scores other people's. Trained on true ratings an attacker does not know the method (frozen);
trained on released ratings it does (retrained). `Public` holds what is public.
"""

from tacit.auditing.attacks.base import Attacker, Public, Releases, stacked
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.judging import (
    Bound,
    auc,
    distance,
    permuted,
    pooled_ranks,
    simultaneous,
)
from tacit.auditing.attacks.panel import (
    ATTACKS,
    FULL,
    QUICK,
    STACKS,
    LogisticRegression,
    NaiveBayes,
    Panel,
    SupportVectorMachine,
    attackers,
    panel_names,
    readers_of_epochs,
)

__all__ = [
    "ATTACKS",
    "FULL",
    "QUICK",
    "STACKS",
    "Attacker",
    "Bound",
    "LinearDiscriminant",
    "LogisticRegression",
    "NaiveBayes",
    "Panel",
    "Public",
    "Releases",
    "SupportVectorMachine",
    "attackers",
    "auc",
    "distance",
    "panel_names",
    "permuted",
    "pooled_ranks",
    "readers_of_epochs",
    "simultaneous",
    "stacked",
]
