"""Guess a person's attribute from the answers that they get: lists, predictions, item factors.

In each fold, the attackers (a panel, or logistic regression for `auc_of_lists`) learn from people
whose attribute is known and score the people of the fold. A person's answers depend on their own
ratings. So the attack shows what a reader of a person's answers learns about this person, not what
the training reveals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, Answers
from tacit.auditing.attacks.any_model.findings import LISTS, SCORES, AttackRow, share_found
from tacit.auditing.attacks.auc_bounds import auc, bound_attackers, pooled_ranks
from tacit.auditing.attacks.base import Floats, Releases, limit_threads
from tacit.auditing.attacks.panel import LogisticRegression, Panel, panel_names
from tacit.data.ratings import Ratings
from tacit.data.splits import k_fold_users
from tacit.errors import DataError
from tacit.recommenders.base import History

FACTORS = "factors"
"""The view of an attacker who sees the factors of listed items."""
FOLDS = 5
"""Number of folds of the people. Each fold is scored by attackers who learned from the others."""
MOST_PREDICTED = 200
"""Largest number of items whose predictions are read. These items have the most ratings."""
LEAST_PEOPLE = 20
"""Fewest people with each of the two labels for an attack on an attribute."""


def attribute_of(ratings: Ratings, name: str | None) -> str | None:
    """Return the name of the attribute to attack; None if there is none.

    Args:
        ratings: Ratings with user attributes.
        name: Name of the attribute; None: the first, by name, with exactly two known values.

    Raises:
        DataError: The ratings have no attribute of this name.
    """
    if name is not None:
        ratings.attribute(name)  # raises DataError if there is no such attribute
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
    """Guess whether people have the commonest value of an attribute.

    Args:
        model: The recommender.
        ratings: Ratings that the recommender is fitted to, with the attribute.
        attribute: Name of the attribute.
        panel: Attackers: "quick", "full", or names.
        length: Length of the lists that are read.
        seed: Seed of the folds.
        progress: Called with 1 after answers are collected, and after each view.

    Returns:
        A row for each attacker and each view: lists, and predictions and factors if the recommender
        gives them.

    Raises:
        DataError: There is no such attribute. Or of the people who rated anything, fewer than
            LEAST_PEOPLE have the commonest value, or fewer than LEAST_PEOPLE have another known
            value.
    """
    column = ratings.attribute(attribute)
    counts = _count_values(column)
    is_known = np.array([value is not None for value in column])
    people = np.flatnonzero(is_known & (np.diff(ratings.offsets) > 0))
    commonest_value = max(
        sorted(counts, key=str), key=lambda value: counts[value], default=None
    )  # None if no value is known
    labels = (column[people] == commonest_value).astype(np.int64)
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST_PEOPLE:
        raise DataError(
            f"too few people differ in '{attribute}'",
            expected=f"{LEAST_PEOPLE} people who are {commonest_value!r} and as many who are not",
        )
    names = panel_names(panel) if isinstance(panel, str) else tuple(panel)
    quick = panel == "quick"
    features = _collect_features(model.fit(ratings), ratings, people, length)
    progress(1)
    folds = list(k_fold_users(len(people), FOLDS, seed=seed, labels=labels))
    rows = []
    for view, matrix in features.items():
        rows += _attack_view(f"{attribute}-{view}", matrix, labels, folds, names, quick=quick)
        progress(1)
    return rows


def auc_of_lists(lists: NDArray[np.int64], labels: NDArray[np.int64], *, seed: int) -> float | None:
    """Return the AUC of logistic regression that guesses people's labels from their lists.

    Each fold of people is scored by an attacker who learned from the other folds. The penalty is
    chosen once, for the first fold's attacker, and used for the later folds too. Some people of the
    later folds took part in that choice, which makes the AUC a little larger on average. But a
    later fold for which another penalty is better may have a lower AUC.

    Args:
        lists: (people, n) item numbers, the best first; -1 after the end of a shorter list.
        labels: (people,) 0 or 1.
        seed: Seed of the folds.

    Returns:
        The AUC; None if fewer than LEAST_PEOPLE people have one of the labels.
    """
    if min(labels.sum(), len(labels) - labels.sum()) < LEAST_PEOPLE:
        return None
    weights = np.zeros((len(lists), int(lists.max(initial=0)) + 1))
    rows, ranks = np.nonzero(lists >= 0)
    weights[rows, lists[rows, ranks]] = _rank_weights(lists.shape[1])[ranks]
    features = sparse.csr_array(weights)
    scores = np.zeros(len(lists))
    fold_of = np.zeros(len(lists), dtype=np.int64)
    inverse_penalties = None  # The first attacker tries the default values.
    folds = k_fold_users(len(lists), FOLDS, seed=seed, labels=labels)
    for number, (train, test) in enumerate(folds):
        attacker = LogisticRegression(inverse_penalties, quick=True).fit(
            features[train], labels[train]
        )
        assert attacker.chosen_inverse_penalty is not None  # by `fit`
        inverse_penalties = (attacker.chosen_inverse_penalty,)
        scores[test] = attacker.score(features[test])
        fold_of[test] = number
    return auc(labels, pooled_ranks(scores, fold_of))


def _rank_weights(length: int) -> Floats:
    """Return (length,) weights 1 + ln(length / rank) of the ranks 1 .. length of a list."""
    weights: Floats = 1.0 + np.log(length) - np.log1p(np.arange(length))
    return weights


def _collect_features(
    answers: Answers, ratings: Ratings, people: NDArray[np.int64], length: int
) -> dict[str, sparse.csr_array]:
    """Return the (people, features) that each view shows, by the name of the view.

    The features of lists are rank weights of all items, 0 for an item that is not listed. Those of
    predictions are the predictions of the MOST_PREDICTED items with the most ratings; those of
    factors are the sums of the factors of a person's listed items. Both are scaled to stars.

    Args:
        answers: The fitted recommender.
        ratings: Ratings that it was fitted to.
        people: (people,) numbers of the people.
        length: Length of the lists.
    """
    by_popularity = np.argsort(
        -np.bincount(ratings.items, minlength=ratings.n_items), kind="stable"
    )
    popular = np.sort(by_popularity[:MOST_PREDICTED])
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
    """Return (histories, items) predictions, 0 where an item has none.

    Args:
        answers: The fitted recommender.
        histories: Each person's ratings.
        items: Numbers of the items.

    Returns:
        The predictions; None if the recommender gives no predictions.
    """
    rows = []
    for scores in answers.scores_each(histories):
        if scores is None:
            return None
        rows.append(np.nan_to_num(scores[items], nan=0.0))
    return np.array(rows)


def _scale_to_stars(table: Floats) -> Floats:
    """Scale each column of (people, features) to the range 0 to 5, since the panel reads stars.

    A constant column becomes 0.
    """
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
    """Return a row for each attacker who reads one view.

    Args:
        name: Name of attribute and view in the rows.
        matrix: (people, features) that the view shows.
        labels: (people,) 0 or 1.
        folds: Pairs of row numbers: people to learn from, and people to score.
        names: Names of the attackers.
        quick: Whether to use the faster variants of the attackers.
    """
    scores = {attacker: np.zeros(len(labels)) for attacker in names}
    fold_of = np.zeros(len(labels), dtype=np.int64)
    for number, (train, test) in enumerate(folds):
        fold_of[test] = number
        training_releases = Releases.from_ratings(sparse.csr_array(matrix[train]))
        test_releases = Releases.from_ratings(sparse.csr_array(matrix[test]))
        with limit_threads():
            panel = Panel(names, quick=quick).fit(training_releases, labels[train])
            for attacker, fold_scores in panel.scores(test_releases).items():
                scores[attacker][test] = fold_scores
    bound = bound_attackers(labels, scores, fold_of)
    rows = []
    for attacker in names:
        ranks = pooled_ranks(scores[attacker], fold_of)
        low, high = bound.interval(attacker)
        row = AttackRow(
            attack=f"attribute-{name}: {attacker}",
            auc=bound.areas[attacker],
            low=low,
            high=high,
            tpr_at_fpr_0_001=share_found(labels == 1, ranks, 0.001),
            tpr_at_fpr_0_01=share_found(labels == 1, ranks, 0.01),
            epsilon_lower_bound=None,
        )
        rows.append(row)
    return rows


def _count_values(column: NDArray[Any]) -> Counter[Any]:
    """Count how many people have each known value of an attribute; None is an unknown value."""
    return Counter(value for value in column.tolist() if value is not None)
