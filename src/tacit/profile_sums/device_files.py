"""The file from which devices make lists; `tacit.designs.private.device` reads it.

All of it was released or is public. Its numbers have 16 bits, so scores differ a little from those
of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.privacy import Guarantee
from tacit.profile_sums.device_format import MESSAGE, VERSION
from tacit.profile_sums.fitted_lists import FittedLists
from tacit.profile_sums.people import LIKE_TOLERANCE
from tacit.profile_sums.release import TasteModel
from tacit.profile_sums.scoring import POPULARITY_WEIGHT_OF_TOP_ITEMS
from tacit.profile_sums.sums.top_items import TopItemsModel
from tacit.recommenders.headers import items_to_header

_LARGEST_INT16 = 2**15 - 1


def pack_device_file(fitted: FittedLists, card: Guarantee) -> bytes:
    """Pack what devices need to make lists, with the card of the model."""
    numbers, units = _quantize(_float_arrays(fitted))
    scale = fitted.scale
    header = {
        **items_to_header(fitted.item_ids, fitted.titles),
        "context": None if fitted.one_domain else list(fitted.context_ids.tolist()),
        "scale": [scale.minimum, scale.maximum],
        "liked_from": fitted.threshold - LIKE_TOLERANCE,
        "card": card.to_dict(),
        "message": MESSAGE,
        "version": VERSION,
        "mode": fitted.released.mode,
        "units": units,
        "low": fitted.settings.other_weight,
        "clip": fitted.settings.personal_clip,
        "beside": POPULARITY_WEIGHT_OF_TOP_ITEMS,
    }
    return container.pack(header, numbers | _place_arrays(fitted))


def _float_arrays(fitted: FittedLists) -> dict[str, NDArray[np.float64]]:
    arrays = {"means": fitted.released.means}
    model = fitted.released.personal
    if isinstance(model, TopItemsModel):
        arrays["weights"] = model.weights
    if isinstance(model, TasteModel):
        arrays["damping"] = model.centre.damping
        arrays["mean"] = model.centre.mean
        arrays["directions"] = model.directions
        arrays["items"] = model.items
    return arrays


def _place_arrays(fitted: FittedLists) -> dict[str, NDArray[Any]]:
    model = fitted.released.personal
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(model, TopItemsModel):
        arrays = {"context": model.context, "targets": model.targets}
    if isinstance(model, TasteModel):
        arrays = {"offsets": model.features.indptr, "columns": model.features.indices}
    return {name: places.astype("<i4") for name, places in arrays.items()}


def _quantize(
    arrays: dict[str, NDArray[np.float64]],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Round to whole numbers of 16 bits.

    Returns:
        The numbers, and their units: one for a vector, one for each column of a table.
    """
    numbers: dict[str, NDArray[Any]] = {}
    units: dict[str, Any] = {}
    for name, values in arrays.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / _LARGEST_INT16
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        numbers[name] = np.round(values / unit).astype("<i2")
    return numbers, units
