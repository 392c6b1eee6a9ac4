"""Scores of items that no one rated, from their public features alone.

A cold item has neither a share of likes nor tastes of likers in the release. Its tastes are
predicted from its features, and its popularity is taken to be that of the average item. Lists hold
cold items only if the caller gives some; their entries are marked as cold.

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
"""Public facts of one item: the name of a catalogue's column to a text, or to a list of texts."""

_LEAST_RIDGE = 1e-9
"""Ridge where tastes have no noise, so that the system of equations has one solution."""


@dataclass(frozen=True, eq=False)
class ColdModel:
    """Linear model of a cold item's tastes by its features, and the popularity of cold items."""

    coefficients: Floats
    """(f + 1, k) W: tastes that each feature adds, for an item of popularity 1; the last row is the
    constant."""
    popularity: float
    """m: share of likes that a cold item is taken to have, the mean of all items' shares."""


@dataclass(frozen=True, eq=False)
class ColdItems:
    """Cold items, read in the columns of a model."""

    ids: tuple[Any, ...]
    """Ids of the items with a feature that the model knows, in the order of the caller."""
    features: sparse.csr_array
    """(len(ids), f) rows of L2 norm 1."""
    unknown: tuple[Any, ...]
    """Ids of the items without such a feature; they cannot be scored."""


def reason_against_cold_items(fitted: FittedLists) -> str | None:
    """Return the reason why a model cannot score cold items; None if it can."""
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
    """Fit the tastes of items to their features by ridge regression on released values.

    With D the rows [features, 1] of all items, each times the item's released share of likes, B
    (items, k) the released tastes and d the standard deviation of their noise:

        coefficients = (D' D + 10 d^2 I)^-1 D' B

    The results of the two models that were used last are cached.

    Raises:
        ConfigError: The model cannot score cold items.
    """
    reason = reason_against_cold_items(fitted)
    if reason is not None:
        raise ConfigError(reason)
    model, means = fitted.released.personal, fitted.released.means
    assert isinstance(model, TasteModel)  # `reason_against_cold_items` refuses other modes
    design = np.hstack([model.features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    ridge = max(10 * model.deviation**2, _LEAST_RIDGE) * np.eye(design.shape[1])
    coefficients = np.linalg.solve(design.T @ design + ridge, design.T @ model.items)
    return ColdModel(coefficients.astype(np.float64), float(np.mean(means)))


def read_cold_items(fitted: FittedLists, items: Mapping[Any, Facts]) -> ColdItems:
    """Read the features of cold items in the columns of the model.

    Features that the model does not know are left out. So are numbers other than years: model files
    do not hold the bands of such numbers.

    Args:
        fitted: The model.
        items: Item id to its public facts.

    Raises:
        ConfigError: The model cannot score cold items.
        DataError: An item is one of the model's items, so it is no cold item.
    """
    reason = reason_against_cold_items(fitted)
    if reason is not None:
        raise ConfigError(reason)
    model_ids = {str(item) for item in fitted.history_ids.tolist()}
    for item in items:
        # Ids are compared as texts: an id that is a number in the model may be a text in a table.
        if str(item) in model_ids:
            raise DataError(
                "an item of the model is given as a cold one",
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
    """Predict the tastes (cold items, k) of cold items: m [x, 1] W.

    m is the popularity of the average item, x the item's features and W the coefficients. Scores
    use them like the rows of `TasteModel.items`.

    Raises:
        ConfigError: The model cannot score cold items.
    """
    cold_model = fit_cold_model(fitted)
    with_constant = np.hstack([items.features.toarray(), np.ones((len(items.ids), 1))])
    tastes: Floats = cold_model.popularity * (with_constant @ cold_model.coefficients)
    return tastes


def score_cold_items(history: Mapping[Any, float], fitted: FittedLists, items: ColdItems) -> Floats:
    """Score cold items (cold items,) for one person, on the scale of `scoring.score_items`.

    With t the person's tastes, m the popularity of the average item and W the coefficients, an item
    with the features x has the score m + m [x, 1] W t.

    Args:
        history: The person's own rows: item id to stars.
        fitted: The model.
        items: The cold items.

    Raises:
        ConfigError: The model cannot score cold items.
    """
    person = fitted.profile(history)
    tastes = people_tastes_of_lists(person, fitted.released, fitted.settings)[0]
    popularity = fit_cold_model(fitted).popularity
    scores: Floats = popularity + cold_item_tastes(fitted, items) @ tastes
    return scores
