"""The model file of the standard scheme."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.ratings import RatingScale
from tacit.designs.standard_scheme.server import UNIT, Ease, Profiles
from tacit.designs.standard_scheme.settings import Settings
from tacit.designs.standard_scheme.training.fitting import Fitted
from tacit.designs.standard_scheme.training.people import PeopleHashes
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.privacy import Measurement
from tacit.recommenders import headers, public_facts
from tacit.recommenders.fits_in_process import CountedFit

FORMAT = 3
"""Of the tables in a model file."""

Header = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def write_model(path: str | Path, settings: Settings, fitted: Fitted) -> None:
    """Write settings, items, public tables, what scores, and keyed hashes of consenting people."""
    container.write(path, header_of(settings, fitted), arrays_of(fitted))


def header_of(settings: Settings, fitted: Fitted) -> dict[str, Any]:
    """All that is no array, as JSON holds it."""
    return {
        "recommender": "standard-scheme",
        "format": FORMAT,
        "settings": settings_to_header(settings),
        **headers.items_to_header(fitted.item_ids, fitted.titles),
        "scale": [fitted.scale.minimum, fitted.scale.maximum, fitted.scale.step],
        "values": {name: list(table.values) for name, table in fitted.tables.items()},
        "ridge": fitted.profiles.ridge,
        "levels": fitted.ease.n_levels,
        "unit": UNIT,
        "key": "" if fitted.people is None else fitted.people.key.hex(),
        "people": fitted.n_consenting,
        "rated_enough": fitted.n_rated_enough,
        "taken": list(fitted.assumed_public),
        "disclosures": [disclosure.to_row() for disclosure in fitted.disclosures],
        "measurements": [asdict(measured) for measured in fitted.measurements],
    }


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """The settings as JSON holds them: an infinite epsilon as null."""
    content = asdict(settings)
    content["aliases"] = list(settings.aliases.items())
    if not settings.has_private_disclosure:
        content["disclosure_epsilon"] = None
    return content


def arrays_of(fitted: Fitted) -> dict[str, NDArray[Any]]:
    """All arrays of a model, by their names in the file."""
    weights = fitted.ease.weights
    arrays: dict[str, NDArray[Any]] = {
        "intercepts": fitted.profiles.intercepts,
        "factors": fitted.profiles.factors,
        "popularity": fitted.ease.popularity,
        "weights": weights.data.astype(np.int32),
        "rows": weights.indices.astype(np.int32),
        "columns": weights.indptr.astype(np.int64),
    }
    if fitted.people is not None:
        arrays["hashes"] = fitted.people.hashes.view(np.int64)
    for position, table in enumerate(fitted.tables.values()):
        stored = {
            "offsets": table.offsets,
            "keep": table.keep,
            "means": table.means,
            "coupling": table.coupling,
            "item_means": table.item_means,
        }
        for name, array in stored.items():
            if array is not None:
                arrays[f"{position}.{name}"] = array
    return arrays


def read_settings(header: Header) -> dict[str, Any]:
    """The arguments of the model's class in a file's header.

    Raises:
        ValueError: the file has another format.
    """
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')}, and this program reads {FORMAT}")
    settings = dict(header["settings"])
    settings["aliases"] = dict(settings["aliases"])
    if settings["disclosure_epsilon"] is None:
        settings["disclosure_epsilon"] = math.inf
    return settings


def read_fitted(header: Header, arrays: Arrays, attributes: tuple[str, ...]) -> Fitted:
    """All that a checked file holds of a fit.

    Raises:
        ValueError or KeyError: something is missing or has another shape.
    """
    items = headers.ids_from_header(header["items"])
    people = None
    if header["key"]:
        hashes = headers.read_array(dict(arrays), "hashes", header["people"]).view(np.uint64)
        people = PeopleHashes(bytes.fromhex(header["key"]), hashes)
    return Fitted(
        item_ids=items,
        titles=headers.titles_from_header(header),
        scale=RatingScale(*header["scale"]),
        n_consenting=header["people"],
        people=people,
        tables={
            name: read_tables(arrays, f"{position}.", header["values"][name], len(items))
            for position, name in enumerate(attributes)
        },
        profiles=Profiles(
            headers.read_array(arrays, "intercepts", len(items)),
            headers.read_array(arrays, "factors", len(items), None),
            header["ridge"],
        ),
        ease=read_ease(arrays, len(items), header["levels"]),
        n_rated_enough=header["rated_enough"],
        assumed_public=tuple(name for name in public_facts.PUBLIC_FACTS if name in header["taken"]),
        measurements=tuple(Measurement(**entry) for entry in header["measurements"]),
        disclosures=tuple(CountedFit.from_row(row) for row in header["disclosures"]),
    )


def read_tables(arrays: Arrays, prefix: str, values: list[str], n_items: int) -> Tables:
    """One attribute's public tables, whose arrays have this prefix."""
    headers.read_array(arrays, f"{prefix}item_means", n_items)
    headers.read_array(arrays, f"{prefix}means", len(values), n_items)
    return Tables(
        values=tuple(values),
        offsets=arrays[f"{prefix}offsets"],
        keep=arrays[f"{prefix}keep"],
        means=arrays[f"{prefix}means"],
        coupling=arrays.get(f"{prefix}coupling"),
        item_means=arrays[f"{prefix}item_means"],
    )


def read_ease(arrays: Arrays, n_items: int, n_levels: int) -> Ease:
    """Item-item weights, checked to be a matrix of the items."""
    weights = sparse.csc_array(
        (
            headers.read_array(arrays, "weights", None).astype(np.int64),
            headers.read_array(arrays, "rows", None),
            headers.read_array(arrays, "columns", n_items + 1),
        ),
        shape=(n_items, n_items),
        copy=True,
    )
    weights.check_format(full_check=True)
    return Ease(weights, headers.read_array(arrays, "popularity", n_items), n_levels)
