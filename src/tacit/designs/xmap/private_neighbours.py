"""PNSA and PNCF: k neighbours drawn instead of taken, and noise on their similarities.

As published
Source   the X-Map technical report, Theorems 2 to 4. Misprints corrected: the truncated similarity
         is max(Sim, Sim_k - w); the report's own code takes max(Sim, Sim - w), which does nothing.
         Candidates are listed singly. With roles of people and items swapped for the user-based
         recommender, of which the report prints no formula.
Guarantee  none: SS is computed from the private data, and it is not even a bound of what one
         person can change.
Sampler  draws in proportion to whole weights, noise from OpenDP's discrete Laplace.

With a constant sensitivity that holds, the range of a similarity: `Plan`, `constant_neighbours`
Source   the X-Map paper's mechanisms; constant global sensitivity, candidates that are the whole
         public catalogue, and every draw counted, in place of its similarity-based sensitivity.
Runs at  the platform.
Sees     everybody's ratings.
Releases for every source item an image, for every target item k neighbours with noisy similarities.
Guarantee  (epsilon, delta) for one person's whole profile, added or removed. They can move every
         similarity, so all images and all tables add up, as zCDP or, at delta 0, as pure epsilons.
Why it stays  it shows what the paper's mechanisms cost when they are private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.accounting import PureAccountant, ZCDPAccountant, smallest_noise
from tacit.accounting.events import Composed, DiscreteLaplace, Event, Exponential, NonPrivate, TopK
from tacit.designs.xmap.extender import baseline
from tacit.designs.xmap.generator import RESOLUTION, Profiles
from tacit.designs.xmap.recommender import ItemNeighbours, PeopleNeighbours
from tacit.designs.xmap.theory import FLOOR, SPREAD, truncation
from tacit.engine import Numbers
from tacit.errors import ConfigError
from tacit.mechanisms.noise import LaplaceRelease, discrete_laplace
from tacit.mechanisms.selection import Selection, draw_rows
from tacit.mechanisms.topk import TopSelection
from tacit.randomness import Source

Floats = NDArray[np.float64]
_CELLS = 1 << 22
_BLOCK = 256
_UNIT = 1 << 20  # noise of scale 1 comes in steps of 2**-20
_BITS = 40
_SMALL = 1e-12  # relative: a squared norm below it counts as 0


@dataclass(frozen=True)
class Budget:
    """epsilon: nats claimed for one list of neighbours (half to draw them, half for noise).
    rho: chance of a neighbour below Sim_k - w."""

    epsilon: float
    rho: float = 0.1


class Candidates(NamedTuple):
    """Of one item or person: numbers of those with a positive similarity, Sim and printed SS."""

    numbers: Numbers
    similarities: Floats
    sensitivities: Floats

    def only(self, kept: NDArray[np.bool_]) -> Candidates:
        return Candidates(self.numbers[kept], self.similarities[kept], self.sensitivities[kept])


def candidates(
    places: Numbers, values: Floats, columns: sparse.csr_array, squares: Floats, significance: int
) -> Candidates:
    """Similarity and SS of one column with all columns.

    places, values: its entries. columns: (rows, n) CSR; squares: (n,) squared norms. SS is
    -inf where everybody who rated both leaves a norm of 0.
    """
    counts = np.diff(columns.indptr)[places]
    entries = np.repeat(columns.indptr[places] - (np.cumsum(counts) - counts), counts)
    entries = entries + np.arange(len(entries))
    of, v = columns.indices[entries], columns.data[entries]
    a, n = np.repeat(values, counts), columns.shape[1]
    own = float(values @ values)
    dots = np.bincount(of, a * v, minlength=n)
    both = np.bincount(of, minlength=n)
    lengths = np.sqrt(own * squares)
    s = np.divide(dots, lengths, out=np.zeros(n), where=lengths > 0)
    left = (own - a**2) * (squares[of] - v**2)
    there = left > _SMALL * own * squares[of]
    of, a, v, norms = of[there], a[there], v[there], np.sqrt(left[there])
    worst = np.full(n, -np.inf)
    np.maximum.at(worst, of, np.maximum(a * v / norms, dots[of] / norms - s[of]))
    if significance:
        s = s * np.minimum(both, significance) / significance
    numbers = np.flatnonzero(s > 0).astype(np.int32)
    return Candidates(numbers, s[numbers], worst[numbers])


def drawn_neighbours(
    lists: list[Candidates], k: int, budget: Budget, source: Source
) -> tuple[Numbers, Floats]:
    """Both (len(lists), k): neighbours by PNSA, -1 where fewer, and similarities by PNCF."""
    width = max(len(found.numbers) for found in lists)
    shape = (len(lists), max(k, width))
    exponents = np.full(shape, -np.inf)
    numbers = np.zeros(shape, dtype=np.int32)
    similarities, scales = np.zeros(shape), np.zeros(shape)
    for row, found in enumerate(lists):
        size = len(found.numbers)
        if not size:
            continue
        sensitivities = np.maximum(found.sensitivities, FLOOR)
        exponents[row, :size] = _exponents(found.similarities, sensitivities, k, budget)
        numbers[row, :size] = found.numbers
        similarities[row, :size] = found.similarities
        scales[row, :size] = sensitivities / (budget.epsilon / 2)
    chosen = _peeled(exponents, k, source)
    drawn = chosen >= 0
    noisy = np.take_along_axis(similarities, chosen, axis=1)
    noisy += np.take_along_axis(scales, chosen, axis=1) * unit_laplace(chosen.shape)
    items = np.where(drawn, np.take_along_axis(numbers, chosen, axis=1), -1)
    return items.astype(np.int32), np.where(drawn, noisy, 0.0)


def _exponents(similarities: Floats, sensitivities: Floats, k: int, budget: Budget) -> Floats:
    """`theory.neighbour_exponents`, for long lists."""
    size = len(similarities)
    place = size - min(k, size)
    kth = float(np.partition(similarities, place)[place])
    w = truncation(kth, k, float(sensitivities.max()), budget.epsilon, size, budget.rho)
    exponents: Floats = budget.epsilon * np.maximum(similarities, kth - w) / (4 * k * sensitivities)
    return exponents


def _peeled(exponents: Floats, k: int, source: Source) -> NDArray[np.int64]:
    """(rows, k) indices drawn without repetition, in proportion to e^exponent; -1: none is left."""
    left = exponents.copy()
    chosen = np.full((len(left), k), -1, dtype=np.int64)
    for place in range(k):
        rows = np.flatnonzero(np.isfinite(left.max(axis=1)))
        if not rows.size:
            break
        # Whole weights: whatever is e^-28 less likely than the best is not drawn.
        scaled = np.exp(left[rows] - left[rows].max(axis=1, keepdims=True))
        chosen[rows, place] = draw_rows(np.floor(scaled * (1 << _BITS)).astype(np.int64), source)
        left[rows, chosen[rows, place]] = -np.inf
    return chosen


def unit_laplace(shape: tuple[int, ...]) -> Floats:
    """Noise of scale 1, on its grid."""
    size = int(np.prod(shape))
    noise = discrete_laplace(np.zeros(size, dtype=np.int64), float(_UNIT))
    return (noise / _UNIT).reshape(shape)


def published_neighbours(
    profiles: Profiles, means: Floats, *, k: int, significance: int, budget: Budget, source: Source
) -> ItemNeighbours:
    """Every target item's neighbours by PNSA with PNCF's similarities, drawn once for everybody."""
    every = np.arange(len(means), dtype=np.int32)
    lists = candidates_of(baseline(profiles.stars).table.values, every, every, significance)
    return drawn_lists(lists, means, k, budget, source)


def drawn_lists(
    lists: Iterable[Candidates], means: Floats, k: int, budget: Budget, source: Source
) -> ItemNeighbours:
    """lists: of each target item. What is drawn hangs on their order."""
    m, given = len(means), iter(lists)
    items, similarities = np.empty((m, k), dtype=np.int32), np.empty((m, k))
    for start in range(0, m, _BLOCK):
        part = slice(start, start + _BLOCK)
        some = [*islice(given, _BLOCK)]
        items[part], similarities[part] = drawn_neighbours(some, k, budget, source)
    return ItemNeighbours(means, items, similarities)


def candidates_of(
    values: sparse.csr_array, of: Numbers, among: Numbers, significance: int
) -> Iterator[Candidates]:
    """Of each item its candidates among others. values: (people, items) centred stars, of which
    the columns of both are whole."""
    width = values.shape[1]
    squares: Floats = np.bincount(values.indices, values.data**2, minlength=width).astype(float)
    order = np.argsort(values.indices, kind="stable")
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values.indices, minlength=width))])
    columns = values if len(among) == width else only(values, among)
    for item in of.tolist():
        rows = slice(starts[item], starts[item + 1])
        found = candidates(
            people[rows].astype(np.int32), values.data[order[rows]], columns, squares, significance
        )
        yield found.only(found.numbers != item)


def only(values: sparse.csr_array, items: Numbers) -> sparse.csr_array:
    """These columns, of the same numbers; the others are empty."""
    mask = np.zeros(values.shape[1], np.bool_)
    mask[items] = True
    kept = mask[values.indices]
    offsets = np.concatenate([[0], np.cumsum(kept)])[values.indptr]
    return sparse.csr_array((values.data[kept], values.indices[kept], offsets), values.shape)


@dataclass(frozen=True, eq=False)
class DrawnPeople:
    """The user-based model with neighbours drawn by PNSA, once for every profile that asks.

    Drawn again, noise would average out; so it is remembered, as long as this object lives.
    """

    model: PeopleNeighbours
    budget: Budget
    significance: int
    source: Source
    _drawn: dict[bytes, tuple[Numbers, Floats]] = field(default_factory=dict)

    def chosen(self, mine: Profiles, k: int) -> tuple[Numbers, Floats]:
        """k people and noisy similarities."""
        key = mine.stars.indices.tobytes() + mine.stars.data.tobytes()
        if key not in self._drawn:
            self._drawn[key] = self._draw(mine, k)
        return self._drawn[key]

    def predict(self, mine: Profiles, chosen: Numbers, weights: Floats) -> tuple[Floats, Floats]:
        return self.model.predict(mine, chosen, weights)

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """(n_target, people) tastes."""
        return self.model.tastes.T.tocsr()

    def _draw(self, mine: Profiles, k: int) -> tuple[Numbers, Floats]:
        found = candidates(
            mine.stars.indices,
            mine.deviations,
            self._columns,
            self.model.lengths**2,
            self.significance,
        )
        found = found.only(~self.model.same(mine.stars)[found.numbers])
        (people,), (similarities,) = drawn_neighbours([found], k, self.budget, self.source)
        there = people >= 0
        return people[there], similarities[there]


@dataclass(frozen=True)
class Plan:
    """How a total is dealt out: the same nats for each image and each table of neighbours.

    images, tables: how many are drawn, over all targets; k: neighbours in a table. All public.
    """

    images: int
    tables: int
    k: int
    epsilon: float
    delta: float

    def event(self, each: float) -> Event:
        """Everything, at so many nats for one image or one table (half to draw, half for noise)."""
        if math.isinf(each):
            return NonPrivate()
        parts: list[tuple[Event, int]] = [
            (Exponential(each), self.images),
            (TopK(self.k, each / (2 * self.k)), self.tables),
            (DiscreteLaplace(2 / each), self.tables),
        ]
        return Composed(tuple(part for part in parts if part[1]))

    @property
    def each(self) -> float:
        """Nats for one image or one table."""
        if math.isinf(self.epsilon):
            return math.inf
        accountant = ZCDPAccountant if self.delta else PureAccountant
        noise = smallest_noise(
            lambda noise: self.event(1 / noise),
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=accountant,
        )
        return 1 / noise


def constant_neighbours(
    profiles: Profiles, means: Floats, *, k: int, significance: int, epsilon: float, source: Source
) -> ItemNeighbours:
    """Every target item's neighbours out of all others. epsilon: nats for ONE item's table."""
    m = len(means)
    if m <= k:
        raise ConfigError(f"k neighbours need more than k target items; got k={k} and {m} items.")
    mechanisms = mechanisms_for(m - 1, k, epsilon)
    items, similarities = np.empty((m, k), dtype=np.int32), np.empty((m, k))
    height = max(1, _CELLS // m)
    table = baseline(profiles.stars).table.values
    pattern = profiles.matrix(np.ones(profiles.stars.nnz))
    lengths = np.sqrt(np.bincount(table.indices, table.data**2, minlength=m))
    for start in range(0, m, height):
        part = np.arange(start, min(m, start + height))
        products = lengths[part][:, None] * lengths
        found = np.divide(
            (table[:, part].T @ table).toarray(),
            products,
            out=np.zeros(products.shape),
            where=products > 0,
        )
        if significance:
            both = (pattern[:, part].T @ pattern).toarray()
            found *= np.minimum(both, significance) / significance
        others = np.arange(m) != part[:, None]
        scores = np.clip(found[others].reshape(len(part), m - 1), -1.0, 1.0)
        select, noise = mechanisms
        places = select(scores, source)
        items[part] = places + (places >= part[:, None])  # the item itself is no candidate
        noisy = noise(np.take_along_axis(scores, places, axis=1))
        similarities[part] = np.clip(noisy, -1.0, 1.0)  # after the release, so free
    return ItemNeighbours(means, items, similarities)


def mechanisms_for(candidates: int, k: int, epsilon: float) -> tuple[TopSelection, LaplaceRelease]:
    """Of one item's table: which k neighbours, and how similar."""
    one = Selection(epsilon / (2 * k), candidates, SPREAD, -1.0, 1.0, RESOLUTION)
    noise = LaplaceRelease(epsilon / 2, SPREAD * k, -1.0, 1.0, RESOLUTION, changes=k)
    return TopSelection(k, one), noise
