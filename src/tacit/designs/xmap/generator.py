"""Step 3, the Generator: every source item's image in the target domain, and people's AlterEgos.

The image of a source item is the target item that replaces it. A person's AlterEgo is their profile
in the target domain: their own ratings there, and the images of the source items that they rated.

Source   the X-Map paper. NX-Map takes the target item of the largest X-SIM; X-Map draws one by
         Private Replacement Selection (PRS). An image gets the source item's rating and its time.
Sees     for images everybody's ratings, through X-SIM; for an AlterEgo also its person's ratings.
Releases one table of images, the same for everybody, chosen or drawn once.
Deviations  a rating is centred by the mean of the item that was really rated, not of its image: 4
         stars for a source item with mean 4.5 do not become praise of an image with mean 3. If an
         image is an item that the person rated, their own rating is used. If several rated items
         have the same image, their ratings are averaged and the latest time is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.baseliner import person_of_each_rating
from tacit.designs.xmap.extender import Extension, blocks_of_starts, compute_x_sim
from tacit.designs.xmap.theory import SPREAD
from tacit.engine import Engine, Numbers
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
ChooseImages = Callable[[Floats], Numbers]
"""Chooses images: takes (items, n_target) X-SIM, NaN where there is none, and returns (items,)
positions in the target domain, -1 for an item without an image."""
RunBlocks = Callable[[Callable[[slice], NDArray[Any]], list[slice]], Iterable[NDArray[Any]]]
"""Applies a function to blocks: `map`, or a function that runs it in other processes."""

_RESOLUTION = 2.0**-12
"""X-SIM is rounded down to a multiple of this number before a draw."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """People's profiles in the target domain: their ratings there, and images of source items."""

    stars: sparse.csr_array
    """(people, n_target) CSR of stars, sorted indices. The stars of several source items with one
    image are averaged."""
    deviations: Floats
    """(stored,) in the order of `stars.data`: stars minus the mean of the item that was rated. For
    an image this is the source item."""
    times: NDArray[np.int64] | None
    """(stored,) seconds at which the items were rated, the latest one of several source items with
    one image; None if unknown."""

    def matrix(self, values: Floats) -> sparse.csr_array:
        """Make a (people, n_target) CSR in which `values` (stored,) take the place of the stars."""
        return sparse.csr_array((values, self.stars.indices, self.stars.indptr), self.stars.shape)


def choose_images(
    extension: Extension,
    starts: Numbers,
    choose: ChooseImages,
    engine: Engine,
    run_blocks: RunBlocks = map,
) -> Numbers:
    """Choose the image of each source item.

    Args:
        extension: Layers and edges between the domains.
        starts: Numbers of source items.
        choose: `nearest_image`, or a function that draws. A function that draws is called in this
            process, block after block.
        engine: Follows the paths.
        run_blocks: Computes X-SIM, or nearest images, for each block, in this process or others.

    Returns:
        (len(starts),) position of each image in the target domain; -1 for an item without an image.
    """
    images = np.full(len(starts), -1, dtype=np.int32)
    blocks = blocks_of_starts(extension, starts)
    if choose is nearest_image:
        # It is called where X-SIM is computed, so that processes send one number for each item.
        find = partial(_find_nearest, extension=extension, starts=starts, engine=engine)
        for block, images_of_block in zip(blocks, run_blocks(find, blocks), strict=True):
            images[block] = images_of_block
        return images
    compute = partial(_compute_x_sim_of_block, extension=extension, starts=starts, engine=engine)
    for block, x_sim in zip(blocks, run_blocks(compute, blocks), strict=True):
        images[block] = choose(x_sim)
    return images


def _compute_x_sim_of_block(
    block: slice, *, extension: Extension, starts: Numbers, engine: Engine
) -> NDArray[Any]:
    """Compute (items of the block, n_target) X-SIM of one block of source items."""
    return compute_x_sim(extension, starts[block], engine)


def _find_nearest(
    block: slice, *, extension: Extension, starts: Numbers, engine: Engine
) -> NDArray[Any]:
    """Find the (items of the block,) nearest images of one block of source items."""
    return nearest_image(compute_x_sim(extension, starts[block], engine))


