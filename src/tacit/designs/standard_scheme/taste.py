"""Experimental: the chance to show an item depends on what the device shows already.

The plain rule shows each item with the same chance whatever the attribute, item by item. What goes
together still differs between the values. Here the chance of an undecided item follows the ratio

    P(person rates this item | what is shown so far, one value) / P(the same | other value)

so that, as far as the published model of this ratio is right, each further item of a release has
the same chance under both values, given all shown before it.

Sees        released items, their released levels, and public numbers. What was held back has no
            say in anything, and a decision stands for ever as in the plain rule.
Certainty   every chance lies from FLOOR to CAP, whatever is shown, so no decision is a certificate.
Guarantee   none with an epsilon; off unless the recommender asks for it.

Integers alone; `scaled`, `shown_fraction` and `kept` also take whole arrays
(`training/population.py`).
Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isqrt
from typing import Any

from tacit.designs.standard_scheme.messages import Taste
from tacit.designs.standard_scheme.refusing import CAP, FLOOR

MILLI = 1_000
MICRO = 1_000_000
START = 5
"""Items added to those shown when sums are scaled by a root."""
HALFWAY = 30
"""Items shown at which the state's entry for their number is one half."""
MOST_EXCESS = 4 * MICRO
"""Micro-nats beyond which every chance is FLOOR."""
TURNS = 1 << 62
"""The turns of the items of one epoch are drawn below this; ties go to the lower item number."""
_LN2 = 693_147


def by_taste(
    taste: Taste,
    own: int,
    before: Iterable[tuple[int, int]],
    drawn: Mapping[int, tuple[int, int, int]],
) -> Iterator[tuple[int, int | None]]:
    """Decide items by number in the order of their turns: the released level, or None.

    own: 0 or 1, the owner's value. before: number and released level of what is shown already.
    drawn: number -> (die below a million, level to release if it is shown, turn).
    """
    shown = Shown(taste, before)
    for number in sorted(drawn, key=lambda number: (drawn[number][2], number)):
        die, level, _ = drawn[number]
        if die < shown.chance(own, number, level):
            shown.add(number, level)
            yield number, level
        else:
            yield number, None


class Shown:
    """What one device shows so far, summed up."""

    def __init__(self, taste: Taste, shown: Iterable[tuple[int, int]]) -> None:
        """shown: item number and released micro-levels."""
        self._taste = taste
        self._count = 0
        self._basis = [0] * len(taste.basis[0])
        self._stars = [0] * len(taste.stars[0])
        for number, level in shown:
            self.add(number, level)

    def add(self, number: int, level: int) -> None:
        """One more item is shown."""
        above = level // MILLI - self._taste.levels[number]
        self._count += 1
        self._basis = _plus(self._basis, self._taste.basis[number], 1)
        self._stars = _plus(self._stars, self._taste.stars[number], above)

    def chance(self, own: int, number: int, level: int) -> int:
        """Parts per million to show an item with this released level; own: 0 or 1."""
        taste, root = self._taste, isqrt((self._count + START) << 20)
        basis = [scaled(entry, root) for entry in self._basis]
        stars = [scaled(entry // MILLI, root) for entry in self._stars]
        response = taste.response[number]
        squares = len(response) - len(basis) - len(stars) - 1
        state = [
            *basis,
            *stars,
            shown_fraction(self._count),
            *(e * e // MILLI for e in basis[:squares]),
        ]
        ratio = taste.base[number]
        ratio += taste.slope[number] * (level // MILLI - taste.levels[number]) // MILLI
        ratio += sum(one * other for one, other in zip(response, state, strict=True)) // MILLI
        excess = ratio if own else -ratio
        chance: int = kept(min(max(excess, 0), MOST_EXCESS))
        return max(FLOOR, chance)


def scaled(total: Any, root: Any) -> Any:
    """A sum over the items shown, over the root of their number. root: 1024 times the root."""
    return total * 1024 // root


def shown_fraction(count: Any) -> Any:
    """How many are shown, from 0 to 1000."""
    return MILLI * count // (count + HALFWAY)


def kept(excess: Any) -> Any:
    """CAP * exp(-excess) in parts per million; excess: micro-nats from 0 to MOST_EXCESS."""
    halvings, rest = excess // _LN2, excess % _LN2
    term = series = MICRO
    for n in range(1, 9):
        term = term * rest // (n * MICRO)
        series = series - term if n % 2 else series + term
    return CAP * series // MICRO >> halvings


def _plus(sums: Sequence[int], row: Sequence[int], times: int) -> list[int]:
    return [total + times * entry for total, entry in zip(sums, row, strict=True)]
