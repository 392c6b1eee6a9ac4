"""The disclosure (public numbers about items), and the checks by which a device may refuse it.

A disclosure is the same for everybody. A device refuses a rule or numbers that would reveal the
attribute. It checks what can be checked without the consenting people's ratings: that no decision
it can make proves which of the listed values is its owner's. It cannot know whether the numbers are
honest, or whether people have the listed values. Every check here looks at all values of an
attribute at once, so that a refusal reveals nothing about the owner's value. `device.rows_of_owner`
checks the list of values.
Standard library only: the device half imports this file. Units and encoding: see `messages.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
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
    as_tuples,
    is_id,
    is_integer,
    is_table,
    require,
)

CAP = 950_000
"""Largest chance to show an item, in parts per million. No value has chance 1, so that an item that
is known to be rated and is not shown proves no value."""
FLOOR = 20_000
"""Smallest chance to show an item, in parts per million. If the chance would be smaller for any
value, it is 0 for all values: no device then decides whether to show the item."""
MOST_OFFSET = MICRO // 2
"""Largest offset of an item, in micro-levels, summed over the attributes."""
MOST_LEVELS = 11
"""Most levels of a scale on which devices subtract offsets. On a finer scale people give round
numbers, and a star that rounding moved one level away from a round number reveals the sign of its
offset."""

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
    """Parts per million: chance that a rating is obfuscated; otherwise its true level is shown."""

    def __post_init__(self) -> None:
        """Raise MessageError if a field has a wrong type or range."""
        has_switches = type(self.selection) is bool and type(self.rounding) is bool
        require(self.transform in get_args(Transform), "a rule names a transform")
        require(has_switches, "a rule's switches are on or off")
        require(is_integer(self.mix, 0, MICRO), "a rule's mix is a chance in parts per million")

    def to_wire(self) -> dict[str, Any]:
        """Return the rule as JSON values."""
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
    """Micro-levels to subtract for a person with this value; they sum to about 0 over the values.
    """
    keep: Table
    """Chance that a rated item is shown, in parts per million; 0 if the item is not decided."""
    means: Table
    """Average level that people with this value give, in micro-levels; () unless the rule needs
    it."""
    coupling: tuple[tuple[Table, ...], ...]
    """[value][item][true level][released level] cumulative chances over the released levels, in
    parts per million; () unless the rule couples."""

    def check(self, n_items: int, n_levels: int, transform: Transform) -> None:
        """Check that the tables are those that the rule needs, complete and within bounds.

        Args:
            n_items: Number of items.
            n_levels: Number of whole levels of the scale; 0 for a continuous scale.
            transform: The rule's transform.

        Raises:
            MessageError: A table is missing, is not needed, has another shape, or has a number out
                of bounds; or the attribute's name or values are wrong.
        """
        n_values = len(self.values)
        has_names = type(self.name) is str and all(type(value) is str for value in self.values)
        has_distinct_values = len(set(self.values)) == n_values > 1
        require(has_names and has_distinct_values, "an attribute has several values")
        shape = (n_values, n_items)
        means_shape = shape if transform == "attribute-average" else (0,)
        coupling_shape = (*shape, n_levels, n_levels) if transform == "coupling" else (0,)
        require(is_table(self.offsets, shape, -LARGEST, LARGEST), "wrong offsets")
        require(is_table(self.keep, shape, 0, MICRO), "wrong chances")
        require(is_table(self.means, means_shape, -LARGEST, LARGEST), "wrong means")
        require(is_table(self.coupling, coupling_shape, 0, MICRO), "wrong coupling")
        for items_of_value in self.coupling:
            for levels_of_item in items_of_value:
                for cumulative_chances in levels_of_item:
                    is_ascending = list(cumulative_chances) == sorted(cumulative_chances)
                    ends_at_one = cumulative_chances[-1] == MICRO
                    require(is_ascending and ends_at_one, "a coupling adds up to 1")

    def to_wire(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        return {
            "name": self.name,
            # A list, because it is encoded unlike a string: so `decode` refuses a string here.
            "values": list(self.values),
            "offsets": self.offsets,
            "keep": self.keep,
            "means": self.means,
            "coupling": self.coupling,
        }

    @classmethod
    def from_wire(cls, content: dict[str, Any]) -> AttributeTable:
        """Read a table from the JSON values of `to_wire`; raise TypeError for other fields."""
        return cls(**{key: as_tuples(value) for key, value in content.items()})


@dataclass(frozen=True)
class Disclosure(Message):
    """Public tables: everything that a device needs."""

    kind = "disclosure"

    rule: Rule
    """What a device does with a rating."""
    minimum: float
    """The fewest stars of the scale."""
    step: float
    """Stars in one level."""
    levels: int
    """Number of whole levels of the scale; 0 for a continuous scale, where a level is a quarter of
    the scale's length (`messages.CONTINUOUS_LEVELS`)."""
    items: tuple[ItemId, ...]
    """Ids of the items, in the order of all tables."""
    epoch_length: int
    """Seconds of a calendar epoch."""
    aliases: tuple[tuple[ItemId, ItemId], ...]
    """(old id, new id) of items that were renamed, merged or split. Each old id comes once and is
    not an item any more; no new id is an old id of another alias."""
    item_means: tuple[int, ...]
    """(items,) average level of each item, in micro-levels; () unless the rule needs them."""
    attributes: tuple[AttributeTable, ...]
    """Public numbers of each attribute."""

    def __post_init__(self) -> None:
        """Raise MessageError if a field has a wrong type or range, or if a table does not fit."""
        for number in (self.minimum, self.step):
            # A float cannot hold every integer, but compares with each of them.
            is_finite = type(number) in (int, float) and abs(number) <= float_info.max
            require(is_finite, "a scale has two numbers")
        require(self.step > 0 and is_integer(self.levels, 0), "a scale has levels")
        require(self.levels != 1, "a scale has two levels or none")
        are_ids = all(map(is_id, self.items))
        are_distinct = are_ids and len(set(self.items)) == len(self.items)
        require(are_distinct, "items are integers or strings, each once")
        require(is_integer(self.epoch_length, 1), "an epoch has a length in whole seconds")
        self._check_aliases()
        n_means = len(self.items) if self.rule.transform == "movie-average" else 0
        has_means = is_table(self.item_means, (n_means,), -LARGEST, LARGEST)
        require(has_means, "an item has an average where the rule needs it")
        names = [table.name for table in self.attributes]
        require(len(set(names)) == len(names) > 0, "a disclosure names attributes, each once")
        is_coupling = self.rule.transform == "coupling"
        require(self.levels > 0 or not is_coupling, "no levels to couple")
        for table in self.attributes:
            table.check(len(self.items), self.levels, self.rule.transform)

    def _check_aliases(self) -> None:
        """Raise MessageError unless aliases are pairs of ids that follow the rules of the field."""
        require(type(self.aliases) is tuple, "aliases are a list")
        for alias in self.aliases:
            is_pair = type(alias) is tuple and len(alias) == 2 and all(map(is_id, alias))
            require(is_pair, "an alias is an old id and a new one")
        old_ids = {old for old, _ in self.aliases}
        new_ids = {new for _, new in self.aliases}
        require(len(old_ids) == len(self.aliases), "an old id has one new id")
        require(not old_ids & {*self.items, *new_ids}, "an old id is never used again")

    def _content(self) -> dict[str, Any]:
        return {
            "rule": self.rule.to_wire(),
            "scale": self.scale_to_wire(),
            # A list, because it is encoded unlike a string: so `decode` refuses a string here.
            "items": list(self.items),
            "epoch_length": self.epoch_length,
            "aliases": self.aliases,
            "item_means": list(self.item_means),
            "attributes": [table.to_wire() for table in self.attributes],
        }

    def scale_to_wire(self) -> dict[str, Any]:
        """Return the scale as JSON values."""
        return {"minimum": self.minimum, "step": self.step, "levels": self.levels}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Disclosure:
        return cls(
            rule=Rule(**content["rule"]),
            **content["scale"],
            items=as_tuples(content["items"]),
            epoch_length=content["epoch_length"],
            aliases=as_tuples(content["aliases"]),
            item_means=as_tuples(content["item_means"]),
            attributes=tuple(map(AttributeTable.from_wire, content["attributes"])),
        )

    @cached_property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the bytes. Releases name the disclosure by it."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    @cached_property
    def item_number(self) -> Mapping[ItemId, int]:
        """Position of each item in `items`, by its id."""
        return {item: number for number, item in enumerate(self.items)}

    def sort_items(self, ids: Iterable[ItemId]) -> list[ItemId]:
        """Sort distinct ids as the disclosure orders its items; ids of other items are dropped."""
        numbers = sorted(self.item_number[item] for item in ids if item in self.item_number)
        return [self.items[number] for number in numbers]

    @cached_property
    def unsafe_because(self) -> str | None:
        """Reason why devices refuse this disclosure; None if they may follow it. Computed once."""
        try:
            _check_safety(self)
        except RefusalError as error:
            return str(error)
        return None


