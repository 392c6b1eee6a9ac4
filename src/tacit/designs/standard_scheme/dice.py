"""Dice of an account: random words that depend on its secret and on one item alone.

They do not depend on stars, other items, the epoch, or the disclosure with its rule. So it does not
matter when an item is decided, nor how many others were decided before, and a device that decides
an item twice by mistake, by the same tables, makes the same draws.

root   HMAC(secret, "tacit standard scheme 2" followed by a byte 0)
word   first 8 bytes of HMAC(root, {"draw":n,"item":...}), where n = 0, 1, ... counts the words of
       one item
draw   an integer below a bound: the remainder of the item's next word that is not rejected
       (`secret_dice`)

HMAC is HMAC-SHA256, and the braces are canonical JSON. The TypeScript client draws by the same
rules.

Standard library only.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from itertools import count

from tacit.designs.standard_scheme.messages import ItemId, encode

Draw = Callable[[int], int]
"""Draws a uniform integer in [0, bound), for a given bound."""

Dice = Callable[[ItemId], Draw]
"""Makes the `Draw` of one item, which starts with the item's first draw."""

_PURPOSE = b"tacit standard scheme 2\0"
"""Name of this use of the secret, so that another use of the same secret has another key."""


def secret_dice(secret: bytes) -> Dice:
    """Make the dice of an account.

    Raises:
        ValueError: The secret has fewer than 32 bytes.
    """
    root = derive_root(secret)

    def dice(item: ItemId) -> Draw:
        """Make the draws for one item."""
        word_numbers = count()
        after_number = b',"item":' + encode(item) + b"}"  # the rest of the label's canonical JSON

        def draw(bound: int) -> int:
            """Draw a uniform integer below a bound, by rejection.

            A word counts only if it is below the largest multiple of the bound up to 2^64; with
            the other words, small integers would be more likely.
            """
            limit = (1 << 64) - (1 << 64) % bound
            while True:
                word = random_word(root, b'{"draw":%d' % next(word_numbers) + after_number)
                if word < limit:
                    return word % bound

        return draw

    return dice


def derive_root(secret: bytes) -> bytes:
    """Derive the key of an account's draws and of its sending times from its secret.

    Raises:
        ValueError: The secret has fewer than 32 bytes.
    """
    if len(secret) < 32:
        raise ValueError("a secret has at least 32 bytes: make one with tacit.client.new_secret()")
    return _hmac(secret, _PURPOSE)


def random_word(root: bytes, label: bytes) -> int:
    """Derive 64 pseudorandom bits from the key and a label that says what they are for.

    Args:
        root: The key, by `derive_root`.
        label: Canonical JSON of an object.
    """
    return int.from_bytes(_hmac(root, label)[:8], "big")


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
