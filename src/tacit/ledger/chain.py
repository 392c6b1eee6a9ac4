"""The spend log as a hash chain: every entry's hash covers all entries before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

START = "0" * 64
"""The hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """The last entry of a chain."""

    ledger: str
    """Random name of the ledger."""
    sequence: int
    """Number of entries."""
    hash: str
    """Hash over all entries."""


def fingerprint(answer: bytes | None) -> str | None:
    """Return the SHA-256 of an answer or a state; None where there is none."""
    return None if answer is None else hashlib.sha256(answer).hexdigest()


def entry_body(facts: Mapping[str, Any]) -> str:
    """Return the facts of an entry as the text that is hashed and stored."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def entry_hash(before: str, sequence: int, kind: str, body: str) -> str:
    """Return the hash of an entry that follows the entry with the hash `before`."""
    return hashlib.sha256(f"{before}\n{sequence}\n{kind}\n{body}".encode()).hexdigest()
