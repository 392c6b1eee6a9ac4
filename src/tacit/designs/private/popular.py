"""Sum 1, how often each item is used and liked; and sums over the most popular items alone.

Sum 1, with how many people there are
Sees       all rows.
Releases   one entry for an item's weight among context items (across domains), one for its likes
           among target items, and one for the number of people.
Clips      one person's whole vector at norm 1: two unit vectors of items and the entry `presence`.

Popular items, for data without metadata, or few or very many people
Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); the weights
           of one domain: Steck, Embarrassingly shallow autoencoders (WWW 2019).
Sees       rows of the items that are most popular by the released counts.
Releases   their Gram matrix, and across domains the products of context rows and likes.
Clips      one person's row; each side of one person's product, in whole steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private.people import People, blocks
from tacit.designs.private.settings import LEAST_PEOPLE, Settings, step
from tacit.engine import profile_sums_compiled as kernels
from tacit.engine.profile_sums_compiled import Clip, Profiles
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """What sum 1 released. context, targets: shares of people, unbiased, some may be negative.
    deviation: of the noise in each. people: noisy number, 1 or more."""

    context: Floats
    targets: Floats
    deviation: float
    people: float
    too_few: bool

    @property
    def means(self) -> Floats:
        """(target items,) shares for serving: at least half the noise."""
        return np.maximum(self.targets, self.deviation / 2)

    @property
    def floored(self) -> Floats:
        """(context items,) the same, for damping."""
        return np.maximum(self.context, self.deviation / 2)


def item_share(settings: Settings, joint: bool) -> float:
    """Norm of each unit vector of items in a person's contribution."""
    return math.sqrt((1 - settings.presence**2) / (1 if joint else 2))


def release(entries: int, noise: float) -> SumRelease:
    return SumRelease(noise, entries, norm=1.0, resolution=step(1.0))


def clip_of(mechanism: SumRelease) -> Clip:
    """How the kernels clip for a mechanism."""
    most = mechanism.squared_norm if mechanism.noise_multiplier else -1
    return Clip(mechanism.norm, mechanism.resolution, most)


def total(
    people: Profiles, context: int, mechanism: SumRelease, settings: Settings
) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    summed = mechanism.zero_table()
    share = item_share(settings, people.joint)
    kernels.counts(people, context, share, settings.presence, clip_of(mechanism), summed[:, 0])
    return summed


def count(people: People, context: int, targets: int, noise: float, settings: Settings) -> Counts:
    """context, targets: how many items there are on each side."""
    separate = 0 if people.joint else context
    mechanism = release(separate + targets + 1, noise)
    add = partial(total, context=separate, mechanism=mechanism, settings=settings)
    noisy = mechanism.add_noise(people.total(add))[:, 0]
    raw, least = float(noisy[-1]) / settings.presence, LEAST_PEOPLE if noise else 1
    number = max(raw, float(least))
    share = item_share(settings, people.joint) * number
    shares, deviation = noisy[:-1] / share, mechanism.deviation / share
    first = shares if people.joint else shares[:context]
    few = noise > 0 and raw <= LEAST_PEOPLE
    return Counts(first, shares[separate:], deviation, number, few)


Ints = NDArray[np.int64]
MOST = 400
_FINE = 2.0**-10  # of each side of a product; of the product 2^-20
_LEAST_RIDGE = 20.0


@dataclass(frozen=True, eq=False)
class TopItems:
    """context, targets: item numbers of the two heads, by popularity. weights: (context, targets)
    of a unit row of context items."""

    context: Ints
    targets: Ints
    weights: Floats


def head_size(effective: float | None, joint: bool) -> int:
    """From the effective population; None without noise."""
    if effective is None:
        return MOST
    least, people = (100, 12) if joint else (50, 25)
    return math.floor(min(max(effective / people, least), MOST))


