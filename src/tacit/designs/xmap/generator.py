"""Box 3, the Generator: every source item's image in the target domain, and people's AlterEgos.

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

from tacit.designs.xmap.extender import Extension, blocks_of, similarities
from tacit.designs.xmap.theory import SPREAD
from tacit.engine import Engine, Numbers
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
Choice = Callable[[Floats], Numbers]
"""(items, n_target) X-SIM, NaN where there is none -> (items,) places in the target, -1: none."""
Spread = Callable[[Callable[[slice], NDArray[Any]], list[slice]], Iterable[NDArray[Any]]]

_RESOLUTION = 2.0**-12  # similarities are rounded down to multiples of it before a draw


@dataclass(frozen=True, eq=False)
class Profiles:
    """What people rated in the target domain, or are taken to have rated there.

    stars: (people, n_target) CSR, sorted indices. deviations: beside `stars.data`, stars minus the
    mean of the item that was rated. times: seconds beside it, or None.
    """

    stars: sparse.csr_array
    deviations: Floats
    times: NDArray[np.int64] | None

    def matrix(self, values: Floats) -> sparse.csr_array:
        """(people, n_target) of the same structure."""
        return sparse.csr_array((values, self.stars.indices, self.stars.indptr), self.stars.shape)


def images(
    extension: Extension, starts: Numbers, choose: Choice, engine: Engine, spread: Spread = map
) -> Numbers:
    """(len(starts),) the place in the target domain of each source item's image, -1: none.

    spread: as `map`; it may work elsewhere. Draws are made here, block after block.
    """
    places = np.full(len(starts), -1, dtype=np.int32)
    parts = blocks_of(extension, starts)
    there = nearest if choose is nearest else None  # then few numbers come back
    work = partial(_similar, extension=extension, starts=starts, engine=engine, choose=there)
    for part, made in zip(parts, spread(work, parts), strict=True):
        places[part] = made if there else choose(made)
    return places


def _similar(
    part: slice, *, extension: Extension, starts: Numbers, engine: Engine, choose: Choice | None
) -> NDArray[Any]:
    similar = similarities(extension, starts[part], engine)
    return choose(similar) if choose else similar


def nearest(similar: Floats) -> Numbers:
    """NX-Map: the largest X-SIM, the first of equals."""
    there = ~np.isnan(similar)
    best = np.where(there, similar, -np.inf).argmax(axis=1)
    return np.where(there.any(axis=1), best, -1).astype(np.int32)


def drawn_as_published(epsilon: float, source: Source) -> Choice:
    """PRS as printed: among the target items with an X-SIM, which are private data themselves.

    epsilon: nats for ONE item, if that list were fixed; infinity: `nearest`.
    """
    if math.isinf(epsilon):
        return nearest

    def choose(similar: Floats) -> Numbers:
        there = ~np.isnan(similar)
        some = there.any(axis=1)
        select = Selection(epsilon, similar.shape[1], SPREAD, -1.0, 1.0, _RESOLUTION)
        weights = select.weights(np.nan_to_num(similar[some]))
        weights[~there[some]] = 0
        chosen = np.full(len(similar), -1, dtype=np.int32)
        chosen[some] = draw_rows(weights, source)
        return chosen

    return choose


def alter_egos(
    stars: sparse.csr_array,
    times: NDArray[np.int64] | None,
    *,
    item_means: Floats,
    images: Numbers,
    targets: Numbers,
) -> Profiles:
    """Everybody's target profile: images of source ratings, and ratings of their own.

    stars: (people, items) with `times` beside its data. item_means: (items,) stars. images:
    (items,) the place in the target domain of a source item's image, -1: none. targets: sorted
    numbers of that domain's items.
    """
    place, width = np.full(stars.shape[1], -1, dtype=np.int32), len(targets)
    place[targets] = np.arange(width)
    people = np.repeat(np.arange(stars.shape[0], dtype=np.int64), np.diff(stars.indptr))
    deviations = stars.data - item_means[stars.indices]
    moments = np.zeros(len(people), dtype=np.int64) if times is None else times
    own = np.flatnonzero(place[stars.indices] >= 0)
    own_keys = people[own] * width + place[stars.indices[own]]
    replaced = np.flatnonzero(images[stars.indices] >= 0)
    image_keys = people[replaced] * width + images[stars.indices[replaced]]
    added = ~np.isin(image_keys, own_keys)
    used = np.concatenate([own, replaced[added]])
    keys, group = np.unique(np.concatenate([own_keys, image_keys[added]]), return_inverse=True)
    counts = np.bincount(group)
    values, away = (np.bincount(group, each[used]) / counts for each in (stars.data, deviations))
    latest = np.full(len(keys), np.iinfo(np.int64).min)
    np.maximum.at(latest, group, moments[used])
    rows, places = np.divmod(keys, width)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stars.shape[0]))])
    matrix = sparse.csr_array(
        (values, places.astype(np.int32), offsets.astype(np.int32)), shape=(stars.shape[0], width)
    )
    return Profiles(matrix, away, None if times is None else latest)
