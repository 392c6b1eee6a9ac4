"""Personal lists made on the device, from a published file and the person's own stars.

Runs at     the person's own device. Standard library only.
Sees        the person's true stars, and the published file, which is the same for everybody.
Releases    nothing.
Guarantee   that of the file: (epsilon, delta) for each person whose ratings it was learned from,
            except for people who agreed not to be protected.

Layout of the file: a tacit container (magic, length and text of a JSON header, arrays, SHA-256 of
all that precedes). Its arrays hold whole numbers of 16 or 32 bits, little endian. Item numbers,
column numbers and offsets are read as they are. The numbers of all other arrays are multiplied by
`units[name]` of the header; a table has one unit for each of its columns. In one domain, a file of
mode "taste" also has either `own_likes` or `pairs` (see `Tastes`), by which a person's likes raise
items directly, and it may have `consented`, weights of those who agreed. Between domains it has
none of them.

Scores use only +, -, *, / and square roots, and sums run in a fixed order. So this module and the
TypeScript client compute the same scores to the last bit.
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
from typing import Any, NamedTuple

from tacit.errors import ConfigError, ModelFileError
from tacit.profile_sums.device_format import MESSAGE, VERSION

MAGIC = b"tacit\x00\x01\n"
"""First bytes of a container."""
_LENGTH_BYTES = 8
"""Bytes, after the magic, of the header's length."""
_HASH_BYTES = 32
"""Bytes of the SHA-256 at the end of a file."""
_ARRAY_CODES = {"<i2": "h", "<i4": "i"}
"""For the dtype of an array in the file, the type code of Python's `array`."""
_LARGEST_FILE = 1 << 28
"""Bytes of the largest file that is read."""
_LARGEST_NUMBER = 1e100
"""Largest absolute value of a number, as in model files: a product of three stays finite."""

ItemId = int | str
Floats = list[float]
Arrays = dict[str, tuple[list[int], "array[int]"]]
"""The arrays of a file by name: the shape, and the whole numbers in row-major order."""


@dataclass(frozen=True)
class PairVectors:
    """Released vectors of popular items.

    A like of one popular item raises the score of another by the product of their vectors.
    """

    items: Sequence[int]
    """(head,) item numbers of the popular items, ascending."""
    vectors: list[Floats]
    """(head, d) their vectors."""
    mean: Floats
    """(d,) mean over people of: the sum of the vectors of a person's liked items, divided by
    sqrt(number of likes)."""


@dataclass(frozen=True)
class Tastes:
    """Released numbers by which a device computes a person's tastes and scores."""

    damping: Floats
    """(context,) factor of the weight of a rating, by context item; smaller for popular items."""
    offsets: Sequence[int]
    """(context + 1,) for each context item, where its features begin in `columns`; then the end."""
    columns: Sequence[int]
    """Numbers of the named features of all context items, one item after the other. All features of
    an item have the same weight."""
    mean: Floats
    """(f,) the profile of an average person."""
    directions: list[Floats]
    """(f, k) directions of taste, one in each column."""
    items: list[Floats]
    """(targets, k) tastes of the target items."""
    own_likes: list[Floats] | None = None
    """(k, k) K: likes add (x B - own_likes_mean) K to a person's taste, with x the unit row of the
    likes and B the tastes of the items; None between domains, and where there are `pairs`."""
    own_likes_mean: Floats | None = None
    """(k,) mean of x B over people; None like `own_likes`."""
    pairs: PairVectors | None = None
    """Vectors by which likes of popular items add to scores; None if none were released."""
    dense: list[Floats] | None = None
    """(context, r) dense features of each context item, which are the last r of the f features;
    None: there are none."""
    named_features: float = 1.0
    """Norm of an item's row of named features; it is 1 if there are no dense features."""
    consented_weights: list[list[tuple[int, float]]] | None = None
    """Item-to-item weights from people who agreed not to be protected. For each item, pairs of the
    number of another item and the weight by which a like of the first raises the second; None:
    there are none."""


