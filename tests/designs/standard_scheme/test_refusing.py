"""Disclosures that no device follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.standard_scheme.disclosure import (
    CAP,
    FLOOR,
    MOST_OFFSET,
    RefusalError,
    refuse_unsafe,
)
from tacit.designs.standard_scheme.messages import DAY, MICRO


@pytest.mark.parametrize(
    ("own", "other"),
    [(CAP, CAP), (CAP, FLOOR), (FLOOR, CAP), (0, 0), (500_000, CAP)],
)
def test_chances_of_the_rule_are_followed(disclose, tables, own, other):
    """The largest chance is the cap and none is below the floor, or all are 0."""
    keep = np.array([[own] * 6, [other] * 6])
    refuse_unsafe(disclose(tables={"gender": replace(tables(), keep=keep)}))


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (MICRO, MICRO),
        (MICRO, CAP),
        (CAP + 1, CAP + 1),
        (CAP - 1, CAP - 1),
        (CAP, FLOOR - 1),
        (CAP, 0),
        (0, CAP),
        (1, 0),
    ],
)
def test_other_chances_are_refused(disclose, tables, own, other):
    """One item is enough: a chance of 1 or 0 under one value alone would be a certificate."""
    keep = np.full((2, 6), CAP)
    keep[:, 3] = own, other
    disclosure = disclose(tables={"gender": replace(tables(), keep=keep)})
    with pytest.raises(RefusalError, match="chances to show an item"):
        refuse_unsafe(disclosure)
    refuse_unsafe(disclose("scheme+rounding", {"gender": replace(tables(), keep=keep)}))


@pytest.mark.parametrize("offset", [MOST_OFFSET + 1, -MOST_OFFSET - 1, MICRO])
@pytest.mark.parametrize("value", [0, 1])
def test_large_offsets_are_refused(disclose, tables, value, offset):
    """Half a level is the most, for any value: the refusal does not depend on the owner's."""
    offsets = np.zeros((2, 6), dtype=int)
    offsets[value, 2] = offset
    with pytest.raises(RefusalError, match="more than half a level"):
        refuse_unsafe(disclose(tables={"gender": replace(tables(), offsets=offsets)}))
    offsets[value, 2] = np.sign(offset) * MOST_OFFSET
    refuse_unsafe(disclose(tables={"gender": replace(tables(), offsets=offsets)}))


def test_offsets_of_several_attributes_add_up(disclose, tables):
    """Each within the bound, together beyond it: refused."""
    ages = tables(1, values=("a", "b", "c"))
    made = {
        "gender": replace(tables(), offsets=np.full((2, 6), 300_000)),
        "age": replace(ages, offsets=np.array([[0] * 6, [0] * 6, [-200_001] * 6])),
    }
    with pytest.raises(RefusalError, match="half a level"):
        refuse_unsafe(disclose(tables=made))


def coupled(*rows):
    """Couplings of six items whose first has these rows for each value."""
    even = [[200_000 * (level + 1) for level in range(5)]] * 5
    return np.array([[row, *[even] * 5] for row in rows])


def test_couplings_reach_the_same_levels(disclose, tables):
    """A level that only one value can release is refused, also behind another coupling."""
    even = [[200_000, 400_000, 600_000, 800_000, MICRO]] * 5
    lower = [[250_000, 500_000, 750_000, MICRO, MICRO]] * 5
    by_level = [[MICRO] * 5, *even[1:]]  # the lowest level stays: the others reach all
    for rows, safe in (((even, lower), False), ((even, by_level), True), ((lower, lower), True)):
        made = {"gender": replace(tables(), coupling=coupled(*rows))}
        disclosure = disclose("coupling", made)
        if safe:
            refuse_unsafe(disclosure)
        else:
            with pytest.raises(RefusalError, match="release a level for some values"):
                refuse_unsafe(disclosure)
    ends = [[MICRO] * 5] * 4 + [even[0]]  # from a lower level the lowest, from the top any
    first = {"gender": replace(tables(), coupling=coupled(lower, lower))}
    second = {"more": replace(tables(), coupling=coupled(ends, even))}
    with pytest.raises(RefusalError, match="release a level for some values"):
        refuse_unsafe(disclose("coupling", first | second))


def test_more_than_a_message_a_day(disclose):
    """Epochs shorter than a day are refused."""
    refuse_unsafe(disclose(epoch_length=DAY))
    with pytest.raises(RefusalError, match="more than one message a day"):
        refuse_unsafe(disclose(epoch_length=DAY - 1))


@pytest.mark.parametrize("levels", [12, 101])
def test_fine_scales_are_refused(disclose, levels):
    """On a scale of 0 to 100 people give round numbers: a 69 shows the sign of its offset."""
    with pytest.raises(RefusalError, match="levels"):
        refuse_unsafe(replace(disclose(), levels=levels))
    refuse_unsafe(replace(disclose(), levels=11))
