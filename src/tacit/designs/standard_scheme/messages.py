"""Messages between a device and the recommender, and their canonical bytes.

Disclosure   recommender -> device   public numbers about items: see `disclosure.py`
Release      device -> recommender   obfuscated stars of all items that the device shows, earlier
                                     ones too; an encoded release is called a letter
Scores       recommender -> device   predicted levels, without the effect of the hidden attribute,
                                     and preferences, by which lists are ranked
ItemTable    recommender -> device   item-item weights, for lists from true stars; nothing is sent

All numbers are integers, except for the minimum and the step of a scale, so that two languages
agree to the byte: levels (0 is the lowest star) and offsets travel in micro-levels (one level =
1,000,000), probabilities in parts per million. Messages are canonical JSON in UTF-8: sorted keys,
no spaces, no NaN or infinity. Decoded bytes are encoded again and compared, so that equal messages
always have equal bytes. A message is checked whenever it is made, decoded or not: inconsistent
fields raise MessageError.
Standard library only: the device half imports this file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

VERSION = 2
"""Version of the message format, which every message holds."""
LARGEST = 1 << 53
"""Largest absolute value of an integer in a message: every language that reads JSON holds integers
up to it exactly."""
MICRO = 1_000_000
"""Micro-levels in a level, and parts per million in a probability of 1."""
DAY = 86_400
"""Seconds of a day."""
WEEK = 604_800
"""Seconds of a week."""
CONTINUOUS_LEVELS = 4
"""Length of a continuous scale in levels."""

LIKED = 10
"""Weight of a level in the top two fifths of the scale, in tenths."""
SHOWN = 3
"""Weight of any other level, in tenths."""
LARGEST_COLUMN = 256
"""Most weights that an item may have, so that a table stays small enough to send."""
LARGEST_WEIGHT = 10**9
"""Largest absolute weight, in thousandths: preferences, which are sums of weights, stay below
LARGEST."""

_CANONICAL_JSON = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)

ItemId = int | str


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


class Message:
    """A dataclass with canonical bytes: JSON of its version, its kind and its content."""

    kind: ClassVar[str]
    """Name of the kind of message, which its bytes hold."""

    def encode(self) -> bytes:
        """Encode the message as canonical bytes."""
        return encode({"version": VERSION, "message": self.kind, **self._content()})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read a message.

        Raises:
            MessageError: The bytes are not exactly what this version writes.
        """
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            raise MessageError(f"a {cls.kind} is canonical JSON in UTF-8") from None
        if not isinstance(content, dict) or content.get("message") != cls.kind:
            raise MessageError(f"expected a {cls.kind}")
        version = content.get("version")
        require(is_integer(version), f"a {cls.kind} has a version, a whole number")
        if version != VERSION:
            raise MessageError(
                f"this message is of version {version}; this program reads version {VERSION}: "
                "update the older side"
            )
        try:  # unexpected content can make indexing and calling fail in any of the ways below
            message = cls._from_content(content)
            canonical_bytes = message.encode()
        except MessageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise MessageError(f"not a {cls.kind} of version {VERSION}") from None
        if canonical_bytes != data:
            raise MessageError("the message is not in canonical form")
        return message

    @classmethod
    def _field_names(cls) -> list[str]:
        """List the names of the dataclass's fields, which are the keys of the content."""
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]  # a dataclass

    def _content(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        """Make the message from the JSON values of its fields."""
        return cls(**{name: as_tuples(content[name]) for name in cls._field_names()})


def encode(content: dict[str, Any] | ItemId) -> bytes:
    """Encode a value as canonical JSON: sorted keys, no spaces, UTF-8."""
    return _CANONICAL_JSON.encode(content).encode()


def as_tuples(value: Any) -> Any:
    """Turn lists into tuples, at every depth."""
    if isinstance(value, (list, tuple)):
        return tuple(map(as_tuples, value))
    return value


def require(condition: bool, rule: str) -> None:
    """Check a condition of a message.

    Args:
        condition: Whether the message follows the rule.
        rule: The rule in words, which becomes the text of the error.

    Raises:
        MessageError: The condition is false.
    """
    if not condition:
        raise MessageError(rule)


def is_id(value: Any) -> bool:
    """Say whether a value is an integer or a string; True and False are neither."""
    return type(value) is int or type(value) is str


def is_integer(value: Any, lowest: int = -LARGEST, highest: int = LARGEST) -> bool:
    """Say whether a value is an int from `lowest` to `highest`; 1.0 and True are not."""
    return type(value) is int and lowest <= value <= highest


def is_table(value: Any, shape: tuple[int, ...], lowest: int, highest: int) -> bool:
    """Say whether a value is nested tuples of this shape, of ints from `lowest` to `highest`."""
    if not isinstance(value, tuple) or len(value) != shape[0]:
        return False
    if len(shape) > 1:
        return all(is_table(row, shape[1:], lowest, highest) for row in value)
    return all(type(entry) is int and lowest <= entry <= highest for entry in value)


@dataclass(frozen=True)
class Release(Message):
    """Message that leaves the device. It has no user id, attribute or number of held-back items."""

    kind = "release"

    disclosure: str
    """Digest of the disclosure by which it was made."""
    epoch: int
    """Label of the latest epoch that had ended when it was made."""
    ratings: tuple[tuple[ItemId, int], ...]
    """(item, released micro-levels) of each shown item, in the disclosure's order."""

    def __post_init__(self) -> None:
        require(is_integer(self.epoch, 0), "an epoch is a whole number from 0 on")
        _check_rows(self.disclosure, self.ratings, 2)

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "epoch": self.epoch, "ratings": self.ratings}


