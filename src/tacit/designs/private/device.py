"""Lists on the device from the released model: a person's own stars never leave it.

Runs at     the person's own device. Standard library only.
Sees        the person's true stars and the published file, the same for everybody.
Releases    nothing.
Guarantee   the file's own: (epsilon, delta) for each person whose ratings it was learned from.

Layout of the file: a tacit container (magic, length and text of a JSON header, arrays, SHA-256 of
all that precedes), whose arrays hold whole numbers of 16 or 32 bits, little endian. Every number
is a whole number times `units[name]`; a table has one unit for each of its columns. Within one
domain a file by tastes also has the map of own likes, or vectors of pairs of likes in its place;
between domains it has neither. Sums run in the order of the item numbers, so that two languages
find the same scores to the last bit: only +, *, / and square roots are used.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tacit.errors import ConfigError, ModelFileError
from tacit.profile_sums.device_format import MESSAGE, VERSION

MAGIC = b"tacit\x00\x01\n"
_HASH = 32
_CODES = {"<i2": "h", "<i4": "i"}
_MOST = 1 << 28  # bytes of a file
_LARGEST_NUMBER = 1e100
"""Largest absolute value of a number, as in model files: a product of three stays finite."""

ItemId = int | str
Floats = list[float]


@dataclass(frozen=True)
class PairVectors:
    """Released vectors of popular items: what a like of one adds to another is their product."""

    items: Sequence[int]
    """(head,) item numbers, ascending."""
    vectors: list[Floats]
    """(head, d)"""
    mean: Floats
    """(d,) the sum of the likes' vectors, over sqrt(likes), that an average person has."""


@dataclass(frozen=True)
class Tastes:
    """Released numbers by which a device computes a person's tastes and scores."""

    damping: Floats
    """(context,) damping of each context item."""
    offsets: Sequence[int]
    """(context + 1,) where the features of each context item begin in `columns`."""
    columns: Sequence[int]
    """Features of the context items, one item after the other, all of an item with equal weight."""
    mean: Floats
    """(f,) an average profile."""
    directions: list[Floats]
    """(f, k) directions of taste."""
    items: list[Floats]
    """(targets, k) tastes of the target items."""
    own_likes: list[Floats] | None = None
    """(k, k) K: likes add (x B - own_likes_mean) K to a person's taste, with x the unit row of the
    likes and B the tastes of the items; None between domains, and where there are `pairs`."""
    own_likes_mean: Floats | None = None
    """(k,) the sum x B that an average person has; None as for `own_likes`."""
    pairs: PairVectors | None = None
    """What likes add by pairs of likes; None where none were released."""
    dense: list[Floats] | None = None
    """(context, r) features beside the named ones; None: there are none."""
    named_features: float = 1.0
    """Length of a row of named features where there are dense ones."""
    consented_weights: list[list[tuple[int, float]]] | None = None
    """Item-to-item weights of people who agreed not to be protected: for each liked item, pairs of
    another item and what the like adds to its score; None: there are none."""


@dataclass(frozen=True)
class TopItems:
    """context, targets: item numbers. weights: (context, targets) of a unit row."""

    context: Sequence[int]
    targets: Sequence[int]
    weights: list[Floats]


