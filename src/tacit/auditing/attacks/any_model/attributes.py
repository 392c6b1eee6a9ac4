"""A person's attribute from what the recommender answers them: lists, predictions, item factors.

The panel of attackers learns from people whose attribute is known and scores the others, in folds.
What a person gets depends on their own ratings: this attack says what a reader of answers learns
about whom they are for, not about training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, Answers
from tacit.auditing.attacks.any_model.findings import LISTS, SCORES, AttackRow, share_found
from tacit.auditing.attacks.auc_bounds import auc, bound_attackers, pooled_ranks
from tacit.auditing.attacks.base import Floats, Releases
from tacit.auditing.attacks.panel import LogisticRegression, Panel, panel_names
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.errors import DataError
from tacit.recommenders.base import History

FACTORS = "factors"
FOLDS = 5
MOST_PREDICTED = 200
"""Items whose predictions are read: those rated most."""
LEAST_PEOPLE = 20
"""People of each value without whom an attribute is not attacked."""


def attribute_of(ratings: Ratings, name: str | None) -> str | None:
    """Return the attribute that is attacked: the named one, or else the first with two values.

    None where no attribute has two values.

    Raises:
        DataError: The ratings have no attribute of this name.
    """
    if name is not None:
        ratings.attribute(name)  # raises DataError where there is none of this name
        return name
    for attribute in sorted(ratings.user_attributes):
        if len(_count_values(ratings.user_attributes[attribute])) == 2:
            return attribute
    return None


def attack_attribute(
    model: AdaptedModel,
    ratings: Ratings,
    attribute: str,
    *,
    panel: str | Sequence[str] = "quick",
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[AttackRow]:
    """Guess an attribute: a row for each attacker and each of lists, predictions and factors.

    Of more than two values the commonest is separated from the rest.

    Args:
        model: The recommender.
        ratings: Ratings that it is fitted to, with the attribute.
        attribute: Name of the attribute.
        panel: Attackers: "quick", "full", or names.
        length: Length of the lists that are looked at.
        seed: Seed of the folds.
        progress: Called with 1 after the fit, and after each view.

    Raises:
        DataError: Too few people differ in the attribute.
    """
    column = ratings.attribute(attribute)
    counts = _count_values(column)
    is_known = np.array([value is not None for value in column])
    people = np.flatnonzero(is_known & (np.diff(ratings.offsets) > 0))
    value = max(sorted(counts, key=str), key=lambda each: counts[each])
    labels = (column[people] == value).astype(np.int64)
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST_PEOPLE:
        raise DataError(
            f"too few people differ in '{attribute}'",
            expected=f"{LEAST_PEOPLE} people who are {value!r} and as many who are not",
        )
    names = panel_names(panel) if isinstance(panel, str) else tuple(panel)
    quick = panel == "quick"
    features = _answer_features(model.fit(ratings), ratings, people, length)
    progress(1)
    folds = list(k_fold_users(len(people), FOLDS, seed=seed, labels=labels))
    rows = []
    for view, matrix in features.items():
        rows += _attack_view(f"{attribute}-{view}", matrix, labels, folds, names, quick=quick)
        progress(1)
    return rows


def auc_of_lists(lists: NDArray[np.int64], labels: NDArray[np.int64], *, seed: int) -> float | None:
    """Return the AUC of logistic regression that reads lists; None where too few people differ.

    Each fold of people is scored by what was learned from the others. The penalty is chosen once,
    on those that the first fold's attacker learns from. The later folds score some of them, which
    favours the attacker on average; a fold that another penalty suits better may score lower.

    Args:
        lists: (people, n) item numbers, the best first, -1 where a list has ended.
        labels: (people,) 0 or 1.
        seed: Seed of the folds.
    """
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST_PEOPLE:
        return None
    weights = np.zeros((len(lists), int(lists.max(initial=0)) + 1))
    rows, ranks = np.nonzero(lists >= 0)
    weights[rows, lists[rows, ranks]] = _rank_weights(lists.shape[1])[ranks]
    features = sparse.csr_array(weights)
    scores = np.zeros(len(lists))
    fold_of = np.zeros(len(lists), dtype=np.int64)
    strengths = None  # all
    folds = k_fold_users(len(lists), FOLDS, seed=seed, labels=labels)
    for number, (train, test) in enumerate(folds):
        attacker = LogisticRegression(strengths, quick=True).fit(features[train], labels[train])
        assert attacker.chosen_strength is not None  # by `fit`
        strengths = (attacker.chosen_strength,)
        scores[test] = attacker.score(features[test])
        fold_of[test] = number
    return auc(labels, pooled_ranks(scores, fold_of))


def _rank_weights(length: int) -> Floats:
    """Return (length,) weights of the ranks of a list, the first rank the heaviest."""
    weights: Floats = 1.0 + np.log(length) - np.log1p(np.arange(length))
    return weights


def _answer_features(
    answers: Answers, ratings: Ratings, people: NDArray[np.int64], length: int
) -> dict[str, sparse.csr_array]:
    """Return (people, features) by view. Factors are summed over a person's list."""
    popular = np.argsort(-np.bincount(ratings.items, minlength=ratings.n_items), kind="stable")
    popular = np.sort(popular[:MOST_PREDICTED])
    list_weights = np.zeros((len(people), ratings.n_items))
    histories = [ratings.history(user) for user in ratings.user_ids[people].tolist()]
    for row, listed in enumerate(answers.rank_each(histories, length)):
        list_weights[row, listed] = _rank_weights(length)[: len(listed)]
    features = {LISTS: list_weights}
    predicted = _predict_items(answers, histories, popular)
    if predicted is not None:
        features[SCORES] = _scale_to_stars(predicted)
    if answers.factors is not None:
        is_listed = (list_weights > 0).astype(np.float64)
        features[FACTORS] = _scale_to_stars(is_listed @ np.nan_to_num(answers.factors))
    return {view: sparse.csr_array(table) for view, table in features.items()}


