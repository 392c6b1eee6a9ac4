"""How well an attribute is hidden from a panel of attackers, and what that costs.

People are split in folds, and the recommender never saw the people who are attacked. An AUC of 0.5
is guessing; the distance from it is what counts, on either side. The figure of a release is that of
the strongest attacker, with a bound that holds for all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import panel_names
from tacit.auditing.attacks.panel import checked
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.designs.standard_scheme.disclosure import RELEASES, Rule
from tacit.designs.standard_scheme.experiment.experiment import (
    DEFAULT_RELEASE,
    QUICK_SCHEDULES,
    SCHEDULES,
    WEEKLY,
    Experiment,
    order_of,
    tables_without,
    weeks_of,
)
from tacit.designs.standard_scheme.experiment.fold import run_fold
from tacit.designs.standard_scheme.experiment.pooled import table_of
from tacit.designs.standard_scheme.experiment.releases import best_penalty
from tacit.designs.standard_scheme.experiment.table import HidingTable
from tacit.designs.standard_scheme.training.people import consenting, unit
from tacit.designs.standard_scheme.training.profiles import (
    PROFILES,
    Profile,
    factorization,
    genres_of,
    of_kind,
    years_of,
)
from tacit.errors import ConfigError
from tacit.evaluation.parallel import Pool, Progress

Floats = NDArray[np.float64]


def evaluate_hiding(
    ratings: Ratings,
    attribute: str,
    *,
    folds: int = 10,
    releases: Sequence[str] = ("none", DEFAULT_RELEASE),
    panel: str = "quick",
    attacks: Sequence[str] | None = None,
    schedules: Sequence[str] | None = None,
    variant: str = "sound",
    disclosure_epsilon: float = math.inf,
    contributions: int = 50,
    second_order: str = "off",
    profiles: Profile = "latent",
    factors: int = 20,
    seed: int = 0,
    workers: int = 0,
    progress: Progress | None = None,
) -> HidingTable:
    """Attack every release, folds by user. `steps(folds)` says how far progress counts.

    attacks: names of attackers in place of those of the panel. schedules: how the release that is
    judged is also watched over time; by default all of them with the full panel, and two with the
    quick one.

    Results depend on the seed and the data only, not on the number of workers; with a finite
    `disclosure_epsilon` also on its noise, which takes no seed. These are simulations: no draw here
    is a real release.
    """
    names = panel_names(panel) if attacks is None else checked(attacks)
    if schedules is None:
        schedules = SCHEDULES if panel == "full" else QUICK_SCHEDULES
    if ratings.timestamps is None:
        schedules = [schedule for schedule in schedules if schedule != WEEKLY]
    if not ratings.scale.discrete:  # coupling has no meaning here; the rest is measured
        releases = [name for name in releases if _known(name).transform != "coupling"]
    _check(folds, releases, variant, second_order, profiles)
    people, numbers = consenting(ratings, [attribute])
    weekly = weeks_of(ratings)
    genres, years = genres_of(ratings), years_of(ratings)
    experiment = Experiment(
        people=people,
        fold_of=_folds(people.labels[:, 0], folds, seed),
        order=order_of(ratings, seed)[numbers],
        weekly=None if weekly is None else weekly[numbers],
        genres=genres,
        years=years,
        minimum=ratings.scale.minimum,
        step=unit(ratings.scale),
        factorization=of_kind(
            profiles,
            factorization(people.n_levels, variant=variant, factors=factors, seed=seed),
            ratings,
        ),
        shrink=variant == "sound",
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        second_order=second_order,
        releases=tuple(releases),
        attacks=names,
        schedules=tuple(schedules),
        seed=seed,
    )
    return _run(experiment, workers, progress or (lambda _: None))


def steps(folds: int) -> int:
    """How many steps `evaluate_hiding` reports."""
    return folds * (folds + 1) // 2 + folds


def _run(experiment: Experiment, workers: int, advance: Progress) -> HidingTable:
    folds = experiment.folds
    pairs = [(a, b) for a in range(folds) for b in range(a, folds)]
    with Pool(experiment, workers=workers) as pool:
        made = pool.run(tables_without, pairs, advance)
    tables = dict(zip(pairs, made, strict=True))
    experiment = replace(experiment, penalty=best_penalty(experiment, tables[0, 0][0]))
    tasks = [
        (fold, {pair: table for pair, table in tables.items() if fold in pair})
        for fold in range(folds)
    ]
    with Pool(experiment, workers=workers) as pool:
        return table_of(experiment, pool.run(run_fold, tasks, advance))


def _check(
    folds: int, releases: Sequence[str], variant: str, second_order: str, profiles: str
) -> None:
    if folds < 3:
        # A retrained attacker learns from releases of tables without its people and the attacked.
        raise ConfigError(f"Hiding needs at least 3 folds; got {folds}.")
    for name in releases:
        _known(name)
    if variant not in ("sound", "published"):
        raise ConfigError(f"No variant '{variant}'. Known: sound, published.")
    if profiles not in PROFILES:
        raise ConfigError(f"Profiles are one of {', '.join(PROFILES)}; got '{profiles}'.")
    if second_order not in ("off", "taste"):
        raise ConfigError(f"second_order is 'off' or 'taste'; got '{second_order}'.")


def _known(release: str) -> Rule:
    if release not in RELEASES:
        raise ConfigError(f"No release '{release}'. Known: {', '.join(RELEASES)}.")
    return RELEASES[release]


def _folds(labels: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    fold_of = np.empty(len(labels), dtype=np.int64)
    for number, (_, test) in enumerate(k_fold_users(len(labels), folds, seed=seed, labels=labels)):
        fold_of[test] = number
    return fold_of
