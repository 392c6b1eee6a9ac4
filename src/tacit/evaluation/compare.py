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
from operator import attrgetter, itemgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model import from_lists
from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.game import membership
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import random_per_user
from tacit.design import ComparisonEntry
from tacit.errors import ConfigError, DataError, TacitError
from tacit.evaluation import Result, Table, grouped, lists, mean_interval
from tacit.evaluation.lists import LIST_LENGTH, PENALTIES, ListTrial, list_trial
from tacit.evaluation.metrics import coverage, ndcg_by_person, ranking_metrics, rmse
from tacit.evaluation.page import Cell, Page, Section
from tacit.evaluation.runner import Progress, Runner
from tacit.extensions import METRICS, find_entry_points

Context = tuple[Ratings, str | None, str | None]
COLUMNS = ("design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high")
ATTACK = -1
"""In place of a seed."""
FAILED = "failed"
NOBODY = "nobody is protected"
_HOME = "tacit.recommenders.baselines"
_ATTACK = {"targets": 100, "shadows": 8, "victims": 4}
_NDCG = f"ndcg@{LIST_LENGTH}"
_HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "recall@10",
    "mrr": "MRR@10",
    "rmse": "RMSE, stars",
    "membership_auc": "membership AUC",
    "epsilon_lower_bound": "epsilon at least",
}
"""By the metric's name before its @; others stand as they are."""
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small figures are 95% "
    "intervals of means over splits. Membership AUC: 0.5 is guessing; the interval is of attacked "
    "fits."
)


