"""Mode 'top-items': products of the most popular items, in place of sums 2a, 2b and 3.

Mode 'auto' chooses it for data without metadata, and across domains for very many people.

Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); the weights
           of one domain: Steck, Embarrassingly shallow autoencoders (WWW 2019).
Sees       rows of the items that are most popular by the released counts (the heads).
Releases   in one domain the Gram matrix of the head's likes, three times; across domains the Gram
           matrix of the context head, twice, and once the products of context items and likes.
Clips      one person's row; for products, each of the person's two rows by itself.
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
"""Largest number of items in a head."""
_SIDE_RESOLUTION = 2.0**-10
"""Step of each of the two rows of a product; a product then has steps of 2^-20."""
_LEAST_RIDGE = 20.0
"""Least ridge of the weights."""


@dataclass(frozen=True, eq=False)
class TopItemsModel:
    """Released weights between the most popular items."""

    context: Ints
    """(context head,) numbers of the context items of the head, most popular first."""
    targets: Ints
    """(target head,) numbers of the target items of the head, most popular first; in one domain the
    same as `context`."""
    weights: Floats
    """(context head, target head) weights, by which a person's row of norm 1 is multiplied."""


def head_size(effective_population: float | None, *, one_domain: bool) -> int:
    """Choose the number of items in a head, from 100 to 400 in one domain, 50 to 400 across.

    Args:
        effective_population: v: the head has v / 12 items in one domain, v / 25 across; None:
            without noise, with 400 items.
        one_domain: Whether context and target items are the same.
    """
    if effective_population is None:
        return LARGEST_HEAD
    least, people_per_item = (100, 12) if one_domain else (50, 25)
    return math.floor(min(max(effective_population / people_per_item, least), LARGEST_HEAD))


