"""Attacks that guess a private attribute from ratings, and how they are judged.

naive-bayes, logistic-regression, svm read which items were rated and how; lda knows the linear
model and reads how only. Each takes whatever ratings it is given: trained on true ratings it is the
attacker of yesterday (frozen), trained on released ones the attacker who knows the method.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tacit.auditing.attacks.base import AttributeAttack
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.judging import auc, distance, permuted
from tacit.auditing.attacks.linear import LogisticRegression, NaiveBayes, SupportVectorMachine
from tacit.auditing.attacks.one_vs_rest import OneVersusRest, one_vs_rest_auc

ATTACKS: Mapping[str, Callable[[], AttributeAttack]] = MappingProxyType(
    {
        NaiveBayes.name: NaiveBayes,
        LogisticRegression.name: LogisticRegression,
        SupportVectorMachine.name: SupportVectorMachine,
        LinearDiscriminant.name: LinearDiscriminant,
    }
)

__all__ = [
    "ATTACKS",
    "AttributeAttack",
    "LinearDiscriminant",
    "LogisticRegression",
    "NaiveBayes",
    "OneVersusRest",
    "SupportVectorMachine",
    "auc",
    "distance",
    "one_vs_rest_auc",
    "permuted",
]
