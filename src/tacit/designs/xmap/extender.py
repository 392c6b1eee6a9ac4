"""Step 2, the Extender: items in layers, and X-SIM along the meta-paths between them.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017). The items of each domain lie in three layers:

         BB   bridge items: they have an edge into the other domain
         NB   other items with an edge to a bridge item of their own domain
         NN   remaining items with an edge to an NB item

         A meta-path has at most one item of each layer: it is a contiguous piece of
         NN - NB - BB | BB - NB - NN that crosses from one domain into the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.designs.xmap.baseliner import Baseline, find_neighbours
from tacit.engine import Engine, Neighbours, Numbers, Stage, blocks, nearest

Floats = NDArray[np.float64]
MOST_PAIRS = 1 << 22
"""Pairs of a source and a target item whose X-SIM is held at a time."""


@dataclass(frozen=True, eq=False)
class DomainLayers:
    """The layers of one domain, as sorted item numbers. Items in none of them reach no bridge."""

    bridge: Numbers
    """BB."""
    non_bridge: Numbers
    """NB."""
    unconnected: Numbers
    """NN: without an edge to a bridge item; reached through NB."""


@dataclass(frozen=True, eq=False)
class Extension:
    """The layers of both domains, and the edges that are kept between them."""

    source: DomainLayers
    """Layers of the source domain."""
    target: DomainLayers
    """Layers of the target domain."""
    stages: tuple[Stage, ...]
    """Edges from each layer to the next, in the order of `layers`."""
    targets: Numbers
    """(n_target,) sorted numbers of all items of the target domain."""

    @property
    def layers(self) -> tuple[Numbers, ...]:
        """NN, NB, BB of the source, then BB, NB, NN of the target."""
        source = self.source
        target = self.target
        outward = (target.bridge, target.non_bridge, target.unconnected)
        return (source.unconnected, source.non_bridge, source.bridge, *outward)


@dataclass(frozen=True, eq=False)
class NeighbourSearch:
    """Find the neighbours of items among others, and leave out items that have none."""

    base: Baseline
    """Ratings and similarities."""
    engine: Engine
    """Computes similarities."""
    k: int
    """Neighbours that an item keeps in each neighbouring layer, by |similarity|."""
    significance: int
    """Raters of both below which a similarity is scaled down; 0: never."""

    def __call__(self, *pairs: tuple[Numbers, Numbers]) -> list[Neighbours]:
        """Search for each pair of items `of` and items `among`, in one pass over the ratings."""
        find = partial(
            find_neighbours, engine=self.engine, k=self.k, significance=self.significance
        )
        found = nearest(self.base.table, pairs, find, self.k)
        return [_leave_out_unconnected(lists) for lists in found]


def extend(
    base: Baseline, sources: Numbers, targets: Numbers, *, k: int, significance: int, engine: Engine
) -> Extension:
    """Split both domains into layers, and keep the edges between neighbouring layers.

    An edge stays if either end keeps it, so a popular item can have many more than k.

    Args:
        base: Centred ratings.
        sources: Sorted numbers of the source domain's items.
        targets: Sorted numbers of the target domain's items.
        k: Neighbours that an item keeps in each neighbouring layer, by |similarity|.
        significance: Raters of both below which a similarity is scaled down; 0: never.
        engine: Computes similarities.
    """
    search = NeighbourSearch(base, engine, k, significance)

    # BB: items with a neighbour in the other domain.
    source_across, target_across = search((sources, targets), (targets, sources))
    source_bridge = source_across.of
    target_bridge = target_across.of

    # NB: other items with a neighbour in BB of their own domain.
    source_nb_to_bb, target_nb_to_bb = search(
        (np.setdiff1d(sources, source_bridge), source_bridge),
        (np.setdiff1d(targets, target_bridge), target_bridge),
    )
    source_non_bridge = source_nb_to_bb.of
    target_non_bridge = target_nb_to_bb.of

    # NN: remaining items with a neighbour in NB; and what BB keeps in NB.
    source_rest = np.setdiff1d(sources, np.union1d(source_bridge, source_non_bridge))
    target_rest = np.setdiff1d(targets, np.union1d(target_bridge, target_non_bridge))
    source_bb_to_nb, target_bb_to_nb, source_nn_to_nb, target_nn_to_nb = search(
        (source_bridge, source_non_bridge),
        (target_bridge, target_non_bridge),
        (source_rest, source_non_bridge),
        (target_rest, target_non_bridge),
    )
    source_unconnected = source_nn_to_nb.of
    target_unconnected = target_nn_to_nb.of

    # What NB keeps in NN.
    source_nb_to_nn, target_nb_to_nn = search(
        (source_non_bridge, source_unconnected), (target_non_bridge, target_unconnected)
    )

    source = DomainLayers(source_bridge, source_non_bridge, source_unconnected)
    target = DomainLayers(target_bridge, target_non_bridge, target_unconnected)
    kept_by_either_end = (
        (source_nn_to_nb, source_nb_to_nn),
        (source_nb_to_bb, source_bb_to_nb),
        (source_across, target_across),
        (target_bb_to_nb, target_nb_to_bb),
        (target_nb_to_nn, target_nn_to_nb),
    )
    layers = Extension(source, target, (), targets).layers
    stages = []
    for (outward, back), (layer, following) in zip(
        kept_by_either_end, pairwise(layers), strict=True
    ):
        stages.append(_join_edges(base, outward, back, layer, following))
    return Extension(source, target, tuple(stages), targets)


def similarities(extension: Extension, starts: Numbers, engine: Engine) -> Floats:
    """Compute X-SIM of source items with every target item.

    Args:
        extension: Layers and edges.
        starts: Numbers of source items.
        engine: Follows the paths.

    Returns:
        (len(starts), n_target) X-SIM; NaN where no meta-path joins the two.
    """
    similar = np.full((len(starts), len(extension.targets)), np.nan)
    layers = extension.layers
    for first, layer in enumerate(layers[:3]):
        rows = np.flatnonzero(np.isin(starts, layer))
        places = np.searchsorted(layer, starts[rows]).astype(np.int32)
        for last, reached in enumerate(layers[3:], 3):
            if rows.size and reached.size:
                weighted, certainty = engine.paths(extension.stages[first:last], starts=places)
                part = np.full(certainty.shape, np.nan)
                np.divide(weighted, certainty, out=part, where=certainty > 0)
                similar[np.ix_(rows, np.searchsorted(extension.targets, reached))] = part
    return similar


def blocks_of_starts(extension: Extension, starts: Numbers) -> list[slice]:
    """Cut `starts` into parts whose `similarities` are at most some four million pairs."""
    return blocks((len(starts), len(extension.targets)), MOST_PAIRS)


def _leave_out_unconnected(lists: Neighbours) -> Neighbours:
    """Leave out the items whose list is empty."""
    connected = (lists.items >= 0).any(axis=1)
    return Neighbours(
        of=lists.of[connected],
        items=lists.items[connected],
        similarities=lists.similarities[connected],
        co_counts=lists.co_counts[connected],
        agreements=lists.agreements[connected],
    )


def _join_edges(
    base: Baseline, outward: Neighbours, back: Neighbours, layer: Numbers, following: Numbers
) -> Stage:
    """Join the edges between two layers that either end keeps.

    Args:
        base: Ratings; the shares F of the paper need the numbers of raters.
        outward: Neighbours of the layer's items in the following layer.
        back: Neighbours of the following layer's items in the layer.
        layer: Sorted item numbers.
        following: Sorted item numbers of the next layer.
    """
    left_outward, right_outward, values_outward = _list_edges(outward)
    right_back, left_back, values_back = _list_edges(back)
    left = np.concatenate([left_outward, left_back])
    right = np.concatenate([right_outward, right_back])
    values = np.concatenate([values_outward, values_back])
    edge = left.astype(np.int64) * (len(base.raters) + 1) + right
    _, first = np.unique(edge, return_index=True)  # each edge once, by left, then right
    left = left[first]
    right = right[first]
    similar, raters_of_both, agreements = values[first].T
    raters_of_either = base.raters[left] + base.raters[right] - raters_of_both
    shares = agreements / np.maximum(1, raters_of_either)
    counts = np.bincount(np.searchsorted(layer, left), minlength=len(layer))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    places = following.searchsorted(right).astype(np.int32)
    return Stage(offsets, places, similar, agreements, shares, len(following))


def _list_edges(lists: Neighbours) -> tuple[Numbers, Numbers, Floats]:
    """List every edge: owner, neighbour, and (n, 3) similarity, raters of both, agreements."""
    there = lists.items >= 0
    owners = np.broadcast_to(lists.of[:, None], lists.items.shape)[there]
    columns = (lists.similarities[there], lists.co_counts[there], lists.agreements[there])
    return owners, lists.items[there], np.stack(columns, axis=1).astype(np.float64)
