"""The file from which devices make lists; `tacit.designs.private.device` reads it.

Everything in the file was released or is public, or was learned from people who agreed not to be
protected. Most numbers have 16 bits, so scores differ a little from those of the model; the map of
own likes and the mean of pairs have 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.privacy import Guarantee
from tacit.profile_sums.device_format import MESSAGE, VERSION
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.people import LIKE_TOLERANCE
from tacit.profile_sums.release import TasteModel
from tacit.profile_sums.scoring import POPULARITY_WEIGHT_OF_TOP_ITEMS
from tacit.profile_sums.sums.top_items import TopItemsModel

_LARGEST_INT16 = 2**15 - 1
_LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class ColdRows:
    """Cold items, which no one rated, as a device file holds them."""

    ids: tuple[Any, ...] = ()
    """Ids of the cold items."""
    titles: Mapping[Any, str] = field(default_factory=dict)
    """Item id to title, for the items that have one."""
    tastes: NDArray[np.float64] | None = None
    """(cold items, k) rows of `cold_item_tastes`; None without cold items."""
    popularity: float = 0.0
    """Share of likes that each cold item is taken to have."""


def pack_device_file(fitted: FittedLists, card: Guarantee, cold: ColdRows) -> bytes:
    """Pack everything that devices need to make lists, and the card of the model.

    Cold items come after the items of the model.

    Args:
        fitted: The model.
        card: The guarantee that the device shows.
        cold: Cold items that lists may hold.
    """
    numbers, units = _quantize(_float_arrays(fitted, cold), _LARGEST_INT16, "<i2")
    precise_numbers, precise_units = _quantize(_precise_arrays(fitted), _LARGEST_INT32, "<i4")
    scale = fitted.scale
    items = [*fitted.item_ids.tolist(), *cold.ids]
    titles = {**fitted.titles, **cold.titles}
    header = {
        "items": items,
        "titles": [titles.get(item) for item in items] if titles else None,
        "cold": len(cold.ids),
        "context": None if fitted.one_domain else list(fitted.context_ids.tolist()),
        "scale": [scale.minimum, scale.maximum],
        "liked_from": fitted.threshold - LIKE_TOLERANCE,
        "card": card.to_dict(),
        "message": MESSAGE,
        "version": VERSION,
        "mode": fitted.released.mode,
        "units": units | precise_units,
        "low": fitted.settings.other_weight,
        "clip": fitted.settings.personal_clip,
        "beside": POPULARITY_WEIGHT_OF_TOP_ITEMS,
        "named_features": _norm_of_named_features(fitted),
    }
    return container.pack(header, numbers | precise_numbers | _index_arrays(fitted))


def _float_arrays(fitted: FittedLists, cold: ColdRows) -> dict[str, NDArray[np.float64]]:
    """Collect the arrays that are stored with 16 bits, by their names in the file."""
    cold_means = np.full(len(cold.ids), cold.popularity)
    arrays = {"means": np.concatenate([fitted.released.means, cold_means])}
    model = fitted.released.personal
    if isinstance(model, TopItemsModel):
        arrays["weights"] = model.weights
    if isinstance(model, TasteModel):
        arrays["damping"] = model.centre.damping
        arrays["mean"] = model.centre.mean
        arrays["directions"] = model.directions
        arrays["items"] = model.items
        if model.pairs is not None:
            arrays["pairs"] = model.pairs.vectors
        if cold.tastes is not None:
            arrays["items"] = np.vstack([model.items, cold.tastes])
        if fitted.dense_columns:
            columns = model.features.shape[1] - fitted.dense_columns
            arrays["dense"] = model.features[:, columns:].toarray()
    if fitted.released.consented is not None:
        arrays["consented"] = fitted.released.consented.data
    return arrays


def _norm_of_named_features(fitted: FittedLists) -> float:
    """Return the largest norm of an item's row of named features; 1 without dense features."""
    model = fitted.released.personal
    if not isinstance(model, TasteModel) or not fitted.dense_columns:
        return 1.0
    columns = model.features.shape[1] - fitted.dense_columns
    named = sparse.csr_array(model.features[:, :columns])
    return float(np.sqrt((named**2).sum(axis=1).max(initial=0.0)))


def _precise_arrays(fitted: FittedLists) -> dict[str, NDArray[np.float64]]:
    """Collect the arrays that are stored with 32 bits, by their names in the file.

    They are the map of own likes or the mean of pairs: few numbers, which change every score.
    """
    model = fitted.released.personal
    if not isinstance(model, TasteModel):
        return {}
    if model.pairs is not None:
        return {"pairs_mean": model.pairs.mean}
    if model.own_likes is not None:
        return {"own_likes": model.own_likes.matrix, "own_likes_mean": model.own_likes.mean}
    return {}


def _index_arrays(fitted: FittedLists) -> dict[str, NDArray[Any]]:
    """Collect item numbers, column numbers and offsets as 32-bit integers, by their names."""
    model = fitted.released.personal
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(model, TopItemsModel):
        arrays = {"context": model.context, "targets": model.targets}
    if isinstance(model, TasteModel):
        n_named = model.features.shape[1] - fitted.dense_columns
        named_features = sparse.csr_array(model.features[:, :n_named])
        arrays = {"offsets": named_features.indptr, "columns": named_features.indices}
        if model.pairs is not None:
            arrays["pair_items"] = model.pairs.items
    if fitted.released.consented is not None:
        weights = fitted.released.consented
        arrays["consented_offsets"] = weights.indptr
        arrays["consented_columns"] = weights.indices
    return {name: numbers.astype("<i4") for name, numbers in arrays.items()}


def _quantize(
    arrays: dict[str, NDArray[np.float64]], largest: int, dtype: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Store numbers as integers times a unit.

    Args:
        arrays: Names to vectors, or to tables.
        largest: Largest absolute value of the integers.
        dtype: Type of the integers.

    Returns:
        Names to integers, and names to units: one unit of a vector, a list of one for each column
        of a table.
    """
    numbers: dict[str, NDArray[Any]] = {}
    units: dict[str, Any] = {}
    for name, values in arrays.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / largest
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        numbers[name] = np.round(values / unit).astype(dtype)
    return numbers, units