class RefusalError(ValueError):
    """The device refuses to decide, because that could reveal the attribute."""


def refuse_unsafe(disclosure: Disclosure) -> None:
    """Check that a device may follow this disclosure.

    Raises:
        RefusalError: Its rule or its tables would reveal the attribute.
    """
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
    """Refuse a rule under which true stars are sent or can be computed."""
    if rule.transform == "scheme" and not rule.rounding:
        raise RefusalError(
            "unrounded releases tell the attribute exactly: the stars people give end after a "
            "digit or two, and the released value plus or minus the public offset does for the "
            "true value only"
        )
    if rule.transform == "none" or rule.mix < MICRO:
        raise RefusalError("the disclosure asks for true stars")


def _check_offsets(disclosure: Disclosure) -> None:
    """Refuse offsets whose largest absolute values add up to more than half a level for an item."""
    for number in range(len(disclosure.items)):
        largest_sum = 0
        for table in disclosure.attributes:
            largest_sum += max(abs(offsets[number]) for offsets in table.offsets)
        if largest_sum > MOST_OFFSET:
            raise RefusalError("the disclosure would move a star by more than half a level")


def _check_chances(disclosure: Disclosure) -> None:
    """Refuse tables in which an item has other chances than the rule's.

    Over the values, the chances of an item are all 0, or the largest is CAP and none is below
    FLOOR.
    """
    for table in disclosure.attributes:
        for chances_by_value in zip(*table.keep, strict=True):
            is_undecided = not any(chances_by_value)
            follows_rule = max(chances_by_value) == CAP and min(chances_by_value) >= FLOOR
            if not is_undecided and not follows_rule:
                raise RefusalError(
                    "the disclosure's chances to show an item are not those of the rule: the "
                    f"largest is {CAP} and none is below {FLOOR}, or all are 0"
                )


