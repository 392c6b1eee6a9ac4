"""Experiments and their findings: metrics, intervals, results and pages, for any design.

result             `Result` and `Table`: the findings of a command, for programs and people
intervals          means over folds or seeds, with confidence intervals
inference          intervals and paired tests over people and splits
manifest           describes how a result was made
quantities         paths that name quantities in the JSON of a result
metrics            metrics of lists, of predicted stars, and of labels
lists              judges lists by held-out likes
protocols          which ratings a comparison holds out, and which items compete
compare            compares designs, baselines and own models; `entries` and `own_models` name them
comparison_result  tables and the page of a comparison; `comparison_page` and `latex` format them
accuracy_figures   plots of accuracy, over epsilon and against attacks
lists_page         the page of `tacit evaluate`
runner             runs independent tasks of an experiment in processes
verdict            `Verdict`: the first sentences of a page, which say what a result means
page               a self-contained page; `lines`, `plots` and `figures` draw on it
any_design         `fit` and `evaluate` for designs without commands of their own
options            help texts that commands share
"""

from tacit.evaluation.intervals import Interval, auc_interval, mean_interval
from tacit.evaluation.manifest import describe_run, manifest
from tacit.evaluation.options import LEAST_SEEDS, OUT, REPORT, SEED, WORKERS
from tacit.evaluation.result import Result, Table, group_by
from tacit.evaluation.verdict import Verdict

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
