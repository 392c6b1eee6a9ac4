"""Fitted parts as arrays of a model file, and back. No person is among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import RatingScale
from tacit.designs.xmap.bridge import Bridge
from tacit.designs.xmap.catalogue import Catalogue, Routes
from tacit.designs.xmap.item_model import ItemModel
from tacit.designs.xmap.lists import RatedTogether
from tacit.designs.xmap.recommender import ItemNeighbours
from tacit.designs.xmap.settings import Settings
from tacit.engine.base import Engine, Numbers
from tacit.recommenders.files import shaped

Arrays = Mapping[str, NDArray[Any]]

VERSION = 1
"""Of what a header says. 0, which had no number, did not say where the draws came from."""
_DRAWS = {True: "private", False: "replayed"}


def draws_to_header(*, private: bool) -> dict[str, Any]:
    """Whether the operating system drew, or a seed, which protects nobody."""
    return {"version": VERSION, "draws": _DRAWS[private]}


def drawn_privately(header: Mapping[str, Any]) -> bool:
    """What `draws_to_header` wrote; False where a file does not say it. ValueError for neither."""
    version = header.get("version", 0)
    if version == 0:
        return False
    if version != VERSION:
        raise ValueError("it was written by a newer tacit")
    if header["draws"] not in _DRAWS.values():
        raise ValueError("it does not say where its draws came from")
    return bool(header["draws"] == _DRAWS[True])


def to_arrays(bridges: Sequence[Bridge]) -> dict[str, NDArray[Any]]:
    """Item-based bridges, each array under the bridge's place and its name."""
    arrays: dict[str, NDArray[Any]] = {"item_means": bridges[0].item_means}
    for place, bridge in enumerate(bridges):
        parts: dict[str, NDArray[Any]] = {"images": bridge.images}
        if isinstance(bridge.neighbours, ItemNeighbours):
            parts |= {
                "neighbours": bridge.neighbours.items,
                "similarities": bridge.neighbours.similarities,
            }
        if bridge.lists is not None:
            parts |= {
                "companions": bridge.lists.companions,
                "weights": bridge.lists.weights,
                "popularity": bridge.lists.popularity,
            }
        arrays |= {f"{place}.{name}": array for name, array in parts.items()}
    return arrays


def bridge(
    arrays: Arrays,
    place: int,
    *,
    targets: Numbers,
    width: int,
    settings: Settings,
    lowest: float,
    engine: Engine,
) -> Bridge:
    """One bridge of `to_arrays`; ValueError where an array does not fit."""
    means = _floats(arrays, "item_means", width)
    size = len(targets)
    images = _numbers(arrays, f"{place}.images", size, width)
    items = _numbers(arrays, f"{place}.neighbours", size, size, settings.k)
    similarities = _floats(arrays, f"{place}.similarities", *items.shape)
    lists = None
    if f"{place}.companions" in arrays:
        companions = _numbers(arrays, f"{place}.companions", width, size, None)
        lists = RatedTogether(
            companions,
            _floats(arrays, f"{place}.weights", *companions.shape),
            _floats(arrays, f"{place}.popularity", size),
            width,
        )
    return Bridge(
        targets=targets,
        images=images,
        item_means=means,
        neighbours=ItemNeighbours(means[targets], items, similarities),
        k=settings.k,
        alpha=settings.alpha,
        lowest=lowest,
        engine=engine,
        lists=lists,
    )


def catalogue(header: Mapping[str, Any], routes: Routes) -> Catalogue:
    """The domains of a header's items; ValueError where items or domains make no sense."""
    items, names = header["items"], header["domains"]
    if {type(item) for item in items} not in ({int}, {str}) or len(set(items)) < len(items):
        raise ValueError("the ids of its items are not all whole numbers or all text, each once")
    if any(type(item) is int and not -(2**63) <= item < 2**63 for item in items):
        raise ValueError("the id of an item does not fit 64 bits")
    titles = header["titles"] or [None] * len(items)
    if len(titles) != len(items) or any(type(name) not in (str, type(None)) for name in titles):
        raise ValueError("the titles do not fit the list of items")
    if len(names) != len(items) or any(type(name) is not str for name in names):
        raise ValueError("the domains do not fit the list of items")
    absent = {*routes.targets, *routes.sources} - set(names)
    if absent:
        raise ValueError(f"no item is in the domain {absent.pop()}")
    domains = np.empty(len(names), dtype=object)
    domains[:] = names
    return Catalogue(domains, routes)


def item_model(arrays: Arrays, width: int, scale: RatingScale) -> ItemModel:
    """The sound variant's release; ValueError or DataError where it cannot be one."""
    for name in ("means", "variances", "counts"):
        _floats(arrays, name, width)
    _floats(arrays, "factors", width, None)
    _floats(arrays, "constants", 3)
    model = ItemModel.from_arrays(arrays)
    if model.scale != (scale.minimum, scale.maximum):
        raise ValueError(f"its numbers are on the scale {model.scale}, its header on {scale}")
    return model


def _floats(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.float64]:
    found = shaped(arrays, name, *shape)
    if found.dtype != np.float64 or not np.isfinite(found).all():
        raise ValueError(f"'{name}' does not hold finite numbers alone")
    return found


def _numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Numbers from -1 to below `below`; others would read what is not theirs."""
    found = shaped(arrays, name, *shape)
    if found.dtype != np.int32 or (found.size and not -1 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found
