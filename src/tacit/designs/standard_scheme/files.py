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
from tacit.designs.standard_scheme.messages import LARGEST_WEIGHT
from tacit.designs.standard_scheme.server import WEIGHT_UNIT, Ease, Profiles
from tacit.designs.standard_scheme.settings import MOST_WHOLE_LEVELS, Settings
from tacit.designs.standard_scheme.training.fitting import Fitted
from tacit.designs.standard_scheme.training.people import PeopleHashes
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.privacy import Measurement
from tacit.recommenders import headers, public_facts
from tacit.recommenders.fits_in_process import CountedFit
from tacit.recommenders.header_types import check_types, make_from_header

FORMAT = 3
"""Version of the model file."""

_CHANGED = "changed."
"""Prefix of the names of arrays with the hashes that changed in a replacement."""
LARGEST_COEFFICIENT = 1e4
"""Largest absolute value of an intercept or factor that a file may have."""
Header = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]


def write_model(path: str | Path, settings: Settings, fitted: Fitted) -> None:
    """Write a model file: `make_header` and `collect_arrays` list what it holds."""
    container.write(path, make_header(settings, fitted), collect_arrays(fitted))


def make_header(settings: Settings, fitted: Fitted) -> dict[str, Any]:
    """Make the header of a model file: everything but the arrays, as JSON values."""
    return {
        "recommender": "standard-scheme",
        "format": FORMAT,
        "settings": settings_to_header(settings),
        **headers.items_to_header(fitted.item_ids, fitted.titles),
        "scale": [fitted.scale.minimum, fitted.scale.maximum, fitted.scale.step],
        "values": {name: list(table.values) for name, table in fitted.tables.items()},
        "ridge": fitted.profiles.ridge,
        "levels": fitted.ease.n_levels,
        "unit": WEIGHT_UNIT,
        "key": "" if fitted.people is None else fitted.people.key.hex(),
        "people": fitted.n_consenting,
        "rated_enough": fitted.n_rated_enough,
        "taken": list(fitted.assumed_public),
        "disclosures": [disclosure.to_row() for disclosure in fitted.disclosures],
        "measurements": [asdict(measurement) for measurement in fitted.measurements],
    }


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON values; an infinite epsilon becomes null."""
    content = asdict(settings)
    content["aliases"] = list(settings.aliases.items())
    if not settings.has_private_disclosure:
        content["disclosure_epsilon"] = None
    return content


def collect_arrays(fitted: Fitted) -> dict[str, NDArray[Any]]:
    """Collect all arrays of a model, by their names in the file.

    The names of an attribute's tables begin with the position of the attribute in the settings,
    such as "0.offsets".
    """
    weights = fitted.ease.weights
    arrays: dict[str, NDArray[Any]] = {
        "intercepts": fitted.profiles.intercepts,
        "factors": fitted.profiles.factors,
        "popularity": fitted.ease.popularity_rank,
        "weights": weights.data.astype(np.int32),
        "rows": weights.indices.astype(np.int32),
        "columns": weights.indptr.astype(np.int64),
    }
    if fitted.people is not None:
        arrays["hashes"] = fitted.people.hashes.view(np.int64)
        for age, changed in enumerate(fitted.people.changes):
            arrays[f"{_CHANGED}{age}"] = changed.view(np.int64)
    for position, table in enumerate(fitted.tables.values()):
        arrays_of_attribute = {
            "offsets": table.offsets,
            "keep": table.keep,
            "means": table.means,
            "coupling": table.coupling,
            "item_means": table.item_means,
        }
        for name, array in arrays_of_attribute.items():
            if array is not None:
                arrays[f"{position}.{name}"] = array
    return arrays


def read_settings(header: Header) -> dict[str, Any]:
    """Read the arguments of `StandardScheme` from a file's header.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: The file has another format, or an
            argument is missing or has another type.
    """
    if header.get("format") != FORMAT:
        raise ValueError(f"its format is {header.get('format')}, and this program reads {FORMAT}")
    settings = dict(header["settings"])
    settings["aliases"] = dict(settings["aliases"])
    if settings["disclosure_epsilon"] is None:
        settings["disclosure_epsilon"] = math.inf
        # The check refuses infinity, which JSON cannot hold; any finite number stands for it.
        check_types(Settings, settings | {"disclosure_epsilon": 1.0})
    else:
        check_types(Settings, settings)
    return settings


def read_fitted(header: Header, arrays: Arrays, attributes: tuple[str, ...]) -> Fitted:
    """Read the fitted model from a checked file.

    Args:
        header: The file's header.
        arrays: The file's arrays.
        attributes: Names of the hidden attributes, in the order of the settings.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: Something is missing or has another
            shape.
    """
    items = headers.ids_from_header(header["items"])
    people_hashes = None
    if header["key"]:
        hashes = headers.read_array(dict(arrays), "hashes", header["people"]).view(np.uint64)
        people_hashes = PeopleHashes(bytes.fromhex(header["key"]), hashes, read_changes(arrays))
    return Fitted(
        item_ids=items,
        titles=headers.titles_from_header(header),
        scale=headers.scale_from_header(header["scale"]),
        n_consenting=header["people"],
        people=people_hashes,
        tables={
            name: read_tables(arrays, f"{position}.", header["values"][name], len(items))
            for position, name in enumerate(attributes)
        },
        profiles=Profiles(
            headers.read_floats(arrays, "intercepts", len(items), most=LARGEST_COEFFICIENT),
            headers.read_floats(arrays, "factors", len(items), None, most=LARGEST_COEFFICIENT),
            headers.number_from_header(header["ridge"]),
        ),
        ease=read_ease(arrays, len(items), header["levels"]),
        n_rated_enough=header["rated_enough"],
        assumed_public=read_assumed_public(header),
        measurements=read_measurements(header),
        disclosures=tuple(CountedFit.from_row(row) for row in header["disclosures"]),
    )


def read_changes(arrays: Arrays) -> tuple[NDArray[np.uint64], ...]:
    """Read the hashes that changed in each replacement, the newest first; none if it was the first.

    Raises:
        ValueError: They are not whole numbers, not in ascending order, or one is missing between
            two others.
    """
    changes = []
    for age in range(sum(name.startswith(_CHANGED) for name in arrays)):
        changed = _read_integers(arrays, f"{_CHANGED}{age}", None).view(np.uint64)
        if (changed[1:] <= changed[:-1]).any():
            raise ValueError("hashes of changed people are not in ascending order")
        changes.append(changed)
    return tuple(changes)


def read_measurements(header: Header) -> tuple[Measurement, ...]:
    """Read the measured attacks; ValueError for an entry that is not a `Measurement`."""
    return tuple(make_from_header(Measurement, entry) for entry in header["measurements"])


def read_assumed_public(header: Header) -> tuple[str, ...]:
    """Read what the fit assumed public, as names in `PUBLIC_FACTS`.

    Raises:
        ValueError: This version does not know one of the names.
    """
    names = headers.names_from_header(header["taken"])
    if not set(names) <= set(public_facts.PUBLIC_FACTS):
        raise ValueError("it assumes an unknown fact to be public")
    return tuple(name for name in public_facts.PUBLIC_FACTS if name in names)


def read_tables(arrays: Arrays, prefix: str, values: Any, n_items: int) -> Tables:
    """Read one attribute's public tables.

    Args:
        arrays: All arrays of the file.
        prefix: Prefix of the names of this attribute's arrays, such as "0.".
        values: Names of the attribute's values, as the header has them.
        n_items: Number of items.
    """
    names = headers.names_from_header(values)
    coupling = None
    if f"{prefix}coupling" in arrays:
        coupling = _read_integers(arrays, f"{prefix}coupling", len(names), n_items, None, None)
    return Tables(
        values=names,
        offsets=_read_integers(arrays, f"{prefix}offsets", len(names), n_items),
        keep=_read_integers(arrays, f"{prefix}keep", len(names), n_items),
        means=_read_integers(arrays, f"{prefix}means", len(names), n_items),
        coupling=coupling,
        item_means=_read_integers(arrays, f"{prefix}item_means", n_items),
    )


def _read_integers(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.int64]:
    """Read an array of whole numbers; ValueError for another type or shape."""
    array = headers.read_array(arrays, name, *shape)
    if array.dtype.kind != "i":
        raise ValueError(f"'{name}' does not hold whole numbers")
    return array.astype(np.int64, copy=False)


def read_ease(arrays: Arrays, n_items: int, levels: object) -> Ease:
    """Read what lists are ranked by: item-item weights, ranks by popularity, number of levels.

    The weights are checked to be a matrix of the items, of numbers that an item table can hold, and
    the ranks to be an order of the items.

    Args:
        arrays: All arrays of the file.
        n_items: Number of items.
        levels: Number of whole levels, as the header has it.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: An array is missing or has another
            shape, the arrays are no matrix of the items, or `levels` is out of range.
    """
    rows = headers.read_places(arrays, "rows", n_items)
    weights = sparse.csc_array(
        (
            _read_integers(arrays, "weights", len(rows)),
            rows,
            headers.read_offsets(arrays, "columns", len(rows)),
        ),
        shape=(n_items, n_items),
        copy=True,
    )
    weights.check_format(full_check=True)
    if (np.abs(weights.data.astype(float)) > LARGEST_WEIGHT).any():
        raise ValueError(f"a weight between items is beyond {LARGEST_WEIGHT}")
    popularity_rank = _read_integers(arrays, "popularity", n_items)
    if not np.array_equal(np.sort(popularity_rank), np.arange(n_items)):
        raise ValueError("the ranks by popularity are not one for each item, from 0 on")
    n_levels = headers.count_from_header(levels, least=1, most=MOST_WHOLE_LEVELS)
    return Ease(weights, popularity_rank, n_levels)
