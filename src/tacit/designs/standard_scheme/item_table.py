"""Lists on the device from true stars: published item-item weights; nothing is sent.

Source      Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019); fitted in
            `ease.py`.
Runs at     the person's own device.
Sees        the person's true stars and the published table, the same for everybody.
Releases    nothing.
Guarantee   none for the people whose ratings the table was fitted to: it goes out with their
            consent only.

All numbers are integers, so that two languages rank alike: a preference is a sum of products of
whole numbers. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.designs.standard_scheme.canonical import Message, is_integer, is_table, require
from tacit.designs.standard_scheme.messages import ItemId

LIKED, SHOWN = 10, 3
"""What a star in the top two fifths of the scale counts for, and any other: 1 and 0.3 in tenths."""
LARGEST_COLUMN = 256
"""Most weights that an item may have, so that a table stays small enough to send."""
LARGEST_WEIGHT = 10**9


def liked_levels(levels: int) -> tuple[int, ...]:
    """What each whole level of a scale of this many counts for."""
    top = max(1, 2 * levels // 5)
    return (SHOWN,) * (levels - top) + (LIKED,) * top


@dataclass(frozen=True)
class ItemTable(Message):
    """Which items go together: what a device needs to rank.

    disclosure   digest of the disclosure whose items, in its order, the columns belong to
    liked        what each whole level counts for, from the lowest level up
    columns      for each item: numbers of other items, ascending, and their weights in 1/1000;
                 no weights at all for an item that the table leaves out
    """

    kind = "item-table"

    disclosure: str
    liked: tuple[int, ...]
    columns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

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

    def rank(
        self, items: Sequence[ItemId], levels: Mapping[ItemId, int]
    ) -> list[tuple[ItemId, int]]:
        """Unseen items with their preference in ten-thousandths, best first.

        items: those of the disclosure, in its order, which also orders ties. levels: the person's
        own whole levels, from 0; unknown items count for nothing. Items that the table leaves out
        come last, with preference 0. Raises ValueError for other items or levels than the table's.
        """
        if len(items) != len(self.columns):
            raise ValueError("this item table was made for another disclosure")
        if not all(is_integer(level, 0, len(self.liked) - 1) for level in levels.values()):
            raise ValueError("a level lies off the scale of this item table")
        weight = {number: self.liked[levels[i]] for number, i in enumerate(items) if i in levels}
        unseen = [number for number in range(len(items)) if number not in weight]
        preference = {
            number: sum(
                weight[row] * each
                for row, each in zip(*self.columns[number], strict=True)
                if row in weight
            )
            for number in unseen
        }
        unseen.sort(key=lambda number: (not self.columns[number][0], -preference[number]))
        return [(items[number], preference[number]) for number in unseen]
