"""Messages between a device and the recommender, and their one spelling.

Disclosure   recommender -> device   public numbers about items: see `disclosure.py`
Release      device -> recommender   obfuscated stars of all items the device has shown so far
Scores       recommender -> device   predicted levels, without the effect of the hidden attribute,
                                     and preferences, by which lists are ranked
ItemTable    recommender -> device   item-item weights, for lists from true stars; nothing is sent

All numbers are integers, so that two languages agree to the byte: stars travel as levels (0 is the
lowest star), offsets and unrounded levels in micro-levels (one level = 1,000,000), probabilities in
parts per million. Messages are canonical JSON in UTF-8: sorted keys, no spaces, no NaN or infinity.
Whatever is decoded is encoded again and compared byte by byte, so that equal messages are equal
bytes. A message is checked when it is made: what does not hold together raises MessageError,
wherever it came from.
Standard library only: the device half imports this file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

VERSION = 2
"""Of every message."""
LARGEST = 1 << 53
"""Integers up to here are exact in every language that reads JSON."""
MICRO = 1_000_000
DAY = 86_400
"""Seconds of a day."""
WEEK = 604_800
"""Seconds of a week."""
CONTINUOUS_LEVELS = 4
"""A continuous scale is this many levels long."""

LIKED = 10
"""Weight of a star in the top two fifths of the scale, in tenths."""
SHOWN = 3
"""Weight of any other star, in tenths."""
LARGEST_COLUMN = 256
"""Most weights that an item may have, so that a table stays small enough to send."""
LARGEST_WEIGHT = 10**9

ItemId = int | str


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


class Message:
    """A dataclass with canonical bytes: JSON of its version, its kind and its content."""

    kind: ClassVar[str]
    """What the bytes say that they are."""

    def encode(self) -> bytes:
        """Canonical bytes of the message."""
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
        try:  # on unexpected content, in any way that indexing and calling can fail
            message = cls._from_content(content)
            again = message.encode()
        except MessageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise MessageError(f"not a {cls.kind} of version {VERSION}") from None
        if again != data:
            raise MessageError("the message is not in canonical form")
        return message

    @classmethod
    def _names(cls) -> list[str]:
        """List the names of the fields, which are the names in the content."""
        return [each.name for each in fields(cls)]  # type: ignore[arg-type]  # a dataclass

    def _content(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        return cls(**{name: frozen(content[name]) for name in cls._names()})


def encode(content: dict[str, Any]) -> bytes:
    """Write JSON in its one spelling: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def frozen(value: Any) -> Any:
    """Turn lists into tuples, at every depth."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def require(true: bool, what: str) -> None:
    """Check a statement.

    Raises:
        MessageError: It is not true; its text is `what`, which should be so.
    """
    if not true:
        raise MessageError(what)


def is_id(value: Any) -> bool:
    """Say whether a value is an integer or a string; True and False are neither."""
    return type(value) is int or type(value) is str


def is_integer(value: Any, lowest: int = -LARGEST, highest: int = LARGEST) -> bool:
    """Say whether a value is a whole number within bounds, ends included; 1.0 and True are none."""
    return type(value) is int and lowest <= value <= highest


def is_table(value: Any, shape: tuple[int, ...], lowest: int, highest: int) -> bool:
    """Say whether a value is tuples nested to this shape, of whole numbers within bounds."""
    if not isinstance(value, tuple) or len(value) != shape[0]:
        return False
    if len(shape) > 1:
        return all(is_table(row, shape[1:], lowest, highest) for row in value)
    return all(type(entry) is int and lowest <= entry <= highest for entry in value)


@dataclass(frozen=True)
class Release(Message):
    """Letter that leaves the device: no user id, no attribute, no count of what was held back."""

    kind = "release"

    disclosure: str
    """Digest of the disclosure by which it was made."""
    epoch: int
    """The latest epoch that had ended when it was made."""
    ratings: tuple[tuple[ItemId, int], ...]
    """(item, released micro-levels) of each shown item, in the disclosure's order."""

    def __post_init__(self) -> None:
        require(is_integer(self.epoch, 0), "an epoch is a whole number from 0 on")
        _check_rows(self.disclosure, self.ratings, 2)

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "epoch": self.epoch, "ratings": self.ratings}


