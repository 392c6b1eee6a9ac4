"""The released model as a file for devices: numbers of 16 bits, ids, titles and the card."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.designs.private.device import MESSAGE, VERSION, DeviceLists
from tacit.designs.private.fitting import Released, Tastes
from tacit.designs.private.lists import MEAN_BESIDE
from tacit.designs.private.settings import Settings
from tacit.designs.private.top_items import TopItems
from tacit.recommenders.base import History, Recommendation, Recommendations

Floats = NDArray[np.float64]
_LARGEST = 2**15 - 1


def device_file(
    released: Released,
    features: sparse.csr_array | None,
    settings: Settings,
    said: Mapping[str, Any],
) -> bytes:
    """What `device.DeviceLists.decode` reads. features: of the context items.

    said: ids, titles, scale and card. It spends nothing: all of it was released or is public.
    """
    floats: dict[str, Floats] = {"means": released.means}
    places: dict[str, NDArray[np.int32]] = {}
    mode, found = "popularity", released.lists
    if isinstance(found, TopItems):
        mode, floats["weights"] = "top-items", found.weights
        places = {"context": _places(found.context), "targets": _places(found.targets)}
    if isinstance(found, Tastes) and features is not None:
        mode = "taste"
        floats |= {"damping": found.centre.damping, "mean": found.centre.mean}
        floats |= {"directions": found.directions, "items": found.items}
        places = {"offsets": _places(features.indptr), "columns": _places(features.indices)}
    units, whole = {}, {}
    for name, values in floats.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / _LARGEST
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        whole[name] = np.round(values / unit).astype("<i2")
    header = {
        **said,
        "message": MESSAGE,
        "version": VERSION,
        "mode": mode,
        "units": units,
        "low": settings.other_weight,
        "clip": settings.personal_clip,
        "beside": MEAN_BESIDE,
    }
    return container.pack(header, whole | places)


def at_device(
    file: bytes,
    own: History,
    n: int,
    exclude: Collection[Any] = (),
    candidates: Collection[Any] | None = None,
) -> Recommendations:
    """The list that a device makes of this file and these stars."""
    found = DeviceLists.decode(file).rank(own, n=n, exclude=exclude, candidates=candidates)
    rows = enumerate(found, 1)
    return Recommendations(
        tuple(Recommendation(None, item, score, rank) for rank, (item, score) in rows)
    )


def _places(numbers: NDArray[Any]) -> NDArray[np.int32]:
    return np.asarray(numbers).astype("<i4")
