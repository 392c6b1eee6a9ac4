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
class Layers:
    """The items of one domain that a meta-path can reach, as sorted item numbers."""

    bridge: Numbers
    near: Numbers
    far: Numbers


@dataclass(frozen=True, eq=False)
class Extension:
    """Both domains' layers and the kept edges between neighbouring layers.

    stages: far to near to bridge in the source, across, bridge to near to far in the target.
    targets: (n_target,) sorted item numbers of the whole target domain.
    """

    source: Layers
    target: Layers
    stages: tuple[Stage, ...]
    targets: Numbers


class _Edges(NamedTuple):
    """Undirected edges between two layers, each once, sorted: left and right are item numbers."""

    left: NDArray[Any]
    right: NDArray[Any]
    similarities: NDArray[Any]
    agreements: NDArray[Any]
    shares: NDArray[Any]


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
            Neighbours(**{name: values[kept] for name, values in vars(each).items()})
            for each, kept in zip(lists, there, strict=True)
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
    halves = [
        (
            Layers(bridges[n], near[n].of, far[n].of),
            _undirected(base, far[n], outward[n]),
            _undirected(base, near[n], back[n]),
        )
        for n in (0, 1)
    ]
    (source, outer_s, inner_s), (target, outer_t, inner_t) = halves
    stages = (
        _stage(outer_s, source.far, source.near),
        _stage(inner_s, source.near, source.bridge),
        _stage(_undirected(base, *across), source.bridge, target.bridge),
        _stage(_turned(inner_t), target.bridge, target.near),
        _stage(_turned(outer_t), target.near, target.far),
    )
    return Extension(source, target, stages, targets)


def asked(
    table: Table, of: Numbers, among: Numbers, *, engine: Engine, **options: Any
) -> Neighbours:
    """As `nearest` finds it, where the rows are."""
    return engine.neighbours(table, of=of, among=among, **options)


def similarities(extension: Extension, starts: Numbers, engine: Engine) -> Floats:
    """(len(starts), n_target) X-SIM of source items with every target item; NaN without a path."""
    found = np.full((len(starts), len(extension.targets)), np.nan)
    source, target = extension.source, extension.target
    for first, layer in enumerate((source.far, source.near, source.bridge)):
        rows, places = _places(starts, layer)
        if not rows.size:
            continue
        for last, reached in enumerate((target.bridge, target.near, target.far)):
            if not reached.size:
                continue
            stages = extension.stages[first : 3 + last]
            weighted, certainty = engine.paths(stages, starts=places)
            columns = np.searchsorted(extension.targets, reached)
            part = np.full(certainty.shape, np.nan)
            np.divide(weighted, certainty, out=part, where=certainty > 0)
            found[np.ix_(rows, columns)] = part
    return found


def blocks_of(extension: Extension, starts: Numbers) -> list[slice]:
    """Parts of `starts` whose `similarities` are at most some four million pairs."""
    return blocks((len(starts), len(extension.targets)), _CELLS)


def _undirected(base: Baseline, one: Neighbours, other: Neighbours) -> _Edges:
    """The edges that either end keeps; `one` holds left items' lists, `other` right items'."""
    left, right, values = _flat(one)
    right_too, left_too, values_too = _flat(other)
    left, right = np.concatenate([left, left_too]), np.concatenate([right, right_too])
    values = np.concatenate([values, values_too])
    key = left.astype(np.int64) * (len(base.raters) + 1) + right
    _, first = np.unique(key, return_index=True)
    left, right, values = left[first], right[first], values[first]
    either = base.raters[left] + base.raters[right] - values[:, 1]
    return _Edges(left, right, values[:, 0], values[:, 2], values[:, 2] / np.maximum(1, either))


def _flat(found: Neighbours) -> tuple[Numbers, Numbers, Floats]:
    """Owner, neighbour and (n, 3) similarity, co-count, agreements of every list entry."""
    there = found.items >= 0
    owners = np.broadcast_to(found.of[:, None], found.items.shape)[there]
    columns = (found.similarities[there], found.co_counts[there], found.agreements[there])
    return owners, found.items[there], np.stack(columns, axis=1).astype(np.float64)


def _turned(edges: _Edges) -> _Edges:
    """Right to left."""
    order = np.lexsort((edges.left, edges.right))
    return _Edges(*(column[order] for column in (edges.right, edges.left, *edges[2:])))


def _stage(edges: _Edges, layer: Numbers, following: Numbers) -> Stage:
    counts = np.bincount(np.searchsorted(layer, edges.left), minlength=len(layer))
    places = following.searchsorted(edges.right).astype(np.int32)
    return Stage(np.concatenate([[0], np.cumsum(counts)]), places, *edges[2:], len(following))


def _places(starts: Numbers, layer: Numbers) -> tuple[NDArray[np.intp], Numbers]:
    """Which of `starts` are in the layer, and their places in it."""
    rows = np.flatnonzero(np.isin(starts, layer))
    return rows, np.searchsorted(layer, starts[rows]).astype(np.int32)
