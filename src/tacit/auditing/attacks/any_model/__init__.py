"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`.

runner          chooses the attacks, runs them and returns their findings
adapters        give recommenders of every known kind the same interface
named_models    finds a recommender by a text of the command line
membership      guesses who was among the people learned from, over many fits
canaries        planned changes of the ratings: an audit in one run, a reconstruction of changes
attributes      guesses a person's attribute from the answers that they get
findings        the row of figures in which every attack reports
finished_fits   stores the findings of fits, so that a stopped attack can be resumed
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
