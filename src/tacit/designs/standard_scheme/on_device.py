"""What is made on one machine from true stars, and never sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import RatingScale
from tacit.designs.standard_scheme.device import renamed
from tacit.designs.standard_scheme.ease import AT_HOME
from tacit.designs.standard_scheme.item_table import ItemTable
from tacit.designs.standard_scheme.messages import Disclosure, ItemId
from tacit.designs.standard_scheme.training import unit
from tacit.errors import DataError
from tacit.recommenders.base import History, Recommendation
from tacit.recommenders.inputs import checked_ids, checked_n


def true_levels(history: History, disclosure: Disclosure, scale: RatingScale) -> sparse.csr_array:
    """(1, n_items) CSR of true levels; DataError for stars off the scale."""
    rated = renamed(history, disclosure)
    stars = np.array([rated.get(item, np.nan) for item in disclosure.items], dtype=float)
    numbers = np.flatnonzero(np.isfinite(stars))
    if not scale.holds(stars[numbers]).all():
        raise DataError("a rating in the history lies off the scale", expected=str(scale))
    levels = (stars[numbers] - scale.minimum) / unit(scale)
    ends = np.array([0, len(numbers)], dtype=np.int32)
    return sparse.csr_array((levels, numbers.astype(np.int32), ends), shape=(1, len(stars)))


def ranked_at_home(
    table: ItemTable, disclosure: Disclosure, levels: sparse.csr_array
) -> dict[ItemId, int]:
    """Unseen items and their preference in ten-thousandths, best first."""
    whole = np.floor(levels.data + 0.5).astype(np.int64).tolist()
    items = [disclosure.items[number] for number in levels.indices]
    return dict(table.rank(disclosure.items, dict(zip(items, whole, strict=True))))


def best_of(
    ranked: Mapping[ItemId, int],
    *,
    n: int,
    user: Any,
    left_out: Collection[Any],
    only: Collection[Any] | None,
) -> tuple[Recommendation, ...]:
    """The first n lines of a list that is in order; only: the candidates, all if None."""
    n = checked_n(n)
    wanted = set(ranked if only is None else checked_ids(only, "candidates")) - set(left_out)
    best = islice((item for item in ranked if item in wanted), n)
    return tuple(
        Recommendation(user, item, ranked[item] / AT_HOME, rank)
        for rank, item in enumerate(best, 1)
    )