def _check_couplings(disclosure: Disclosure) -> None:
    """Refuse couplings that can release a level of an item for some values and not for others.

    Several attributes are coupled one after the other: the levels that one attribute's coupling can
    release are the true levels of the next.
    """
    for number in range(len(disclosure.items)):
        true_levels = set(range(disclosure.levels))
        for table in disclosure.attributes:
            released_by_value = [
                reachable_levels(coupling_of_value[number], true_levels)
                for coupling_of_value in table.coupling
            ]
            released_for_first_value = released_by_value[0]
            if any(released != released_for_first_value for released in released_by_value):
                raise RefusalError(
                    "the disclosure's couplings release a level for some values of an attribute "
                    "and not for others"
                )
            true_levels = released_for_first_value


def reachable_levels(coupling: Table, true_levels: set[int]) -> set[int]:
    """Find the levels that can be released for any of these true levels.

    Args:
        coupling: [true level][released level] cumulative chances of one value and item.
        true_levels: The true levels.

    Returns:
        Released levels with a positive chance: their cumulative chance is above the one before.
    """
    reachable = set()
    for true_level in true_levels:
        cumulative_chances = (0, *coupling[true_level])
        for released, (before, after) in enumerate(pairwise(cumulative_chances)):
            if before < after:
                reachable.add(released)
    return reachable
