"""Fitted parts as arrays of a model file, and back. No person is among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.base import Engine, Numbers
from tacit.recommenders.files import shaped
from tacit.recommenders.xmap.bridge import Bridge
from tacit.recommenders.xmap.item_model import ItemModel
from tacit.recommenders.xmap.lists import RatedTogether
from tacit.recommenders.xmap.recommender import ItemNeighbours
from tacit.recommenders.xmap.settings import Settings

Arrays = Mapping[str, NDArray[Any]]


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
    means = shaped(arrays, "item_means", width)
    size = len(targets)
    images = _numbers(arrays, f"{place}.images", size, width)
    items = _numbers(arrays, f"{place}.neighbours", size, size, settings.k)
    similarities = shaped(arrays, f"{place}.similarities", *items.shape)
    lists = None
    if f"{place}.companions" in arrays:
        companions = _numbers(arrays, f"{place}.companions", width, size, None)
        lists = RatedTogether(
            companions,
            shaped(arrays, f"{place}.weights", *companions.shape),
            shaped(arrays, f"{place}.popularity", size),
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


def item_model(arrays: Arrays, width: int) -> ItemModel:
    """The sound variant's release."""
    shaped(arrays, "means", width)
    return ItemModel.from_arrays(arrays)


def _numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Numbers from -1 to below `below`; others would read what is not theirs."""
    found = shaped(arrays, name, *shape)
    if found.dtype != np.int32 or (found.size and not -1 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found
