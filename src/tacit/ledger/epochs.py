"""Epochs advance by tokens that only the operator can make; no clock grants anything.

Source     Lamport, Password authentication with insecure communication (1981): a chain of hashes
           whose end is known to everybody, and whose earlier links are shown one by one.
Runs at    `anchor_of`, `token_of`: the operator's; `follows`: the ledger and any auditor's.
"""

from __future__ import annotations

import hashlib
import hmac

from tacit.errors import ConfigError

MOST = 10_000
"""Epochs in the life of one key; a key serves one ledger."""

SHORTEST_KEY = 32
"""Bytes, from the operating system's generator:  secrets.token_bytes(32)."""


def anchor_of(key: bytes) -> str:
    """What the ledger is given when it is made: it tells the key's tokens, and cannot make them."""
    return token_of(key, 0)


def token_of(key: bytes, epoch: int) -> str:
    """What advances a ledger from `epoch - 1` to `epoch`, 1 to 10,000. Show them in order."""
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"An operator's key has at least {SHORTEST_KEY} random bytes.")
    if not 0 <= epoch <= MOST:
        raise ConfigError(f"A key serves {MOST} epochs.")
    token = hashlib.sha256(b"tacit epochs\n" + key).hexdigest()
    for _ in range(MOST - epoch):
        token = _next(token)
    return token


def follows(token: str, before: str) -> bool:
    """Whether `token` is the one that comes after `before`."""
    return hmac.compare_digest(_next(token).encode(), before.encode())


def _next(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
