"""What a comparison measures of one entry: lists and stars on one split, who pays, one attack.

And the file that keeps what was measured.
"""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model import from_lists
from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.game import membership
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import random_per_user
from tacit.design import Entry
from tacit.errors import ConfigError
from tacit.evaluation.lists import LIST_LENGTH, SHARE, ListTrial, lists_of, stars_of
from tacit.evaluation.metrics import coverage, ndcg_by_person, ranking_metrics, rmse
from tacit.extensions import METRICS, installed

_ATTACK = {"targets": 100, "shadows": 8, "victims": 4}


def judged(entry: Entry, ratings: Ratings, trial: ListTrial, seed: int) -> dict[str, float]:
    """Metrics of the lists of one split; stars and groups where there are any."""
    recommender = _made(entry)
    recommender.fit(trial.train)
    lists = lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    relevant = trial.relevant
    found = ranking_metrics(lists, relevant)
    catalogue = trial.train.n_items if trial.candidates is None else len(trial.candidates)
    values = {
        f"ndcg@{LIST_LENGTH}": found.ndcg,
        f"recall@{LIST_LENGTH}": found.recall,
        f"mrr@{LIST_LENGTH}": found.mrr,
        "coverage": coverage(lists, catalogue),
        "novelty": _novelty(lists, trial.train),
    }
    if entry.stars:
        values["rmse"] = _rmse(entry, recommender, ratings, trial, seed)
    for name, entry_point in installed(METRICS, values).items():
        values[name] = float(entry_point.load()(lists, relevant, trial.train))
    for name, column in trial.train.user_attributes.items():
        values |= _attribute_auc(name, column[trial.people], lists, seed)
    each = ndcg_by_person(lists, relevant)
    for name, members in _groups(trial).items():
        if members.any():
            values[f"ndcg@{LIST_LENGTH} {name}"] = float(each[members].mean())
    return values


def attacked(entry: Entry, ratings: Ratings) -> dict[str, Any]:
    """Membership by lists; each metric as mean, low and high."""
    rows = membership(adapt(lambda: _made(entry)), ratings, **_ATTACK)  # type: ignore[arg-type]
    strongest = max(rows, key=lambda row: row.auc)
    return {
        "membership_auc": [strongest.auc, strongest.low, strongest.high],
        "epsilon_lower_bound": [max(row.epsilon_lower_bound or 0.0 for row in rows)] * 3,
    }


def _attribute_auc(
    name: str, column: Column, lists: NDArray[np.int64], seed: int
) -> dict[str, float]:
    """What lists say about an attribute of two values."""
    known = np.array([value is not None for value in column])
    values = sorted({str(value) for value in column[known]})
    if len(values) != 2:
        return {}
    labels = (column[known].astype(str) == values[0]).astype(np.int64)
    found = from_lists(lists[known], labels, seed=seed)
    return {} if found is None else {f"{name.replace(' ', '-')}_auc": found}


def _made(entry: Entry) -> Any:
    module, _, name = entry.maker.partition(":")
    return getattr(import_module(module), name)(**entry.settings)


def _novelty(lists: NDArray[np.int64], train: Ratings) -> float:
    """Mean of -log2 of the share of people who rated a listed item; one more than did, of each."""
    counts = np.bincount(train.items, minlength=train.n_items)
    surprise = -np.log2((counts + 1) / (train.n_users + 1))
    return float(surprise[lists[lists >= 0]].mean()) if (lists >= 0).any() else 0.0


def _rmse(entry: Entry, fitted: Any, ratings: Ratings, trial: ListTrial, seed: int) -> float:
    train, test, people = trial.train, trial.test, trial.people
    if trial.candidates is None:
        split = random_per_user(ratings, SHARE, seed=seed)
        train, test, people = split.train, split.test, np.unique(split.test.users).astype(np.int64)
        fitted = _made(entry)
        fitted.fit(train)
    return rmse(*stars_of(fitted, train, test, people))


def _groups(trial: ListTrial) -> dict[str, NDArray[np.bool_]]:
    """Who pays: thirds by activity and by rarity of taste, and values of small attributes."""
    train, people = trial.train, trial.people
    own = np.diff(train.offsets)
    popularity = np.log1p(np.bincount(train.items, minlength=train.n_items))
    sums = np.bincount(train.users, popularity[train.items], minlength=train.n_users)
    taste = sums / np.maximum(own, 1)
    found: dict[str, NDArray[np.bool_]] = {}
    for name, values, words in (
        ("activity", own[people], ("low", "middle", "high")),
        ("taste", taste[people], ("rare", "middle", "common")),
    ):
        third = np.argsort(np.argsort(values, kind="stable"), kind="stable") * 3 // len(people)
        found |= {f"{name}:{word}": third == place for place, word in enumerate(words)}
    for name, column in train.user_attributes.items():
        known = sorted({str(each) for each in column.tolist() if each is not None})
        if len(known) <= 5:
            own_value = column[people].astype(str)
            found |= {f"{name}:{value}": own_value == value for value in known}
    return found


def key_of(data: str, entry: Entry, seed: int) -> str:
    """What a piece is found by. data: as `digest_of` gives it."""
    settings = json.dumps(entry.settings, sort_keys=True, default=str)
    return f"{data} {entry.maker} {settings} {seed}"


def digest_of(ratings: Ratings, source: str | None, target: str | None) -> str:
    """Of all that a piece is computed from, beside its entry and seed."""
    known = [
        {name: column.tolist() for name, column in columns.items()}
        for columns in (ratings.user_attributes, ratings.item_metadata)
    ]
    text = json.dumps([ratings.digest, source, target, *known], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_BEGINS = '{"key": '
"""Of a line of a piece."""


def kept_in(kept: Path | None) -> dict[str, dict[str, Any]]:
    """Finished pieces; a line that was cut off is none."""
    found: dict[str, dict[str, Any]] = {}
    if kept is None or not kept.exists():
        return found
    for line in kept.read_bytes().decode("utf-8", errors="replace").splitlines():
        if not (line.startswith(_BEGINS) or _BEGINS.startswith(line)):
            raise ConfigError(
                f"--resume {kept}: this file is not of  tacit compare.  Nothing was added to it. "
                "Name a new file."
            )
        try:
            piece = json.loads(line)
            found[piece["key"]] = piece["values"]
        except (ValueError, KeyError):
            continue
    return found
