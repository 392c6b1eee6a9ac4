"""Arrays of the published variant's model files. A file holds no person's ratings."""

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
"""Version of the format of the published variant's files."""


def collect_published_arrays(model: PublishedModel) -> dict[str, NDArray[Any]]:
    """Collect the arrays of an item-based model by their names in the file.

    The names of a target's arrays begin with the target's position in the settings: "0.images".
    "item_means" are the same for all targets.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for position, target in enumerate(model.by_target.values()):
        arrays["item_means"] = target.item_means
        arrays[f"{position}.images"] = target.images
        if isinstance(target.neighbours, ItemNeighbours):
            arrays[f"{position}.neighbours"] = target.neighbours.items
            arrays[f"{position}.similarities"] = target.neighbours.similarities
        if target.votes is not None:
            arrays[f"{position}.companions"] = target.votes.companions
            arrays[f"{position}.weights"] = target.votes.weights
            arrays[f"{position}.popularity"] = target.votes.popularity
    return arrays


def read_published(
    header: Mapping[str, Any],
    arrays: Arrays,
    catalogue: Catalogue,
    ids: Column,
    scale: RatingScale,
    engine: Engine,
) -> PublishedModel:
    """Make the model whose arrays `collect_published_arrays` returned.

    Args:
        header: Header of the file.
        arrays: Arrays of the file.
        catalogue: Settings, and the domain of each item.
        ids: (n_items,) ids of the items.
        scale: Scale of the stars.
        engine: Computes predictions.

    Raises:
        ValueError: The file has another format, or an array has a wrong shape or type, or holds a
            number that is out of range.
        KeyError: An array is missing.
    """
    if header.get("version") != PUBLISHED_VERSION:
        raise ValueError(
            f"its format is {header.get('version')}, and this program reads {PUBLISHED_VERSION}"
        )
    by_target = {}
    settings = catalogue.settings
    for position, name in enumerate(settings.target):
        targets = catalogue.items_of(name)
        n_targets = len(targets)
        means = read_floats(arrays, "item_means", len(ids))
        neighbours = _read_numbers(
            arrays, f"{position}.neighbours", n_targets, n_targets, settings.k
        )
        similarities = read_floats(arrays, f"{position}.similarities", *neighbours.shape)
        by_target[name] = TargetModel(
            targets=targets,
            images=_read_numbers(arrays, f"{position}.images", n_targets, len(ids)),
            item_means=means,
            neighbours=ItemNeighbours(means[targets], neighbours, similarities),
            alpha=settings.alpha,
            lowest=scale.minimum,
            engine=engine,
            votes=_read_votes(arrays, position, n_targets, len(ids)),
        )
    return PublishedModel(catalogue, ids, scale, by_target)


def _read_votes(arrays: Arrays, position: int, n_targets: int, n_items: int) -> VotingTable | None:
    """Read the voting table of a target; None if the file has none.

    Args:
        arrays: Arrays of the file.
        position: Position of the target in the settings.
        n_targets: Number of items of the target domain.
        n_items: Number of items of the model.
    """
    if f"{position}.companions" not in arrays:
        return None
    companions = _read_numbers(arrays, f"{position}.companions", n_items, n_targets, None)
    weights = read_floats(arrays, f"{position}.weights", *companions.shape)
    popularity = read_floats(arrays, f"{position}.popularity", n_targets)
    return VotingTable(companions, weights, popularity, n_items)


def _read_numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Read an array of numbers or positions of items, in which -1 stands for no item.

    Args:
        arrays: Arrays of the file.
        name: Name of the array.
        below: Numbers have to be from -1 to `below` - 1.
        *shape: Length that the array has to have in each dimension; None for any length.

    Raises:
        ValueError: The array has another shape or type, or a number is out of range.
        KeyError: The array is missing.
    """
    numbers = read_array(arrays, name, *shape)
    if numbers.dtype != np.int32:
        raise ValueError(f"'{name}' has numbers of type {numbers.dtype}, not int32")
    if numbers.size and not -1 <= numbers.min() <= numbers.max() < below:
        raise ValueError(f"'{name}' has a number outside -1 to {below - 1}")
    return numbers