@dataclass(frozen=True)
class TopItems:
    """Released numbers by which a device computes scores from ratings of popular items."""

    context: Sequence[int]
    """Numbers of the popular context items."""
    targets: Sequence[int]
    """Numbers of the popular target items."""
    weights: list[Floats]
    """(context, targets) weights, by which the unit row of a person's ratings is multiplied."""


class OwnRating(NamedTuple):
    """One of the person's own ratings."""

    item: int
    """Number of the rated context item."""
    is_like: bool
    """Whether its stars make it a like."""


@dataclass(frozen=True)
class DeviceLists:
    """Everything that a device needs to make lists."""

    items: Sequence[ItemId]
    """Ids of the items that lists are made of, the target items; the index is the item number."""
    cold: Sequence[ItemId]
    """The last ids of `items`: nobody rated these, so their scores come from their features."""
    context: Sequence[ItemId]
    """Ids of the items whose ratings in a history are used, the context items."""
    scale: tuple[float, float]
    """Least and most stars."""
    liked_from: float
    """Fewest stars of a like."""
    other_weight: float
    """Weight of a rating that is no like; a like has 1. In `Tastes`, both are also multiplied by
    the item's damping."""
    popularity_weight: float
    """Factor of `means` in the scores of `TopItems`."""
    clip: float
    """A taste of k numbers is scaled down to the norm clip * sqrt(k) if its norm is larger, before
    own likes add to it."""
    means: Floats
    """(items,) scores of the items for a person without ratings; for `TopItems` they are these
    numbers times `popularity_weight`."""
    model: Tastes | TopItems | None
    """Released numbers that make lists personal; None: everybody gets the same list."""
    header: Mapping[str, Any]
    """The file's header, with the `titles` of items and the guarantee `card` of the model."""
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def one_domain(self) -> bool:
        """Whether the items of lists are also the context items."""
        return self.header["context"] is None

    @classmethod
    def decode(cls, data: bytes) -> DeviceLists:
        """Read the bytes of a published file.

        Raises:
            ModelFileError: The bytes are no such file, are damaged, or do not fit together.
        """
        header, arrays = _unpack(data)
        try:
            return _read_lists(header, arrays, data[-_HASH_BYTES:].hex())
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
        """Return the n best items that are not in the history, with their scores, best first.

        Items with equal scores keep the order of `items`.

        Args:
            history: The person's stars by item id.
            n: Most items of the list.
            exclude: Ids of further items to leave out.
            candidates: Ids of the items to choose from; None: all items.

        Raises:
            ConfigError: n is below 1, or stars are off the scale.
        """
        if n < 1:
            raise ConfigError(f"A list has at least one entry; got n={n}.")
        scores = self.scores(history)
        left_out = {*history, *exclude}
        allowed = set(self.items) if candidates is None else set(candidates)
        allowed -= left_out
        numbers = [number for number, item in enumerate(self.items) if item in allowed]
        numbers.sort(key=lambda number: -scores[number])
        return [(self.items[number], scores[number]) for number in numbers[:n]]

    def reasons(
        self, history: Mapping[ItemId, float], items: Sequence[ItemId], *, n: int = 3
    ) -> list[list[tuple[ItemId, float]]]:
        """Explain the scores of items by the person's own ratings.

        Args:
            history: The person's stars by item id.
            items: Ids of the items to explain.
            n: Largest number of reasons for each item.

        Returns:
            For each of `items`, the own items that raise its score most, each with the amount by
            which the score would fall without that rating, largest first. Own items with equal
            amounts keep the order of `context`. Own items that do not raise the score are left out.

        Raises:
            ConfigError: Stars are off the scale.
        """
        number_of_item = {item: number for number, item in enumerate(self.items)}
        scores = self.scores(history)
        reasons: list[list[tuple[ItemId, float]]] = [[] for _ in items]
        for own_item in self.context:
            if own_item not in history:
                continue
            other_history = {item: stars for item, stars in history.items() if item != own_item}
            other_scores = self.scores(other_history)
            for item, reasons_of_item in zip(items, reasons, strict=True):
                number = number_of_item.get(item)
                if number is not None and scores[number] > other_scores[number]:
                    reasons_of_item.append((own_item, scores[number] - other_scores[number]))
        for reasons_of_item in reasons:
            reasons_of_item.sort(key=lambda reason: -reason[1])
        return [reasons_of_item[:n] for reasons_of_item in reasons]

    def scores(self, history: Mapping[ItemId, float]) -> Floats:
        """Return the score of every item for a person, in the order of `items`.

        Args:
            history: The person's stars by item id; ids that are no context items count for nothing.

        Raises:
            ConfigError: Stars are off the scale.
        """
        low, high = self.scale
        if not all(low <= stars <= high for stars in history.values()):
            raise ConfigError(f"Stars lie between {low:g} and {high:g}.")
        own_ratings = []
        for number, item in enumerate(self.context):
            if item in history:
                own_ratings.append(OwnRating(number, history[item] >= self.liked_from))
        if isinstance(self.model, Tastes):
            return _score_by_tastes(
                self.model, own_ratings, self.other_weight, self.clip, self.means
            )
        if isinstance(self.model, TopItems):
            base_scores = [self.popularity_weight * mean for mean in self.means]
            # In one domain only likes count.
            other_weight = 0.0 if self.one_domain else self.other_weight
            return _score_by_top_items(self.model, own_ratings, other_weight, base_scores)
        return list(self.means)


