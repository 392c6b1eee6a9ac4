"""Epoch tokens: links of a hash chain, whose next link only the operator can compute.

An epoch begins with a token, and not at a time of the clock.

Source     Lamport, Password authentication with insecure communication (1981): a chain of hashes
           whose last link is public, and whose earlier links are shown one by one.
Runs at    `operator_anchor`, `epoch_token`: the operator; `is_next_token`: the ledger and auditors.
"""

from __future__ import annotations

import hashlib
import hmac

from tacit.errors import ConfigError

MOST_EPOCHS = 10_000
"""Most epochs that one key can begin; a key serves one ledger."""

SHORTEST_KEY = 32
"""Fewest bytes of a key. `secrets.token_bytes(32)` makes one."""


def operator_anchor(key: bytes) -> str:
    """Return the anchor for a new ledger, which can check the key's tokens but not compute them.

    Raises:
        ConfigError: The key is too short.
    """
    return epoch_token(key, 0)


def epoch_token(key: bytes, epoch: int) -> str:
    """Return the token that advances a ledger from `epoch - 1` to `epoch`.

    Show tokens in order, because anybody can compute the earlier tokens from a later one.

    Args:
        key: The operator's key.
        epoch: 1 to 10,000; 0 gives the anchor.

    Raises:
        ConfigError: The key is too short, or the epoch is out of range.
    """
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"An operator's key has at least {SHORTEST_KEY} random bytes.")
    if not 0 <= epoch <= MOST_EPOCHS:
        raise ConfigError(f"A key serves {MOST_EPOCHS} epochs.")
    token = hashlib.sha256(b"tacit epochs\n" + key).hexdigest()
    for _ in range(MOST_EPOCHS - epoch):
        token = _hash_token(token)
    return token


def is_next_token(token: str, last_token: str) -> bool:
    """Say whether `token` follows the token that was shown last, or the anchor."""
    return hmac.compare_digest(_hash_token(token).encode(), last_token.encode())


def _hash_token(token: str) -> str:
    """Return the hash of a token, which is the token of the epoch before."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
