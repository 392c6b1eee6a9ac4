"""Public numbers of the experimental chances in `taste.py`, as they stand in a disclosure.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.designs.standard_scheme.canonical import LARGEST, frozen, is_table, require

Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Taste:
    """Public numbers of an attribute with two values.

    levels     (items,) usual level, thousandths
    basis      (items, k) what an item says about taste by being shown, thousandths
    stars      (items, s) what it says for each level above the usual, thousandths
    base       (items,) log ratio of the second value to the first, micro-nats
    slope      (items,) what a level above the usual adds to it
    response   (items, k + s + 1 + squares) what a unit of the state adds to it; the state: scaled
               sums of `basis` and of `stars`, the number of items, and squares of the first sums
    """

    levels: tuple[int, ...]
    basis: Table
    stars: Table
    base: tuple[int, ...]
    slope: tuple[int, ...]
    response: Table

    def check(self, items: int) -> None:
        """MessageError unless every item has its numbers, in bounds."""
        rows = (self.basis, self.stars, self.response)
        filled = all(type(table) is tuple and table and type(table[0]) is tuple for table in rows)
        require(filled, "a taste has tables")
        k, s, width = (len(table[0]) for table in rows)
        require(k + s < width <= 2 * k + s + 1, "a taste has an answer to each part of a state")
        for table, shape in (
            (self.levels, (items,)),
            (self.base, (items,)),
            (self.slope, (items,)),
            (self.basis, (items, k)),
            (self.stars, (items, s)),
            (self.response, (items, width)),
        ):
            require(is_table(table, shape, -LARGEST, LARGEST), "a taste has numbers of every item")

    def to_wire(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_wire(cls, content: dict[str, Any]) -> Taste:
        return cls(**{key: frozen(table) for key, table in content.items()})
