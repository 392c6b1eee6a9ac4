"""Attacks that guess a private attribute from ratings, and how they are judged.

A `Panel` holds attackers of the registry by name. Each learns from some people's releases and
scores other people's: trained on true ratings it is the attacker of yesterday (frozen), trained on
released ones the attacker who knows the method (retrained). What is public comes in as `Public`.
"""

from tacit.auditing.attacks.base import AttributeAttack
from tacit.auditing.attacks.bound import Bound, pooled_ranks, simultaneous
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.judging import auc, distance, permuted
from tacit.auditing.attacks.linear import LogisticRegression, NaiveBayes, SupportVectorMachine
from tacit.auditing.attacks.modern import Attacker, Stack
from tacit.auditing.attacks.one_vs_rest import OneVersusRest, one_vs_rest_auc
from tacit.auditing.attacks.panel import Panel, readers_of_epochs
from tacit.auditing.attacks.registry import (
    ATTACKS,
    FULL,
    QUICK,
    STACKS,
    attackers,
    panel_names,
)
from tacit.auditing.attacks.seen import Public, Seen, stacked

__all__ = [
    "ATTACKS",
    "FULL",
    "QUICK",
    "STACKS",
    "Attacker",
    "AttributeAttack",
    "Bound",
    "LinearDiscriminant",
    "LogisticRegression",
    "NaiveBayes",
    "OneVersusRest",
    "Panel",
    "Public",
    "Seen",
    "Stack",
    "SupportVectorMachine",
    "attackers",
    "auc",
    "distance",
    "one_vs_rest_auc",
    "panel_names",
    "permuted",
    "pooled_ranks",
    "readers_of_epochs",
    "simultaneous",
    "stacked",
]
