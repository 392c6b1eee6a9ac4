"""The log of spending as a hash chain: the hash of an entry covers all entries before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

START = "0" * 64
"""Takes the place of the previous entry's hash in the first entry, which has none before it."""


@dataclass(frozen=True)
class Head:
    """The last entry of a chain."""

    ledger: str
    """Random name of the ledger."""
    sequence: int
    """Number of the last entry; the first has number 1."""
    hash: str
    """Hash of the last entry, in hexadecimal digits."""


def fingerprint(content: bytes | None) -> str | None:
    """Return the SHA-256 of an answer or a stored state, in hexadecimal digits; None for None."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def entry_body(facts: Mapping[str, Any]) -> str:
    """Encode the facts of an entry as the text that is hashed and stored."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def entry_hash(previous_hash: str, sequence: int, kind: str, body: str) -> str:
    """Return the hash of an entry, from its own parts and the hash of the entry before it."""
    return hashlib.sha256(f"{previous_hash}\n{sequence}\n{kind}\n{body}".encode()).hexdigest()