@dataclass(frozen=True)
class DeviceLists:
    """Everything that a device needs to make lists."""

    items: Sequence[ItemId]
    """Ids that lists hold."""
    cold: Sequence[ItemId]
    """Those of the items that nobody rated, the last ones; they have features alone."""
    context: Sequence[ItemId]
    """Ids that a history is read for."""
    scale: tuple[float, float]
    """Least and most stars."""
    liked_from: float
    """Fewest stars of a like."""
    other_weight: float
    """Weight of a rating that is no like; a like has 1. By tastes, both are also multiplied by the
    item's damping."""
    beside: float
    """Factor of `means` in scores by top items."""
    clip: float
    """Largest norm of a taste, over sqrt(k)."""
    means: Floats
    """(items,) scores without a history."""
    model: Tastes | TopItems | None
    """Released numbers by which lists are personal; None: all people have the same list."""
    header: Mapping[str, Any]
    """All that the file says, with `titles` and the `card` of the model."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def joint(self) -> bool:
        """Whether lists are made of the items that a history is read for."""
        return self.header["context"] is None

    @classmethod
    def decode(cls, data: bytes) -> DeviceLists:
        """ModelFileError for bytes that are not such a file, or do not fit together."""
        header, arrays = _unpack(data)
        try:
            return _lists(header, arrays, data[-_HASH:].hex())
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise ModelFileError("These lists do not fit together. Fetch them again.") from None

    def rank(
        self,
        history: Mapping[ItemId, float],
        *,
        n: int = 10,
        exclude: Collection[ItemId] = (),
        candidates: Collection[ItemId] | None = None,
    ) -> list[tuple[ItemId, float]]:
        """Rank the n best items that are not in the history or `exclude`, with their scores.

        Ties in the order of the items. ConfigError for stars off the scale.
        """
        if n < 1:
            raise ConfigError(f"A list has at least one entry; got n={n}.")
        scores = self.scores(history)
        left_out = {*history, *exclude}
        allowed = None if candidates is None else set(candidates)
        order = sorted(
            (
                place
                for place, item in enumerate(self.items)
                if item not in left_out and (allowed is None or item in allowed)
            ),
            key=lambda place: -scores[place],
        )
        return [(self.items[place], scores[place]) for place in order[:n]]

    def reasons(
        self, history: Mapping[ItemId, float], items: Sequence[ItemId], *, n: int = 3
    ) -> list[list[tuple[ItemId, float]]]:
        """For each item, the own items without which its score would fall most, and by how much.

        Own items that raise no score are left out; ties in the order of the items. ConfigError for
        stars off the scale.
        """
        places = {item: place for place, item in enumerate(self.items)}
        own = [item for item in self.context if item in history]
        scores = self.scores(history)
        falls: list[list[tuple[ItemId, float]]] = [[] for _ in items]
        for own_item in own:
            other_history = {item: stars for item, stars in history.items() if item != own_item}
            without = self.scores(other_history)
            for number, item in enumerate(items):
                place = places.get(item)
                if place is not None and scores[place] > without[place]:
                    falls[number].append((own_item, scores[place] - without[place]))
        return [sorted(fall, key=lambda pair: -pair[1])[:n] for fall in falls]

    def scores(self, history: Mapping[ItemId, float]) -> Floats:
        """Score every item for a person with this history."""
        low, high = self.scale
        if not all(low <= stars <= high for stars in history.values()):
            raise ConfigError(f"Stars lie between {low:g} and {high:g}.")
        own = [
            (place, history[item] >= self.liked_from)
            for place, item in enumerate(self.context)
            if item in history
        ]
        if isinstance(self.model, Tastes):
            return _by_tastes(self.model, own, self.other_weight, self.clip, self.means)
        if isinstance(self.model, TopItems):
            means = [self.beside * mean for mean in self.means]
            # In one domain likes alone count.
            other_weight = 0.0 if self.joint else self.other_weight
            return _by_top_items(self.model, own, other_weight, means)
        return list(self.means)


def _by_tastes(
    model: Tastes, own: list[tuple[int, bool]], other_weight: float, clip: float, means: Floats
) -> Floats:
    """Score all items: mean + taste . item, and what the likes add beside tastes.

    taste is `_taste`, scaled down to a norm of clip sqrt(k) if it is longer, plus what own likes
    add to it. Beside it, likes add by pairs of likes, and by the weights W of consenting people:
    the sum over likes of W[like] / sqrt(number of likes).

    Args:
        model: The released numbers.
        own: The person's ratings: number of the context item, and whether it is a like.
        other_weight: Weight of a rating that is no like, before its item's damping; a like has 1.
        clip: Largest norm of a taste, over sqrt(k).
        means: (items,) scores without a history.
    """
    likes = [place for place, liked in own if liked]
    taste = _taste(model, own, other_weight)
    taste_norm = math.sqrt(_dot(taste, taste))
    largest_norm = clip * math.sqrt(float(len(taste)))
    factor = largest_norm / taste_norm if taste_norm > largest_norm else 1.0
    taste = [value * factor for value in taste]
    if model.own_likes is not None and model.own_likes_mean is not None:
        taste = _add_own_likes(model, model.own_likes, model.own_likes_mean, likes, taste)
    scores = [mean + _dot(taste, row) for mean, row in zip(means, model.items, strict=True)]
    if model.pairs is not None and likes:
        _add_pairs(model.pairs, likes, scores)
    if model.consented_weights is not None and likes:
        likes_norm = math.sqrt(float(len(likes)))
        for place in likes:
            for item, weight in model.consented_weights[place]:
                scores[item] += weight / likes_norm
    return scores


def _add_own_likes(
    model: Tastes, matrix: list[Floats], mean: Floats, likes: Sequence[int], taste: Floats
) -> Floats:
    """Return (k,) taste + (x B - mean) matrix; the taste itself if there are no likes.

    x is the unit row of the likes, and B the (targets, k) tastes of the items.
    """
    if not likes:
        return taste
    total = [0.0] * len(mean)
    for place in likes:
        total = [sum_ + value for sum_, value in zip(total, model.items[place], strict=True)]
    likes_norm = math.sqrt(float(len(likes)))
    for sum_of_likes, average, row in zip(total, mean, matrix, strict=True):
        difference = sum_of_likes / likes_norm - average
        taste = [sum_ + difference * value for sum_, value in zip(taste, row, strict=True)]
    return taste


def _add_pairs(pairs: PairVectors, likes: Sequence[int], scores: Floats) -> None:
    """Add (x P - mean) P' to the scores of the popular items that have vectors.

    x is the unit row of the likes, and P the (head, d) vectors of these items.
    """
    vector_of = dict(zip(pairs.items, pairs.vectors, strict=True))
    total = [0.0] * len(pairs.mean)
    for place in likes:
        vector = vector_of.get(place)
        if vector is not None:
            total = [sum_ + value for sum_, value in zip(total, vector, strict=True)]
    likes_norm = math.sqrt(float(len(likes)))
    difference = [sum_ / likes_norm - mean for sum_, mean in zip(total, pairs.mean, strict=True)]
    for item, vector in vector_of.items():
        scores[item] += _dot(difference, vector)


def _taste(model: Tastes, own: list[tuple[int, bool]], other_weight: float) -> Floats:
    """Return (k,) the weighted mean features of the own items less the average, in k directions.

    A rating's weight is 1 for a like, `other_weight` for any other, times its item's damping.

    Args:
        model: The released numbers.
        own: The person's ratings: number of the context item, and whether it is a like.
        other_weight: Weight of a rating that is no like, before the damping.
    """
    total_weight = 0.0
    sums = [0.0] * len(model.mean)
    for place, liked in own:
        weight = (1.0 if liked else other_weight) * model.damping[place]
        total_weight += weight
        row = model.columns[model.offsets[place] : model.offsets[place + 1]]
        for column in row:
            sums[column] += weight / math.sqrt(float(len(row))) * model.named_features
        if model.dense is not None:
            first = len(sums) - len(model.dense[place])
            for column, value in enumerate(model.dense[place]):
                sums[first + column] += weight * value
    taste = [0.0] * len(model.directions[0])
    if total_weight <= 0.0:
        return taste
    for feature_sum, mean, direction in zip(sums, model.mean, model.directions, strict=True):
        difference = feature_sum / total_weight - mean
        taste = [sum_ + difference * value for sum_, value in zip(taste, direction, strict=True)]
    return taste


def _by_top_items(
    model: TopItems, own: list[tuple[int, bool]], other_weight: float, means: Floats
) -> Floats:
    """Score all items: mean, and (x W) / |x| for the targets, with x the row of own ratings.

    Args:
        model: The released numbers; W are its (context, targets) weights.
        own: The person's ratings: number of the context item, and whether it is a like.
        other_weight: Entry in x of a rating that is no like; a like has 1.
        means: (items,) scores without a history.
    """
    weight_of_item = {place: 1.0 if liked else other_weight for place, liked in own}
    row = [weight_of_item.get(place, 0.0) for place in model.context]
    row_norm = math.sqrt(_dot(row, row))
    scores = list(means)
    if row_norm == 0.0:
        return scores
    added = [0.0] * len(model.targets)
    for own_weight, weights in zip(row, model.weights, strict=True):
        if own_weight:
            added = [
                sum_ + own_weight * weight for sum_, weight in zip(added, weights, strict=True)
            ]
    for place, value in zip(model.targets, added, strict=True):
        scores[place] += value / row_norm
    return scores


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Add up products from left to right; `sum` and `math.sumprod` round otherwise."""
    total = 0.0
    for left, right in zip(one, other, strict=True):
        total += left * right
    return total


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, tuple[list[int], array[int]]]]:
    """Read the header, and shape and numbers of each array, of a file that is whole."""
    start = len(MAGIC) + 8
    if not data.startswith(MAGIC) or len(data) < start + _HASH or len(data) > _MOST:
        raise ModelFileError("These bytes are no lists of tacit. Fetch them again.")
    body = data[:-_HASH]
    if hashlib.sha256(body).digest() != data[-_HASH:]:
        raise ModelFileError("These lists are damaged: their SHA-256 is another. Fetch them again.")
    at = start + int.from_bytes(body[len(MAGIC) : start], "little")
    try:
        content = json.loads(body[start:at])
        header = content["header"]
        arrays = {}
        if (header["message"], header["version"]) != (MESSAGE, VERSION):
            raise ValueError("another message")
        for entry in content["arrays"]:
            numbers = array(_CODES[entry["dtype"]])
            size = numbers.itemsize * math.prod(entry["shape"])
            if size < 0:
                raise ValueError("backwards")
            numbers.frombytes(body[at : at + size])
            if sys.byteorder == "big":
                numbers.byteswap()
            arrays[entry["name"]] = (entry["shape"], numbers)
            at += size
        if at != len(body):
            raise ValueError("more bytes than numbers")
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ModelFileError("These lists are of a form that is not known here.") from None
    return header, arrays


