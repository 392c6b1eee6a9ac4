"""The published and constant variants, fitted: what is served, promised and saved of their bridges.

A file holds released and public numbers about items. No person is among them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored import Given, StoredRatings, in_memory, known_of
from tacit.designs.xmap import guarantees
from tacit.designs.xmap.bridge import Because, Bridge, Times, fit_bridge, means_by_domain
from tacit.designs.xmap.private_neighbours import Plan
from tacit.designs.xmap.recommender import ItemNeighbours, RatedTogether
from tacit.designs.xmap.settings import Catalogue, Settings
from tacit.engine import Engine, Numbers
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.recommenders.base import History
from tacit.recommenders.inputs import checked_history, finite, shaped

Arrays = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]

VERSION = 1
"""Of what a header says. 0, which had no number, did not say where the draws came from."""
_DRAWS = {True: "private", False: "replayed"}
Moments = Mapping[Any, int]
"""Item id to when it was rated, seconds."""


class Own(NamedTuple):
    """One person's ratings: by id, and (1, n_items) stars. times: None if any is unknown."""

    history: History
    stars: sparse.csr_array
    times: Times


@dataclass(frozen=True, eq=False)
class Boxes:
    """bridges: each target's. private: whether it is known that the operating system drew. people:
    those fitted to, None for a model that was loaded."""

    settings: Settings
    catalogue: Catalogue
    ids: Column
    scale: RatingScale
    bridges: Mapping[str, Bridge]
    private: bool
    people: Ratings | None = None

    def own(self, user: Any, history: History | None, times: Moments | None) -> Own:
        """One person's ratings: a history's, or of one of those fitted to."""
        if history is None:
            return _own_of_user(self.people, user, len(self.ids))
        return _own_of_history(checked_history(history, self.ids), times, self._numbers, self.scale)

    @cached_property
    def _numbers(self) -> Mapping[Any, int]:
        """Where each item stands; made once, because every list asks."""
        return {item: place for place, item in enumerate(self.ids.tolist())}

    def everywhere(self, own: Own, what: str) -> Floats:
        """(n_items,) stars ("predict") or ranking scores ("scores"), NaN off the targets."""
        found = np.full(len(self.ids), np.nan)
        for bridge in self.bridges.values():
            found[bridge.targets] = getattr(bridge, what)(own.stars, own.times)[0]
        return found

    def because(self, item: Any, own: Own) -> list[Because]:
        """What each of a person's ratings adds to the prediction for an item of a target."""
        number = self._numbers[item]
        for bridge in self.bridges.values():
            place = int(bridge.own[number])
            if place >= 0:
                return bridge.because(place, own.stars, own.times)
        return []

    def card(self, taken: Sequence[str]) -> Guarantee:
        """taken: see `inputs.TAKEN`."""
        settings = self.settings
        if settings.variant == "constant":
            counted = plan(self.catalogue, settings)
            return guarantees.constant(counted, taken=taken, private=self.private)
        drawn = sum(int((bridge.images >= 0).sum()) for bridge in self.bridges.values())
        return guarantees.published(
            epsilon=settings.epsilon, epsilon_prime=settings.for_neighbours, k=settings.k,
            images=drawn,
        )  # fmt: skip

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What its header says, and its arrays: each under the bridge's place and its name."""
        header = {"version": VERSION, "draws": _DRAWS[self.private]}
        return header, to_arrays(list(self.bridges.values()))


def fitted(
    ratings: Given, catalogue: Catalogue, settings: Settings, engine: Engine, draws: Source
) -> Boxes:
    """Each target of the published or constant variant, learned."""
    known = known_of(ratings)
    if isinstance(ratings, StoredRatings) and settings.variant == "published":
        from tacit.designs.xmap import stored

        bridges = stored.bridges(ratings, catalogue, settings, engine, draws)
    else:
        bridges = _bridges(in_memory(ratings), catalogue, settings, engine, draws)
    ids, scale = known.item_ids, known.scale
    return Boxes(settings, catalogue, ids, scale, bridges, draws.private, known)


def _bridges(
    ratings: Ratings, catalogue: Catalogue, settings: Settings, engine: Engine, draws: Source
) -> dict[str, Bridge]:
    if settings.variant == "constant":  # an item's mean would have to be paid for
        means = np.full(ratings.n_items, ratings.scale.minimum + ratings.scale.span / 2)
        each = plan(catalogue, settings).each
    else:
        means, each = means_by_domain(ratings, catalogue), math.inf
    return {
        target: fit_bridge(
            ratings, catalogue, target, means, settings, each=each, engine=engine, draws=draws
        )
        for target in catalogue.routes.targets
    }


