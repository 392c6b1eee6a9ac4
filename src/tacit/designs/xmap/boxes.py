"""The published variant, fitted: each target learned by the paper's four boxes, served and saved.

Where ratings are stored, the boxes run by joins of items: equal to a fit in memory to the last bit,
but where item means are sums of stars that floats round, which are added in another order.

Releases   one table of images and one of neighbours, each drawn here, once. No person is in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, StoredRatings, catalogue_of, require_in_memory
from tacit.designs.xmap import guarantees
from tacit.designs.xmap.extender import Baseline, centred, extend, means_of_people
from tacit.designs.xmap.generator import Profiles, alter_egos, drawn_as_published, images
from tacit.designs.xmap.recommender import (
    ItemNeighbours,
    PrivateNeighbours,
    RatedTogether,
    admit,
    candidates,
    draw_item_neighbours,
    draw_neighbours,
    item_neighbours,
    liked,
    pattern,
    rated_together,
)
from tacit.designs.xmap.settings import Catalogue
from tacit.engine import Engine, Numbers, Table
from tacit.engine.item_item_tiles import TiledTable
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.recommenders import inputs
from tacit.recommenders.base import History, HistoryTimes
from tacit.recommenders.headers import read_array, read_floats
from tacit.recommenders.inputs import checked_history

VERSION = 1  # of what a header says
Arrays = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]
Rows = Callable[[Ratings], tuple[sparse.csr_array, Floats]]
"""From a block of people to (people, items) stars, and (people,) their means."""


@dataclass(frozen=True, eq=False)
class PeopleNeighbours:
    """The user-based recommender: stars from the k people most like a person. No guarantee.

    Source   the X-Map paper. PNSA and PNCF with roles of people and items swapped: the report
             prints no formula of them.
    Sees     everybody's profile: the model is made of people, so no file holds it.

    With a budget, the people like a profile are drawn by PNSA. Drawn again, noise would average
    out; so they are remembered, as long as this object lives.
    """

    means: Floats
    profiles: Profiles
    k: int
    pnsa: PrivateNeighbours | None
    source: Source
    _chosen: dict[bytes, tuple[Numbers, Floats]] = field(default_factory=dict)

    def predict(self, mine: Profiles, *_: object) -> Floats:
        """(1, n_target) stars of one profile: its own mean, or without ratings the items', and how
        far the people like it are from their own means."""
        people, similarities = self.chosen(mine)
        total, theirs = self.support(mine), self.profiles.stars[people]
        deviations = centred(theirs, means_of_people(theirs)[1]).values
        moved = np.divide(similarities @ deviations, total, out=0 * total, where=total > 0)
        own = float(mine.stars.data.mean()) if mine.stars.nnz else self.means
        stars: Floats = own + moved
        return stars

    def support(self, mine: Profiles, *_: object) -> Floats:
        """(1, n_target) the weight a prediction rests on: sum of |similarity|."""
        people, similarities = self.chosen(mine)
        weights: Floats = np.abs(similarities) @ pattern(self.profiles.stars[people]).values
        return weights[None]

    def chosen(self, mine: Profiles) -> tuple[Numbers, Floats]:
        """The people most like one profile, k or fewer, and their similarities."""
        key = mine.stars.indices.tobytes() + mine.stars.data.tobytes()
        if key not in self._chosen:
            self._chosen[key] = self._choose(mine)
        return self._chosen[key]

    def _choose(self, mine: Profiles) -> tuple[Numbers, Floats]:
        """Draw people by PNSA, or take those of the largest positive cosines, ties by number."""
        alike = candidates(mine.stars.indices, mine.deviations, self._columns, self._squares, 0)
        alike = alike.only(~self._same(mine.stars))
        if self.pnsa is None:
            alike = admit(alike, "positive")
            nearest = np.argsort(-alike.similarities, kind="stable")[: self.k]
            return alike.numbers[nearest], alike.similarities[nearest]
        longest = max(mine.stars.nnz, int(np.diff(self.profiles.stars.indptr).max(initial=0)))
        admitted = admit(alike, self.pnsa.reading)
        (people,), (similarities,) = draw_neighbours([admitted], self.pnsa, longest, self.source)
        there = people >= 0
        return people[there], similarities[there]

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """(n_target, people) stars minus the item's mean: what people are compared by."""
        return self.profiles.matrix(self.profiles.deviations).T.tocsr()

    @cached_property
    def _squares(self) -> Floats:
        columns = self._columns
        squares = np.bincount(columns.indices, columns.data**2, minlength=columns.shape[1])
        return squares.astype(np.float64)

    def _same(self, stars: sparse.csr_array) -> NDArray[np.bool_]:
        """(people,) whose profile has the same items with the same stars: they themselves."""
        every, wanted = self.profiles.stars, np.full(stars.shape[1], np.nan)
        wanted[stars.indices] = stars.data
        people = np.repeat(np.arange(every.shape[0]), np.diff(every.indptr))
        equal = np.bincount(people, every.data == wanted[every.indices], every.shape[0])
        same: NDArray[np.bool_] = (equal == stars.nnz) & (np.diff(every.indptr) == stars.nnz)
        return same


