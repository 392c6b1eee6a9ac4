"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`.

A person's attribute from what the recommender answers them: lists, predictions, item factors.

The panel of attackers learns from people whose attribute is known and scores the others, in folds.
What a person gets depends on their own ratings: this attack says what a reader of answers learns
about whom they are for, not about training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.any_model.adapters import Adapted, Answers, adapt
from tacit.auditing.attacks.any_model.canaries import one_run, reconstruction
from tacit.auditing.attacks.any_model.game import (
    CONFIDENCE,
    LISTS,
    SCORES,
    AttackRow,
    found_at,
    membership,
)
from tacit.auditing.attacks.any_model.game import members as of_members
from tacit.auditing.attacks.base import Floats, Releases
from tacit.auditing.attacks.judging import pooled_ranks, simultaneous
from tacit.auditing.attacks.panel import Panel, panel_names
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.errors import ConfigError, DataError

ATTACKS = ("membership", "audit", "reconstruction", "attribute")
DELTA = 1e-6
__all__ = ["ATTACKS", "AttackResult", "AttackRow", "adapt", "attack"]


@dataclass(frozen=True)
class AttackResult:
    """What was found. claim, delta: of a person's whole profile, added or removed, by the
    recommender's card or as given; claim None: nothing is claimed. All bounds of epsilon hold
    together with the confidence. left_out: attacks that were not made, and why.
    """

    model: str
    rows: tuple[AttackRow, ...]
    claim: float | None
    delta: float
    confidence: float
    left_out: tuple[str, ...]

    @property
    def epsilon_lower_bound(self) -> float:
        """The largest of all rows."""
        return max((row.epsilon_lower_bound or 0.0 for row in self.rows), default=0.0)

    @property
    def verdict(self) -> str:
        """'violation', 'no violation found', or 'no claim'."""
        if self.claim is None:
            return "no claim"
        return "violation" if self.epsilon_lower_bound > self.claim else "no violation found"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.model,
            "rows": [row.to_dict() for row in self.rows],
            "claim": self.claim,
            "delta": self.delta,
            "unit": "user",
            "adjacency": "add or remove one user",
            "confidence": self.confidence,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "verdict": self.verdict,
            "left_out": list(self.left_out),
        }


def attack(
    model: Any,
    ratings: Ratings,
    *,
    attacks: Sequence[str] = ATTACKS,
    sees_scores: bool | None = None,
    claim: float | None = None,
    delta: float | None = None,
    attribute: str | None = None,
    panel: str | Sequence[str] = "quick",
    members: Collection[Any] | None = None,
    targets: int = 300,
    shadows: int = 16,
    victims: int = 8,
    canaries: int = 400,
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> AttackResult:
    """Attack any recommender that `adapters` knows, fitted to these ratings again and again.

    attacks: some of `ATTACKS`; ConfigError for another name. sees_scores: whether membership is
    attacked by predictions, too; None: where they are stars. claim, delta: epsilon and delta that
    it claims for a person's whole profile; by default what its card says. members: ids of the
    people that a function `history -> list` learned from. length: of the lists that are looked at.
    """
    for name in attacks:
        if name not in ATTACKS:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(ATTACKS)}.")
    known = adapt(model)
    rows: list[AttackRow] = []
    left_out: list[str] = []
    refit = [name for name in ATTACKS[:3] if name in attacks]
    if known.fixed and refit:
        left_out.append(f"{', '.join(refit)}: a function of a history cannot be fitted again")
        if members is not None and "membership" in attacks:
            inside = np.isin(ratings.user_ids.astype(str), np.array(list(map(str, members))))
            rows += of_members(known, ratings, inside, length=length, seed=seed)
        refit = []
    stars = False
    if "membership" in refit or "audit" in refit:
        stated, stars = _first_look(known, ratings)
        if claim is None:
            claim, delta = stated[0], _delta(delta, stated[1])
    delta = DELTA if delta is None else delta
    views = (LISTS, SCORES) if (stars if sees_scores is None else sees_scores) else (LISTS,)
    bounds = 2 * len(views) * ("membership" in refit) + 2 * ("audit" in refit)
    common: dict[str, Any] = {"delta": delta, "seed": seed, "progress": progress}
    if "membership" in refit:
        rows += membership(
            known, ratings, views=views, targets=targets, shadows=shadows, victims=victims,
            length=length, level=(1 - CONFIDENCE) / bounds, **common,
        )  # fmt: skip
    if "audit" in refit:
        level = (1 - CONFIDENCE) / bounds
        rows += one_run(known, ratings, canaries=canaries, level=level, **common)
    if "reconstruction" in refit:
        rows += reconstruction(known, ratings, length=length, seed=seed, progress=progress)
    if "attribute" in attacks:
        chosen = attribute_of(ratings, attribute)
        if chosen is None:
            left_out.append("attribute: no user attribute of two values; name one")
        else:
            rows += attributes(
                known, ratings, chosen, panel=panel, length=length, seed=seed, progress=progress
            )
    return AttackResult(known.name, tuple(rows), claim, delta, CONFIDENCE, tuple(left_out))