@dataclass(frozen=True)
class Scores(Message):
    """Scores of all items for one release."""

    kind = "scores"

    disclosure: str
    """Digest of the release's disclosure."""
    scores: tuple[tuple[ItemId, int, int], ...]
    """(item, predicted micro-levels without the attribute's effect, preference in thousandths).
    Lists are ranked by preference; ties are in the disclosure's order of items."""

    def __post_init__(self) -> None:
        _check_rows(self.disclosure, self.scores, 3)

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "scores": self.scores}


def _check_rows(disclosure: str, rows: tuple[tuple[ItemId, *tuple[int, ...]], ...], n: int) -> None:
    """Raise MessageError unless rows have an item id and n - 1 whole numbers, each item once.

    Whole columns are checked: a service scores a whole catalogue for every letter.
    """
    require(type(disclosure) is str and type(rows) is tuple, "a list for a named disclosure")
    if not rows:
        return
    are_rows = set(map(type, rows)) == {tuple} and set(map(len, rows)) == {n}
    require(are_rows, "an item and its numbers")
    items, *columns = zip(*rows, strict=True)
    are_ids = set(map(type, items)) <= {int, str}
    require(are_ids and all(map(_are_integers, columns)), "an item and whole numbers")
    require(len(set(items)) == len(items), "an item comes once")


def _are_integers(values: tuple[Any, ...]) -> bool:
    """Say whether each of these values, one at least, fulfils `is_integer`."""
    return set(map(type, values)) == {int} and min(values) >= -LARGEST and max(values) <= LARGEST


def weights_of_levels(levels: int) -> tuple[int, ...]:
    """Compute the weight of each whole level of a scale in preferences: (levels,) in tenths."""
    top_levels = max(1, 2 * levels // 5)
    return (SHOWN,) * (levels - top_levels) + (LIKED,) * top_levels


@dataclass(frozen=True)
class ItemTable(Message):
    """Weights between items, by which a device ranks items from its owner's true stars.

    Fitted in `training/item_weights.py`. It is published with the consent of the people whose
    ratings it was fitted to, and protects none of them. A preference is a sum of products of whole
    numbers, so that two languages rank alike.
    """

    kind = "item-table"

    disclosure: str
    """Digest of the disclosure whose items, in its order, the columns belong to."""
    liked: tuple[int, ...]
    """Weight of each whole level in tenths, from the lowest level up."""
    columns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """For each item: the numbers of other items, ascending, and their weights in thousandths. Both
    are empty for an item that the table leaves out."""

    def __post_init__(self) -> None:
        """Raise MessageError if a field has a wrong type or range, or columns are not in order."""
        require(type(self.disclosure) is str, "an item table names a disclosure")
        has_level_weights = is_table(self.liked, (len(self.liked),), 0, LIKED)
        require(
            has_level_weights and len(self.liked) > 1, "an item table says what a level counts for"
        )
        for number, (others, weights) in enumerate(self.columns):
            size = len(others)
            require(size <= LARGEST_COLUMN, "an item has too many weights")
            are_items = is_table(others, (size,), 0, len(self.columns) - 1)
            is_ascending = are_items and list(others) == sorted(set(others))
            require(is_ascending, "items of a column go up")
            require(number not in others, "an item has no weight for itself")
            are_bounded = is_table(weights, (size,), -LARGEST_WEIGHT, LARGEST_WEIGHT)
            are_nonzero = are_bounded and 0 not in weights
            require(are_nonzero, "an item has a weight for each item of its column")

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "liked": self.liked, "columns": self.columns}

    def rank(
        self, items: Sequence[ItemId], levels: Mapping[ItemId, int]
    ) -> list[tuple[ItemId, int]]:
        """Rank the items that a person has not rated, best first.

        preference of item j = sum over rated items i of liked[level of i] * weight of i in column j

        Args:
            items: Items of the disclosure, in its order, which also orders ties.
            levels: Whole level of each rated item, from 0. Unknown items have no effect.

        Returns:
            (item, preference in ten-thousandths). Items that the table leaves out come last, with
            preference 0.

        Raises:
            ValueError: The number of items is not the table's, or a level is not on its scale.
        """
        if len(items) != len(self.columns):
            raise ValueError("this item table was made for another disclosure")
        if not all(is_integer(level, 0, len(self.liked) - 1) for level in levels.values()):
            raise ValueError("a level lies off the scale of this item table")
        level_weights = {}
        for number, item in enumerate(items):
            if item in levels:
                level_weights[number] = self.liked[levels[item]]
        sort_keys = []
        for number, (others, weights) in enumerate(self.columns):
            if number in level_weights:
                continue
            preference = 0
            for other, weight in zip(others, weights, strict=True):
                if other in level_weights:
                    preference += level_weights[other] * weight
            is_left_out = not others
            sort_keys.append((is_left_out, -preference, number))
        sort_keys.sort()
        return [(items[number], -negative) for _, negative, number in sort_keys]
