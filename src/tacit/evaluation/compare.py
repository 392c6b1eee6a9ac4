"""Designs beside each other: the same people, splits, seeds and metrics, and what attacks find.

Split    as `lists` defines it: held-out likes are to be found again. RMSE: in one domain a random
         20 % of everybody's ratings are held out in a second fit; in two, the same held-out people.
Attack   membership by lists, without reference and by likelihood ratio, on all ratings, once.
Units    an epsilon belongs to its unit and adversary. Rows of different units are never on one axis
         and never ordered by epsilon together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.attributes import auc_of_lists
from tacit.auditing.attacks.any_model.membership import attack_membership
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import random_per_user
from tacit.design import ComparisonEntry
from tacit.errors import ConfigError, DataError, TacitError
from tacit.evaluation import lists
from tacit.evaluation.comparison_result import COLUMNS, ComparisonResult, write_epsilon
from tacit.evaluation.intervals import mean_interval
from tacit.evaluation.lists import LIST_LENGTH, PENALTIES, ListTrial, list_trial
from tacit.evaluation.metrics import coverage, ndcg_by_person, ranking_metrics, rmse
from tacit.evaluation.result import group_by
from tacit.evaluation.runner import Progress, Runner
from tacit.extensions import METRICS, find_entry_points
from tacit.recommenders.fits_in_process import comparison

Context = tuple[Ratings, str | None, str | None]
ATTACK = -1
"""Stands in the place of a seed for the task that attacks."""
FAILED = "failed"
"""Key of the reason why a task could not be run."""
NOBODY = "nobody is protected"
_BASELINES = "tacit.recommenders.baselines"
_ATTACK = {"targets": 100, "shadows": 8, "victims": 4}
_NDCG = f"ndcg@{LIST_LENGTH}"


def baselines(source: str | None, target: str | None) -> tuple[ComparisonEntry, ...]:
    """List the recommenders that protect nobody, and private popularity's rivals.

    They are the same methods as single commands. EASE, or a ridge regression between domains, takes
    the best penalty on the test people.

    Args:
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
    """
    entries = [_baseline("popularity", "Popularity", likes=True)]
    if source is None:
        entries += [_baseline("ease", "EASE", penalty=penalty) for penalty in PENALTIES]
    else:
        routes: dict[str, Any] = {"source": source, "target": target}
        entries += [_baseline("ridge", "Ridge", penalty=each, **routes) for each in PENALTIES]
    entries.append(_baseline("item-item", "ItemItem"))
    if find_spec("implicit"):
        entries.append(_baseline("als", "ALS"))
    entries.append(_baseline("item-mean", "ItemMean", stars=True))
    entries.append(_baseline("matrix-factorization", "MatrixFactorization", stars=True))
    return tuple(entries)


def _baseline(name: str, kind: str, *, stars: bool = False, **settings: Any) -> ComparisonEntry:
    maker = f"{_BASELINES}:{kind}"
    return ComparisonEntry(name, "baseline", None, NOBODY, "–", maker, settings, stars)


def compare(
    ratings: Ratings,
    entries: Sequence[ComparisonEntry],
    *,
    left_out: Mapping[str, str] | None = None,
    source: str | None = None,
    target: str | None = None,
    seeds: Sequence[int] = range(3),
    attacks: bool = True,
    workers: int = 1,
    resume: Path | None = None,
    progress: Progress | None = None,
) -> ComparisonResult:
    """Judge every entry on every split, and attack each once.

    Args:
        ratings: Ratings that all entries are fitted to.
        entries: Recommenders to compare. Of several with the same design, variant and epsilon the
            one with the best lists is kept.
        left_out: Designs that are not compared, and why.
        source: Domain that people have rated; None together with `target`: one domain.
        target: Domain that lists are made in.
        seeds: Seeds of the splits.
        attacks: Whether entries are attacked by membership.
        workers: Processes; 0 for all cores.
        resume: File to which finished tasks are added, and whose tasks are not run again.
        progress: Called with the number of steps done, of `count_steps` in all.

    Raises:
        ConfigError: No seed, or `resume` is another file.
        DataError: Nothing can be compared on these ratings.
    """
    if not seeds:
        raise ConfigError("A comparison needs at least one seed.")
    reasons = dict(left_out or {})
    advance = progress or (lambda _: None)
    columns = {**ratings.user_attributes, **ratings.item_metadata} if resume else {}
    facts = {name: column.tolist() for name, column in columns.items()}
    identity = f"{ratings.digest} {source} {target} {facts}"
    data = (ratings, source, target)
    with Runner(data, workers=workers, resume=resume, identity=identity) as runner:
        tasks = [(entry, seed) for entry in entries for seed in seeds]
        judged = iter(runner.run(_judge_or_attack, tasks, advance))
        figures = {entry: list(islice(judged, len(seeds))) for entry in entries}
        best = _choose_best(figures, reasons)
        if not best:
            why = "\n".join(sentences_by_reason(reasons))
            raise DataError("nothing can be compared on these ratings", fix=why)
        targets = [entry for entry in best if attacks and entry.attacked]
        attacked = runner.run(_judge_or_attack, [(entry, ATTACK) for entry in targets], advance)
    for entry, figure in zip(targets, attacked, strict=True):
        if FAILED not in figure:
            figures[entry] = [*figures[entry], figure]
    rows = []
    for entry in best:
        rows += _make_rows(entry, figures[entry])
    return ComparisonResult({"rows": rows, "left_out": reasons})


def _choose_best(
    figures: Mapping[ComparisonEntry, Sequence[Mapping[str, Any]]], reasons: dict[str, str]
) -> list[ComparisonEntry]:
    """Choose the settings with the best lists of each method; add why entries could not be run."""
    mean_ndcg = {}
    for entry, of_entry in figures.items():
        failures = [figure[FAILED] for figure in of_entry if FAILED in figure]
        if failures:
            name = f"{entry.design} {entry.variant} {write_epsilon(entry.epsilon)}"
            reasons[name] = failures[0]
        else:
            mean_ndcg[entry] = float(np.mean([figure[_NDCG] for figure in of_entry]))
    methods = group_by(mean_ndcg, attrgetter("design", "variant", "epsilon"))
    return [max(settings, key=mean_ndcg.__getitem__) for settings in methods.values()]


def sentences_by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Write a sentence for each reason, after the names of all that it keeps out."""
    names = group_by(reasons, lambda name: reasons[name].rstrip("."))
    return [f"{', '.join(kept_out)}: {reason}." for reason, kept_out in names.items()]