def _delta(asked: float | None, stated: float | None) -> float | None:
    """At which a card's epsilon is judged. It says nothing of smaller ones."""
    if asked is not None and stated is not None and asked < stated:
        raise ConfigError(
            f"The recommender's card states its epsilon at delta {stated:g}; at a smaller delta it "
            "claims another one. Leave --delta out, or give both --claim and --delta."
        )
    return stated if asked is None else asked


def _first_look(model: Adapted, ratings: Ratings) -> tuple[tuple[float | None, float | None], bool]:
    """Epsilon and delta of the card for whole profiles, and whether predictions are stars."""
    answers = model.fit(ratings)
    own = getattr(getattr(answers, "model", None), "guarantees", None)
    stated = next(
        (
            (card.epsilon, card.delta)
            for card in (own() if own is not None else ())
            if card.epsilon is not None and str(card.adjacency) == "add or remove one user"
        ),
        (None, None),
    )
    scale = ratings.scale
    if scale.maximum <= 1:  # scores between 0 and 1 need not be stars
        return stated, False
    for user in ratings.user_ids[:5].tolist():
        scores = answers.scores(ratings.history(user))
        if scores is None or np.isnan(scores).all():
            return stated, False
        low, high = np.nanmin(scores), np.nanmax(scores)
        if low < scale.minimum - 1 or not scale.minimum <= high <= scale.maximum + 1:
            return stated, False
    return stated, True


FACTORS = "factors"
FOLDS = 5
MOST_PREDICTED = 200
"""Items whose predictions are read: those rated most."""
LEAST = 20


def attribute_of(ratings: Ratings, wanted: str | None) -> str | None:
    """The attribute that is attacked: the one asked for, or the first of two values; or None."""
    if wanted is not None:
        ratings.attribute(wanted)
        return wanted
    for name in sorted(ratings.user_attributes):
        if len(_counts(ratings.user_attributes[name])) == 2:
            return name
    return None


