"""Scores of items that no one rated, from their public features alone.

A cold item has no count and no tastes of likers in the release. What the release says of features
stands in for its tastes, and the average item's popularity for its own. Lists hold cold items only
where they are asked for, and mark them.

Source       post-processing of released values: the ridge of `item_tastes.shrink_to_features`.
Runs at      the platform, or wherever the model file is.
Sees         the release, public features, and one person's own rows.
Releases     nothing.
Guarantee    that of the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ConfigError, DataError
from tacit.profile_sums.features import rows_of_facts
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.release import TasteModel
from tacit.profile_sums.scoring import people_tastes_of_lists

Floats = NDArray[np.float64]
Facts = Mapping[str, Any]
"""Public facts of one item, by the names that the catalogue's columns have: a text or several."""

_LEAST_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class ColdModel:
    """Tastes and popularity of an item by its features, from the release."""

    coefficients: Floats
    """(f + 1, k) tastes of the likers of an item with these features; the last row is for all."""
    popularity: float
    """Share of likes that a cold item is taken to have: the average item's."""


@dataclass(frozen=True, eq=False)
class ColdItems:
    """Items of which only features are known."""

    ids: tuple[Any, ...]
    """Those with a feature that the model knows, in the order in which they were given."""
    features: sparse.csr_array
    """(items, f) rows of L2 norm 1."""
    unknown: tuple[Any, ...]
    """The others: nothing can be said of them."""


def reason_against_cold_items(fitted: FittedLists) -> str | None:
    """Give the reason why a model scores no cold items; None where it does."""
    if not isinstance(fitted.released.personal, TasteModel):
        return (
            "Items without ratings are scored by features, and this model was released in mode "
            f"{fitted.released.mode!r}: fit it with item metadata, for more people."
        )
    if not fitted.one_domain:
        return "Items without ratings are scored within one domain, and this model has two."
    if fitted.dense_columns:
        return "Items without ratings are scored by named features; this model has others, too."
    return None


@lru_cache(maxsize=2)
def fit_cold_model(fitted: FittedLists) -> ColdModel:
    """Fit the tastes of an item's likers to its features, from released values.

    With D the rows [features, 1] scaled by the released shares of likes, B the released tastes and
    d the deviation of their noise, the coefficients are (D' D + 10 d^2 I)^-1 D' B: what tastes
    outside the head were made of, and what those in the head add to it.

    Raises:
        ConfigError: The model scores no cold items.
    """
    reason = reason_against_cold_items(fitted)
    if reason is not None:
        raise ConfigError(reason)
    model, means = fitted.released.personal, fitted.released.means
    assert isinstance(model, TasteModel)  # or it would have been refused
    design = np.hstack([model.features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    ridge = max(10 * model.deviation**2, _LEAST_RIDGE) * np.eye(design.shape[1])
    coefficients = np.linalg.solve(design.T @ design + ridge, design.T @ model.items)
    return ColdModel(coefficients.astype(np.float64), float(np.mean(means)))


def read_cold_items(fitted: FittedLists, items: Mapping[Any, Facts]) -> ColdItems:
    """Read the features of cold items in the columns of the model.

    A feature that the model does not know is left out, and so are numbers other than a year, whose
    bands the model does not keep.

    Raises:
        ConfigError: The model scores no cold items.
        DataError: An item is one of the model's, and is listed without being asked for.
    """
    reason = reason_against_cold_items(fitted)
    if reason is not None:
        raise ConfigError(reason)
    known = {str(item) for item in fitted.history_ids.tolist()}
    for item in items:
        if str(item) in known:  # a table has the texts of ids that are numbers in the model
            raise DataError(
                "the model has ratings of an item that is given as a cold one",
                found=item,
                expected="items that the model does not know",
                fix="Leave it out: it is listed like any other.",
            )
    rows = rows_of_facts(items.values(), fitted.feature_names)
    has_features = np.diff(rows.indptr) > 0
    ids = list(items)
    usable = np.flatnonzero(has_features)
    return ColdItems(
        ids=tuple(ids[place] for place in usable.tolist()),
        features=sparse.csr_array(rows[usable]),
        unknown=tuple(ids[place] for place in np.flatnonzero(~has_features).tolist()),
    )


def cold_item_tastes(fitted: FittedLists, items: ColdItems) -> Floats:
    """(cold items, k) m [x, 1] W of each item, as a release has tastes of the items it counted.

    m is the popularity of an average item, x the item's features and W the coefficients.

    Raises:
        ConfigError: The model scores no cold items.
    """
    cold = fit_cold_model(fitted)
    with_constant = np.hstack([items.features.toarray(), np.ones((len(items.ids), 1))])
    rows: Floats = cold.popularity * (with_constant @ cold.coefficients)
    return rows


def score_cold_items(history: Mapping[Any, float], fitted: FittedLists, items: ColdItems) -> Floats:
    """(cold items,) scores of one person, on the scale of `scoring.score_items`.

    With t the person's tastes, m the popularity of an average item and W the coefficients, an item
    of features x has the score m + m [x, 1] W t.

    Raises:
        ConfigError: The model scores no cold items.
    """
    tastes = people_tastes_of_lists(fitted.profile(history), fitted.released, fitted.settings)[0]
    scores: Floats = fit_cold_model(fitted).popularity + cold_item_tastes(fitted, items) @ tastes
    return scores
