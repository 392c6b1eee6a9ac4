"""Step 2, the Extender: items in layers, and X-SIM along the meta-paths between them.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017). The items of each domain are in three layers:

         BB   bridge items: they have an edge into the other domain
         NB   other items with an edge to a bridge item of their own domain
         NN   remaining items with an edge to an NB item of their own domain

         An edge joins an item and one of its k most similar items in a neighbouring layer of
         NN - NB - BB | BB - NB - NN, where | is the border between the domains. A meta-path follows
         edges through a contiguous part of these layers that crosses the border, with one item of
         each layer. Items that no such edges link to a bridge item are in no layer.

If there are several source domains, their items count as one domain here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.designs.xmap.baseliner import Baseline, find_neighbours
from tacit.engine import Engine, Neighbours, Numbers, Stage, cut_rows, find_nearest

Floats = NDArray[np.float64]
MOST_PAIRS = 1 << 22
"""Largest number of pairs of a source and a target item for which X-SIM is computed at a time. One
source item is computed with all target items at a time, even if these are more pairs."""


@dataclass(frozen=True, eq=False)
class DomainLayers:
    """The layers of one domain, as sorted item numbers. Some items may be in no layer."""

    bridge: Numbers
    """BB: bridge items, with an edge into the other domain."""
    non_bridge: Numbers
    """NB: items with an edge to a bridge item of their domain, and none into the other domain."""
    two_steps: Numbers
    """NN: items of neither BB nor NB with an edge to an NB item of their domain."""


@dataclass(frozen=True, eq=False)
class Extension:
    """The layers of both domains, and the edges between them."""

    source: DomainLayers
    """Layers of the source domain."""
    target: DomainLayers
    """Layers of the target domain."""
    stages: tuple[Stage, ...]
    """(5,) the edges from each layer to the next, in the order of `layers`."""
    targets: Numbers
    """(n_target,) sorted numbers of all items of the target domain."""

    @property
    def layers(self) -> tuple[Numbers, ...]:
        """The six layers in the order of a meta-path (`_order_layers`)."""
        return _order_layers(self.source, self.target)


def _order_layers(source: DomainLayers, target: DomainLayers) -> tuple[Numbers, ...]:
    """List the layers in the order of a meta-path from the source to the target domain.

    These are NN, NB, BB of the source, then BB, NB, NN of the target.
    """
    source_layers = (source.two_steps, source.non_bridge, source.bridge)
    target_layers = (target.bridge, target.non_bridge, target.two_steps)
    return source_layers + target_layers


@dataclass(frozen=True, eq=False)
class NeighbourSearch:
    """Searches for the k neighbours of each item that have the largest |similarity|."""

    base: Baseline
    """Centred ratings."""
    engine: Engine
    """Computes similarities."""
    k: int
    """Largest number of neighbours of an item in one search."""
    significance: int
    """A similarity is scaled down if fewer people than this rated both items; 0: never."""

    def __call__(self, *pairs: tuple[Numbers, Numbers]) -> list[Neighbours]:
        """Search for the neighbours of several sets of items together.

        Args:
            *pairs: Each has the numbers of the items whose neighbours are searched for, and the
                numbers of the items that can be neighbours.

        Returns:
            The neighbours for each pair, without the items that have none.
        """
        find = partial(
            find_neighbours, engine=self.engine, k=self.k, significance=self.significance
        )
        neighbours_of_pairs = find_nearest(self.base.table, pairs, find, self.k)
        return [_leave_out_empty_lists(neighbours) for neighbours in neighbours_of_pairs]


def extend(
    base: Baseline, sources: Numbers, targets: Numbers, *, k: int, significance: int, engine: Engine
) -> Extension:
    """Split both domains into layers, and find the edges between neighbouring layers.

    Each item keeps edges to its k items of the largest |similarity| in each neighbouring layer. An
    edge is used if either of its two items keeps it, so a popular item can have many more than k.

    Args:
        base: Centred ratings.
        sources: Sorted numbers of the source domain's items.
        targets: Sorted numbers of the target domain's items.
        k: Largest number of edges that an item keeps to a neighbouring layer.
        significance: A similarity is scaled down if fewer people than this rated both items; 0:
            never.
        engine: Computes similarities.
    """
    search = NeighbourSearch(base, engine, k, significance)

    # BB: items with a neighbour in the other domain.
    source_across, target_across = search((sources, targets), (targets, sources))
    source_bridge = source_across.items
    target_bridge = target_across.items

    # NB: other items with a neighbour in BB of their own domain.
    source_nb_to_bb, target_nb_to_bb = search(
        (np.setdiff1d(sources, source_bridge), source_bridge),
        (np.setdiff1d(targets, target_bridge), target_bridge),
    )
    source_non_bridge = source_nb_to_bb.items
    target_non_bridge = target_nb_to_bb.items

    # NN: remaining items with a neighbour in NB. Also the edges that BB items keep to NB.
    source_rest = np.setdiff1d(sources, np.union1d(source_bridge, source_non_bridge))
    target_rest = np.setdiff1d(targets, np.union1d(target_bridge, target_non_bridge))
    source_bb_to_nb, target_bb_to_nb, source_nn_to_nb, target_nn_to_nb = search(
        (source_bridge, source_non_bridge),
        (target_bridge, target_non_bridge),
        (source_rest, source_non_bridge),
        (target_rest, target_non_bridge),
    )
    source_two_steps = source_nn_to_nb.items
    target_two_steps = target_nn_to_nb.items

    # The edges that NB items keep to NN.
    source_nb_to_nn, target_nb_to_nn = search(
        (source_non_bridge, source_two_steps), (target_non_bridge, target_two_steps)
    )

    source = DomainLayers(source_bridge, source_non_bridge, source_two_steps)
    target = DomainLayers(target_bridge, target_non_bridge, target_two_steps)
    # For each step from a layer to the next: the edges that the layer's items keep, and those that
    # the next layer's items keep.
    edges_of_steps = (
        (source_nn_to_nb, source_nb_to_nn),
        (source_nb_to_bb, source_bb_to_nb),
        (source_across, target_across),
        (target_bb_to_nb, target_nb_to_bb),
        (target_nb_to_nn, target_nn_to_nb),
    )
    steps = pairwise(_order_layers(source, target))
    stages = []
    for (forward, backward), (layer, next_layer) in zip(edges_of_steps, steps, strict=True):
        stages.append(_join_edges(base, forward, backward, layer, next_layer))
    return Extension(source, target, tuple(stages), targets)


def compute_x_sim(extension: Extension, starts: Numbers, engine: Engine) -> Floats:
    """Compute X-SIM of source items with every target item.

    X-SIM is the mean similarity of the meta-paths between two items, weighted by their certainty.
    `Engine.paths` has the formulas of a path's similarity and certainty.

    Args:
        extension: Layers and edges.
        starts: Numbers of the source items.
        engine: Follows the paths.

    Returns:
        (len(starts), n_target) X-SIM; NaN where no meta-path of certainty above 0 joins the two
        items.
    """
    x_sim = np.full((len(starts), len(extension.targets)), np.nan)
    layers = extension.layers
    # Layers 0 to 2 are those of the source, 3 to 5 of the target; stage i leads from layer i to
    # i + 1. All paths from each source layer to each target layer are followed.
    for source_index, source_layer in enumerate(layers[:3]):
        rows = np.flatnonzero(np.isin(starts, source_layer))
        positions_in_layer = np.searchsorted(source_layer, starts[rows]).astype(np.int32)
        for target_index, target_layer in enumerate(layers[3:], 3):
            if rows.size and target_layer.size:
                stages = extension.stages[source_index:target_index]
                weighted_sum, certainty = engine.paths(stages, starts=positions_in_layer)
                mean = np.full(certainty.shape, np.nan)
                np.divide(weighted_sum, certainty, out=mean, where=certainty > 0)
                columns = np.searchsorted(extension.targets, target_layer)
                x_sim[np.ix_(rows, columns)] = mean
    return x_sim


def blocks_of_starts(extension: Extension, starts: Numbers) -> list[slice]:
    """Cut source items into slices that have at most MOST_PAIRS pairs with target items each.

    A slice has at least one source item, even if this item alone has more than MOST_PAIRS pairs.
    """
    return cut_rows((len(starts), len(extension.targets)), MOST_PAIRS)


def _leave_out_empty_lists(neighbours: Neighbours) -> Neighbours:
    """Leave out the items without any neighbour."""
    has_neighbour = (neighbours.neighbours >= 0).any(axis=1)
    return Neighbours(
        items=neighbours.items[has_neighbour],
        neighbours=neighbours.neighbours[has_neighbour],
        similarities=neighbours.similarities[has_neighbour],
        co_counts=neighbours.co_counts[has_neighbour],
        agreements=neighbours.agreements[has_neighbour],
    )


def _join_edges(
    base: Baseline, forward: Neighbours, backward: Neighbours, layer: Numbers, next_layer: Numbers
) -> Stage:
    """Make the stage from a layer to the next, of the edges that an item of either layer keeps.

    Args:
        base: Has the number of raters of each item, from which the shares F of edges are computed.
        forward: Neighbours of the layer's items in the next layer.
        backward: Neighbours of the next layer's items in the layer.
        layer: Sorted item numbers.
        next_layer: Sorted item numbers of the next layer.
    """
    forward_edges = _list_edges(forward)
    backward_edges = _list_edges(backward)
    left = np.concatenate([forward_edges.owners, backward_edges.neighbours])
    right = np.concatenate([forward_edges.neighbours, backward_edges.owners])
    values = np.concatenate([forward_edges.values, backward_edges.values])

    # Keep each edge once, ordered by left item, then right item: a key numbers a pair of items.
    edge_keys = left.astype(np.int64) * (len(base.raters) + 1) + right
    _, first_positions = np.unique(edge_keys, return_index=True)
    left = left[first_positions]
    right = right[first_positions]
    edge_similarities, raters_of_both, agreements = values[first_positions].T

    # F = agreements / number of people who rated at least one of the two items
    raters_of_either = base.raters[left] + base.raters[right] - raters_of_both
    shares = agreements / np.maximum(1, raters_of_either)
    edges_of_item = np.bincount(np.searchsorted(layer, left), minlength=len(layer))
    offsets = np.concatenate([[0], np.cumsum(edges_of_item)])
    positions = next_layer.searchsorted(right).astype(np.int32)
    return Stage(offsets, positions, edge_similarities, agreements, shares, len(next_layer))


class _Edges(NamedTuple):
    """Edges that the items of one layer keep."""

    owners: Numbers
    """(n,) numbers of the items that keep them."""
    neighbours: Numbers
    """(n,) numbers of the items at the other ends."""
    values: Floats
    """(n, 3) similarity, number of people who rated both items, and number of agreements: people
    who liked both or disliked both."""


def _list_edges(neighbours: Neighbours) -> _Edges:
    """List every edge from an item to one of its neighbours."""
    is_edge = neighbours.neighbours >= 0
    owners = np.broadcast_to(neighbours.items[:, None], neighbours.neighbours.shape)[is_edge]
    columns = (
        neighbours.similarities[is_edge],
        neighbours.co_counts[is_edge],
        neighbours.agreements[is_edge],
    )
    values = np.stack(columns, axis=1).astype(np.float64)
    return _Edges(owners, neighbours.neighbours[is_edge], values)