class Own(NamedTuple):
    """One person's ratings: by id, and (1, n_items) stars. times: None if unknown."""

    history: History
    stars: sparse.csr_array
    times: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Bridge:
    """One target. targets: sorted item numbers. images: (n_items,) places in the target of source
    items' images, -1: none. item_means: (n_items,) stars. lists: None where lists are made from
    the recommender's own numbers. lowest: of the scale."""

    targets: Numbers
    images: Numbers
    item_means: Floats
    neighbours: ItemNeighbours | PeopleNeighbours
    alpha: float
    lowest: float
    engine: Engine
    lists: RatedTogether | None

    def predict(self, own: Own) -> Floats:
        """(n_target,) predicted stars."""
        stars: Floats = self.neighbours.predict(self._profile(own), self.alpha, self.engine)[0]
        return stars

    def scores(self, own: Own) -> Floats:
        """(n_target,) what a list is ranked by."""
        if self.lists is not None:
            votes: Floats = self.lists.scores(liked(own.stars))[0]
            return votes
        support = self.neighbours.support(self._profile(own), self.alpha)[0]
        scores: Floats = support * (self.predict(own) - self.lowest)
        return scores

    def _profile(self, own: Own) -> Profiles:
        return alter_egos(
            *own[1:], item_means=self.item_means, images=self.images, targets=self.targets
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """bridges: each target's. people: those fitted to, None for a model that was loaded."""

    catalogue: Catalogue
    ids: Column
    scale: RatingScale
    bridges: Mapping[str, Bridge]
    people: Ratings | None = None

    @cached_property
    def _numbers(self) -> Mapping[Any, int]:
        """Where each item stands; made once, because every list asks."""
        return {item: place for place, item in enumerate(self.ids.tolist())}

    def own(
        self, user: Any, history: History | None, history_times: HistoryTimes | None = None
    ) -> Own:
        """Collect one person's ratings: a history's, or those of a person fitted to.

        Ratings of unknown items have no say.

        Args:
            user: Id of a person fitted to; without a history their ratings are used.
            history: Item id to stars.
            history_times: Item id to seconds, for each item of the history.

        Raises:
            DataError: Stars off the scale, or times that are not those of the history's items.
        """
        people = self.people
        if history is None and history_times is not None:
            raise DataError("times are given without a history", fix="Give history= as well.")
        if history is None and people and (known := people.user_number(user)) is not None:
            rows = slice(people.offsets[known], people.offsets[known + 1])
            times = None if people.timestamps is None else people.timestamps[rows]
            return Own(people.history(user), people.matrix[[known]], times)
        given = checked_history({} if history is None else history, self.ids)
        rated = sorted((self._numbers[item], item) for item in given if item in self._numbers)
        stars = np.array([given[item] for _, item in rated], dtype=np.float64)
        if not self.scale.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale))
        places = np.array([place for place, _ in rated], dtype=np.int32)
        row = (stars, places, np.array([0, len(stars)]))
        times = None
        if history_times is not None:
            moments = inputs.checked_times(history_times, given)
            times = np.array([moments[item] for _, item in rated], dtype=np.int64)
        return Own(given, sparse.csr_array(row, shape=(1, len(self.ids))), times)

    def everywhere(self, own: Own, what: str) -> Floats:
        """(n_items,) stars ("predict") or ranking scores ("scores"), NaN off the targets."""
        values = np.full(len(self.ids), np.nan)
        for bridge in self.bridges.values():
            values[bridge.targets] = getattr(bridge, what)(own)
        return values

    def card(self) -> Guarantee:
        settings = self.catalogue.settings
        drawn = sum(int((bridge.images >= 0).sum()) for bridge in self.bridges.values())
        return guarantees.published(settings.epsilon, settings.for_neighbours, settings.k, drawn)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Of item-based bridges, each array under the bridge's place and its name."""
        arrays: dict[str, NDArray[Any]] = {}
        for place, bridge in enumerate(self.bridges.values()):
            arrays |= {"item_means": bridge.item_means, f"{place}.images": bridge.images}
            if isinstance(neighbours := bridge.neighbours, ItemNeighbours):
                arrays[f"{place}.neighbours"] = neighbours.items
                arrays[f"{place}.similarities"] = neighbours.similarities
            if bridge.lists is not None:
                for name in ("companions", "weights", "popularity"):
                    arrays[f"{place}.{name}"] = getattr(bridge.lists, name)
        return arrays


