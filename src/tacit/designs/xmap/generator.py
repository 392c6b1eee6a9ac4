"""Step 3, the Generator: every source item's image in the target domain, and people's AlterEgos.

Source   the X-Map paper. NX-Map takes the target item of the largest X-SIM, X-Map draws one by
         Private Replacement Selection (PRS). The image profile keeps rating and time.
Sees     everybody's ratings, through X-SIM.
Releases one table of images, the same for everybody, drawn once.
Deviations  an image keeps, beside the rating, the mean of the item that was really rated: a 4 for
         a source item that others give 4.5 is no praise of an image that others give 3;
         where an image meets a rating of one's own, one's own stands; of two images that meet,
         ratings are averaged and the later time is kept.
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
from tacit.designs.xmap.extender import Extension, blocks_of_starts, similarities
from tacit.designs.xmap.theory import SPREAD
from tacit.engine import Engine, Numbers
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
Choice = Callable[[Floats], Numbers]
"""(items, n_target) X-SIM, NaN where there is none -> (items,) places in the target, -1: none."""
RunBlocks = Callable[[Callable[[slice], NDArray[Any]], list[slice]], Iterable[NDArray[Any]]]
"""`map`, or a function like it that works elsewhere."""

_RESOLUTION = 2.0**-12
"""Similarities are rounded down to multiples of it before a draw."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """Target profiles: what people rated in the target domain, or are taken to have rated there."""

    stars: sparse.csr_array
    """(people, n_target) CSR, sorted indices."""
    deviations: Floats
    """(stored,) stars minus the mean of the item that was really rated."""
    times: NDArray[np.int64] | None
    """(stored,) seconds; None if unknown."""

    def matrix(self, values: Floats) -> sparse.csr_array:
        """(people, n_target) other values at the places of the stars."""
        return sparse.csr_array((values, self.stars.indices, self.stars.indptr), self.stars.shape)


def choose_images(
    extension: Extension,
    starts: Numbers,
    choose: Choice,
    engine: Engine,
    run_blocks: RunBlocks = map,
) -> Numbers:
    """Choose the image of each source item.

    Args:
        extension: Layers and edges between the domains.
        starts: Numbers of source items.
        choose: `nearest_image`, or a draw. Draws are made here, block after block.
        engine: Follows the paths.
        run_blocks: Computes blocks of X-SIM, here or elsewhere.

    Returns:
        (len(starts),) place in the target domain of each image; -1: none.
    """
    places = np.full(len(starts), -1, dtype=np.int32)
    parts = blocks_of_starts(extension, starts)
    if choose is nearest_image:  # made where X-SIM is computed: then few numbers come back
        find = partial(_find_nearest, extension=extension, starts=starts, engine=engine)
        for part, images in zip(parts, run_blocks(find, parts), strict=True):
            places[part] = images
        return places
    measure = partial(_measure_block, extension=extension, starts=starts, engine=engine)
    for part, similar in zip(parts, run_blocks(measure, parts), strict=True):
        places[part] = choose(similar)
    return places


def _measure_block(
    part: slice, *, extension: Extension, starts: Numbers, engine: Engine
) -> NDArray[Any]:
    """Compute X-SIM of one block of source items."""
    return similarities(extension, starts[part], engine)


def _find_nearest(
    part: slice, *, extension: Extension, starts: Numbers, engine: Engine
) -> NDArray[Any]:
    """Find the nearest images of one block of source items."""
    return nearest_image(similarities(extension, starts[part], engine))


def nearest_image(similar: Floats) -> Numbers:
    """Choose as NX-Map does: the largest X-SIM, the first of equals."""
    there = ~np.isnan(similar)
    best = np.where(there, similar, -np.inf).argmax(axis=1)
    return np.where(there.any(axis=1), best, -1).astype(np.int32)


def private_replacement_selection(epsilon: float, source: Source) -> Choice:
    """Make PRS as printed: a draw among the target items with an X-SIM, which are private data.

    Args:
        epsilon: Nats for ONE item, if that list were fixed; infinity: `nearest_image`.
        source: Where draws come from.
    """
    if math.isinf(epsilon):
        return nearest_image

    def choose(similar: Floats) -> Numbers:
        there = ~np.isnan(similar)
        has_candidates = there.any(axis=1)
        select = Selection(epsilon, similar.shape[1], SPREAD, -1.0, 1.0, _RESOLUTION)
        weights = select.weights(np.nan_to_num(similar[has_candidates]))
        weights[~there[has_candidates]] = 0
        chosen = np.full(len(similar), -1, dtype=np.int32)
        chosen[has_candidates] = draw_rows(weights, source)
        return chosen

    return choose


def make_alter_egos(
    stars: sparse.csr_array,
    times: NDArray[np.int64] | None,
    *,
    item_means: Floats,
    images: Numbers,
    targets: Numbers,
) -> Profiles:
    """Make everybody's target profile: images of source ratings, and ratings of their own.

    Args:
        stars: (people, items) CSR.
        times: (stored,) seconds beside `stars.data`; None if unknown.
        item_means: (items,) mean stars.
        images: (items,) place in the target domain of a source item's image; -1: none.
        targets: Sorted numbers of the target domain's items.
    """
    width = len(targets)
    place = np.full(stars.shape[1], -1, dtype=np.int32)
    place[targets] = np.arange(width)
    people = person_of_each_rating(stars)
    deviations = stars.data - item_means[stars.indices]
    moments = np.zeros(len(people), dtype=np.int64) if times is None else times

    # A cell is a person and a place in the target, as one number.
    own = np.flatnonzero(place[stars.indices] >= 0)
    own_cells = people[own] * width + place[stars.indices[own]]
    replaced = np.flatnonzero(images[stars.indices] >= 0)
    image_cells = people[replaced] * width + images[stars.indices[replaced]]
    is_added = ~np.isin(image_cells, own_cells)  # where both meet, a person's own rating stands
    used = np.concatenate([own, replaced[is_added]])
    cells, group = np.unique(
        np.concatenate([own_cells, image_cells[is_added]]), return_inverse=True
    )

    # Images that meet are averaged, and the later time is kept.
    counts = np.bincount(group)
    mean_stars = np.bincount(group, stars.data[used]) / counts
    mean_deviations = np.bincount(group, deviations[used]) / counts
    latest = np.full(len(cells), np.iinfo(np.int64).min)
    np.maximum.at(latest, group, moments[used])

    rows, places = np.divmod(cells, width)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stars.shape[0]))])
    matrix = sparse.csr_array(
        (mean_stars, places.astype(np.int32), offsets.astype(np.int32)),
        shape=(stars.shape[0], width),
    )
    return Profiles(matrix, mean_deviations, None if times is None else latest)
