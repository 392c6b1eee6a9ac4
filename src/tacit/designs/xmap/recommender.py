"""Box 4, the Recommender: predicted stars in the target domain from people's profiles there.

Source   the X-Map paper, item-based: the k items most like the one in question, those of them that
         the person rated, older ratings weighing less.
Deviations  neighbours have a positive similarity (an item unlike another says little about it);
         an item's mean is over people's own ratings, not over images; a rating's rank in time is
         its rank in the whole profile; predictions are not rounded.

PNSA and PNCF as published: k neighbours drawn, and noise on their similarities
Source   the X-Map technical report, Theorems 2 to 4. All other items are candidates, each by
         itself. Misprint corrected: the truncated similarity is max(Sim, Sim_k - w); the report's
         own code takes max(Sim, Sim - w), which does nothing.
Readings |v| of w is printed as the longest rating vector ("printed"), while the proofs count
         candidates with it ("counted"). "positive" is a deviation: candidates are only the
         positively similar ones, and |v| is their number.
Guarantee  none: SS is computed from the private data, and it is not even a bound of what one
         person can change.
Sampler  draws in proportion to whole weights, noise from the exact discrete Laplace sampler.

A budget is epsilon', the nats claimed for one list of neighbours: half to draw, half for noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.extender import asked, means_of_people
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.settings import Pnsa
from tacit.designs.xmap.theory import FLOOR, neighbour_exponents
from tacit.engine import Engine, Neighbours, Numbers, Table, nearest
from tacit.engine.item_item import no_neighbours
from tacit.mechanisms.laplace import discrete_laplace
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Floats = NDArray[np.float64]
_BLOCK = 256
_UNIT = 1 << 20  # noise of scale 1 comes in steps of 2**-20
_BITS = 40
_SMALL = 1e-12  # relative: a squared norm below it counts as 0


@dataclass(frozen=True, eq=False)
class ItemNeighbours:
    """The item-based model: (n_target,) means; (n_target, k) neighbours, -1 where fewer."""

    means: Floats
    items: Numbers
    similarities: Floats

    @cached_property
    def similar(self) -> sparse.csr_array:
        """(n_target, n_target): row i holds the similarities of i's neighbours."""
        return as_matrix(self.items, self.similarities, width=len(self.means))

    def predict(self, profiles: Profiles, alpha: float, engine: Engine) -> Floats:
        """(people, n_target) stars; the item's mean where no neighbour is rated."""
        deviations = profiles.matrix(profiles.deviations)
        weights = profiles.matrix(recency(profiles, alpha))
        return self.means + engine.predictions(deviations, weights, self.similar)

    def support(self, profiles: Profiles, alpha: float) -> Floats:
        """(people, n_target) the weight a prediction rests on: sum of |similarity| and recency."""
        weights = profiles.matrix(recency(profiles, alpha))
        return np.asarray((weights @ abs(self.similar).T).toarray(), dtype=np.float64)


def item_neighbours(
    table: Table, means: Floats, *, k: int, significance: int, engine: Engine
) -> ItemNeighbours:
    """Every item's k neighbours of the largest positive similarity. table: of everybody's target
    profiles, AlterEgos included, centred."""
    every = np.arange(table.values.shape[1], dtype=np.int32)
    find = partial(_positive, engine=engine, k=k, significance=significance)
    found = nearest(table, [(every, every)], find, k)[0]
    return ItemNeighbours(means, found.items, found.similarities)