def _score_by_tastes(
    model: Tastes,
    own_ratings: Sequence[OwnRating],
    other_weight: float,
    clip: float,
    means: Floats,
) -> Floats:
    """Return (items,) the score of each item: mean + taste . item + what likes add directly.

    taste is that of `_compute_taste`, scaled down to the norm clip sqrt(k) if its norm is larger,
    plus what own likes add to it (`_add_own_likes`). Likes add to scores directly by pairs of likes
    (`_add_pairs`), and by the weights W of consenting people:
    the sum over likes of W[like] / sqrt(number of likes).

    Args:
        model: The released numbers.
        own_ratings: The person's ratings.
        other_weight: Weight of a rating that is no like, before its item's damping; a like has 1.
        clip: Largest norm of a taste, divided by sqrt(k).
        means: (items,) scores without a history.
    """
    likes = [rating.item for rating in own_ratings if rating.is_like]
    taste = _compute_taste(model, own_ratings, other_weight)
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
        for like in likes:
            for item, weight in model.consented_weights[like]:
                scores[item] += weight / likes_norm
    return scores


def _add_own_likes(
    model: Tastes, matrix: list[Floats], mean: Floats, likes: Sequence[int], taste: Floats
) -> Floats:
    """Return (k,) taste + (x B - mean) matrix; the taste itself if there are no likes.

    x is the unit row of the likes, and B the (targets, k) tastes of the items.

    Args:
        model: The released numbers, with B.
        matrix: (k, k) the map of own likes.
        mean: (k,) mean of x B over people.
        likes: Numbers of the liked items.
        taste: (k,) the taste without own likes.
    """
    if not likes:
        return taste
    sums = [0.0] * len(mean)
    for like in likes:
        sums = _add_scaled(sums, 1.0, model.items[like])
    likes_norm = math.sqrt(float(len(likes)))
    for sum_of_likes, average, row in zip(sums, mean, matrix, strict=True):
        taste = _add_scaled(taste, sum_of_likes / likes_norm - average, row)
    return taste


def _add_pairs(pairs: PairVectors, likes: Sequence[int], scores: Floats) -> None:
    """Add (x P - mean) P' to the scores of the popular items that have vectors.

    x is the unit row of the likes, and P the (head, d) vectors of these items.

    Args:
        pairs: P, the numbers of its items, and the (d,) mean of x P over people.
        likes: Numbers of the liked items; those without a vector add nothing to x P.
        scores: (items,) scores, which are changed.
    """
    vector_of_item = dict(zip(pairs.items, pairs.vectors, strict=True))
    sums = [0.0] * len(pairs.mean)
    for like in likes:
        if like in vector_of_item:
            sums = _add_scaled(sums, 1.0, vector_of_item[like])
    likes_norm = math.sqrt(float(len(likes)))
    difference = [sum_ / likes_norm - mean for sum_, mean in zip(sums, pairs.mean, strict=True)]
    for item, vector in vector_of_item.items():
        scores[item] += _dot(difference, vector)


