"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`.

runner      chooses the attacks, runs them and says what they found
adapters    a recommender of any known kind as one that is fitted and answers for a history
membership  was a person among those it learned from; answers before and after many fits
canaries    planned changes of the ratings: an audit in one run, and what lists add up to
attributes  a person's attribute, read off what the recommender answers them
findings    rows of figures, which all attacks share
"""

from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.attributes import auc_of_lists
from tacit.auditing.attacks.any_model.findings import AttackRow
from tacit.auditing.attacks.any_model.runner import ATTACKS, AttackResult, attack, count_steps

__all__ = [
    "ATTACKS",
    "AttackResult",
    "AttackRow",
    "adapt",
    "attack",
    "auc_of_lists",
    "count_steps",
]