def rows(people: Profiles, head: Ints, *, likes: bool) -> Floats:
    """(people, head) unit rows: of likes, or of weighted context items."""
    offsets = people.like_offsets if likes else people.offsets
    items = people.likes if likes else people.items
    place = np.full(max(int(head.max()), int(items.max(initial=0))) + 1, -1)
    place[head] = np.arange(len(head))
    items = place[items]
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    weights = np.ones(len(items)) if likes else np.where(people.liked, 1.0, people.low)
    made = np.zeros((len(offsets) - 1, len(head)))
    inside = items >= 0
    made[owner[inside], items[inside]] = weights[inside]
    lengths = np.sqrt(np.einsum("ui,ui->u", made, made))
    return made / np.where(lengths > 0, lengths, 1)[:, None]


def _contributed(block: Profiles, head: Ints, *, likes: bool) -> Floats:
    """The same, zero for who does not add to the sums after the first: decided by each one's own
    rows."""
    adds = np.diff(block.like_offsets) > 0
    if not block.joint:
        adds &= np.diff(block.offsets) > 0
    made: Floats = rows(block, head, likes=likes) * adds[:, None]
    return made


def gram(size: int, noise: float) -> GramRelease:
    return GramRelease(noise, size, 1.0, step(1.0))


def cross(sizes: tuple[int, int], noise: float) -> SumRelease:
    return SumRelease(noise, sizes[0], sizes[1], 1.0, _FINE**2)


def cross_total(people: Profiles, chosen: tuple[Ints, Ints], mechanism: SumRelease) -> NDArray[Any]:
    """The exact sum of products over people, before noise: PRIVATE. Each side is clipped to whole
    steps by itself, so that a person's product has the product of the norms at most."""
    total = mechanism.zero_table()
    grids = [GramRelease(1.0, len(head), 1.0, _FINE) for head in chosen]
    for block in blocks(people):
        sides = [_contributed(block, chosen[side], likes=bool(side)) for side in (0, 1)]
        if mechanism.noise_multiplier == 0:
            total += sides[0].T @ sides[1]
        else:
            steps = [grid.clip_rows(side) for grid, side in zip(grids, sides, strict=True)]
            product = steps[0].T.astype(np.float64) @ steps[1].astype(np.float64)
            total += product.astype(np.int64)  # whole numbers below 2^33 a block: exact
    return total


def gram_total(people: Profiles, head: Ints, mechanism: GramRelease) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    parts = (_contributed(block, head, likes=block.joint) for block in blocks(people))
    return mechanism.total(parts)


def top_items(people: People, counts: Counts, size: int, noises: Sequence[float]) -> TopItems:
    """noises: of the three sums after the counts. At equal counts the item of the lower number."""
    context, targets = (
        np.argsort(-shares, kind="stable")[:size].astype(np.int64)
        for shares in (counts.context, counts.targets)
    )
    grams = noises if people.joint else noises[:2]
    mechanisms = [gram(len(context), noise) for noise in grams]
    total = people.total(partial(gram_total, head=context, mechanism=mechanisms[0]))
    weights = np.array([noise**-2 if noise else 1.0 for noise in grams])
    released = sum(
        share * mechanism.add_noise(total)
        for share, mechanism in zip(weights / weights.sum(), mechanisms, strict=True)
    )
    noise = 1 / math.sqrt(float(weights.sum())) if noises[0] else 0.0
    values, vectors = np.linalg.eigh(np.asarray(released))
    edge = noise * math.sqrt(2 * len(context))
    above, ridge = values > edge, max(edge, _LEAST_RIDGE)
    vectors, values = vectors[:, above], values[above]
    if people.joint:
        whole = vectors * (values / (values + ridge)) @ vectors.T
        left_out = whole / (1 - whole.diagonal())  # the rows are not to be given back
        np.fill_diagonal(left_out, 0)
        return TopItems(context, context, left_out)
    mechanism = cross((len(context), len(targets)), noises[2])
    add = partial(cross_total, chosen=(context, targets), mechanism=mechanism)
    products = mechanism.add_noise(people.total(add))
    return TopItems(context, targets, vectors / (values + ridge) @ (vectors.T @ products))
