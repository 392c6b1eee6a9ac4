"""The disclosure: public numbers about items, the same for everybody; and which are not followed.

A device refuses a rule or numbers that would tell the attribute. It checks what can be checked
without the consenting people's ratings: that no decision it can make is a certificate. Whether the
numbers are honest it cannot know. Every check looks at all values of an attribute at once, so that
a refusal tells nothing about the owner's.
Standard library only: the device half imports this file. Units and encoding: see `messages.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from sys import float_info
from typing import Any, Literal, get_args

from tacit.designs.standard_scheme.messages import (
    DAY,
    LARGEST,
    MICRO,
    ItemId,
    Message,
    frozen,
    is_id,
    is_integer,
    is_table,
    require,
)

CAP = 950_000
"""Parts per million: the largest chance to show an item. Below 1 for every value, so that no item
known to be rated and not shown is a certificate."""
FLOOR = 20_000
"""Parts per million: an item that any value would show with less is decided for nobody."""
MOST_OFFSET = MICRO // 2
"""Micro-levels, summed over the attributes."""
MOST_LEVELS = 11
"""Of a scale. On a finer one people give round numbers, and a star that rounding moved by one level
shows the sign of its offset."""

Table = tuple[tuple[int, ...], ...]
Transform = Literal["none", "scheme", "coupling", "movie-average", "attribute-average"]


@dataclass(frozen=True)
class Rule:
    """Rule by which a device turns its owner's stars into a release."""

    transform: Transform
    """How a true level becomes a released one."""
    selection: bool
    """Whether items are held back by the chance to show them."""
    rounding: bool
    """Whether released levels are rounded at random to whole ones."""
    mix: int = MICRO
    """Parts per million: chance that a rating is obfuscated and not shown as it is."""

    def __post_init__(self) -> None:
        switches = (self.selection, self.rounding)
        require(self.transform in get_args(Transform), "a rule names a transform")
        require(all(type(switch) is bool for switch in switches), "a rule's switches are on or off")
        require(is_integer(self.mix, 0, MICRO), "a rule's mix is a chance in parts per million")

    def to_wire(self) -> dict[str, Any]:
        """The rule as JSON holds it."""
        return {
            "transform": self.transform,
            "selection": self.selection,
            "rounding": self.rounding,
            "mix": self.mix,
        }


DEFAULT_RELEASE = "scheme+selection+rounding"
"""Name of the release that devices send unless another is chosen."""
RELEASES = {
    "none": Rule("none", selection=False, rounding=False),
    "selection": Rule("none", selection=True, rounding=False),
    "scheme": Rule("scheme", selection=False, rounding=False),
    "scheme+rounding": Rule("scheme", selection=False, rounding=True),
    "scheme+selection": Rule("scheme", selection=True, rounding=False),
    "scheme+selection+rounding": Rule("scheme", selection=True, rounding=True),
    "movie-average": Rule("movie-average", selection=False, rounding=False),
    "attribute-average": Rule("attribute-average", selection=False, rounding=False),
    "coupling": Rule("coupling", selection=False, rounding=False),
    "coupling+selection": Rule("coupling", selection=True, rounding=False),
    "movie-average+selection": Rule("movie-average", selection=True, rounding=False),
    "attribute-average+selection": Rule("attribute-average", selection=True, rounding=False),
}
"""The releases by the names used in tables and on the command line."""