def _lists(
    header: dict[str, Any], arrays: dict[str, tuple[list[int], array[int]]], digest: str
) -> DeviceLists:
    items, context, cold = header["items"], header["context"], header["cold"]
    if type(cold) is not int or not 0 <= cold <= len(items) or (cold and header["mode"] != "taste"):
        raise ValueError("cold")
    rated = items[: len(items) - cold]
    known = rated if context is None else context
    for ids in (items, known):
        if not all(type(each) in (int, str) for each in ids) or len(set(ids)) < len(ids):
            raise ValueError("ids")
    means = _column(header, arrays, "means", len(items))
    model: Tastes | TopItems | None = None
    if header["mode"] == "taste":
        model = _read_tastes(header, arrays, len(known), len(items))
    elif header["mode"] == "top-items":
        model = _read_top_items(header, arrays, len(known), len(items))
    elif header["mode"] != "popularity":
        raise ValueError("mode")
    low, high = map(_finite, header["scale"])
    other_weight = _finite(header["low"])
    if other_weight < 0:
        raise ValueError("low")
    return DeviceLists(
        items=items,
        cold=items[len(rated) :],
        context=known,
        scale=(low, high),
        liked_from=_finite(header["liked_from"]),
        other_weight=other_weight,
        beside=_finite(header["beside"]),
        clip=_finite(header["clip"]),
        means=means,
        model=model,
        header=header,
        digest=digest,
    )