def attributes(
    model: Adapted,
    ratings: Ratings,
    attribute: str,
    *,
    panel: str | Sequence[str] = "quick",
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """A row for each attacker and each of lists, predictions and factors that there are.

    Of more than two values the commonest is separated from the rest.
    """
    column = ratings.attribute(attribute)
    counts = _counts(column)
    people = np.flatnonzero(
        np.array([value is not None for value in column]) & (np.diff(ratings.offsets) > 0)
    )
    value = max(sorted(counts, key=str), key=lambda each: counts[each])
    labels = (column[people] == value).astype(np.int64)
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST:
        raise DataError(
            f"too few people differ in '{attribute}'",
            expected=f"{LEAST} people who are {value!r} and as many who are not",
        )
    names = panel_names(panel) if isinstance(panel, str) else tuple(panel)
    answered = _answered(model.fit(ratings), ratings, people, length)
    progress(1)
    folds = list(k_fold_users(len(people), FOLDS, seed=seed, labels=labels))
    rows = []
    for view, matrix in answered.items():
        rows += _attacked(f"{attribute}-{view}", matrix, labels, folds, names)
        progress(1)
    return rows


def from_lists(lists: NDArray[np.int64], labels: NDArray[np.int64], *, seed: int) -> float | None:
    """AUC of logistic regression that reads lists; None where too few people differ.

    lists: (people, n) item numbers, the best first, -1 where a list has ended. labels: (people,) 0
    or 1. Each fold of people is scored by what was learned from the others.
    """
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST:
        return None
    places = np.zeros((len(lists), int(lists.max(initial=0)) + 1))
    rows, ranks = np.nonzero(lists >= 0)
    places[rows, lists[rows, ranks]] = _weights(lists.shape[1])[ranks]
    folds = list(k_fold_users(len(lists), FOLDS, seed=seed, labels=labels))
    return _attacked("", sparse.csr_array(places), labels, folds, ("logistic-regression",))[0].auc


def _weights(length: int) -> Floats:
    """Of the places of a list, the first the heaviest."""
    weights: Floats = 1.0 + np.log(length) - np.log1p(np.arange(length))
    return weights


def _answered(
    answers: Answers, ratings: Ratings, people: NDArray[np.int64], length: int
) -> dict[str, sparse.csr_array]:
    """(people, features) by view. Factors: the sum over a person's list."""
    popular = np.argsort(-np.bincount(ratings.items, minlength=ratings.n_items), kind="stable")
    popular = np.sort(popular[:MOST_PREDICTED])
    places = np.zeros((len(people), ratings.n_items))
    predicted: list[Floats] | None = []
    for row, user in enumerate(ratings.user_ids[people].tolist()):
        own = ratings.history(user)
        listed = answers.ranked(own, length)
        places[row, listed] = _weights(length)[: len(listed)]
        scores = answers.scores(own) if predicted is not None else None
        if scores is None:
            predicted = None
        elif predicted is not None:
            predicted.append(np.nan_to_num(scores[popular], nan=0.0))
    answered = {LISTS: places}
    if predicted is not None:
        answered[SCORES] = _scaled(np.array(predicted))
    if answers.factors is not None:
        answered[FACTORS] = _scaled(
            (places > 0).astype(np.float64) @ np.nan_to_num(answers.factors)
        )
    return {view: sparse.csr_array(table) for view, table in answered.items()}


def _scaled(table: Floats) -> Floats:
    """Columns between 0 and 5, as stars are: the panel reads stars."""
    low, high = table.min(axis=0), table.max(axis=0)
    scaled: Floats = 5 * (table - low) / np.where(high > low, high - low, 1.0)
    return scaled


def _attacked(
    name: str, matrix: sparse.csr_array, labels: NDArray[np.int64], folds: Any, names: Sequence[str]
) -> list[AttackRow]:
    scores = {each: np.zeros(len(labels)) for each in names}
    fold_of = np.zeros(len(labels), dtype=np.int64)
    for number, (train, test) in enumerate(folds):
        fold_of[test] = number
        panel = Panel(names).fit(Releases.of(sparse.csr_array(matrix[train])), labels[train])
        for each, given in panel.scores(Releases.of(sparse.csr_array(matrix[test]))).items():
            scores[each][test] = given
    bound = simultaneous(labels, scores, fold_of)
    rows = []
    for each in names:
        ranks = pooled_ranks(scores[each], fold_of)
        rare, usual = (found_at(labels == 1, ranks, share) for share in (0.001, 0.01))
        area, ends = bound.areas[each], bound.interval(each)
        rows.append(AttackRow(f"attribute-{name}: {each}", area, *ends, rare, usual, None))
    return rows


def _counts(column: NDArray[Any]) -> Counter[Any]:
    return Counter(value for value in column.tolist() if value is not None)
