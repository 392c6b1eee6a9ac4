"""Experiments and what they find: metrics, intervals, results, pages. It knows no design.

result        `Result` and `Table`: what a command found, for programs and people
intervals     means over folds or seeds, with confidence intervals
manifest      how a result was made
quantities    paths that name quantities in the JSON of a result
metrics       lists by held-out likes, stars by their errors, labels of items
lists         the protocol that judges lists
compare       designs beside each other
runner        independent tasks of an experiment in processes
page          a self-contained page; `lines`, `plots` and `figures` draw on it
any_design    `fit` and `evaluate` for designs without commands of their own
options       help texts that commands share
"""

from tacit.evaluation.intervals import Interval, auc_interval, mean_interval
from tacit.evaluation.manifest import describe_run, manifest
from tacit.evaluation.options import LEAST_SEEDS, OUT, REPORT, SEED, WORKERS
from tacit.evaluation.page import Verdict
from tacit.evaluation.result import Result, Table, group_by

__all__ = [
    "LEAST_SEEDS",
    "OUT",
    "REPORT",
    "SEED",
    "WORKERS",
    "Interval",
    "Result",
    "Table",
    "Verdict",
    "auc_interval",
    "describe_run",
    "group_by",
    "manifest",
    "mean_interval",
]