class Compared(Result):
    """Rows with `COLUMNS`; epsilon None: no noise."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """Designs that do not fit the data, and why."""
        return dict(self.data["left_out"])

    def tables(self, by: str = "") -> list[tuple[str, str, list[str], list[list[str]]]]:
        """For each unit and adversary: metrics, and lines of design, variant, epsilon and cells.

        by: "" for metrics of everybody, else those of groups that begin so, such as "activity".
        """
        rows = [row for row in self.rows if group_of(row["metric"]) == by]
        tables = []
        for claim, own in grouped(rows, itemgetter("unit", "against")).items():
            names = list(dict.fromkeys(row["metric"] for row in own))
            lines = []
            for key, of_entry in grouped(own, itemgetter("design", "variant", "epsilon")).items():
                cells = {row["metric"]: _cell(row) for row in of_entry}
                line = (cells.get(name, "–") for name in names)
                lines.append([*key[:2], _epsilon(key[2]), *line])
            tables.append((*claim, names, lines))
        return tables

    def page(self, manifest: Mapping[str, Any]) -> Page:
        """A section of everybody, one for each kind of group, and what could not be compared."""
        sections = []
        for by in dict.fromkeys(group_of(row["metric"]) for row in self.rows):
            title = f"Who pays: lists by {by}" if by else "Everybody"
            sections.append(Section(title, [_table(*each) for each in self.tables(by)]))
        if self.left_out:
            notes = [f"{name}: {reason}." for name, reason in self.left_out.items()]
            sections.append(Section("Not compared", notes=notes))
        return Page("Designs compared", sections, manifest, lead=_LEAD)


def _table(unit: str, against: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    rows = []
    for line in lines:
        split = [cell.removesuffix(")").partition(" (") for cell in line[3:]]
        rows.append((*line[:3], *(Cell(mean, ends) for mean, _, ends in split)))
    title = unit if against == "–" else f"{unit}, against {against}"
    return Table(title, ("design", "variant", "epsilon", *map(_heading, names)), rows)


def _heading(metric: str) -> str:
    """A column's: a group's own name where the table is of groups."""
    name, _, group = metric.partition(" ")
    known = _HEADINGS.get(name.partition("@")[0], metric)
    return group.partition(":")[2] or known.replace("_auc", " AUC from lists")


def baselines(source: str | None, target: str | None) -> tuple[ComparisonEntry, ...]:
    """What protects nobody, and private popularity's rivals: the same methods as single commands.

    EASE, or a ridge regression between domains, takes the best penalty on the test people.
    """

    def plain(name: str, kind: str, stars: bool = False, **settings: Any) -> ComparisonEntry:
        return ComparisonEntry(
            name, "baseline", None, NOBODY, "–", f"{_HOME}:{kind}", settings, stars
        )

    names = ("ease", "EASE") if source is None else ("ridge", "Ridge")
    routes: dict[str, Any] = {} if source is None else {"source": source, "target": target}
    return (
        plain("popularity", "Popularity", likes=True),
        *(plain(*names, penalty=each, **routes) for each in PENALTIES),
        plain("item-item", "ItemItem"),
        *((plain("als", "ALS"),) if find_spec("implicit") else ()),
        plain("item-mean", "ItemMean", True),
        plain("matrix-factorization", "MatrixFactorization", True),
    )


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
) -> Compared:
    """Every entry on every split, and attacked once, in as many steps as `steps` says.

    ConfigError without a seed, or if `resume` is another file; DataError if nothing is comparable.
    """
    if not seeds:
        raise ConfigError("A comparison needs at least one seed.")
    reasons, advance = dict(left_out or {}), progress or (lambda _: None)
    columns = {**ratings.user_attributes, **ratings.item_metadata} if resume else {}
    known = {name: column.tolist() for name, column in columns.items()}
    identity = f"{ratings.digest} {source} {target} {known}"
    data = (ratings, source, target)
    with Runner(data, workers=workers, resume=resume, identity=identity) as runner:
        tasks = [(entry, seed) for entry in entries for seed in seeds]
        pieces = iter(runner.run(_piece, tasks, advance))
        figures = {entry: list(islice(pieces, len(seeds))) for entry in entries}
        best = _best(figures, reasons)
        if not best:
            why = "\n".join(by_reason(reasons))
            raise DataError("nothing can be compared on these ratings", fix=why)
        targets = [entry for entry in best if attacks and entry.attacked]
        attacked = runner.run(_piece, [(entry, ATTACK) for entry in targets], advance)
    for entry, piece in zip(targets, attacked, strict=True):
        if FAILED not in piece:
            figures[entry] = [*figures[entry], piece]
    rows = [row for entry in best for row in _rows(entry, figures[entry])]
    return Compared({"rows": rows, "left_out": reasons})


def _best(
    figures: Mapping[ComparisonEntry, Sequence[Mapping[str, Any]]], reasons: dict[str, str]
) -> list[ComparisonEntry]:
    """Of the same method the settings with the best lists; why others could not be run."""
    ran = []
    for entry, pieces in figures.items():
        failed = [piece[FAILED] for piece in pieces if FAILED in piece]
        if failed:
            reasons[f"{entry.design} {entry.variant} {_epsilon(entry.epsilon)}"] = failed[0]
        else:
            ran.append(entry)
    reached = {entry: float(np.mean([piece[_NDCG] for piece in figures[entry]])) for entry in ran}
    same = grouped(ran, attrgetter("design", "variant", "epsilon"))
    return [max(several, key=reached.__getitem__) for several in same.values()]


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """A sentence for each reason, after the names of all that it keeps out."""
    names = grouped(reasons, lambda name: reasons[name].rstrip("."))
    return [f"{', '.join(those)}: {reason}." for reason, those in names.items()]


def steps(entries: Sequence[ComparisonEntry], seeds: int, attacks: bool) -> int:
    """How far `progress` counts, at most."""
    attacked = {(each.design, each.variant, each.epsilon) for each in entries if each.attacked}
    return len(entries) * seeds + attacks * len(attacked)


def _piece(context: Context, entry: ComparisonEntry, seed: int) -> dict[str, Any]:
    ratings, source, target = context
    try:
        if seed == ATTACK:
            return _attacked(entry, ratings)
        trial = list_trial(ratings, source=source, target=target, seed=seed)
        return _judged(entry, ratings, trial, seed)
    except TacitError as error:  # too few people, say: the others can still be compared
        return {FAILED: str(error)}


def _judged(
    entry: ComparisonEntry, ratings: Ratings, trial: ListTrial, seed: int
) -> dict[str, Any]:
    """Metrics of the lists of one split; stars and groups where there are any."""
    recommender = _made(entry)
    recommender.fit(trial.train)
    made = lists.lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    relevant = trial.relevant
    metrics = ranking_metrics(made, relevant)
    catalogue = trial.train.n_items if trial.candidates is None else len(trial.candidates)
    values = {
        _NDCG: metrics.ndcg,
        f"recall@{LIST_LENGTH}": metrics.recall,
        f"mrr@{LIST_LENGTH}": metrics.mrr,
        "coverage": coverage(made, catalogue),
        "novelty": _novelty(made, trial.train),
    }
    if entry.stars:
        values["rmse"] = _rmse(entry, recommender, ratings, trial, seed)
    for name, entry_point in find_entry_points(METRICS, values).items():
        values[name] = float(entry_point.load()(made, relevant, trial.train))
    for name, column in trial.train.user_attributes.items():
        values |= _attribute_auc(name, column[trial.people], made, seed)
    each = ndcg_by_person(made, relevant)
    for name, members in _groups(trial).items():
        if members.any():
            values[f"{_NDCG} {name}"] = float(each[members].mean())
    return values


def _attacked(entry: ComparisonEntry, ratings: Ratings) -> dict[str, Any]:
    """Membership by lists; each metric as mean, low and high."""
    rows = membership(adapt(lambda: _made(entry)), ratings, **_ATTACK)  # type: ignore[arg-type]
    strongest = max(rows, key=lambda row: row.auc)
    return {
        "membership_auc": [strongest.auc, strongest.low, strongest.high],
        "epsilon_lower_bound": [max(row.epsilon_lower_bound or 0.0 for row in rows)] * 3,
    }


def _attribute_auc(
    name: str, column: Column, shown: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """What lists say about an attribute of two values."""
    known = np.array([value is not None for value in column])
    values = sorted({str(value) for value in column[known]})
    if len(values) != 2:
        return {}
    labels = (column[known].astype(str) == values[0]).astype(np.int64)
    auc = from_lists(shown[known], labels, seed=seed)
    return {} if auc is None else {f"{name.replace(' ', '-')}_auc": auc}


def _made(entry: ComparisonEntry) -> Any:
    return resolve_name(entry.maker)(**entry.settings)


def _novelty(shown: NDArray[np.int64], train: Ratings) -> float:
    """Mean of -log2 of the share of people who rated a listed item; one more than did, of each."""
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
        train, test, people = split.train, split.test, np.unique(split.test.users).astype(np.int64)
        fitted = _made(entry)
        fitted.fit(train)
    return rmse(*lists.stars_of(fitted, train, test, people))


def _groups(trial: ListTrial) -> dict[str, NDArray[np.bool_]]:
    """Who pays: thirds by activity and by rarity of taste, and values of small attributes."""
    train, people = trial.train, trial.people
    own = np.diff(train.offsets)
    popularity = np.log1p(np.bincount(train.items, minlength=train.n_items))
    sums = np.bincount(train.users, popularity[train.items], minlength=train.n_users)
    taste = sums / np.maximum(own, 1)
    groups: dict[str, NDArray[np.bool_]] = {}
    for name, values, words in (
        ("activity", own[people], ("low", "middle", "high")),
        ("taste", taste[people], ("rare", "middle", "common")),
    ):
        third = np.argsort(np.argsort(values, kind="stable"), kind="stable") * 3 // len(people)
        groups |= {f"{name}:{word}": third == place for place, word in enumerate(words)}
    for name, column in train.user_attributes.items():
        known = sorted({str(each) for each in column.tolist() if each is not None})
        if len(known) <= 5:
            own_value = column[people].astype(str)
            groups |= {f"{name}:{value}": own_value == value for value in known}
    return groups


def _rows(entry: ComparisonEntry, pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows, outside = [], find_entry_points(METRICS)
    for metric in dict.fromkeys(name for piece in pieces for name in piece):
        values = [piece[metric] for piece in pieces if metric in piece]
        if isinstance(values[0], list):
            middle, low, high = values[0]
        else:
            most = math.inf if metric in (*outside, "novelty", "rmse") else 1.0
            bounds = (-math.inf if metric in outside else 0.0, most)
            middle, low, high = mean_interval(values, bounds=bounds)
            if len(values) == 1:  # it says nothing about the spread
                low = high = math.inf
        ends = [each if math.isfinite(each) else None for each in (low, high)]
        claim = (getattr(entry, name) for name in COLUMNS[:5])
        rows.append(dict(zip(COLUMNS, (*claim, metric, middle, *ends), strict=True)))
    return rows


def group_of(metric: str) -> str:
    """`activity` of `ndcg@10 activity:low`; nothing for metrics of everybody."""
    return metric.partition(" ")[2].partition(":")[0]


def _epsilon(value: float | None) -> str:
    if value is None:
        return "–"
    return "no noise" if math.isinf(value) else f"{value:g}"


def _cell(row: Mapping[str, Any]) -> str:
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