def count_steps(entries: Sequence[ComparisonEntry], seeds: int, attacks: bool) -> int:
    """Count the steps that `compare` takes at most."""
    attacked = {(each.design, each.variant, each.epsilon) for each in entries if each.attacked}
    return len(entries) * seeds + attacks * len(attacked)


def _judge_or_attack(context: Context, entry: ComparisonEntry, seed: int) -> dict[str, Any]:
    """Run one task: the lists of a split, or the attack where the seed is `ATTACK`."""
    ratings, source, target = context
    try:
        if seed == ATTACK:
            return _attack(entry, ratings)
        trial = list_trial(ratings, source=source, target=target, seed=seed)
        return _judge(entry, ratings, trial, seed)
    except TacitError as error:  # too few people, say: the others can still be compared
        return {FAILED: str(error)}


def _judge(entry: ComparisonEntry, ratings: Ratings, trial: ListTrial, seed: int) -> dict[str, Any]:
    """Compute the metrics of the lists of one split; of stars and groups where there are any."""
    recommender = _make_recommender(entry)
    with comparison():
        recommender.fit(trial.train)
    shown = lists.lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    relevant = trial.relevant
    metrics = ranking_metrics(shown, relevant)
    catalogue = trial.train.n_items if trial.candidates is None else len(trial.candidates)
    values = {
        _NDCG: metrics.ndcg,
        f"recall@{LIST_LENGTH}": metrics.recall,
        f"mrr@{LIST_LENGTH}": metrics.mrr,
        "coverage": coverage(shown, catalogue),
        "novelty": _novelty(shown, trial.train),
    }
    if entry.stars:
        values["rmse"] = _rmse(entry, recommender, ratings, trial, seed)
    for name, entry_point in find_entry_points(METRICS, values).items():
        values[name] = float(entry_point.load()(shown, relevant, trial.train))
    for name, column in trial.train.user_attributes.items():
        values |= _attribute_auc(name, column[trial.people], shown, seed)
    by_person = ndcg_by_person(shown, relevant)
    for name, members in _groups_of_people(trial).items():
        if members.any():
            values[f"{_NDCG} {name}"] = float(by_person[members].mean())
    return values