def fitted(ratings: RatingsSource, catalogue: Catalogue, engine: Engine, draws: Source) -> Boxes:
    """Each target, learned. An item that nobody rated has the mean of its domain."""
    known = catalogue_of(ratings)
    if isinstance(ratings, StoredRatings):
        sums, counts = ratings.total(_stars_of_items)
    else:
        sums, counts = _stars_of_items(ratings)
    means = np.zeros(len(counts))
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.targets(name)
        overall = sums[items].sum() / max(1.0, counts[items].sum())
        filled = np.full(len(items), overall)
        means[items] = np.divide(sums[items], counts[items], out=filled, where=counts[items] > 0)
    shared = means, counts.astype(np.int64), engine, draws
    bridges = {
        name: _bridge(ratings, catalogue, name, *shared) for name in catalogue.settings.target
    }
    return Boxes(catalogue, known.item_ids, known.scale, bridges, known)


def _bridge(
    ratings: RatingsSource, catalogue: Catalogue, target: str, item_means: Floats,
    raters: NDArray[np.int64], engine: Engine, draws: Source,
) -> Bridge:  # fmt: skip
    """Lists of who is rated together are only made without noise: their table has none."""
    settings = catalogue.settings
    if settings.user_based or not settings.noiseless:
        require_in_memory(ratings)  # the model is everybody; a draw needs all candidates at once
    sources, targets = catalogue.sources(target), catalogue.targets(target)
    if not raters[targets].any():
        raise DataError("nobody rated anything in the target domain", found=target)
    used = np.zeros(len(raters), np.bool_)
    used[sources] = used[targets] = True
    here, stars = np.where(used, raters, 0), partial(_stars, used=used)
    asked: dict[str, Any] = {"significance": settings.significance, "engine": engine}
    base = Baseline(_table(ratings, stars, centred, here), here)
    extension = extend(base, sources, targets, k=settings.extender_k, **asked)
    draw, places = drawn_as_published(settings.epsilon, draws), np.full(len(raters), -1, np.int32)
    spread = ratings.spread if isinstance(ratings, StoredRatings) else map
    places[sources] = images(extension, sources, draw, engine, spread)
    egos = partial(alter_egos, item_means=item_means, images=places, targets=targets)
    means, lists = item_means[targets], None
    k, significance, pnsa = settings.k, settings.significance, None
    if settings.budget is not None:
        pnsa = PrivateNeighbours(k, settings.budget, settings.pnsa)
    neighbours: ItemNeighbours | PeopleNeighbours
    if settings.user_based:
        everybody = egos(stars(require_in_memory(ratings))[0], None)
        neighbours = PeopleNeighbours(means, everybody, k, pnsa, draws)
    else:
        table = _table(ratings, partial(stars, egos=egos), centred)
        if pnsa is None:
            neighbours = item_neighbours(table, means, k=k, **asked)
        else:
            neighbours = draw_item_neighbours(table, means, significance, pnsa, draws)
    if settings.noiseless and not settings.user_based:
        among = np.flatnonzero(used).astype(np.int32)
        who = _table(ratings, stars, pattern, here)
        lists = rated_together(who, here, targets, among, engine)
    lowest = catalogue_of(ratings).scale.minimum
    return Bridge(targets, places, item_means, neighbours, settings.alpha, lowest, engine, lists)


