"""The device's rule of version 1, as it was, kept to show that the tests over time find its fault.

Dice are kept, but the chance they are held against moves with the person's stratum of activity and
with the tables; a changed star is drawn again. So an item vanishes, or comes late.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

MICRO = 1_000_000


@dataclass(frozen=True)
class Tables:
    """offsets[value][item], bounds[value][stratum - 1], keep[value][stratum][item]."""

    items: tuple
    offsets: tuple
    bounds: tuple
    keep: tuple


class Device:
    """memory: item to (level, released level or None, die)."""

    def __init__(self, tables, own, memory, draw):
        self.tables, self.own, self.memory, self.draw = tables, own, memory, draw

    def release(self, history):
        """Item to released micro-levels. history: item to micro-levels."""
        items = [item for item in self.tables.items if item in history]
        stratum = bisect_right(self.tables.bounds[self.own], len(items))
        shown = {}
        for item in items:
            number = self.tables.items.index(item)
            _, released, die = self._entry(item, number, history[item], stratum)
            if released is not None and die < self.tables.keep[self.own][stratum][number]:
                shown[item] = released
        return shown

    def _entry(self, item, number, level, stratum):
        earlier = self.memory.get(item)
        if earlier is not None and earlier[0] == level and earlier[1] is not None:
            return earlier
        die = self.draw(MICRO) if earlier is None else earlier[2]
        released = None
        if die < self.tables.keep[self.own][stratum][number]:
            whole, rest = divmod(level - self.tables.offsets[self.own][number], MICRO)
            released = min(max(whole + (self.draw(MICRO) < rest), 0), 4) * MICRO
        self.memory[item] = (level, released, die)
        return self.memory[item]
