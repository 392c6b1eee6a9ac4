"""What a released model is used for: lists for people, its own file, and the file for devices.

A list is made from what was released and that person's own rows, so it spends nothing. The files
hold what was released and what is public; no person is among them. Numbers for devices have 16
bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.ratings import Ratings
from tacit.designs.private.device import MESSAGE
from tacit.designs.private.device import VERSION as DEVICE_VERSION
from tacit.designs.private.fitting import Released, Tastes, tastes
from tacit.designs.private.guarantees import Usefulness
from tacit.designs.private.people import BLOCK, Sides, profiles, some
from tacit.designs.private.popular import TopItems, rows
from tacit.designs.private.settings import Settings
from tacit.designs.private.stars import StarModel
from tacit.engine.profile_sums_compiled import Centre, Profiles
from tacit.recommenders.inputs import finite, shaped

if TYPE_CHECKING:
    from tacit.designs.private.model import Private

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]
VERSION = 1  # of model files
_LARGEST = 2**15 - 1
MEAN_BESIDE = 0.3
"""Weight of an item's share of likes beside what top items add."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of them, and what it adds to an item's score."""

    kind: Literal["item", "feature"]
    name: Any
    score: float


def reasons(
    kind: Literal["item", "feature"], names: Sequence[Any], added: Floats, n: int
) -> Iterator[Reason]:
    """At most n of those that speak for an item, largest first."""
    for place in np.argsort(-added, kind="stable")[:n].tolist():
        if added[place] > 0:
            yield Reason(kind, names[place], float(added[place]))


def scores(people: Profiles, released: Released, settings: Settings) -> Floats:
    """(people, target items)."""
    if not released.serves_lists:
        return np.tile(released.means, (len(people.offsets) - 1, 1))
    share = 1 if isinstance(released.lists, Tastes) else MEAN_BESIDE
    return personal(people, released, settings) + released.means * share


def personal(people: Profiles, released: Released, settings: Settings) -> Floats:
    """(people, target items) what each one's own rows add to popularity."""
    lists = released.lists
    if isinstance(lists, Tastes):
        own = tastes(people, lists.centre, lists.features, everybody=True) @ lists.directions
        return (own * _cut(own, settings)) @ lists.items.T
    added = np.zeros((len(people.offsets) - 1, len(released.means)))
    if isinstance(lists, TopItems):
        unit = rows(people, lists.context, likes=people.joint)
        added[:, lists.targets] = unit @ lists.weights
    return added


def _cut(tastes: Floats, settings: Settings) -> Floats:
    """(people, 1) what brings tastes (people, k) to the largest norm that lists are made from."""
    most = settings.personal_clip * math.sqrt(tastes.shape[1])
    lengths = np.maximum(np.linalg.norm(tastes, axis=1, keepdims=True), 1e-300)
    cut: Floats = np.minimum(1, most / lengths)
    return cut