def _predict_items(
    answers: Answers, histories: Sequence[History], items: NDArray[np.int64]
) -> Floats | None:
    """Return (histories, items) predictions, 0 where there is none; None if there are none at all.

    Args:
        answers: The fitted recommender.
        histories: What each person rated.
        items: Numbers of the items.
    """
    rows = []
    for scores in answers.scores_each(histories):
        if scores is None:
            return None
        rows.append(np.nan_to_num(scores[items], nan=0.0))
    return np.array(rows)


def _scale_to_stars(table: Floats) -> Floats:
    """Bring each column to 0 to 5, as stars are: the panel reads stars."""
    low, high = table.min(axis=0), table.max(axis=0)
    scaled: Floats = 5 * (table - low) / np.where(high > low, high - low, 1.0)
    return scaled


def _attack_view(
    name: str,
    matrix: sparse.csr_array,
    labels: NDArray[np.int64],
    folds: Any,
    names: Sequence[str],
    *,
    quick: bool,
) -> list[AttackRow]:
    """Return a row for each attacker who reads (people, features) of one view."""
    scores = {attacker: np.zeros(len(labels)) for attacker in names}
    fold_of = np.zeros(len(labels), dtype=np.int64)
    for number, (train, test) in enumerate(folds):
        fold_of[test] = number
        seen = Releases.from_ratings(sparse.csr_array(matrix[train]))
        others = Releases.from_ratings(sparse.csr_array(matrix[test]))
        with threadpool_limits(1):  # on few people, threads wait for each other
            panel = Panel(names, quick=quick).fit(seen, labels[train])
            for attacker, given in panel.scores(others).items():
                scores[attacker][test] = given
    bound = bound_attackers(labels, scores, fold_of)
    rows = []
    for attacker in names:
        ranks = pooled_ranks(scores[attacker], fold_of)
        in_1000 = share_found(labels == 1, ranks, 0.001)
        in_100 = share_found(labels == 1, ranks, 0.01)
        area = bound.areas[attacker]
        low, high = bound.interval(attacker)
        title = f"attribute-{name}: {attacker}"
        rows.append(AttackRow(title, area, low, high, in_1000, in_100, None))
    return rows


def _count_values(column: NDArray[Any]) -> Counter[Any]:
    """Count the values of an attribute that are known."""
    return Counter(value for value in column.tolist() if value is not None)
