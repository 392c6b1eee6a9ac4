"""What an account draws from its secret: its dice, and the moments at which it speaks.

The draws for an item depend on the secret and the item alone: on no star, no earlier draw, no
disclosure, no epoch and no rule. So it does not matter when an item is decided, nor how many others
were, and a device that decides an item twice by mistake throws the same dice.

root   HMAC(secret, "tacit standard scheme 2" 0)
word   first 8 bytes of HMAC(root, {"draw":n,"item":...}), n counting the words of one item

with HMAC-SHA256 and canonical JSON.

An account's first epochs end 30 minutes and 24 hours after its creation; a device speaks as soon as
they have ended. From then on the calendar counts: epoch k ends where k + 1 starts, and the device
speaks at a moment of the day after that. Nothing else makes a device speak: no rating, no count of
ratings, no button. Times are whole seconds UTC.

Labels   0 and 1 for the first two epochs, afterwards the calendar's number k, which is above 1 at
         any time after January 1970. The TypeScript client draws and speaks by the same rules:
         client/src/standard-scheme/drawing.ts.

Chances by taste (experimental; off unless the recommender asks for them)

The plain rule shows each item with the same chance whatever the attribute, item by item. What goes
together still differs between the values. Here the chance of an undecided item follows the ratio

    P(person rates this item | what is shown so far, one value) / P(the same | other value)

so that, as far as the published model of this ratio is right, each further item of a release has
the same chance under both values, given all shown before it.

Sees        released items, their released levels, and public numbers. What was held back has no
            say in anything, and a decision stands for ever as in the plain rule.
Certainty   every chance lies from FLOOR to CAP, whatever is shown, so no decision is a certificate.
Guarantee   none with an epsilon.

Integers alone; `scaled`, `shown_fraction` and `kept` also take whole arrays
(`training/population.py`).

Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import isqrt
from typing import Any

from tacit.designs.standard_scheme.disclosure import CAP, FLOOR, Taste
from tacit.designs.standard_scheme.messages import DAY, MICRO, ItemId, encode

Draw = Callable[[int], int]
"""A uniform integer in [0, bound)."""

Dice = Callable[[ItemId], Draw]
"""The draws for one item, from the first one on."""

FIRST_END = 1_800
"""Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY."""
_MONDAY = 345_600
"""1970-01-05, 00:00 UTC."""
_PURPOSE = b"tacit standard scheme 2\0"
MILLI = 1_000
START = 5
"""Items added to those shown when sums are scaled by a root."""
HALFWAY = 30
"""Items shown at which the state's entry for their number is one half."""
MOST_EXCESS = 4 * MICRO
"""Micro-nats beyond which every chance is FLOOR."""
TURNS = 1 << 62
"""The turns of the items of one epoch are drawn below this; ties go to the lower item number."""
_LN2 = 693_147


def secret_dice(secret: bytes) -> Dice:
    """The dice of an account. ValueError unless the secret has at least 32 bytes."""
    root = root_of(secret)

    def dice(item: ItemId) -> Draw:
        numbers = count()

        def draw(bound: int) -> int:
            limit = (1 << 64) - (1 << 64) % bound
            while True:  # words that would favour small results are skipped
                drawn = word(root, {"draw": next(numbers), "item": item})
                if drawn < limit:
                    return drawn % bound

        return draw

    return dice


def root_of(secret: bytes) -> bytes:
    """The key that the draws and the speaking moments of an account are made with."""
    if len(secret) < 32:
        raise ValueError("a secret has at least 32 bytes: make one with new_secret()")
    return _hmac(secret, _PURPOSE)


def word(root: bytes, asked: dict[str, ItemId]) -> int:
    """64 bits for what is asked."""
    return int.from_bytes(_hmac(root, encode(asked))[:8], "big")


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def calendar(time: int, length: int) -> int:
    """The number of the calendar epoch that this second lies in."""
    return (time - _MONDAY) // length


def start(epoch: int, length: int) -> int:
    """The first second of a calendar epoch."""
    return _MONDAY + epoch * length


def end(epoch: int, created: int, length: int) -> int:
    """The first second after the epoch with this label."""
    if epoch < 2:
        return created + (DAY if epoch else FIRST_END)
    return start(epoch + 1, length)


def latest_ended(created: int, now: int, length: int) -> int | None:
    """The label of the account's latest epoch that has ended; None before the first end."""
    ended = calendar(now, length) - 1
    if ended > 1 and start(ended + 1, length) > created + DAY:
        return ended
    if now >= created + DAY:
        return 1
    return 0 if now >= created + FIRST_END else None


def moment(epoch: int, created: int, length: int, secret: bytes) -> int:
    """The second from which on the letter of this epoch may leave."""
    over = end(epoch, created, length)
    if epoch < 2:
        return over
    return over + (word(root_of(secret), {"epoch": epoch}) * DAY >> 64)


def due(created: int, last_epoch: int, now: int, length: int, secret: bytes) -> int | None:
    """The epoch whose letter may leave now, after that of `last_epoch`; None where none may."""
    epoch = latest_ended(created, now, length)
    if epoch is None or epoch <= last_epoch or now < moment(epoch, created, length, secret):
        return None
    return epoch


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