def parts(
    person: Profiles, item: int, released: Released, settings: Settings
) -> tuple[Ints, Floats, Floats]:
    """Numbers of own context items, what each adds to one target item's score, and what each
    feature adds that the person has more of than most. Empty where all get the same list."""
    lists, nothing = released.lists, (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    if not released.serves_lists or not len(person.items):
        return nothing
    if isinstance(lists, TopItems):
        column = np.flatnonzero(lists.targets == item)
        if not len(column):
            return nothing
        unit = rows(person, lists.context, likes=person.joint)[0]
        return lists.context, unit * lists.weights[:, column[0]], nothing[2]
    assert isinstance(lists, Tastes)
    pull = lists.directions @ lists.items[item]
    weights = np.where(person.liked, 1.0, person.low) * lists.centre.damping[person.items]
    weights = weights / weights.sum()
    apart = lists.features[person.items].toarray() - lists.centre.mean
    more = weights @ apart
    by_feature = np.where(more > 0, more * pull, 0)  # a reason is what a person has more of
    cut = _cut(more[None] @ lists.directions, settings)[0]
    return person.items, (apart @ pull) * weights * cut, by_feature * cut


@dataclass(frozen=True, eq=False)
class Lists:
    """One row an entry of a list, all columns alike. people: numbers in the block; ranks: from 1;
    items: numbers in `item_ids_`."""

    people: Ints
    ranks: Ints
    items: Ints
    scores: NDArray[np.float64]


def lists_for(ratings: Ratings, model: Private, n: int) -> Lists:
    """The n best items that a person has not rated. ratings: of the items `history_ids_`."""
    known = model.history_ids_
    targets = np.searchsorted(known, model.item_ids_)
    sides = Sides(len(known), np.searchsorted(known, model.context_ids_), targets)
    people = profiles(ratings, sides, model.threshold_, model.settings_.other_weight)
    place = np.full(len(known), -1)
    place[targets] = np.arange(len(targets))
    parts = []
    for start in range(0, ratings.n_users, BLOCK):
        stop = min(start + BLOCK, ratings.n_users)
        made = scores(some(people, start, stop), model.released_, model.settings_)
        rows = slice(int(ratings.offsets[start]), int(ratings.offsets[stop]))
        rated = place[ratings.items[rows]]
        made[ratings.users[rows][rated >= 0] - start, rated[rated >= 0]] = -np.inf
        parts.append((start, *_best(made, n)))
    entries = [(start + who, *more) for start, who, *more in parts]
    return Lists(*map(np.concatenate, zip(*entries, strict=True)))


def _best(made: NDArray[np.float64], n: int) -> tuple[Ints, Ints, Ints, NDArray[np.float64]]:
    """Rows, ranks, columns and values of the n largest, ties by column; none that is -inf."""
    n = min(n, made.shape[1])
    least = np.partition(made, -n, axis=1)[:, -n]
    rows, columns = np.nonzero((made >= least[:, None]) & np.isfinite(made))
    order = np.lexsort((columns, -made[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows) + 1
    listed = ranks <= n
    return rows[listed], ranks[listed], columns[listed], made[rows, columns][listed]


def settings_to_header(settings: Settings) -> dict[str, Any]:
    """JSON values; infinity is written as the text "inf"."""
    return asdict(settings) | {
        "epsilon": settings.epsilon if settings.private else "inf",
        "shares": list(settings.shares),
    }


def parameters(model: Any) -> dict[str, Any]:
    """What a `Private` was asked for beside its settings, as JSON values."""

    def plain(given: Any) -> Any:
        return given if given is None or isinstance(given, str) else list(given)

    names = ("source", "target", "domain", "features")
    return {name: plain(getattr(model, name)) for name in names}


def settings_from_header(header: Mapping[str, Any]) -> Settings:
    given = dict(header) | {"shares": tuple(header["shares"])}
    return Settings(**given | {"epsilon": float(header["epsilon"])})


def to_arrays(released: Released, stars: StarModel | None) -> dict[str, NDArray[Any]]:
    """Arrays of a model file, which `from_file` and `stars_from` read."""
    arrays: dict[str, NDArray[Any]] = {"means": released.means}
    lists = released.lists
    if isinstance(lists, TopItems):
        arrays |= vars(lists)
    if isinstance(lists, Tastes):
        arrays |= {
            "damping": lists.centre.damping,
            "mean": lists.centre.mean,
            "directions": lists.directions,
            "items": lists.items,
            "deviation": np.array([lists.deviation]),
            "feature_offsets": lists.features.indptr.astype(np.int64),
            "feature_columns": lists.features.indices.astype(np.int32),
            "feature_values": lists.features.data,
        }
    if stars is not None:
        arrays |= {f"star_{name}": np.atleast_1d(value) for name, value in vars(stars).items()}
    return arrays


def stars_from(arrays: Arrays, targets: int, context: int) -> StarModel:
    """What `to_arrays` wrote of stars. context: of items in another domain, or 0. A file of before
    has means alone."""
    mean, effects = float(finite(arrays, "star_mean", 1)[0]), finite(arrays, "star_effects", None)
    items = len(effects)
    if items not in (targets, targets + context):
        raise ValueError("'star_effects' does not fit the list of items")
    if "star_loadings" not in arrays:
        return StarModel(mean, effects, np.zeros((items, 0)), np.ones(items))
    variances = finite(arrays, "star_variances", items)
    if (variances <= 0).any():
        raise ValueError("'star_variances' has numbers that are not above 0")
    return StarModel(mean, effects, finite(arrays, "star_loadings", items, None), variances)


def from_file(header: Mapping[str, Any], arrays: Arrays, context: int, targets: int) -> Released:
    """What was released, of so many context and target items; ValueError where a part does not
    fit."""
    if header["version"] != VERSION:
        raise ValueError("it was written by another version of this design")
    means, useful = finite(arrays, "means", targets), Usefulness(**header["usefulness"])
    deviation, mode = float(header["deviation"]), header["mode"]
    if not math.isfinite(deviation):
        raise ValueError("the noise of its counts is not finite")
    lists: Tastes | TopItems | None = None
    if mode == "top-items":
        one, other = _places(arrays, "context", context), _places(arrays, "targets", targets)
        lists = TopItems(one, other, finite(arrays, "weights", len(one), len(other)))
    elif mode == "taste":
        lists = _tastes(arrays, context, targets)
    elif mode != "popularity":
        raise ValueError(f"it has no mode '{mode}'")
    return Released(means, deviation, lists, useful)


def _tastes(arrays: Arrays, context: int, targets: int) -> Tastes:
    mean = finite(arrays, "mean", None)
    directions = finite(arrays, "directions", len(mean), None)
    items = finite(arrays, "items", targets, directions.shape[1])
    offsets = shaped(arrays, "feature_offsets", context + 1).astype(np.int64)
    columns = _places(arrays, "feature_columns", len(mean)).astype(np.int32)
    values = finite(arrays, "feature_values", len(columns))
    if offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
        raise ValueError("the features do not fit the list of items")
    features = sparse.csr_array((values, columns, offsets), shape=(context, len(mean)))
    centre = Centre(finite(arrays, "damping", context), mean)
    return Tastes(features, centre, directions, items, float(finite(arrays, "deviation", 1)[0]))


def _places(arrays: Arrays, name: str, below: int) -> NDArray[np.int64]:
    places = shaped(arrays, name, None)
    if places.dtype.kind != "i" or (places.size and not 0 <= places.min() <= places.max() < below):
        raise ValueError(f"'{name}' does not fit the list of items")
    return places.astype(np.int64)


def device_file(released: Released, settings: Settings, public: Mapping[str, Any]) -> bytes:
    """What `device.DeviceLists.decode` reads; all of it was released or is public.

    public: ids, titles, scale and card.
    """
    floats: dict[str, NDArray[np.float64]] = {"means": released.means}
    places: dict[str, NDArray[Any]] = {}
    lists = released.lists
    if isinstance(lists, TopItems):
        floats["weights"] = lists.weights
        places = {"context": lists.context, "targets": lists.targets}
    if isinstance(lists, Tastes):
        floats |= {"damping": lists.centre.damping, "mean": lists.centre.mean}
        floats |= {"directions": lists.directions, "items": lists.items}
        places = {"offsets": lists.features.indptr, "columns": lists.features.indices}
    units, whole = {}, {}
    for name, values in floats.items():
        unit = np.abs(values).max(axis=0, initial=0.0) / _LARGEST
        unit = np.where(unit > 0, unit, 1.0)
        units[name] = unit.tolist()
        whole[name] = np.round(values / unit).astype("<i2")
    header = {
        **public,
        "message": MESSAGE,
        "version": DEVICE_VERSION,
        "mode": released.mode,
        "units": units,
        "low": settings.other_weight,
        "clip": settings.personal_clip,
        "beside": MEAN_BESIDE,
    }
    whole |= {name: numbers.astype("<i4") for name, numbers in places.items()}
    return container.pack(header, whole)
