"""Disclosures that no device follows: their rule or their numbers would tell the attribute.

A device checks what can be checked without the consenting people's ratings: that no decision it
can make is a certificate. Whether the numbers are honest it cannot know. Every check looks at all
values of an attribute at once, so that a refusal tells nothing about the owner's.
Standard library only.
"""

from __future__ import annotations

from itertools import pairwise

from tacit.designs.standard_scheme.messages import DAY, MICRO, AttributeTable, Disclosure, Rule

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


class Refused(ValueError):
    """The device will not take part: what was asked of it would tell the attribute."""


def refuse_unsafe(disclosure: Disclosure) -> None:
    """Refused unless a device may follow this disclosure."""
    _check_rule(disclosure.rule)
    if disclosure.rule.transform == "scheme" and disclosure.levels > MOST_LEVELS:
        raise Refused(
            f"the scale has {disclosure.levels} levels, and on more than {MOST_LEVELS} a released "
            "star beside the round number that people give shows the attribute"
        )
    if disclosure.epoch_length < DAY:
        raise Refused("the disclosure asks for more than one message a day")
    if disclosure.rule.transform == "scheme":
        _check_offsets(disclosure)
    for table in disclosure.attributes:
        if disclosure.rule.selection:
            _check_chances(table)
        alone = disclosure.rule.selection and len(disclosure.attributes) == 1
        if table.taste is not None and not alone:
            raise Refused("chances by taste are for a rule with selection and one attribute")
    if disclosure.rule.transform == "coupling":
        for number in range(len(disclosure.items)):
            _check_couplings(disclosure, number)


def _check_rule(rule: Rule) -> None:
    if rule.transform == "scheme" and not rule.rounding:
        raise Refused(
            "unrounded releases tell the attribute exactly: the stars people give end after a "
            "digit or two, and the released value plus or minus the public offset does for the "
            "true value only"
        )
    if rule.transform == "none" or rule.mix < MICRO:
        raise Refused("the disclosure asks for true stars")


def _check_offsets(disclosure: Disclosure) -> None:
    largest = (
        [max(map(abs, item)) for item in zip(*table.offsets, strict=True)]
        for table in disclosure.attributes
    )
    if any(sum(item) > MOST_OFFSET for item in zip(*largest, strict=True)):
        raise Refused("the disclosure would move a star by more than half a level")


def _check_chances(table: AttributeTable) -> None:
    for chances in zip(*table.keep, strict=True):
        decided = max(chances) == CAP and min(chances) >= FLOOR
        if any(chances) and not decided:
            raise Refused(
                "the disclosure's chances to show an item are not those of the rule: the largest "
                f"is {CAP} and none is below {FLOOR}, or all are 0"
            )


def _check_couplings(disclosure: Disclosure, number: int) -> None:
    """Whatever the owner's values, the same levels can be released for an item."""
    reached = set(range(disclosure.levels))
    for table in disclosure.attributes:
        ways = [
            set().union(*(_levels(item[number][level]) for level in reached))
            for item in table.coupling
        ]
        if any(way != ways[0] for way in ways):
            raise Refused("the disclosure's couplings release levels that only one value can give")
        reached = ways[0]


def _levels(cumulative: tuple[int, ...]) -> set[int]:
    """The levels of positive chance."""
    return {level for level, (low, high) in enumerate(pairwise((0, *cumulative))) if low < high}