def _compute_taste(model: Tastes, own_ratings: Sequence[OwnRating], other_weight: float) -> Floats:
    """Return (k,) how the own items' features differ from the average, in k directions of taste.

    taste = (weighted mean of the (f,) features of the own items - mean) directions; zeros if no own
    item has a weight. The weight of a rating is 1 for a like and `other_weight` for any other,
    times its item's damping.

    Args:
        model: The released numbers.
        own_ratings: The person's ratings.
        other_weight: Weight of a rating that is no like, before the damping.
    """
    total_weight = 0.0
    sums = [0.0] * len(model.mean)
    for item, is_like in own_ratings:
        weight = (1.0 if is_like else other_weight) * model.damping[item]
        total_weight += weight
        columns = model.columns[model.offsets[item] : model.offsets[item + 1]]
        for column in columns:
            sums[column] += weight / math.sqrt(float(len(columns))) * model.named_features
        if model.dense is not None:
            first_dense_column = len(sums) - len(model.dense[item])
            for column, value in enumerate(model.dense[item], first_dense_column):
                sums[column] += weight * value
    taste = [0.0] * len(model.directions[0])
    if total_weight <= 0.0:
        return taste
    for feature_sum, mean, row in zip(sums, model.mean, model.directions, strict=True):
        taste = _add_scaled(taste, feature_sum / total_weight - mean, row)
    return taste


def _score_by_top_items(
    model: TopItems, own_ratings: Sequence[OwnRating], other_weight: float, base_scores: Floats
) -> Floats:
    """Return (items,) the base score of each item, plus (x W) / |x| for the popular target items.

    x is the person's row over the context items, and W are the released (context, targets) weights.

    Args:
        model: The released numbers.
        own_ratings: The person's ratings.
        other_weight: Entry in x of a rating that is no like; a like has 1, an item without a
            rating 0.
        base_scores: (items,) scores without a history.
    """
    weight_of_item = {item: 1.0 if is_like else other_weight for item, is_like in own_ratings}
    own_row = [weight_of_item.get(item, 0.0) for item in model.context]
    row_norm = math.sqrt(_dot(own_row, own_row))
    scores = list(base_scores)
    if row_norm == 0.0:
        return scores
    sums = [0.0] * len(model.targets)
    for own_weight, weights in zip(own_row, model.weights, strict=True):
        if own_weight:
            sums = _add_scaled(sums, own_weight, weights)
    for item, value in zip(model.targets, sums, strict=True):
        scores[item] += value / row_norm
    return scores


