"""Products of the most popular items alone, in place of sums 2a, 2b and 3.

For data without metadata, or few or very many people.

Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); the weights
           of one domain: Steck, Embarrassingly shallow autoencoders (WWW 2019).
Sees       rows of the items that are most popular by the released counts.
Releases   their Gram matrix, three times in one domain; across domains twice, and once the products
           of context rows and likes.
Clips      one person's row; each side of one person's product, in whole steps.
Makes      weights from a person's row of context items to scores of target items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import Profiles
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.people import People, blocks_of_people
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.whole_steps import resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_HEAD = 400
"""Items in a head at most."""
_SIDE_RESOLUTION = 2.0**-10
"""Step of each side of a product; a product then has steps of 2^-20."""
_LEAST_RIDGE = 20.0


@dataclass(frozen=True, eq=False)
class TopItemsModel:
    """Released weights between the most popular items."""

    context: Ints
    """Numbers of the context items of the head, most popular first."""
    targets: Ints
    """Numbers of the target items of the head, most popular first; in one domain `context`."""
    weights: Floats
    """(context, targets) of a unit row of context items."""


def head_size(effective_population: float | None, *, one_domain: bool) -> int:
    """Choose the number of items in a head, from the effective population; None: without noise."""
    if effective_population is None:
        return LARGEST_HEAD
    least, people_per_item = (100, 12) if one_domain else (50, 25)
    return math.floor(min(max(effective_population / people_per_item, least), LARGEST_HEAD))


def unit_rows(people: Profiles, head: Ints, *, likes: bool) -> Floats:
    """(people, head) rows of norm 1, or 0: of likes, or of weighted context items."""
    offsets = people.like_offsets if likes else people.offsets
    items = people.likes if likes else people.items
    weights = np.ones(len(items))
    if not likes:
        weights = np.where(people.liked, 1.0, people.other_weight)
    place_of = np.full(max(int(head.max()), int(items.max(initial=0))) + 1, -1)
    place_of[head] = np.arange(len(head))
    places = place_of[items]
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = np.zeros((len(offsets) - 1, len(head)))
    inside = places >= 0
    rows[owners[inside], places[inside]] = weights[inside]
    lengths = np.sqrt(np.einsum("ui,ui->u", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1)[:, None]


def unit_like_rows(people: Profiles, items: int) -> sparse.csr_array:
    """(people, items) rows of norm 1 of each person's likes; empty for a person without likes."""
    counts = np.diff(people.like_offsets)
    values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
    rows = (values, people.likes, people.like_offsets)
    return sparse.csr_array(rows, shape=(len(counts), items))


def _contributed_rows(block: Profiles, head: Ints, *, likes: bool) -> Floats:
    """(people, head) unit rows, 0 for who adds nothing after sum 1: by each one's own rows."""
    contributes = np.diff(block.like_offsets) > 0
    if not block.one_domain:
        contributes &= np.diff(block.offsets) > 0
    rows: Floats = unit_rows(block, head, likes=likes) * contributes[:, None]
    return rows


def gram_mechanism(size: int, noise_multiplier: float) -> GramRelease:
    """Return the mechanism of the Gram matrix of the top items."""
    return GramRelease(noise_multiplier, size, 1.0, resolution_for(1.0))


def cross_mechanism(context: int, targets: int, noise_multiplier: float) -> SumRelease:
    """Mechanism of products between heads of so many context and target items."""
    return SumRelease(noise_multiplier, context, targets, 1.0, _SIDE_RESOLUTION**2)


def sum_grams(people: Profiles, head: Ints, mechanism: GramRelease) -> NDArray[Any]:
    """Sum x x' of everybody's clipped row x, before noise. Not protected: never release it."""
    rows = (
        _contributed_rows(block, head, likes=block.one_domain) for block in blocks_of_people(people)
    )
    return mechanism.total(rows)


def sum_cross_products(
    people: Profiles, context: Ints, targets: Ints, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum x y' of everybody's context row x and likes y, before noise.

    Not protected: never release it.

    Each side is clipped to whole steps by itself, so that a person's product has the product of the
    norms at most.
    """
    total = mechanism.zero_table()
    context_grid = GramRelease(1.0, len(context), 1.0, _SIDE_RESOLUTION)
    target_grid = GramRelease(1.0, len(targets), 1.0, _SIDE_RESOLUTION)
    for block in blocks_of_people(people):
        rows = _contributed_rows(block, context, likes=False)
        likes = _contributed_rows(block, targets, likes=True)
        if mechanism.noise_multiplier == 0:
            total += rows.T @ likes
        else:
            row_steps = context_grid.clip_rows(rows).astype(np.float64)
            like_steps = target_grid.clip_rows(likes).astype(np.float64)
            product = row_steps.T @ like_steps
            total += product.astype(np.int64)  # whole numbers below 2^33 a block: exact
    return total


def release_top_items(
    people: People, counts: Counts, size: int, noises: Sequence[float]
) -> TopItemsModel:
    """Release the products of the heads and make weights from them.

    Copies of one Gram matrix with independent noise are averaged by their precision. With its
    eigenvectors U above the edge of the noise and their values s, r the ridge:

        one domain:  W = U diag(s / (s + r)) U', each column over 1 - its diagonal, which becomes 0
        across:      W = U diag(1 / (s + r)) U' P, with P the products of context rows and likes

    Args:
        people: Everybody's profile.
        counts: The release of sum 1; at equal counts the item of the lower number comes first.
        size: Items in each head.
        noises: Noise multipliers of the three sums after the counts.
    """
    context = np.argsort(-counts.context, kind="stable")[:size].astype(np.int64)
    targets = np.argsort(-counts.targets, kind="stable")[:size].astype(np.int64)
    gram_noises = noises if people.one_domain else noises[:2]
    gram, noise = _release_gram(people, context, gram_noises)
    values, vectors = np.linalg.eigh(gram)
    edge = noise * math.sqrt(2 * len(context))
    ridge = max(edge, _LEAST_RIDGE)
    above = values > edge
    values = values[above]
    vectors = vectors[:, above]
    if people.one_domain:
        weights = vectors * (values / (values + ridge)) @ vectors.T
        weights = weights / (1 - weights.diagonal())  # an item does not speak for itself
        np.fill_diagonal(weights, 0)
        return TopItemsModel(context, context, weights)
    mechanism = cross_mechanism(len(context), len(targets), noises[2])
    add = partial(sum_cross_products, context=context, targets=targets, mechanism=mechanism)
    products = mechanism.add_noise(people.total(add))
    weights = vectors / (values + ridge) @ (vectors.T @ products)
    return TopItemsModel(context, targets, weights)


def _release_gram(people: People, head: Ints, noises: Sequence[float]) -> tuple[Floats, float]:
    """Release one Gram matrix once for each multiplier.

    Returns:
        (head, head) mean by precision, and its noise multiplier, 0 without noise.
    """
    mechanisms = [gram_mechanism(len(head), noise) for noise in noises]
    total = people.total(partial(sum_grams, head=head, mechanism=mechanisms[0]))
    precisions = np.array([noise**-2 if noise else 1.0 for noise in noises])
    gram = np.zeros((len(head), len(head)))
    for share, mechanism in zip(precisions / precisions.sum(), mechanisms, strict=True):
        gram = gram + share * mechanism.add_noise(total)
    noise = 1 / math.sqrt(float(precisions.sum())) if noises[0] else 0.0
    return gram, noise