def _table(
    ratings: RatingsSource, rows: Rows, make: Callable[[sparse.csr_array, Floats], Table],
    raters: NDArray[np.int64] | None = None,
) -> Table:  # fmt: skip
    """What `make` makes of everybody's rows, where they are."""
    if not isinstance(ratings, StoredRatings):
        return make(*rows(ratings))
    return TiledTable.of_ratings(ratings, rows, make, raters)


def _stars_of_items(block: Ratings) -> Floats:
    """(2, items) sums of stars, and how many."""
    stars = np.bincount(block.items, block.values, block.n_items)
    counts = np.bincount(block.items, minlength=block.n_items)
    return np.stack([stars, counts]).astype(np.float64)  # of nobody they are integers


def _stars(
    block: Ratings, *, used: NDArray[np.bool_], egos: Callable[..., Profiles] | None = None
) -> tuple[sparse.csr_array, Floats]:
    """Stars of the items in use, or of the AlterEgos made of them, and people's means."""
    stars = block.where(used[block.items]).matrix
    if egos is not None:
        stars = egos(stars, None).stars
    return stars, means_of_people(stars)[1]


def from_file(
    header: Mapping[str, Any], arrays: Arrays, catalogue: Catalogue, ids: Column,
    scale: RatingScale, engine: Engine,
) -> Boxes:  # fmt: skip
    """What `to_arrays` wrote; ValueError where a part does not fit."""
    if header.get("version", 0) not in (0, VERSION):
        raise ValueError("it was written by a newer tacit")
    bridges = {}
    settings = catalogue.settings
    for place, target in enumerate(settings.target):
        targets = catalogue.targets(target)
        size, means, lists = len(targets), read_floats(arrays, "item_means", len(ids)), None
        items = _numbers(arrays, f"{place}.neighbours", size, size, settings.k)
        similar = read_floats(arrays, f"{place}.similarities", *items.shape)
        if f"{place}.companions" in arrays:
            companions = _numbers(arrays, f"{place}.companions", len(ids), size, None)
            weights = read_floats(arrays, f"{place}.weights", *companions.shape)
            popularity = read_floats(arrays, f"{place}.popularity", size)
            lists = RatedTogether(companions, weights, popularity, len(ids))
        bridges[target] = Bridge(
            targets, _numbers(arrays, f"{place}.images", size, len(ids)), means,
            ItemNeighbours(means[targets], items, similar), settings.alpha, scale.minimum,
            engine, lists,
        )  # fmt: skip
    return Boxes(catalogue, ids, scale, bridges)


def _numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Numbers from -1 to below `below`; others would read what is not theirs."""
    places = read_array(arrays, name, *shape)
    if places.dtype != np.int32 or (places.size and not -1 <= places.min() <= places.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return places