def nearest_image(x_sim: Floats) -> Numbers:
    """Choose images as NX-Map does: the target item of the largest X-SIM, the first of equal ones.

    Args:
        x_sim: (items, n_target) X-SIM, NaN where there is none.

    Returns:
        (items,) positions in the target domain; -1 for an item without any X-SIM.
    """
    is_candidate = ~np.isnan(x_sim)
    best = np.where(is_candidate, x_sim, -np.inf).argmax(axis=1)
    return np.where(is_candidate.any(axis=1), best, -1).astype(np.int32)


def private_replacement_selection(epsilon: float, source: Source) -> ChooseImages:
    """Return the function that chooses images by PRS as printed, the exponential mechanism.

    The candidates are the target items with an X-SIM. Which items these are depends on private
    data, so the claimed epsilon does not hold.

    Args:
        epsilon: Nats that one item's draw would cost if its candidates were fixed; for infinity
            the returned function is `nearest_image`, which draws nothing.
        source: Where draws come from.
    """
    if math.isinf(epsilon):
        return nearest_image

    def choose(x_sim: Floats) -> Numbers:
        """Draw the images of a block of items, as `ChooseImages` says."""
        is_candidate = ~np.isnan(x_sim)
        has_candidates = is_candidate.any(axis=1)
        select = Selection(
            epsilon,
            candidates=x_sim.shape[1],
            sensitivity=SPREAD,
            lower=-1.0,
            upper=1.0,
            resolution=_RESOLUTION,
        )
        weights = select.weights(np.nan_to_num(x_sim[has_candidates]))
        weights[~is_candidate[has_candidates]] = 0
        images = np.full(len(x_sim), -1, dtype=np.int32)
        images[has_candidates] = draw_rows(weights, source)
        return images

    return choose


def make_alter_egos(
    stars: sparse.csr_array,
    times: NDArray[np.int64] | None,
    *,
    item_means: Floats,
    images: Numbers,
    targets: Numbers,
) -> Profiles:
    """Make people's AlterEgos: their own ratings in the target domain, and images of source items.

    Args:
        stars: (people, items) CSR with sorted indices.
        times: (stored,) seconds of the ratings in `stars.data`; None if unknown.
        item_means: (items,) mean stars.
        images: (items,) position in the target domain of each source item's image; -1 for items
            without one, such as target items.
        targets: Sorted numbers of the target domain's items.
    """
    n_targets = len(targets)
    position_of_item = np.full(stars.shape[1], -1, dtype=np.int32)  # in the target domain
    position_of_item[targets] = np.arange(n_targets)
    people = person_of_each_rating(stars)
    deviations = stars.data - item_means[stars.indices]
    seconds = np.zeros(len(people), dtype=np.int64) if times is None else times

    # A cell is the number of a pair of a person and a target item: person * n_targets + position.
    # `target_ratings` and `source_ratings` are positions in `stars.data`.
    target_ratings = np.flatnonzero(position_of_item[stars.indices] >= 0)
    target_items = position_of_item[stars.indices[target_ratings]]
    target_cells = people[target_ratings] * n_targets + target_items
    source_ratings = np.flatnonzero(images[stars.indices] >= 0)
    image_cells = people[source_ratings] * n_targets + images[stars.indices[source_ratings]]
    is_added = ~np.isin(image_cells, target_cells)  # not if the person rated the item itself
    used_ratings = np.concatenate([target_ratings, source_ratings[is_added]])
    used_cells = np.concatenate([target_cells, image_cells[is_added]])
    cells, cell_of_rating = np.unique(used_cells, return_inverse=True)

    # Ratings whose images are in the same cell are averaged; their latest time is used.
    counts = np.bincount(cell_of_rating)
    mean_stars = np.bincount(cell_of_rating, stars.data[used_ratings]) / counts
    mean_deviations = np.bincount(cell_of_rating, deviations[used_ratings]) / counts
    latest = np.full(len(cells), np.iinfo(np.int64).min)
    np.maximum.at(latest, cell_of_rating, seconds[used_ratings])

    rows, columns = np.divmod(cells, n_targets)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stars.shape[0]))])
    matrix = sparse.csr_array(
        (mean_stars, columns.astype(np.int32), offsets.astype(np.int32)),
        shape=(stars.shape[0], n_targets),
    )
    return Profiles(matrix, mean_deviations, None if times is None else latest)
