"""Arrays of the published variant in model files. No person is in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, RatingScale
from tacit.designs.xmap.catalogue import Catalogue
from tacit.designs.xmap.published_variant import PublishedModel, TargetModel
from tacit.designs.xmap.recommender import ItemNeighbours
from tacit.designs.xmap.voting_lists import VotingTable
from tacit.engine import Engine, Numbers
from tacit.recommenders.headers import read_array, read_floats

Arrays = Mapping[str, NDArray[Any]]

PUBLISHED_VERSION = 1
"""Format of the published variant's files."""


def write_published(model: PublishedModel) -> dict[str, NDArray[Any]]:
    """Name the arrays of an item-based model: those of a target under its place in the settings."""
    arrays: dict[str, NDArray[Any]] = {}
    for place, target in enumerate(model.by_target.values()):
        arrays["item_means"] = target.item_means
        arrays[f"{place}.images"] = target.images
        if isinstance(target.neighbours, ItemNeighbours):
            arrays[f"{place}.neighbours"] = target.neighbours.items
            arrays[f"{place}.similarities"] = target.neighbours.similarities
        if target.votes is not None:
            arrays[f"{place}.companions"] = target.votes.companions
            arrays[f"{place}.weights"] = target.votes.weights
            arrays[f"{place}.popularity"] = target.votes.popularity
    return arrays


def read_published(
    header: Mapping[str, Any],
    arrays: Arrays,
    catalogue: Catalogue,
    ids: Column,
    scale: RatingScale,
    engine: Engine,
) -> PublishedModel:
    """Read what `write_published` wrote.

    Raises:
        ValueError: A part does not fit, or the format is another.
    """
    if header.get("version") != PUBLISHED_VERSION:
        raise ValueError(
            f"its format is {header.get('version')}, and this program reads {PUBLISHED_VERSION}"
        )
    by_target = {}
    settings = catalogue.settings
    for place, name in enumerate(settings.target):
        targets = catalogue.targets(name)
        size = len(targets)
        means = read_floats(arrays, "item_means", len(ids))
        neighbours = _read_numbers(arrays, f"{place}.neighbours", size, size, settings.k)
        similarities = read_floats(arrays, f"{place}.similarities", *neighbours.shape)
        by_target[name] = TargetModel(
            targets,
            _read_numbers(arrays, f"{place}.images", size, len(ids)),
            means,
            ItemNeighbours(means[targets], neighbours, similarities),
            settings.alpha,
            scale.minimum,
            engine,
            _read_votes(arrays, place, size, len(ids)),
        )
    return PublishedModel(catalogue, ids, scale, by_target)


def _read_votes(arrays: Arrays, place: int, size: int, n_items: int) -> VotingTable | None:
    """Read the table of votes, where there is one."""
    if f"{place}.companions" not in arrays:
        return None
    companions = _read_numbers(arrays, f"{place}.companions", n_items, size, None)
    weights = read_floats(arrays, f"{place}.weights", *companions.shape)
    popularity = read_floats(arrays, f"{place}.popularity", size)
    return VotingTable(companions, weights, popularity, n_items)


def _read_numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Read numbers from -1 to below `below`; others would read entries of something else."""
    numbers = read_array(arrays, name, *shape)
    if numbers.dtype != np.int32:
        raise ValueError(f"'{name}' does not fit the list of items")
    if numbers.size and not -1 <= numbers.min() <= numbers.max() < below:
        raise ValueError(f"'{name}' does not fit the list of items")
    return numbers
