"""Epoch tokens: a chain of hashes that only the operator can go back along.

Epochs advance by tokens; no clock grants anything.

Source     Lamport, Password authentication with insecure communication (1981): a chain of hashes
           whose end is known to everybody, and whose earlier links are shown one by one.
Runs at    `operator_anchor`, `epoch_token`: the operator's; `is_next_token`: the ledger and any
           auditor's.
"""

from __future__ import annotations

import hashlib
import hmac

from tacit.errors import ConfigError

MOST_EPOCHS = 10_000
"""Epochs in the life of one key; a key serves one ledger."""

SHORTEST_KEY = 32
"""Bytes of a key, from the operating system's generator:  secrets.token_bytes(32)"""


def operator_anchor(key: bytes) -> str:
    """Return the anchor of a new ledger: it recognizes the key's tokens, and cannot make them.

    Raises:
        ConfigError: The key is too short.
    """
    return epoch_token(key, 0)


def epoch_token(key: bytes, epoch: int) -> str:
    """Return the token that advances a ledger from `epoch - 1` to `epoch`.

    Show tokens in order: from a later one, everybody can compute the earlier ones.

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


def is_next_token(token: str, before: str) -> bool:
    """Say whether `token` is the one that follows `before`, the last one shown."""
    return hmac.compare_digest(_hash_token(token).encode(), before.encode())


def _hash_token(token: str) -> str:
    """Return the token before this one."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
