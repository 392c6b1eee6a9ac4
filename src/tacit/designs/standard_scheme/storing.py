"""A model of the standard scheme as a file: items, public tables, what scores, hashes of people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tacit import container
from tacit.data.ratings import RatingScale
from tacit.designs.standard_scheme.server import Profiles
from tacit.designs.standard_scheme.training import disclosure
from tacit.designs.standard_scheme.training.ease import UNIT, Ease
from tacit.designs.standard_scheme.training.fitting import Fitted, People
from tacit.privacy import Measurement
from tacit.recommenders.inputs import (
    TAKEN,
    ids_from_header,
    items_to_header,
    shaped,
    titles_from_header,
)

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.recommender import StandardScheme

FORMAT = 2
"""Of the tables in a model file."""


def write(model: StandardScheme, path: str | Path) -> None:
    """A fitted model to a file."""
    epsilon = model.disclosure_epsilon
    header = {
        "recommender": "standard-scheme",
        "format": FORMAT,
        "settings": {each.name: getattr(model, each.name) for each in fields(model)}
        | {
            "disclosure_epsilon": None if math.isinf(epsilon) else epsilon,
            "aliases": list(model.aliases.items()),
        },
        **items_to_header(model.item_ids_, model.titles_),
        "scale": [model.scale_.minimum, model.scale_.maximum, model.scale_.step],
        "values": {name: list(table.values) for name, table in model.tables_.items()},
        "ridge": model.profiles_.ridge,
        "levels": model.ease_.n_levels,
        "unit": UNIT,
        "key": "" if model.people_ is None else model.people_.key.hex(),
        "people": model.n_consenting_,
        "taken": list(model.taken_),
        "measurements": [vars(measured) for measured in model.measurements_],
    }
    weights = model.ease_.weights
    arrays = {
        "intercepts": model.profiles_.intercepts,
        "factors": model.profiles_.factors,
        "popularity": model.ease_.popularity,
        "weights": weights.data.astype(np.int32),
        "rows": weights.indices.astype(np.int32),
        "columns": weights.indptr.astype(np.int64),
    }
    if model.people_ is not None:
        arrays["hashes"] = model.people_.hashes.view(np.int64)
    for position, table in enumerate(model.tables_.values()):
        for name, array in table.by_name().items():
            arrays[f"{position}.{name}"] = array
    container.write(path, header, arrays)


def settings_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in a file's header; ValueError if an earlier version wrote it."""
    if header.get("format") != FORMAT:
        raise ValueError("an earlier version wrote it, and its public tables are other ones")
    settings = dict(header["settings"])
    settings["aliases"] = dict(settings["aliases"])
    settings["disclosure_epsilon"] = settings["disclosure_epsilon"] or math.inf
    return settings


def restore(model: StandardScheme, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """What a checked file holds, into a model with its settings."""
    tables = {}
    for position, name in enumerate(model.attributes):
        prefix = f"{position}."
        own = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        tables[name] = disclosure.Tables.from_arrays(header["values"][name], own)
    model.taken_ = tuple(name for name in TAKEN if name in header.get("taken", TAKEN))
    items = ids_from_header(header["items"])
    for position, table in enumerate(tables.values()):
        shaped(arrays, f"{position}.item_means", len(items))
        shaped(arrays, f"{position}.means", len(table.values), len(items))
    profiles = Profiles(
        shaped(arrays, "intercepts", len(items)),
        shaped(arrays, "factors", len(items), None),
        header["ridge"],
    )
    ease = _ease(arrays, len(items), header)
    model.hold(
        items,
        titles_from_header(header),
        RatingScale(*header["scale"]),
        Fitted(header["people"], tables, profiles, ease, _people(header, arrays)),
        tuple(Measurement(**entry) for entry in header["measurements"]),
    )


def _people(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> People | None:
    """None in a file of an earlier version."""
    if not header.get("key"):
        return None
    hashes = shaped(arrays, "hashes", header["people"]).view(np.uint64)
    return People(bytes.fromhex(header["key"]), hashes)


def _ease(arrays: Mapping[str, Any], n_items: int, header: Mapping[str, Any]) -> Ease:
    """Weights of an earlier version, which were finer, are rounded."""
    finer = header.get("unit", 100_000) // UNIT
    weights = sparse.csc_array(
        (
            np.rint(shaped(arrays, "weights", None) / finer).astype(np.int64),
            shaped(arrays, "rows", None),
            shaped(arrays, "columns", n_items + 1),
        ),
        shape=(n_items, n_items),
        copy=True,
    )
    weights.check_format(full_check=True)
    weights.eliminate_zeros()
    return Ease(weights, shaped(arrays, "popularity", n_items), header["levels"])
