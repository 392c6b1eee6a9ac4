"""Attacks that guess a private attribute from ratings, and how they are judged.

A `Panel` holds several attackers by name. Each learns from some people's releases and scores other
people's. An attacker that is trained on true ratings does not know the method of release
("frozen"); one that is trained on released ratings does ("retrained"). `PublicKnowledge` is what is
public about items and about this method. `auc` and `bound_attackers` judge the scores.
`membership`, whose names are not imported here, has attacks that guess whether a recommender
learned from a person.
"""

from tacit.auditing.attacks.auc_bounds import (
    Bound,
    auc,
    bound_attackers,
    distance,
    permute_labels,
    pooled_ranks,
)
from tacit.auditing.attacks.base import Attacker, PublicKnowledge, Releases, stack_releases
from tacit.auditing.attacks.discriminant import LinearDiscriminant
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
    "PublicKnowledge",
    "Releases",
    "SupportVectorMachine",
    "attackers",
    "auc",
    "bound_attackers",
    "distance",
    "panel_names",
    "permute_labels",
    "pooled_ranks",
    "readers_of_epochs",
    "stack_releases",
]