def _read_tastes(header: Any, arrays: Any, known: int, items: int) -> Tastes:
    mean = _column(header, arrays, "mean", None)
    offsets, columns = _read_offsets(arrays, "", known, len(mean))
    directions = _table(header, arrays, "directions", len(mean), None)
    rows = _table(header, arrays, "items", items, len(directions[0]))
    damping = _column(header, arrays, "damping", known)
    if min(damping, default=0.0) < 0:
        raise ValueError("damping")
    dense = None
    if "dense" in arrays:
        dense = _table(header, arrays, "dense", known, None)
        if len(dense[0]) > len(mean):
            raise ValueError("dense")
    tastes = Tastes(
        damping,
        offsets,
        columns,
        mean,
        directions,
        rows,
        dense=dense,
        named_features=_finite(header["named_features"]),
    )
    if header["context"] is not None:
        return tastes
    k = len(directions[0])
    weights = _read_consented_weights(header, arrays, known) if "consented" in arrays else None
    if "pairs" in arrays:
        pairs = _read_pairs(header, arrays, known)
        return replace(tastes, pairs=pairs, consented_weights=weights)
    return replace(
        tastes,
        own_likes=_table(header, arrays, "own_likes", k, k),
        own_likes_mean=_column(header, arrays, "own_likes_mean", k),
        consented_weights=weights,
    )