@dataclass(frozen=True)
class AttributeTable:
    """One attribute's public numbers; tables are indexed [value][item]."""

    name: str
    """Name of the attribute."""
    values: tuple[str, ...]
    """Its values."""
    offsets: Table
    """Micro-levels to subtract for a person with this value; they sum to 0 over the values."""
    keep: Table
    """Parts per million: chance that a rated item is shown (kept in the letter); 0: undecided."""
    means: Table
    """Micro-levels: average level that such people give; () unless the rule needs it."""
    coupling: tuple[tuple[Table, ...], ...]
    """[value][item][level] cumulative parts per million over the released levels; () unless the
    rule couples."""

    def check(self, items: int, levels: int, transform: Transform) -> None:
        """MessageError unless the tables are those of the rule, complete and in bounds."""
        values = len(self.values)
        named = type(self.name) is str and all(type(value) is str for value in self.values)
        require(named and len(set(self.values)) == values > 1, "an attribute has several values")
        averaged = (values, items) if transform == "attribute-average" else (0,)
        coupled = (values, items, levels, levels) if transform == "coupling" else (0,)
        for what, table, shape, lowest, highest in (
            ("offsets", self.offsets, (values, items), -LARGEST, LARGEST),
            ("chances", self.keep, (values, items), 0, MICRO),
            ("means", self.means, averaged, -LARGEST, LARGEST),
            ("coupling", self.coupling, coupled, 0, MICRO),
        ):
            require(is_table(table, shape, lowest, highest), f"wrong {what}")
        for items_of_value in self.coupling:
            for rows in items_of_value:
                for row in rows:
                    adds_up = list(row) == sorted(row) and row[-1] == MICRO
                    require(adds_up, "a coupling adds up to 1")

    def to_wire(self) -> dict[str, Any]:
        """The table as JSON holds it."""
        return {
            "name": self.name,
            "values": list(self.values),  # a text is no list
            "offsets": self.offsets,
            "keep": self.keep,
            "means": self.means,
            "coupling": self.coupling,
        }

    @classmethod
    def from_wire(cls, content: dict[str, Any]) -> AttributeTable:
        """Read a table from JSON; TypeError for other fields than these."""
        return cls(**{key: frozen(value) for key, value in content.items()})


