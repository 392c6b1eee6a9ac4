"""Boxes 1 and 2, the Baseliner and the Extender: from ratings to X-SIM along meta-paths.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017). Ratings are centred by person; adjusted cosine has denominators over ALL
         raters of each item, and the engine computes it. Items of a domain are bridge items (BB: an
         edge into the other domain), their neighbours in the domain (NB), and the neighbours of
         those alone (NN). A meta-path has at most one item of each layer: a contiguous piece of
         NN-NB-BB | BB-NB-NN that crosses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Engine, Neighbours, Numbers, Stage, Table, blocks, nearest

Floats = NDArray[np.float64]
_CELLS = 1 << 22  # pairs of items held at once


class Baseline(NamedTuple):
    """table: stars minus the person's mean. raters: (items,) people who rated each."""

    table: Table
    raters: NDArray[np.int64]


def baseline(stars: sparse.csr_array) -> Baseline:
    """Centre (people, items) stars, sorted indices; a stored zero is a rating of zero."""
    raters = np.bincount(stars.indices, minlength=stars.shape[1]).astype(np.int64)
    return Baseline(centred(stars, means_of_people(stars)[1]), raters)


def centred(stars: sparse.csr_array, means: Floats) -> Table:
    """(people, items) stars minus each person's mean. Columns that are not there change nothing."""
    away = stars.data - np.repeat(means, np.diff(stars.indptr))
    values = sparse.csr_array((away, stars.indices, stars.indptr), shape=stars.shape)
    return Table(values, stars.data >= means_of_items(stars)[stars.indices])


def means_of_people(stars: sparse.csr_array) -> tuple[NDArray[np.int64], Floats]:
    """(stored,) whose rating each is, and (people,) mean stars; 0 for those without any."""
    counts = np.diff(stars.indptr)
    people = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(people, stars.data, minlength=len(counts))
    return people, np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)


def means_of_items(stars: sparse.csr_array) -> Floats:
    """(items,) mean stars; the overall mean where nobody rated."""
    counts = np.bincount(stars.indices, minlength=stars.shape[1])
    sums = np.bincount(stars.indices, stars.data, minlength=stars.shape[1])
    overall = float(stars.data.mean()) if stars.data.size else 0.0
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), overall), where=counts > 0)
    return means


@dataclass(frozen=True, eq=False)
class Extension:
    """layers: NN, NB, BB of the source, then BB, NB, NN of the target, as sorted item numbers.
    stages: the edges that are kept from each layer to the next. targets: (n_target,) sorted item
    numbers of the whole target domain."""

    layers: tuple[Numbers, ...]
    stages: tuple[Stage, ...]
    targets: Numbers


def extend(
    base: Baseline, sources: Numbers, targets: Numbers, *, k: int, significance: int, engine: Engine
) -> Extension:
    """Layers and edges between the items `sources` and `targets`, both sorted.

    k: neighbours an item keeps in each neighbouring layer, by |similarity|. An edge stays if
    either end keeps it, so a popular item can have many more.
    """

    find = partial(asked, engine=engine, k=k, significance=significance)

    def among(*pairs: tuple[Numbers, Numbers]) -> list[Neighbours]:
        """Without the items that have no neighbour."""
        lists = nearest(base.table, pairs, find, k)
        there = [(each.items >= 0).any(axis=1) for each in lists]
        return [
            Neighbours(**{name: values[connected] for name, values in vars(each).items()})
            for each, connected in zip(lists, there, strict=True)
        ]

    both = (sources, targets)
    across = among((sources, targets), (targets, sources))
    bridges = [each.of for each in across]
    near = among(*((np.setdiff1d(both[n], bridges[n]), bridges[n]) for n in (0, 1)))
    rests = [np.setdiff1d(both[n], np.union1d(bridges[n], near[n].of)) for n in (0, 1)]
    back_and_far = among(
        *((bridges[n], near[n].of) for n in (0, 1)), *((rests[n], near[n].of) for n in (0, 1))
    )
    back, far = back_and_far[:2], back_and_far[2:]
    outward = among(*((near[n].of, far[n].of) for n in (0, 1)))
    layers = (far[0].of, near[0].of, *bridges, near[1].of, far[1].of)
    lists = (
        (far[0], outward[0]),
        (near[0], back[0]),
        (across[0], across[1]),
        (back[1], near[1]),
        (outward[1], far[1]),
    )
    stages = [_stage(base, *ends, *two) for ends, two in zip(lists, pairwise(layers), strict=True)]
    return Extension(layers, tuple(stages), targets)


def asked(
    table: Table, of: Numbers, among: Numbers, *, engine: Engine, **options: Any
) -> Neighbours:
    """As `nearest` finds it, where the rows are."""
    return engine.neighbours(table, of=of, among=among, **options)


def similarities(extension: Extension, starts: Numbers, engine: Engine) -> Floats:
    """(len(starts), n_target) X-SIM of source items with every target item; NaN without a path."""
    similar = np.full((len(starts), len(extension.targets)), np.nan)
    for first, layer in enumerate(extension.layers[:3]):
        rows = np.flatnonzero(np.isin(starts, layer))
        places = np.searchsorted(layer, starts[rows]).astype(np.int32)
        for last, reached in enumerate(extension.layers[3:], 3):
            if rows.size and reached.size:
                weighted, certainty = engine.paths(extension.stages[first:last], starts=places)
                part = np.full(certainty.shape, np.nan)
                np.divide(weighted, certainty, out=part, where=certainty > 0)
                similar[np.ix_(rows, np.searchsorted(extension.targets, reached))] = part
    return similar


def blocks_of(extension: Extension, starts: Numbers) -> list[slice]:
    """Parts of `starts` whose `similarities` are at most some four million pairs."""
    return blocks((len(starts), len(extension.targets)), _CELLS)


def _stage(
    base: Baseline, one: Neighbours, other: Neighbours, layer: Numbers, following: Numbers
) -> Stage:
    """The edges that either end keeps. one, other: lists of items of the layer, of the next."""
    left, right, values = _flat(one)
    right_too, left_too, values_too = _flat(other)
    left, right = np.concatenate([left, left_too]), np.concatenate([right, right_too])
    key = left.astype(np.int64) * (len(base.raters) + 1) + right
    _, first = np.unique(key, return_index=True)  # each edge once, by left, then right
    left, right = left[first], right[first]
    similar, both, agreed = np.concatenate([values, values_too])[first].T
    shares = agreed / np.maximum(1, base.raters[left] + base.raters[right] - both)
    counts = np.bincount(np.searchsorted(layer, left), minlength=len(layer))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = following.searchsorted(right).astype(np.int32)
    return Stage(offsets, places, similar, agreed, shares, len(following))


def _flat(lists: Neighbours) -> tuple[Numbers, Numbers, Floats]:
    """Owner, neighbour and (n, 3) similarity, co-count, agreements of every list entry."""
    there = lists.items >= 0
    owners = np.broadcast_to(lists.of[:, None], lists.items.shape)[there]
    columns = (lists.similarities[there], lists.co_counts[there], lists.agreements[there])
    return owners, lists.items[there], np.stack(columns, axis=1).astype(np.float64)