def _read_pairs(header: Any, arrays: Any, known: int) -> PairVectors:
    items = arrays["pair_items"][1].tolist()
    ascend = all(one < other for one, other in pairwise(items))
    if not items or not ascend or items[0] < 0 or items[-1] >= known:
        raise ValueError("pair_items")
    mean = _column(header, arrays, "pairs_mean", None)
    return PairVectors(items, _table(header, arrays, "pairs", len(items), len(mean)), mean)


def _read_consented_weights(header: Any, arrays: Any, items: int) -> list[list[tuple[int, float]]]:
    """Read, for each of so many items, its pairs of another item and a weight."""
    offsets, columns = _read_offsets(arrays, "consented_", items, items)
    weights = _column(header, arrays, "consented", len(columns))
    pairs = list(zip(columns, weights, strict=True))
    return [pairs[start:end] for start, end in pairwise(offsets)]


def _read_offsets(arrays: Any, prefix: str, rows: int, width: int) -> tuple[list[int], list[int]]:
    """Read where each of so many rows begins, and the columns of all, each below `width`."""
    offsets = arrays[f"{prefix}offsets"][1].tolist()
    columns = arrays[f"{prefix}columns"][1].tolist()
    rises = all(one <= other for one, other in pairwise(offsets))
    if len(offsets) != rows + 1 or not rises or (offsets[0], offsets[-1]) != (0, len(columns)):
        raise ValueError(prefix)
    if not all(0 <= column < width for column in columns):
        raise ValueError(prefix)
    return offsets, columns


def _read_top_items(header: Any, arrays: Any, known: int, items: int) -> TopItems:
    rows, columns = arrays["context"][1].tolist(), arrays["targets"][1].tolist()
    for places, below in ((rows, known), (columns, items)):
        if not all(0 <= place < below for place in places) or len(set(places)) < len(places):
            raise ValueError("places")
    weights = _table(header, arrays, "weights", len(rows), len(columns))
    return TopItems(rows, columns, weights)


def _column(header: Any, arrays: Any, name: str, length: int | None) -> Floats:
    (size,), numbers = arrays[name]
    unit = _finite(header["units"][name])
    if length not in (None, size):
        raise ValueError(name)
    return [_finite(unit * number) for number in numbers]


def _table(header: Any, arrays: Any, name: str, rows: int, width: int | None) -> list[Floats]:
    (height, wide), numbers = arrays[name]
    units = [_finite(unit) for unit in header["units"][name]]
    if height != rows or len(units) != wide or width not in (None, wide) or not wide or not height:
        raise ValueError(name)
    table = []
    for at in range(0, rows * wide, wide):
        row = numbers[at : at + wide]
        table.append([_finite(unit * number) for unit, number in zip(units, row, strict=True)])
    return table


def _finite(value: Any) -> float:
    """Return a number; ValueError for anything else, and for one of more than `_LARGEST_NUMBER`."""
    if type(value) not in (int, float) or not abs(value) <= _LARGEST_NUMBER:
        raise ValueError("number")
    return float(value)
