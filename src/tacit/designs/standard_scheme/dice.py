"""Dice of an account: all draws for an item depend on the account's secret and the item alone.

They depend on no star, no earlier draw, no disclosure, no epoch and no rule. So it does not matter
when an item is decided, nor how many others were, and a device that decides an item twice by
mistake throws the same dice.

root   HMAC(secret, "tacit standard scheme 2" 0)
word   first 8 bytes of HMAC(root, {"draw":n,"item":...}), n counting the words of one item

with HMAC-SHA256 and canonical JSON. The TypeScript client draws by the same rules.

Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from itertools import count

from tacit.designs.standard_scheme.messages import ItemId, encode

Draw = Callable[[int], int]
"""A uniform integer in [0, bound)."""

Dice = Callable[[ItemId], Draw]
"""The draws for one item, from the first one on."""

_PURPOSE = b"tacit standard scheme 2\0"


def secret_dice(secret: bytes) -> Dice:
    """Make the dice of an account. ValueError unless the secret has at least 32 bytes."""
    root = root_of(secret)

    def dice(item: ItemId) -> Draw:
        """Draws for one item, from its first word on."""
        numbers = count()

        def draw(bound: int) -> int:
            """Uniform integer below a bound; words that would favour small ones are skipped."""
            limit = (1 << 64) - (1 << 64) % bound
            while True:
                drawn = random_word(root, {"draw": next(numbers), "item": item})
                if drawn < limit:
                    return drawn % bound

        return draw

    return dice


def root_of(secret: bytes) -> bytes:
    """Derive the key that an account's draws and speaking moments are made with."""
    if len(secret) < 32:
        raise ValueError("a secret has at least 32 bytes: make one with new_secret()")
    return _hmac(secret, _PURPOSE)


def random_word(root: bytes, asked: dict[str, ItemId]) -> int:
    """64 bits for what is asked."""
    return int.from_bytes(_hmac(root, encode(asked))[:8], "big")


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()