def plan(catalogue: Catalogue, settings: Settings) -> Plan:
    """How the constant variant deals out its budget."""
    targets = catalogue.routes.targets
    return Plan(
        images=sum(len(catalogue.sources(target)) for target in targets),
        tables=sum(len(catalogue.targets(target)) for target in targets),
        k=settings.k,
        epsilon=settings.epsilon,
        delta=settings.delta,
    )


def _own_of_user(people: Ratings | None, user: Any, width: int) -> Own:
    """Of one of those fitted to; nothing for anybody else."""
    known = None if people is None else people.user_number(user)
    if known is None or people is None:
        return Own({}, sparse.csr_array((1, width)), None)
    rows = slice(people.offsets[known], people.offsets[known + 1])
    times = None if people.timestamps is None else people.timestamps[rows]
    return Own(people.history(user), people.matrix[[known]], times)


def _own_of_history(
    history: History, moments: Moments | None, numbers: Mapping[Any, int], scale: RatingScale
) -> Own:
    """numbers: of the model's items; ratings of others have no say. DataError off the scale."""
    known = sorted((numbers[item], item) for item in history if item in numbers)
    stars = np.array([history[item] for _, item in known], dtype=np.float64)
    if not scale.holds(stars).all():
        raise DataError("a rating in the history lies off the scale", expected=str(scale))
    places = np.array([place for place, _ in known], dtype=np.int32)
    offsets = np.array([0, len(stars)])
    row = sparse.csr_array((stars, places, offsets), shape=(1, len(numbers)))
    if moments is None or any(item not in moments for _, item in known):
        return Own(history, row, None)
    return Own(history, row, np.array([moments[item] for _, item in known], dtype=np.int64))


def from_file(
    header: Mapping[str, Any], arrays: Arrays, settings: Settings, catalogue: Catalogue,
    ids: Column, scale: RatingScale, engine: Engine,
) -> Boxes:  # fmt: skip
    """What `to_file` wrote; ValueError where a part does not fit."""
    bridges = {
        target: _bridge(
            arrays, place, catalogue.targets(target), len(ids), settings, scale.minimum, engine
        )
        for place, target in enumerate(catalogue.routes.targets)
    }
    return Boxes(settings, catalogue, ids, scale, bridges, _drawn_privately(header))


def _drawn_privately(header: Mapping[str, Any]) -> bool:
    """Whether the operating system drew and no seed; False where a file does not say it. ValueError
    where it says neither."""
    version = header.get("version", 0)
    if version == 0:
        return False
    if version != VERSION:
        raise ValueError("it was written by a newer tacit")
    if header["draws"] not in _DRAWS.values():
        raise ValueError("it does not say where its draws came from")
    return bool(header["draws"] == _DRAWS[True])


def to_arrays(bridges: Sequence[Bridge]) -> dict[str, NDArray[Any]]:
    """Item-based bridges, each array under the bridge's place and its name."""
    arrays: dict[str, NDArray[Any]] = {"item_means": bridges[0].item_means}
    for place, bridge in enumerate(bridges):
        parts: dict[str, NDArray[Any]] = {"images": bridge.images}
        if isinstance(bridge.neighbours, ItemNeighbours):
            parts |= {
                "neighbours": bridge.neighbours.items,
                "similarities": bridge.neighbours.similarities,
            }
        if bridge.lists is not None:
            parts |= {
                "companions": bridge.lists.companions,
                "weights": bridge.lists.weights,
                "popularity": bridge.lists.popularity,
            }
        arrays |= {f"{place}.{name}": array for name, array in parts.items()}
    return arrays


def _bridge(
    arrays: Arrays,
    place: int,
    targets: Numbers,
    width: int,
    settings: Settings,
    lowest: float,
    engine: Engine,
) -> Bridge:
    """One bridge of `to_arrays`; ValueError where an array does not fit."""
    means = finite(arrays, "item_means", width)
    size = len(targets)
    images = _numbers(arrays, f"{place}.images", size, width)
    items = _numbers(arrays, f"{place}.neighbours", size, size, settings.k)
    similarities = finite(arrays, f"{place}.similarities", *items.shape)
    lists = None
    if f"{place}.companions" in arrays:
        companions = _numbers(arrays, f"{place}.companions", width, size, None)
        lists = RatedTogether(
            companions,
            finite(arrays, f"{place}.weights", *companions.shape),
            finite(arrays, f"{place}.popularity", size),
            width,
        )
    return Bridge(
        targets=targets,
        images=images,
        item_means=means,
        neighbours=ItemNeighbours(means[targets], items, similarities),
        k=settings.k,
        alpha=settings.alpha,
        lowest=lowest,
        engine=engine,
        lists=lists,
    )


def _numbers(arrays: Arrays, name: str, below: int, *shape: int | None) -> Numbers:
    """Numbers from -1 to below `below`; others would read what is not theirs."""
    found = shaped(arrays, name, *shape)
    if found.dtype != np.int32 or (found.size and not -1 <= found.min() <= found.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return found
