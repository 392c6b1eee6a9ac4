"""A fit as the header and arrays of a model file, and back. No person is among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.private.fitting import Released, Tastes
from tacit.designs.private.settings import Settings
from tacit.designs.private.stars import StarMeans
from tacit.designs.private.top_items import TopItems
from tacit.designs.private.usefulness import Usefulness
from tacit.engine.profile_sums_compiled import Centre
from tacit.recommenders.files import shaped

Arrays = Mapping[str, NDArray[Any]]
VERSION = 1


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """JSON values; infinity is written as the text "inf"."""
    return asdict(settings) | {
        "epsilon": settings.epsilon if settings.private else "inf",
        "shares": list(settings.shares),
    }


def settings_from_header(header: Mapping[str, Any]) -> Settings:
    """What `settings_to_header` wrote."""
    given = dict(header) | {"shares": tuple(header["shares"])}
    return Settings(**given | {"epsilon": float(header["epsilon"])})


def released_to_header(released: Released) -> dict[str, Any]:
    """The released numbers that are no arrays."""
    return {
        "version": VERSION,
        "mode": released.mode,
        "usefulness": asdict(released.usefulness),
        "deviation": released.deviation,
    }


def to_arrays(released: Released, features: sparse.csr_array | None) -> dict[str, NDArray[Any]]:
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
    return arrays


def stars_to_arrays(found: StarMeans | None) -> dict[str, NDArray[Any]]:
    """Released means of stars, if there are any."""
    if found is None:
        return {}
    return {"star_mean": np.array([found.mean]), "star_effects": found.effects}


def stars_from(arrays: Arrays, targets: int) -> StarMeans:
    """What `stars_to_arrays` wrote."""
    mean = float(_floats(arrays, "star_mean", 1)[0])
    return StarMeans(mean, _floats(arrays, "star_effects", targets))


def from_file(
    header: Mapping[str, Any], arrays: Arrays, context: int, targets: int
) -> tuple[Released, sparse.csr_array | None]:
    """What was released, and the context items' features; ValueError where a part does not fit."""
    if header["version"] != VERSION:
        raise ValueError("it was written by another version of this design")
    means, useful = _floats(arrays, "means", targets), Usefulness(**header["usefulness"])
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
    return TopItems(rows, columns, _floats(arrays, "weights", len(rows), len(columns)))


def _tastes(arrays: Arrays, context: int, targets: int) -> tuple[Tastes, sparse.csr_array]:
    mean = _floats(arrays, "mean", None)
    directions = _floats(arrays, "directions", len(mean), None)
    found = Tastes(
        Centre(_floats(arrays, "damping", context), mean),
        directions,
        _floats(arrays, "items", targets, directions.shape[1]),
        float(_floats(arrays, "deviation", 1)[0]),
    )
    offsets = shaped(arrays, "feature_offsets", context + 1).astype(np.int64)
    columns = _places(arrays, "feature_columns", len(mean)).astype(np.int32)
    values = _floats(arrays, "feature_values", len(columns))
    if offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
        raise ValueError("the features do not fit the list of items")
    return found, sparse.csr_array((values, columns, offsets), shape=(context, len(mean)))


def _floats(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.float64]:
    found = shaped(arrays, name, *shape)
    if found.dtype != np.float64 or not np.isfinite(found).all():
        raise ValueError(f"'{name}' does not hold finite numbers alone")
    return found


def _places(arrays: Arrays, name: str, below: int) -> NDArray[np.int64]:
    found = shaped(arrays, name, None)
    if found.dtype.kind != "i" or (found.size and not 0 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found.astype(np.int64)
