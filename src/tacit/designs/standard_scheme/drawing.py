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

Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from itertools import count

from tacit.designs.standard_scheme.messages import DAY, ItemId, encode

Draw = Callable[[int], int]
"""A uniform integer in [0, bound)."""

Dice = Callable[[ItemId], Draw]
"""The draws for one item, from the first one on."""

FIRST_END = 1_800
"""Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY."""
_MONDAY = 345_600
"""1970-01-05, 00:00 UTC."""
_PURPOSE = b"tacit standard scheme 2\0"


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
