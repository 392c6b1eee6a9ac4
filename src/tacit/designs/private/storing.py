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


def to_arrays(
    released: Released, features: sparse.csr_array | None, stars: StarModel | None
) -> dict[str, NDArray[Any]]:
    """features: of the context items, which tastes are made from."""
    arrays: dict[str, NDArray[Any]] = {"means": released.means}
    found = released.lists
    if isinstance(found, TopItems):
        arrays |= {"context": found.context, "targets": found.targets, "weights": found.weights}
    if isinstance(found, Tastes) and features is not None:
        arrays |= {
            "damping": found.centre.damping,
            "mean": found.centre.mean,
            "directions": found.directions,
            "items": found.items,
            "deviation": np.array([found.deviation]),
            "feature_offsets": features.indptr.astype(np.int64),
            "feature_columns": features.indices.astype(np.int32),
            "feature_values": features.data,
        }
    if stars is not None:
        arrays |= {
            "star_mean": np.array([stars.mean]),
            "star_effects": stars.effects,
            "star_loadings": stars.loadings,
            "star_variances": stars.variances,
        }
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


def from_file(
    header: Mapping[str, Any], arrays: Arrays, context: int, targets: int
) -> tuple[Released, sparse.csr_array | None]:
    """What was released, and the context items' features; ValueError where a part does not fit."""
    if header["version"] != VERSION:
        raise ValueError("it was written by another version of this design")
    means, useful = finite(arrays, "means", targets), Usefulness(**header["usefulness"])
    deviation, mode = float(header["deviation"]), header["mode"]
    if not math.isfinite(deviation):
        raise ValueError("the noise of its counts is not finite")
    if mode == "popularity":
        return Released(means, deviation, None, useful), None
    if mode == "top-items":
        return Released(means, deviation, _top_items(arrays, context, targets), useful), None
    if mode != "taste":
        raise ValueError(f"it has no mode '{mode}'")
    found, features = _tastes(arrays, context, targets)
    return Released(means, deviation, found, useful), features


def _top_items(arrays: Arrays, context: int, targets: int) -> TopItems:
    rows, columns = _places(arrays, "context", context), _places(arrays, "targets", targets)
    return TopItems(rows, columns, finite(arrays, "weights", len(rows), len(columns)))


def _tastes(arrays: Arrays, context: int, targets: int) -> tuple[Tastes, sparse.csr_array]:
    mean = finite(arrays, "mean", None)
    directions = finite(arrays, "directions", len(mean), None)
    found = Tastes(
        Centre(finite(arrays, "damping", context), mean),
        directions,
        finite(arrays, "items", targets, directions.shape[1]),
        float(finite(arrays, "deviation", 1)[0]),
    )
    offsets = shaped(arrays, "feature_offsets", context + 1).astype(np.int64)
    columns = _places(arrays, "feature_columns", len(mean)).astype(np.int32)
    values = finite(arrays, "feature_values", len(columns))
    if offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
        raise ValueError("the features do not fit the list of items")
    return found, sparse.csr_array((values, columns, offsets), shape=(context, len(mean)))


def _places(arrays: Arrays, name: str, below: int) -> NDArray[np.int64]:
    found = shaped(arrays, name, None)
    if found.dtype.kind != "i" or (found.size and not 0 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found.astype(np.int64)


def device_file(
    released: Released,
    features: sparse.csr_array | None,
    settings: Settings,
    said: Mapping[str, Any],
) -> bytes:
    """What `device.DeviceLists.decode` reads. features: of the context items.

    said: ids, titles, scale and card. It spends nothing: all of it was released or is public.
    """
    floats: dict[str, NDArray[np.float64]] = {"means": released.means}
    places: dict[str, NDArray[np.int32]] = {}
    mode, found = "popularity", released.lists
    if isinstance(found, TopItems):
        mode, floats["weights"] = "top-items", found.weights
        places = {"context": _int32(found.context), "targets": _int32(found.targets)}
    if isinstance(found, Tastes) and features is not None:
        mode = "taste"
        floats |= {"damping": found.centre.damping, "mean": found.centre.mean}
        floats |= {"directions": found.directions, "items": found.items}
        places = {"offsets": _int32(features.indptr), "columns": _int32(features.indices)}
    units, whole = {}, {}
    for name, values in floats.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / _LARGEST
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        whole[name] = np.round(values / unit).astype("<i2")
    header = {
        **said,
        "message": MESSAGE,
        "version": DEVICE_VERSION,
        "mode": mode,
        "units": units,
        "low": settings.other_weight,
        "clip": settings.personal_clip,
        "beside": MEAN_BESIDE,
    }
    return container.pack(header, whole | places)


def _int32(numbers: NDArray[Any]) -> NDArray[np.int32]:
    return np.asarray(numbers).astype("<i4")