def _positive(
    table: Table, of: Numbers, among: Numbers, *, engine: Engine, k: int, significance: int
) -> Neighbours:
    """An engine ranks by |similarity|. So items with too few positive ones among the first are
    asked for again, with twice as many, until they have k or there are no more."""
    found = no_neighbours(of, k)
    asked, width = np.arange(len(of)), min(2 * k, len(among))
    while asked.size:
        wide = engine.neighbours(
            table, of=of[asked], among=among, k=width, significance=significance
        )
        positive = wide.similarities > 0
        order = np.argsort(~positive, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(positive, order, axis=1)
        columns = slice(0, order.shape[1])
        found.items[asked, columns] = np.where(
            kept, np.take_along_axis(wide.items, order, axis=1), -1
        )
        for into, source in (
            (found.similarities, wide.similarities),
            (found.co_counts, wide.co_counts),
            (found.agreements, wide.agreements),
        ):
            into[asked, columns] = np.where(kept, np.take_along_axis(source, order, axis=1), 0)
        unfinished = (positive.sum(axis=1) < k) & (wide.items[:, -1] >= 0) & (width < len(among))
        asked, width = asked[unfinished], min(2 * width, len(among))
    return found


def as_matrix(items: Numbers, values: Floats, *, width: int) -> sparse.csr_array:
    """(rows, width) CSR from (rows, k) column numbers, -1 where there is none, and their values."""
    there = items >= 0
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    matrix = sparse.csr_array((values[there], items[there], offsets), shape=(len(items), width))
    matrix.sort_indices()
    return matrix


def recency(profiles: Profiles, alpha: float) -> Floats:
    """(stored,) e^(-alpha (t - t_j)), with t_j the dense rank of each time in its profile.

    Counted back from the person's latest: only ratios matter. All 1 without times or with alpha 0.
    """
    times = profiles.times
    if times is None or alpha == 0 or not len(times):
        return np.ones(profiles.stars.nnz)
    people = np.repeat(np.arange(profiles.stars.shape[0]), np.diff(profiles.stars.indptr))
    order = np.lexsort((times, people))
    later = (np.diff(times[order]) != 0) | (np.diff(people[order]) != 0)
    ranks = np.empty(len(times), dtype=np.int64)
    ranks[order] = np.concatenate([[0], later.cumsum()])
    last = np.zeros(profiles.stars.shape[0], dtype=np.int64)
    np.maximum.at(last, people, ranks)
    weights: Floats = np.exp(-alpha * (last[people] - ranks))
    return weights


class Candidates(NamedTuple):
    """Candidates to be neighbours of one item or person: their numbers, Sim and printed SS."""

    numbers: Numbers
    similarities: Floats
    sensitivities: Floats

    def only(self, kept: NDArray[np.bool_]) -> Candidates:
        return Candidates(self.numbers[kept], self.similarities[kept], self.sensitivities[kept])


def candidates(
    places: Numbers, values: Floats, columns: sparse.csr_array, squares: Floats, significance: int
) -> Candidates:
    """Compute similarity and SS of one column with all columns.

    Args:
        places: (entries,) rows of the column's entries.
        values: (entries,) the entries, centred stars.
        columns: (rows, n) CSR of all columns.
        squares: (n,) squared norms of all columns.
        significance: Raters of both below which a similarity is scaled down; 0: never.

    Returns:
        All n columns, the column itself among them. SS is -inf where nobody rated both, or where
        everybody who did leaves a norm of 0.
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
    return Candidates(np.arange(n, dtype=np.int32), s, worst)


class PrivateNeighbours(NamedTuple):
    """PNSA and PNCF with their parameters.

    k: neighbours of each item or person.
    budget: epsilon', half of it to draw and half for noise.
    reading: Which candidates there are, and |v| of w (`settings.Pnsa`).
    """

    k: int
    budget: float
    reading: Pnsa


def admit(found: Candidates, reading: Pnsa) -> Candidates:
    """Leave out the candidates that the reading of PNSA does not admit."""
    return found.only(found.similarities > 0) if reading == "positive" else found


def draw_neighbours(
    lists: list[Candidates], pnsa: PrivateNeighbours, longest_vector: int, source: Source
) -> tuple[Numbers, Floats]:
    """Draw neighbours by PNSA, and their similarities by PNCF.

    Args:
        lists: The candidates of each item or person.
        pnsa: Parameters of both mechanisms.
        longest_vector: Ratings of the longest rating vector, |v| as it is printed.
        source: Where draws come from.

    Returns:
        Numbers of neighbours, -1 where there are fewer, and noisy similarities; both
        (len(lists), k).
    """
    k, budget = pnsa.k, pnsa.budget
    shape = (len(lists), max([k, *(len(found.numbers) for found in lists)]))
    exponents = np.full(shape, -np.inf)
    numbers = np.zeros(shape, dtype=np.int32)
    similarities, scales = np.zeros(shape), np.zeros(shape)
    for row, found in enumerate(lists):
        if size := len(found.numbers):
            length = longest_vector if pnsa.reading == "printed" else size
            exponents[row, :size] = neighbour_exponents(*found[1:], k, budget, length)
            numbers[row, :size], similarities[row, :size] = found[:2]
            scales[row, :size] = np.maximum(found.sensitivities, FLOOR) / (budget / 2)
    chosen = _peeled(exponents, k, source)
    drawn = chosen >= 0
    noisy = np.take_along_axis(similarities, chosen, axis=1)
    noise = discrete_laplace(np.zeros(chosen.shape, dtype=np.int64), float(_UNIT)) / _UNIT
    noisy += np.take_along_axis(scales, chosen, axis=1) * noise
    items = np.where(drawn, np.take_along_axis(numbers, chosen, axis=1), -1)
    return items.astype(np.int32), np.where(drawn, noisy, 0.0)


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


def longest_rating_vector(values: sparse.csr_array) -> int:
    """Count the ratings of the item that most people rated: |v| as printed."""
    return int(np.bincount(values.indices, minlength=1).max())


def draw_item_neighbours(
    table: Table, means: Floats, significance: int, pnsa: PrivateNeighbours, source: Source
) -> ItemNeighbours:
    """Draw every target item's neighbours by PNSA with PNCF's similarities, once for everybody.

    Args:
        table: Centred target profiles of everybody, AlterEgos included.
        means: (n_target,) mean stars of the target items.
        significance: Raters of both below which a similarity is scaled down; 0: never.
        pnsa: Parameters of both mechanisms.
        source: Where draws come from. What is drawn depends on the order of the items.
    """
    m = len(means)
    every = np.arange(m, dtype=np.int32)
    longest = longest_rating_vector(table.values)
    lists = (
        admit(found, pnsa.reading) for found in candidates_of(table.values, every, significance)
    )
    items, similarities = np.empty((m, pnsa.k), dtype=np.int32), np.empty((m, pnsa.k))
    for start in range(0, m, _BLOCK):
        part = slice(start, start + _BLOCK)
        block = [*islice(lists, _BLOCK)]
        items[part], similarities[part] = draw_neighbours(block, pnsa, longest, source)
    return ItemNeighbours(means, items, similarities)


def candidates_of(values: sparse.csr_array, of: Numbers, significance: int) -> Iterator[Candidates]:
    """Find the candidates of each item: all others. values: (people, items) centred stars."""
    width = values.shape[1]
    squares: Floats = np.bincount(values.indices, values.data**2, minlength=width).astype(float)
    order = np.argsort(values.indices, kind="stable")
    people = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(values.indices, minlength=width))])
    for item in of.tolist():
        rows = slice(starts[item], starts[item + 1])
        found = candidates(
            people[rows].astype(np.int32), values.data[order[rows]], values, squares, significance
        )
        yield found.only(found.numbers != item)


# Lists without privacy: each item they liked votes for the target items it is rated together with
# (docs/xmap.md). With private neighbours this table is not used.
COMPANIONS = 200
"""Items that can vote for one target item."""
_TIES = 1e-6


@dataclass(frozen=True, eq=False)
class RatedTogether:
    """companions, weights: (n_target, k) item numbers, -1 where fewer, and their cosines.

    popularity: (n_target,) share of all ratings in the target domain; it orders what nothing votes
    for. width: how many items there are.
    """

    companions: Numbers
    weights: Floats
    popularity: Floats
    width: int

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(n_target, items)."""
        return as_matrix(self.companions, self.weights, width=self.width)

    def scores(self, liked: sparse.csr_array) -> Floats:
        """(people, n_target) from (people, items) with a 1 for each item that is liked."""
        votes = np.asarray((liked @ self.matrix.T).toarray(), dtype=np.float64)
        return votes + _TIES * self.popularity


def pattern(stars: sparse.csr_array, _: Floats | None = None) -> Table:
    """Who rated what, all alike."""
    ones = sparse.csr_array((np.ones(stars.nnz), stars.indices, stars.indptr), stars.shape)
    return Table(ones, np.ones(stars.nnz, dtype=np.bool_))


def rated_together(
    table: Table, raters: NDArray[np.int64], targets: Numbers, among: Numbers, engine: Engine
) -> RatedTogether:
    """table: of `pattern`; raters: (items,). among: the items that vote."""
    k = min(COMPANIONS, max(1, len(among)))
    find = partial(asked, engine=engine, k=k, counts=False)
    found = nearest(table, [(targets, among)], find, k)[0]
    counts, width = raters[targets], table.values.shape[1]
    return RatedTogether(found.items, found.similarities, counts / max(1, int(counts.sum())), width)


def liked(stars: sparse.csr_array) -> sparse.csr_array:
    """(people, items) 1 for each rating of at least the person's mean, 0 for their others."""
    people, means = means_of_people(stars)
    likes = (stars.data >= means[people]).astype(np.float64)
    return sparse.csr_array((likes, stars.indices, stars.indptr), stars.shape)
