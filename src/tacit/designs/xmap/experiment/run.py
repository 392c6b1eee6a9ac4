"""One split of an experiment across domains: every contender fitted and judged on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.domains import cross_domain_split, items_in
from tacit.data.ratings import Ratings
from tacit.designs.xmap.experiment.judge import Judged, judge_target
from tacit.designs.xmap.experiment.methods import Contender, Task, make, predicts

LIST_LENGTH = 10

Entries = tuple[tuple[Contender, tuple[int | None, ...]], ...]
"""Contenders, each with the values of k to judge it at; (None,) where it has no k."""


@dataclass(frozen=True, order=True)
class Setting:
    """overlap: share of the training people in both domains who stay in training.
    profile_size: ratings in the target domain that a test person keeps; 0: cold start."""

    overlap: float
    profile_size: int


@dataclass(frozen=True)
class Experiment:
    """What every split shares. test_ratings: how many in the target domain make a test person;
    options: of XMap, by name (significance, alpha, ...)."""

    ratings: Ratings
    source: str
    target: str
    share: float
    test_ratings: int
    options: Mapping[str, Any]


def run_setting(
    experiment: Experiment, seed: int, setting: Setting, entries: Entries
) -> list[tuple[Contender, int | None, Judged]]:
    """Every contender at each of its values of k, in the order of `entries`."""
    split = cross_domain_split(
        experiment.ratings,
        source=experiment.source,
        target=experiment.target,
        share=experiment.share,
        keep=setting.profile_size,
        at_least=experiment.test_ratings,
        overlap=setting.overlap,
        seed=seed,
    )
    target = np.zeros(experiment.ratings.n_items, dtype=bool)
    target[items_in(experiment.ratings, experiment.target)] = True
    task = Task(experiment.source, experiment.target, experiment.options, seed)
    found = []
    for contender, ks in entries:
        for k in ks:
            model = make(contender, task, k).fit(split.train)
            stars = predicts(contender, experiment.options)
            judged = judge_target(model, split, target, n=LIST_LENGTH, stars=stars)
            found.append((contender, k, judged))
    return found