def _attack(entry: ComparisonEntry, ratings: Ratings) -> dict[str, Any]:
    """Attack membership by lists; each metric is a mean with the ends of its interval."""
    rows = attack_membership(adapt(lambda: _make_recommender(entry)), ratings, **_ATTACK)  # type: ignore[arg-type]
    strongest = max(rows, key=lambda row: row.auc)
    return {
        "membership_auc": [strongest.auc, strongest.low, strongest.high],
        "epsilon_lower_bound": [max(row.epsilon_lower_bound or 0.0 for row in rows)] * 3,
    }


def _attribute_auc(
    name: str, column: Column, shown: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """Compute how well lists tell an attribute of two values; nothing for other attributes."""
    known = np.array([value is not None for value in column])
    values = sorted({str(value) for value in column[known]})
    if len(values) != 2:
        return {}
    labels = (column[known].astype(str) == values[0]).astype(np.int64)
    auc = auc_of_lists(shown[known], labels, seed=seed)
    return {} if auc is None else {f"{name.replace(' ', '-')}_auc": auc}


def _make_recommender(entry: ComparisonEntry) -> Any:
    return resolve_name(entry.maker)(**entry.settings)


def _novelty(shown: NDArray[np.int64], train: Ratings) -> float:
    """Compute the mean of -log2((raters + 1) / (people + 1)) over listed items."""
    counts = np.bincount(train.items, minlength=train.n_items)
    surprise = -np.log2((counts + 1) / (train.n_users + 1))
    listed = shown[shown >= 0]
    return float(surprise[listed].mean()) if listed.size else 0.0


def _rmse(
    entry: ComparisonEntry, fitted: Any, ratings: Ratings, trial: ListTrial, seed: int
) -> float:
    train, test, people = trial.train, trial.test, trial.people
    if trial.candidates is None:
        split = random_per_user(ratings, lists.SHARE, seed=seed)
        train, test = split.train, split.test
        people = np.unique(test.users).astype(np.int64)
        fitted = _make_recommender(entry)
        with comparison():
            fitted.fit(train)
    return rmse(*lists.stars_of(fitted, train, test, people))


def _groups_of_people(trial: ListTrial) -> dict[str, NDArray[np.bool_]]:
    """Group test people, to see who pays.

    Thirds by activity, thirds by rarity of taste, and the values of attributes with five values or
    fewer.
    """
    train, people = trial.train, trial.people
    activity = np.diff(train.offsets)
    popularity = np.log1p(np.bincount(train.items, minlength=train.n_items))
    sums = np.bincount(train.users, popularity[train.items], minlength=train.n_users)
    taste = sums / np.maximum(activity, 1)
    groups = _thirds("activity", activity[people], ("low", "middle", "high"))
    groups |= _thirds("taste", taste[people], ("rare", "middle", "common"))
    for name, column in train.user_attributes.items():
        values = sorted({str(value) for value in column.tolist() if value is not None})
        if len(values) <= 5:
            own = column[people].astype(str)
            groups |= {f"{name}:{value}": own == value for value in values}
    return groups


def _thirds(
    name: str, values: NDArray[Any], words: tuple[str, str, str]
) -> dict[str, NDArray[np.bool_]]:
    """Cut people into thirds by a value; `words` name the lowest, middle and highest third."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    third = ranks * 3 // len(values)
    return {f"{name}:{word}": third == place for place, word in enumerate(words)}


def _make_rows(
    entry: ComparisonEntry, figures: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Make the rows of an entry: each metric's mean over splits with its interval."""
    claim = (entry.design, entry.variant, entry.epsilon, entry.unit, entry.against)
    metrics: dict[str, None] = {}
    for figure in figures:
        metrics |= dict.fromkeys(figure)
    rows = []
    for metric in metrics:
        values = [figure[metric] for figure in figures if metric in figure]
        mean, low, high = values[0] if isinstance(values[0], list) else _mean(metric, values)
        ends = [end if math.isfinite(end) else None for end in (low, high)]
        rows.append(dict(zip(COLUMNS, (*claim, metric, mean, *ends), strict=True)))
    return rows


def _mean(metric: str, values: Sequence[float]) -> tuple[float, float, float]:
    """Compute the mean over splits with its interval, which is unbounded for a single split."""
    is_foreign = metric in find_entry_points(METRICS)
    least = -math.inf if is_foreign else 0.0
    most = math.inf if is_foreign or metric in ("novelty", "rmse") else 1.0
    mean, low, high = mean_interval(values, bounds=(least, most))
    if len(values) == 1:  # it says nothing about the spread
        return mean, math.inf, math.inf
    return mean, low, high
