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
    """The last entry of a chain: which ledger, how many entries, and the hash over all of them."""

    ledger: str
    sequence: int
    hash: str


def body_of(facts: Mapping[str, Any]) -> str:
    """What an entry says, as the text that is hashed and stored."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def link(before: str, sequence: int, kind: str, body: str) -> str:
    """The hash of an entry that follows `before`."""
    return hashlib.sha256(f"{before}\n{sequence}\n{kind}\n{body}".encode()).hexdigest()