def unit_rows(people: Profiles, head: Ints, *, likes: bool) -> Floats:
    """Return people's rows (people, head), scaled to norm 1; 0 for a person without head items.

    Args:
        people: Their profiles.
        head: (head,) numbers of context items, or of target items for likes.
        likes: Whether rows are of likes; otherwise of context items with their weights.
    """
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
    is_in_head = places >= 0
    rows[owners[is_in_head], places[is_in_head]] = weights[is_in_head]
    lengths = np.sqrt(np.einsum("ui,ui->u", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1)[:, None]


def unit_like_rows(people: Profiles, items: int) -> sparse.csr_array:
    """Return people's rows (people, items) of likes, scaled to norm 1; empty without likes.

    Args:
        people: Their profiles.
        items: Number of target items.
    """
    counts = np.diff(people.like_offsets)
    values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
    rows = (values, people.likes, people.like_offsets)
    return sparse.csr_array(rows, shape=(len(counts), items))


def _contributed_rows(block: Profiles, head: Ints, *, likes: bool) -> Floats:
    """Return `unit_rows` (people, head) with zeros for people who add nothing after sum 1.

    A person contributes if they have a like and, across domains, also a context item.
    """
    contributes = np.diff(block.like_offsets) > 0
    if not block.one_domain:
        contributes &= np.diff(block.offsets) > 0
    rows: Floats = unit_rows(block, head, likes=likes) * contributes[:, None]
    return rows


def gram_mechanism(size: int, noise_multiplier: float) -> GramRelease:
    """Return the mechanism of the Gram matrix of a head. size: number of items."""
    return GramRelease(noise_multiplier, size, 1.0, resolution_for(1.0))


def cross_mechanism(context: int, targets: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the products of two heads. context, targets: numbers of items."""
    return SumRelease(noise_multiplier, context, targets, 1.0, _SIDE_RESOLUTION**2)


def sum_grams(people: Profiles, head: Ints, mechanism: GramRelease) -> NDArray[Any]:
    """Sum x x' of everybody's clipped row x, before noise. Not protected: never release it.

    x (head,) is the row of likes in one domain, and that of context items across domains.
    """
    rows = (
        _contributed_rows(block, head, likes=block.one_domain) for block in blocks_of_people(people)
    )
    return mechanism.total(rows)


def sum_cross_products(
    people: Profiles, context: Ints, targets: Ints, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum x y' of everybody's context row x and row of likes y, before noise.

    Not protected: never release it.

    Each row is clipped to norm 1 in whole steps, so the norm of x y' is 1 at most.

    Args:
        people: Everybody's profile.
        context: (context head,) numbers of context items.
        targets: (target head,) numbers of target items.
        mechanism: Determines whether there is noise; without it rows are not clipped.
    """
    total = mechanism.zero_table()
    # These two only clip rows: their noise multiplier is not used.
    context_clip = GramRelease(1.0, len(context), 1.0, _SIDE_RESOLUTION)
    target_clip = GramRelease(1.0, len(targets), 1.0, _SIDE_RESOLUTION)
    for block in blocks_of_people(people):
        rows = _contributed_rows(block, context, likes=False)
        likes = _contributed_rows(block, targets, likes=True)
        if mechanism.noise_multiplier == 0:
            total += rows.T @ likes
        else:
            row_steps = context_clip.clip_rows(rows).astype(np.float64)
            like_steps = target_clip.clip_rows(likes).astype(np.float64)
            product = row_steps.T @ like_steps
            total += product.astype(np.int64)  # whole numbers below 2^33 a block: exact
    return total


def release_top_items(
    people: People, counts: Counts, size: int, noises: Sequence[float]
) -> TopItemsModel:
    """Release the products of the heads and compute weights from them.

    Draws of one Gram matrix with independent noise are averaged by precision. With z the noise
    multiplier of the average, n the number of items, U and s the eigenvectors and eigenvalues above
    the edge z sqrt(2 n) of the noise, and the ridge r = max(edge, 20):

        one domain:  H = U diag(s / (s + r)) U', W_ij = H_ij / (1 - H_jj) for i != j, W_ii = 0
        across:      W = U diag(1 / (s + r)) U' P, with P the released products x y'

    Args:
        people: Everybody's profile.
        counts: The release of sum 1; of equally popular items the lower number comes first.
        size: Number of items in each head; all items are in it if there are fewer.
        noises: Noise multipliers of sums 2a, 2b and 3; zeros without noise.
    """
    context = np.argsort(-counts.context, kind="stable")[:size].astype(np.int64)
    targets = np.argsort(-counts.targets, kind="stable")[:size].astype(np.int64)
    gram_noises = noises if people.one_domain else noises[:2]
    gram, noise = _release_gram(people, context, gram_noises)
    values, vectors = np.linalg.eigh(gram)
    edge = noise * math.sqrt(2 * len(context))
    ridge = max(edge, _LEAST_RIDGE)
    is_above_noise = values > edge
    values = values[is_above_noise]
    vectors = vectors[:, is_above_noise]
    if people.one_domain:
        weights = vectors * (values / (values + ridge)) @ vectors.T
        weights = weights / (1 - weights.diagonal())  # a like does not predict itself
        np.fill_diagonal(weights, 0)
        return TopItemsModel(context, context, weights)
    mechanism = cross_mechanism(len(context), len(targets), noises[2])
    add = partial(sum_cross_products, context=context, targets=targets, mechanism=mechanism)
    products = mechanism.add_noise(people.total(add))
    weights = vectors / (values + ridge) @ (vectors.T @ products)
    return TopItemsModel(context, targets, weights)


def _release_gram(people: People, head: Ints, noises: Sequence[float]) -> tuple[Floats, float]:
    """Release one Gram matrix once for each noise multiplier.

    Args:
        people: Everybody's profile.
        head: (head,) numbers of the items.
        noises: Noise multipliers of the draws, all above 0 or all 0.

    Returns:
        (head, head) mean of the draws, weighed by precision, and its noise multiplier; 0: no noise.
    """
    mechanisms = [gram_mechanism(len(head), noise) for noise in noises]
    total = people.total(partial(sum_grams, head=head, mechanism=mechanisms[0]))
    precisions = np.array([noise**-2 if noise else 1.0 for noise in noises])
    gram = np.zeros((len(head), len(head)))
    for share, mechanism in zip(precisions / precisions.sum(), mechanisms, strict=True):
        gram = gram + share * mechanism.add_noise(total)
    noise = 1 / math.sqrt(float(precisions.sum())) if noises[0] else 0.0
    return gram, noise
