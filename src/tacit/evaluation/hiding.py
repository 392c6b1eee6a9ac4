"""How well an attribute is hidden, and what that costs: the table of the standard scheme's paper.

Rows are releases, columns attacks (frozen and retrained) and errors; people are split in folds, and
whoever is attacked was never seen by the recommender. An AUC of 0.5 is guessing; the distance from
it is what counts, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks import ATTACKS
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.errors import ConfigError
from tacit.evaluation.hiding_fold import (
    MIXED_RELEASE,
    Experiment,
    FoldResult,
    run_fold,
    tables_without,
)
from tacit.evaluation.intervals import Interval, auc_interval, mean_interval
from tacit.evaluation.parallel import Pool, Progress
from tacit.evaluation.ranking import RankingMetrics
from tacit.privacy import Measurement
from tacit.recommenders.standard_scheme.messages import RELEASES
from tacit.recommenders.standard_scheme.training import (
    consenting,
    published_factorization,
    sound_factorization,
    unit,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RANKING = tuple(
    field.name
    for field in fields(RankingMetrics)
    if field.name not in ("n", "users", "users_left_out")
)


@dataclass(frozen=True)
class AttackRow:
    """One attack on one release; trained_on: raw (frozen) or released (knows the method)."""

    release: str
    attack: str
    trained_on: str
    auc: float
    low: float
    high: float
    folds: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyRow:
    """Errors in stars, means over folds, where the recommender guesses the attribute (as in the
    paper); `_at_home`: where the person's own device adds its effect. Lists of 10 are made at home.
    shown: share of the ratings that is released."""

    release: str
    rmse: float
    mae: float
    rmse_low: float
    rmse_high: float
    rmse_at_home: float
    mae_at_home: float
    shown: float
    ranking: dict[str, float]


@dataclass(frozen=True)
class SingleRow:
    """One attack under one condition: labels dealt out at random, say."""

    attack: str
    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated."""

    mix: float
    aucs: dict[str, float]
    rmse: float