def _add_scaled(vector: Sequence[float], factor: float, added: Sequence[float]) -> Floats:
    """Return vector + factor * added, two vectors of the same length."""
    return [left + factor * right for left, right in zip(vector, added, strict=True)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the inner product of two vectors, added up from left to right.

    `sum` and `math.sumprod` add up more exactly, and so differently from the TypeScript client.
    """
    total = 0.0
    for left, right in zip(one, other, strict=True):
        total += left * right
    return total


def _unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a published file.

    Raises:
        ModelFileError: The bytes are no such file, are damaged, or are of another version.
    """
    start = len(MAGIC) + _LENGTH_BYTES
    if not data.startswith(MAGIC) or not start + _HASH_BYTES <= len(data) <= _LARGEST_FILE:
        raise ModelFileError("These bytes are no lists of tacit. Fetch them again.")
    body = data[:-_HASH_BYTES]
    if hashlib.sha256(body).digest() != data[-_HASH_BYTES:]:
        raise ModelFileError("These lists are damaged: their SHA-256 is another. Fetch them again.")
    end = start + int.from_bytes(body[len(MAGIC) : start], "little")
    try:
        content = json.loads(body[start:end])
        header = content["header"]
        arrays = {}
        if (header["message"], header["version"]) != (MESSAGE, VERSION):
            raise ValueError("another message")
        for entry in content["arrays"]:
            numbers = array(_ARRAY_CODES[entry["dtype"]])
            size = numbers.itemsize * math.prod(entry["shape"])
            if size < 0:
                raise ValueError("backwards")
            start, end = end, end + size
            numbers.frombytes(body[start:end])
            if sys.byteorder == "big":
                numbers.byteswap()
            arrays[entry["name"]] = (entry["shape"], numbers)
        if end != len(body):
            raise ValueError("more bytes than numbers")
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ModelFileError("These lists are of a form that is not known here.") from None
    return header, arrays


def _read_lists(header: dict[str, Any], arrays: Arrays, digest: str) -> DeviceLists:
    """Make the lists of a file from its parts.

    Args:
        header: The file's header.
        arrays: The file's arrays.
        digest: The file's SHA-256, in hex.

    Raises:
        KeyError, TypeError, ValueError, IndexError, OverflowError: The parts do not fit together.
            The functions below, which read a part each, raise the same errors.
    """
    items, context, cold = header["items"], header["context"], header["cold"]
    if type(cold) is not int or not 0 <= cold <= len(items):
        raise ValueError("cold")
    if cold and header["mode"] != "taste":
        raise ValueError("cold")
    rated = items[: len(items) - cold]
    context_ids = rated if context is None else context
    for ids in (items, context_ids):
        if not all(type(item) in (int, str) for item in ids) or len(set(ids)) < len(ids):
            raise ValueError("ids")
    means = _read_vector(header, arrays, "means", len(items))
    model: Tastes | TopItems | None = None
    if header["mode"] == "taste":
        model = _read_tastes(header, arrays, len(context_ids), len(items))
    elif header["mode"] == "top-items":
        model = _read_top_items(header, arrays, len(context_ids), len(items))
    elif header["mode"] != "popularity":
        raise ValueError("mode")
    low, high = map(_finite, header["scale"])
    other_weight = _finite(header["low"])
    if other_weight < 0:
        raise ValueError("low")
    return DeviceLists(
        items=items,
        cold=items[len(rated) :],
        context=context_ids,
        scale=(low, high),
        liked_from=_finite(header["liked_from"]),
        other_weight=other_weight,
        popularity_weight=_finite(header["beside"]),
        clip=_finite(header["clip"]),
        means=means,
        model=model,
        header=header,
        digest=digest,
    )


def _read_tastes(header: Any, arrays: Arrays, context_items: int, items: int) -> Tastes:
    """Read the numbers of mode "taste". The two last arguments say how many items there are."""
    mean = _read_vector(header, arrays, "mean", None)
    offsets, columns = _read_offsets(arrays, "", context_items, len(mean))
    directions = _read_table(header, arrays, "directions", len(mean), None)
    k = len(directions[0])
    damping = _read_vector(header, arrays, "damping", context_items)
    if min(damping, default=0.0) < 0:
        raise ValueError("damping")
    dense = None
    if "dense" in arrays:
        dense = _read_table(header, arrays, "dense", context_items, None)
        if len(dense[0]) > len(mean):
            raise ValueError("dense")
    tastes = Tastes(
        damping,
        offsets,
        columns,
        mean,
        directions,
        _read_table(header, arrays, "items", items, k),
        dense=dense,
        named_features=_finite(header["named_features"]),
    )
    if header["context"] is not None:  # two domains: likes raise no items directly
        return tastes
    weights = None
    if "consented" in arrays:
        weights = _read_consented_weights(header, arrays, context_items)
    if "pairs" in arrays:
        pairs = _read_pairs(header, arrays, context_items)
        return replace(tastes, pairs=pairs, consented_weights=weights)
    return replace(
        tastes,
        own_likes=_read_table(header, arrays, "own_likes", k, k),
        own_likes_mean=_read_vector(header, arrays, "own_likes_mean", k),
        consented_weights=weights,
    )


def _read_pairs(header: Any, arrays: Arrays, context_items: int) -> PairVectors:
    """Read the vectors of popular items, whose numbers are below `context_items`."""
    items = arrays["pair_items"][1].tolist()
    is_ascending = all(left < right for left, right in pairwise(items))
    if not items or not is_ascending or items[0] < 0 or items[-1] >= context_items:
        raise ValueError("pair_items")
    mean = _read_vector(header, arrays, "pairs_mean", None)
    vectors = _read_table(header, arrays, "pairs", len(items), len(mean))
    return PairVectors(items, vectors, mean)


def _read_consented_weights(
    header: Any, arrays: Arrays, items: int
) -> list[list[tuple[int, float]]]:
    """Read the pairs of another item's number and a weight, for each of `items` items."""
    offsets, columns = _read_offsets(arrays, "consented_", items, items)
    weights = _read_vector(header, arrays, "consented", len(columns))
    pairs = list(zip(columns, weights, strict=True))
    return [pairs[start:end] for start, end in pairwise(offsets)]


def _read_offsets(
    arrays: Arrays, prefix: str, rows: int, width: int
) -> tuple[list[int], list[int]]:
    """Read the positions of the entries of a sparse table, as in a CSR matrix.

    Args:
        arrays: The arrays of the file.
        prefix: What the names of the two arrays begin with, before "offsets" and "columns".
        rows: Number of rows of the table.
        width: Number of its columns.

    Returns:
        (rows + 1,) where each row begins among the entries, then the number of entries; and
        (entries,) the column of each entry, row by row.
    """
    offsets = arrays[f"{prefix}offsets"][1].tolist()
    columns = arrays[f"{prefix}columns"][1].tolist()
    never_falls = all(left <= right for left, right in pairwise(offsets))
    if len(offsets) != rows + 1 or not never_falls:
        raise ValueError(prefix)
    if (offsets[0], offsets[-1]) != (0, len(columns)):
        raise ValueError(prefix)
    if not all(0 <= column < width for column in columns):
        raise ValueError(prefix)
    return offsets, columns


def _read_top_items(header: Any, arrays: Arrays, context_items: int, items: int) -> TopItems:
    """Read the numbers of mode "top-items". The two last arguments say how many items there are."""
    context, targets = arrays["context"][1].tolist(), arrays["targets"][1].tolist()
    for numbers, limit in ((context, context_items), (targets, items)):
        is_in_range = all(0 <= number < limit for number in numbers)
        if not is_in_range or len(set(numbers)) < len(numbers):
            raise ValueError("places")
    weights = _read_table(header, arrays, "weights", len(context), len(targets))
    return TopItems(context, targets, weights)


def _read_vector(header: Any, arrays: Arrays, name: str, length: int | None) -> Floats:
    """Read an array with one axis, and check its length unless `length` is None."""
    (size,), numbers = arrays[name]
    unit = _finite(header["units"][name])
    if length not in (None, size):
        raise ValueError(name)
    return [_finite(unit * number) for number in numbers]


def _read_table(
    header: Any, arrays: Arrays, name: str, rows: int, width: int | None
) -> list[Floats]:
    """Read an array with two axes, and check its shape.

    It must have `rows` rows and, unless `width` is None, `width` columns. An empty array is
    refused.
    """
    (height, row_length), numbers = arrays[name]
    units = [_finite(unit) for unit in header["units"][name]]
    if height != rows or len(units) != row_length or width not in (None, row_length):
        raise ValueError(name)
    if not row_length or not height:
        raise ValueError(name)
    table = []
    for start in range(0, rows * row_length, row_length):
        row = numbers[start : start + row_length]
        table.append([_finite(unit * number) for unit, number in zip(units, row, strict=True)])
    return table


def _finite(value: Any) -> float:
    """Return a number as a float; raise ValueError for anything else.

    NaN, a bool, and a number whose absolute value is above `_LARGEST_NUMBER` are refused, too.
    """
    if type(value) not in (int, float) or not abs(value) <= _LARGEST_NUMBER:
        raise ValueError("number")
    return float(value)