@dataclass(frozen=True)
class Disclosure(Message):
    """Public tables: everything that a device needs."""

    kind = "disclosure"

    rule: Rule
    """What a device does with a rating."""
    minimum: float
    """The lowest star."""
    step: float
    """Stars in one level."""
    levels: int
    """How many whole levels there are; 0 on a continuous scale, which is CONTINUOUS_LEVELS long and
    is rounded to its quarters."""
    items: tuple[ItemId, ...]
    """Ids of the items, in the order of all tables."""
    epoch_length: int
    """Seconds between two ends of an epoch."""
    aliases: tuple[tuple[ItemId, ItemId], ...]
    """(old id, new id) of items that were renamed, merged or split; an old id comes once and is no
    item any more, and no alias leads to another."""
    item_means: tuple[int, ...]
    """(items,) micro-levels; () unless the rule needs them."""
    attributes: tuple[AttributeTable, ...]
    """Public numbers of each attribute."""

    def __post_init__(self) -> None:
        for number in (self.minimum, self.step):
            # A float cannot hold every integer, but compares with each of them.
            finite = type(number) in (int, float) and abs(number) <= float_info.max
            require(finite, "a scale has two numbers")
        require(self.step > 0 and is_integer(self.levels, 0), "a scale has levels")
        require(self.levels != 1, "a scale has two levels or none")
        distinct = all(map(is_id, self.items)) and len(set(self.items)) == len(self.items)
        require(distinct, "items are integers or strings, each once")
        require(is_integer(self.epoch_length, 1), "an epoch has a length in whole seconds")
        self._check_aliases()
        averaged = len(self.items) if self.rule.transform == "movie-average" else 0
        averages = is_table(self.item_means, (averaged,), -LARGEST, LARGEST)
        require(averages, "an item has an average where the rule needs it")
        names = [table.name for table in self.attributes]
        require(len(set(names)) == len(names) > 0, "a disclosure names attributes, each once")
        coupled = self.rule.transform == "coupling"
        require(self.levels > 0 or not coupled, "no levels to couple")
        for table in self.attributes:
            table.check(len(self.items), self.levels, self.rule.transform)

    def _check_aliases(self) -> None:
        require(type(self.aliases) is tuple, "aliases are a list")
        for pair in self.aliases:
            two = type(pair) is tuple and len(pair) == 2 and all(map(is_id, pair))
            require(two, "an alias is an old id and a new one")
        old = {pair[0] for pair in self.aliases}
        require(len(old) == len(self.aliases), "an old id has one new id")
        later = {pair[1] for pair in self.aliases}
        require(not old & {*self.items, *later}, "an old id is never used again")

    def _content(self) -> dict[str, Any]:
        return {
            "rule": self.rule.to_wire(),
            "scale": self.scale_to_wire(),
            "items": list(self.items),  # a text is no list
            "epoch_length": self.epoch_length,
            "aliases": self.aliases,
            "item_means": list(self.item_means),
            "attributes": [table.to_wire() for table in self.attributes],
        }

    def scale_to_wire(self) -> dict[str, Any]:
        """Write the scale as JSON holds it."""
        return {"minimum": self.minimum, "step": self.step, "levels": self.levels}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Disclosure:
        return cls(
            rule=Rule(**content["rule"]),
            **content["scale"],
            items=frozen(content["items"]),
            epoch_length=content["epoch_length"],
            aliases=frozen(content["aliases"]),
            item_means=frozen(content["item_means"]),
            attributes=tuple(map(AttributeTable.from_wire, content["attributes"])),
        )

    @cached_property
    def digest(self) -> str:
        """Names this disclosure in releases: first 16 hex digits of its SHA-256."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    @cached_property
    def item_number(self) -> Mapping[ItemId, int]:
        """Number of each item, in the order of the items."""
        return {item: number for number, item in enumerate(self.items)}

    @cached_property
    def unsafe_because(self) -> str | None:
        """Why no device may follow this disclosure; None if devices may. Checked once."""
        try:
            _check_safety(self)
        except RefusalError as error:
            return str(error)
        return None


class RefusalError(ValueError):
    """The device will not take part: what was asked of it would tell the attribute."""


def refuse_unsafe(disclosure: Disclosure) -> None:
    """Raise RefusalError unless a device may follow this disclosure."""
    if disclosure.unsafe_because is not None:
        raise RefusalError(disclosure.unsafe_because)


def _check_safety(disclosure: Disclosure) -> None:
    """Raise RefusalError for the first reason why a device may not follow this disclosure."""
    _check_rule(disclosure.rule)
    if disclosure.rule.transform == "scheme" and disclosure.levels > MOST_LEVELS:
        raise RefusalError(
            f"the scale has {disclosure.levels} levels, and on more than {MOST_LEVELS} a released "
            "star beside the round number that people give shows the attribute"
        )
    if disclosure.epoch_length < DAY:
        raise RefusalError("the disclosure asks for more than one message a day")
    if disclosure.rule.transform == "scheme":
        _check_offsets(disclosure)
    if disclosure.rule.selection:
        _check_chances(disclosure)
    if disclosure.rule.transform == "coupling":
        _check_couplings(disclosure)


def _check_rule(rule: Rule) -> None:
    if rule.transform == "scheme" and not rule.rounding:
        raise RefusalError(
            "unrounded releases tell the attribute exactly: the stars people give end after a "
            "digit or two, and the released value plus or minus the public offset does for the "
            "true value only"
        )
    if rule.transform == "none" or rule.mix < MICRO:
        raise RefusalError("the disclosure asks for true stars")


def _check_offsets(disclosure: Disclosure) -> None:
    for number in range(len(disclosure.items)):
        largest = 0
        for table in disclosure.attributes:
            largest += max(abs(offsets[number]) for offsets in table.offsets)
        if largest > MOST_OFFSET:
            raise RefusalError("the disclosure would move a star by more than half a level")


def _check_chances(disclosure: Disclosure) -> None:
    for table in disclosure.attributes:
        for chances in zip(*table.keep, strict=True):
            decided = max(chances) == CAP and min(chances) >= FLOOR
            if any(chances) and not decided:
                raise RefusalError(
                    "the disclosure's chances to show an item are not those of the rule: the "
                    f"largest is {CAP} and none is below {FLOOR}, or all are 0"
                )


def _check_couplings(disclosure: Disclosure) -> None:
    """Whatever the owner's values, the same levels can be released for an item."""
    for number in range(len(disclosure.items)):
        reached = set(range(disclosure.levels))
        for table in disclosure.attributes:
            by_value = [reachable_levels(item[number], reached) for item in table.coupling]
            if any(levels != by_value[0] for levels in by_value):
                raise RefusalError(
                    "the disclosure's couplings release levels that only one value can give"
                )
            reached = by_value[0]


def reachable_levels(coupling: Table, own: set[int]) -> set[int]:
    """List the levels of positive chance, from these own ones."""
    reachable = set()
    for row in own:
        for level, (low, high) in enumerate(pairwise((0, *coupling[row]))):
            if low < high:
                reachable.add(level)
    return reachable