@dataclass(frozen=True)
class HidingTable:
    """The whole experiment. scores: (release, attack) -> the labels and scores of all people.

    as_she_rates: frozen attacks on whoever sends the default release after each of her ratings and
    is watched all along.
    fractions: release -> AUC of looking at the released fractions with the public offsets in hand;
    1 on unrounded whole stars, where nothing has to be learned.
    """

    attribute: str
    values: tuple[str, ...]
    people: int
    rows: tuple[AttackRow, ...]
    fractions: dict[str, float]
    as_she_rates: tuple[SingleRow, ...]
    accuracy: tuple[AccuracyRow, ...]
    control: tuple[SingleRow, ...]
    tradeoff: tuple[MixPoint, ...]
    scores: dict[tuple[str, str], tuple[Ints, Floats]]

    def row(self, release: str, attack: str, trained_on: str) -> AttackRow:
        """One cell of the table."""
        wanted = (release, attack, trained_on)
        return next(r for r in self.rows if (r.release, r.attack, r.trained_on) == wanted)

    def measurements(self, release: str, data: str) -> tuple[Measurement, ...]:
        """This release's attacks, for a guarantee card, after those on no obfuscation at all."""
        return tuple(
            Measurement(r.attack, r.trained_on, r.release, r.auc, r.low, r.high, data)
            for r in self.rows
            if r.release == release or (r.release == "none" and r.trained_on == "raw")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: rows, fractions, as_she_rates, accuracy, control, tradeoff."""
        return {
            "attribute": self.attribute,
            "values": list(self.values),
            "people": self.people,
            "rows": [vars(row) | {"folds": list(row.folds)} for row in self.rows],
            "fractions": self.fractions,
            "as_she_rates": [vars(row) | {} for row in self.as_she_rates],
            "accuracy": [
                {k: v for k, v in vars(row).items() if k != "ranking"} | row.ranking
                for row in self.accuracy
            ],
            "control": [vars(row) | {} for row in self.control],
            "tradeoff": [vars(point) | {} for point in self.tradeoff],
        }


def evaluate_hiding(
    ratings: Ratings,
    attribute: str,
    *,
    folds: int = 10,
    releases: Sequence[str] = tuple(RELEASES),
    attacks: Sequence[str] = tuple(ATTACKS),
    variant: str = "sound",
    disclosure_epsilon: float = math.inf,
    contributions: int = 50,
    factors: int = 20,
    seed: int = 0,
    workers: int = 0,
    progress: Progress | None = None,
) -> HidingTable:
    """Run every release and attack, folds by user. `steps(folds)` tells how far progress counts.

    Results depend on the seed and the data only, not on the number of workers; with a finite
    `disclosure_epsilon` also on its noise, which takes no seed. These are simulations: no draw here
    is a real release.
    """
    experiment = _experiment(
        ratings,
        attribute,
        folds,
        releases,
        attacks,
        variant,
        disclosure_epsilon,
        contributions,
        factors,
        seed,
    )
    pairs = [(a, b) for a in range(folds) for b in range(a, folds)]
    advance = progress or (lambda _: None)
    with Pool(experiment, workers=workers) as pool:
        tables = dict(zip(pairs, pool.run(tables_without, pairs, advance), strict=True))
        tasks = [
            (fold, {pair: table for pair, table in tables.items() if fold in pair})
            for fold in range(folds)
        ]
        results = pool.run(run_fold, tasks, advance)
    return _table(experiment, results)


def steps(folds: int) -> int:
    """How many steps `evaluate_hiding` reports."""
    return folds * (folds + 1) // 2 + folds


def _experiment(
    ratings: Ratings,
    attribute: str,
    folds: int,
    releases: Sequence[str],
    attacks: Sequence[str],
    variant: str,
    disclosure_epsilon: float,
    contributions: int,
    factors: int,
    seed: int,
) -> Experiment:
    if folds < 3:
        # A retrained attacker learns from releases of tables without its people and the attacked.
        raise ConfigError(f"Hiding needs at least 3 folds; got {folds}.")
    for kind, wanted, known in (
        ("release", releases, RELEASES),
        ("attack", attacks, ATTACKS),
        ("variant", [variant], ("sound", "published")),
    ):
        for name in wanted:
            if name not in known:
                raise ConfigError(f"No {kind} '{name}'. Known: {', '.join(known)}.")
    people, _ = consenting(ratings, [attribute])
    if not ratings.scale.discrete:  # coupling has no meaning here; the rest is measured
        releases = [name for name in releases if RELEASES[name].transform != "coupling"]
    fold_of = np.empty(people.n_people, dtype=np.int64)
    labels = people.labels[:, 0]
    for number, (_, test) in enumerate(
        k_fold_users(people.n_people, folds, seed=seed, labels=labels)
    ):
        fold_of[test] = number
    return Experiment(
        people=people,
        fold_of=fold_of,
        minimum=ratings.scale.minimum,
        step=unit(ratings.scale),
        factorization=(
            sound_factorization(people.n_levels, factors=factors, seed=seed)
            if variant == "sound"
            else published_factorization(factors=factors, seed=seed)
        ),
        shrink=variant == "sound",
        disclosure_epsilon=disclosure_epsilon,
        contributions=contributions,
        releases=tuple(releases),
        attacks=tuple(attacks),
        seed=seed,
    )


def _table(experiment: Experiment, results: Sequence[FoldResult]) -> HidingTable:
    rows = []
    for release, attack, trained_on in results[0].aucs:
        areas = [result.aucs[release, attack, trained_on] for result in results]
        rows.append(AttackRow(release, attack, trained_on, *auc_interval(areas), tuple(areas)))
    control = _attack_rows([result.control for result in results])
    return HidingTable(
        attribute=experiment.people.names[0],
        values=experiment.people.values[0],
        people=experiment.people.n_people,
        rows=tuple(rows),
        fractions={
            name: float(np.mean([result.fractions[name] for result in results]))
            for name in experiment.releases
        },
        accuracy=tuple(_accuracy(name, results) for name in experiment.releases),
        control=control,
        as_she_rates=_attack_rows([result.as_she_rates for result in results]),
        tradeoff=tuple(_mix_point(mix, results) for mix in results[0].mixed),
        scores={
            key: (
                np.concatenate([result.scores[key][0] for result in results]),
                np.concatenate([result.scores[key][1] for result in results]),
            )
            for key in results[0].scores
        },
    )


def _attack_rows(folds: Sequence[Mapping[str, float]]) -> tuple[SingleRow, ...]:
    return tuple(
        SingleRow(attack, *auc_interval([fold[attack] for fold in folds])) for attack in folds[0]
    )


def _accuracy(release: str, results: Sequence[FoldResult]) -> AccuracyRow:
    folds = [result.accuracy[release] for result in results]
    error: Interval = mean_interval([fold.rmse for fold in folds])
    return AccuracyRow(
        release=release,
        rmse=error.mean,
        mae=float(np.mean([fold.mae for fold in folds])),
        rmse_low=error.low,
        rmse_high=error.high,
        rmse_at_home=float(np.mean([fold.rmse_at_home for fold in folds])),
        mae_at_home=float(np.mean([fold.mae_at_home for fold in folds])),
        shown=float(np.mean([fold.shown for fold in folds])),
        ranking={
            f"{name}_at_10": float(np.mean([getattr(fold.ranking, name) for fold in folds]))
            for name in RANKING
        },
    )


def _mix_point(mix: float, results: Sequence[FoldResult]) -> MixPoint:
    attacks = results[0].mixed[mix][0]
    aucs = {a: float(np.mean([result.mixed[mix][0][a] for result in results])) for a in attacks}
    return MixPoint(mix, aucs, float(np.mean([result.mixed[mix][1] for result in results])))


__all__ = ["MIXED_RELEASE", "AttackRow", "HidingTable", "evaluate_hiding", "steps"]
