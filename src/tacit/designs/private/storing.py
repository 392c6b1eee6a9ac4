"""A fit as the header and arrays of a model file, and back; and as a file for devices: numbers of
16 bits, ids, titles and the card. No person is among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.designs.private.device import MESSAGE
from tacit.designs.private.device import VERSION as DEVICE_VERSION
from tacit.designs.private.fitting import Released, Tastes
from tacit.designs.private.guarantees import Usefulness
from tacit.designs.private.lists import MEAN_BESIDE
from tacit.designs.private.popular import TopItems
from tacit.designs.private.settings import Settings
from tacit.designs.private.stars import StarModel
from tacit.engine.profile_sums_compiled import Centre
from tacit.recommenders.inputs import finite, shaped

Arrays = Mapping[str, NDArray[Any]]
VERSION = 1
_LARGEST = 2**15 - 1


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """JSON values; infinity is written as the text "inf"."""
    return asdict(settings) | {
        "epsilon": settings.epsilon if settings.private else "inf",
        "shares": list(settings.shares),
    }


def parameters(model: Any) -> dict[str, Any]:
    """What a `Private` was asked for beside its settings, as JSON values."""

    def plain(given: Any) -> Any:
        return given if given is None or isinstance(given, str) else list(given)

    names = ("source", "target", "domain", "features")
    return {name: plain(getattr(model, name)) for name in names}


def settings_from_header(header: Mapping[str, Any]) -> Settings:
    """What `settings_to_header` wrote."""
    given = dict(header) | {"shares": tuple(header["shares"])}
    return Settings(**given | {"epsilon": float(header["epsilon"])})


def to_arrays(released: Released, stars: StarModel | None) -> dict[str, NDArray[Any]]:
    """Arrays of a model file, which `from_file` and `stars_from` read."""
    arrays: dict[str, NDArray[Any]] = {"means": released.means}
    lists = released.lists
    if isinstance(lists, TopItems):
        arrays |= vars(lists)
    if isinstance(lists, Tastes):
        arrays |= {
            "damping": lists.centre.damping,
            "mean": lists.centre.mean,
            "directions": lists.directions,
            "items": lists.items,
            "deviation": np.array([lists.deviation]),
            "feature_offsets": lists.features.indptr.astype(np.int64),
            "feature_columns": lists.features.indices.astype(np.int32),
            "feature_values": lists.features.data,
        }
    if stars is not None:
        arrays |= {f"star_{name}": np.atleast_1d(value) for name, value in vars(stars).items()}
    return arrays


def stars_from(arrays: Arrays, targets: int, context: int) -> StarModel:
    """What `to_arrays` wrote of stars. context: of items in another domain, or 0. A file of before
    has means alone."""
    mean, effects = float(finite(arrays, "star_mean", 1)[0]), finite(arrays, "star_effects", None)
    items = len(effects)
    if items not in (targets, targets + context):
        raise ValueError("'star_effects' does not fit the list of items")
    if "star_loadings" not in arrays:
        return StarModel(mean, effects, np.zeros((items, 0)), np.ones(items))
    variances = finite(arrays, "star_variances", items)
    if (variances <= 0).any():
        raise ValueError("'star_variances' has numbers that are not above 0")
    return StarModel(mean, effects, finite(arrays, "star_loadings", items, None), variances)


def from_file(header: Mapping[str, Any], arrays: Arrays, context: int, targets: int) -> Released:
    """What was released, of so many context and target items; ValueError where a part does not
    fit."""
    if header["version"] != VERSION:
        raise ValueError("it was written by another version of this design")
    means, useful = finite(arrays, "means", targets), Usefulness(**header["usefulness"])
    deviation, mode = float(header["deviation"]), header["mode"]
    if not math.isfinite(deviation):
        raise ValueError("the noise of its counts is not finite")
    lists: Tastes | TopItems | None = None
    if mode == "top-items":
        rows, columns = _places(arrays, "context", context), _places(arrays, "targets", targets)
        lists = TopItems(rows, columns, finite(arrays, "weights", len(rows), len(columns)))
    elif mode == "taste":
        lists = _tastes(arrays, context, targets)
    elif mode != "popularity":
        raise ValueError(f"it has no mode '{mode}'")
    return Released(means, deviation, lists, useful)


def _tastes(arrays: Arrays, context: int, targets: int) -> Tastes:
    mean = finite(arrays, "mean", None)
    directions = finite(arrays, "directions", len(mean), None)
    items = finite(arrays, "items", targets, directions.shape[1])
    offsets = shaped(arrays, "feature_offsets", context + 1).astype(np.int64)
    columns = _places(arrays, "feature_columns", len(mean)).astype(np.int32)
    values = finite(arrays, "feature_values", len(columns))
    if offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
        raise ValueError("the features do not fit the list of items")
    features = sparse.csr_array((values, columns, offsets), shape=(context, len(mean)))
    centre = Centre(finite(arrays, "damping", context), mean)
    return Tastes(features, centre, directions, items, float(finite(arrays, "deviation", 1)[0]))


def _places(arrays: Arrays, name: str, below: int) -> NDArray[np.int64]:
    found = shaped(arrays, name, None)
    if found.dtype.kind != "i" or (found.size and not 0 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found.astype(np.int64)


def device_file(released: Released, settings: Settings, public: Mapping[str, Any]) -> bytes:
    """What `device.DeviceLists.decode` reads; all of it was released or is public.

    public: ids, titles, scale and card.
    """
    floats: dict[str, NDArray[np.float64]] = {"means": released.means}
    places: dict[str, NDArray[Any]] = {}
    lists = released.lists
    if isinstance(lists, TopItems):
        floats["weights"] = lists.weights
        places = {"context": lists.context, "targets": lists.targets}
    if isinstance(lists, Tastes):
        floats |= {"damping": lists.centre.damping, "mean": lists.centre.mean}
        floats |= {"directions": lists.directions, "items": lists.items}
        places = {"offsets": lists.features.indptr, "columns": lists.features.indices}
    units, whole = {}, {}
    for name, values in floats.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / _LARGEST
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        whole[name] = np.round(values / unit).astype("<i2")
    header = {
        **public,
        "message": MESSAGE,
        "version": DEVICE_VERSION,
        "mode": released.mode,
        "units": units,
        "low": settings.other_weight,
        "clip": settings.personal_clip,
        "beside": MEAN_BESIDE,
    }
    whole |= {name: numbers.astype("<i4") for name, numbers in places.items()}
    return container.pack(header, whole)