@dataclass(frozen=True)
class Scores(Message):
    """Scores of all items for one letter."""

    kind = "scores"

    disclosure: str
    """Digest of the letter's disclosure."""
    scores: tuple[tuple[ItemId, int, int], ...]
    """(item, predicted micro-levels before the attribute's own effect, preference in thousandths).
    Lists are ranked by preference, ties in the disclosure's order of items."""

    def __post_init__(self) -> None:
        _check_rows(self.disclosure, self.scores, 3)

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "scores": self.scores}


def _check_rows(disclosure: str, rows: tuple[tuple[ItemId, *tuple[int, ...]], ...], n: int) -> None:
    require(type(disclosure) is str and type(rows) is tuple, "a list for a named disclosure")
    for row in rows:
        require(type(row) is tuple and len(row) == n, "an item and its numbers")
        require(is_id(row[0]) and all(map(is_integer, row[1:])), "an item and whole numbers")
    require(len({row[0] for row in rows}) == len(rows), "an item comes once")


def liked_levels(levels: int) -> tuple[int, ...]:
    """Weigh the whole levels of a scale: (levels,) tenths."""
    top = max(1, 2 * levels // 5)
    return (SHOWN,) * (levels - top) + (LIKED,) * top


@dataclass(frozen=True)
class ItemTable(Message):
    """Items that go together: what a device needs to rank by its owner's true stars.

    Fitted in `training/item_weights.py`. It goes out with the consent of the people whose ratings
    it was fitted to, and protects none of them. A preference is a sum of products of whole numbers,
    so that two languages rank alike.
    """

    kind = "item-table"

    disclosure: str
    """Digest of the disclosure whose items, in its order, the columns belong to."""
    liked: tuple[int, ...]
    """Weight of each whole level in tenths, from the lowest level up."""
    columns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """For each item the numbers of other items, ascending, and their weights in 1/1000; no weights
    at all for an item that the table leaves out."""

    def __post_init__(self) -> None:
        require(type(self.disclosure) is str, "an item table names a disclosure")
        counts = is_table(self.liked, (len(self.liked),), 0, LIKED)
        require(counts and len(self.liked) > 1, "an item table says what a level counts for")
        for number, (rows, weights) in enumerate(self.columns):
            size = len(rows)
            require(size <= LARGEST_COLUMN, "an item has too many weights")
            known = is_table(rows, (size,), 0, len(self.columns) - 1)
            require(known and list(rows) == sorted(set(rows)), "items of a column go up")
            require(number not in rows, "an item has no weight for itself")
            bounded = is_table(weights, (size,), -LARGEST_WEIGHT, LARGEST_WEIGHT)
            whole = bounded and 0 not in weights
            require(whole, "an item has a weight for each item of its column")

    def _content(self) -> dict[str, Any]:
        return {"disclosure": self.disclosure, "liked": self.liked, "columns": self.columns}

    def rank(
        self, items: Sequence[ItemId], levels: Mapping[ItemId, int]
    ) -> list[tuple[ItemId, int]]:
        """Rank unseen items by their preference in ten-thousandths, best first.

        Items that the table leaves out come last, with preference 0.

        Args:
            items: Items of the disclosure, in its order, which also orders ties.
            levels: The person's own whole levels, from 0; unknown items count for nothing.

        Raises:
            ValueError: Items or levels are not the table's.
        """
        if len(items) != len(self.columns):
            raise ValueError("this item table was made for another disclosure")
        if not all(is_integer(level, 0, len(self.liked) - 1) for level in levels.values()):
            raise ValueError("a level lies off the scale of this item table")
        counts = {number: self.liked[levels[i]] for number, i in enumerate(items) if i in levels}
        ranked = []
        for number, (rows, weights) in enumerate(self.columns):
            if number not in counts:
                column = zip(rows, weights, strict=True)
                preference = sum(counts.get(row, 0) * weight for row, weight in column)
                ranked.append((not rows, -preference, number))
        return [(items[number], -negative) for _, negative, number in sorted(ranked)]
