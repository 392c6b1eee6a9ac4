"""What is asked of a ledger, and what it answers."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from tacit.errors import ConfigError
from tacit.ledger.units import Cap, Cost

LONGEST_NAME = 200
"""Signs of a tenant, a subject, an operation, a key."""


@dataclass(frozen=True)
class Holder:
    """Whose budget it is: a data set's, or one person's. Names should be pseudonyms."""

    tenant: str
    kind: Literal["dataset", "subject"]
    name: str

    def __post_init__(self) -> None:
        if self.kind not in ("dataset", "subject"):
            raise ConfigError("A budget belongs to a 'dataset' or to a 'subject'.")
        check_name(self.tenant, "tenant")
        check_name(self.name, self.kind)

    @classmethod
    def dataset(cls, tenant: str, name: str) -> Self:
        """The budget of a whole data set."""
        return cls(tenant, "dataset", name)

    @classmethod
    def subject(cls, tenant: str, name: str) -> Self:
        """The budget of one person."""
        return cls(tenant, "subject", name)


@dataclass(frozen=True)
class Charge:
    """One budget, and what it pays. opens: the cap that it is opened with if it is not open yet."""

    holder: Holder
    cost: Cost
    opens: Cap | None = None


@dataclass(frozen=True)
class Request:
    """One request, known by its key among those of the same tenant, subject and operation.

    payload: the canonical bytes of everything the answer depends on, such as `canonical` gives.
    Only their SHA-256 is kept.
    """

    tenant: str
    subject: str
    operation: str
    key: str
    payload: bytes

    def __post_init__(self) -> None:
        for name in ("tenant", "subject", "operation", "key"):
            check_name(getattr(self, name), name)
        if not isinstance(self.payload, bytes):
            raise ConfigError("The payload of a request is bytes:  canonical({...})  makes them.")

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, in hexadecimal digits."""
        return hashlib.sha256(self.payload).hexdigest()


@dataclass(frozen=True)
class Release:
    """An answer that was paid for and is on disk.

    repeated: it was given before, and nothing was charged now. sequence: its entry in the log.
    """

    answer: bytes
    repeated: bool
    sequence: int


@dataclass(frozen=True)
class Balance:
    """One budget as it stands. For its holder and the operator; amounts as in `Cap`."""

    number: int
    holder: Holder
    cap: Cap
    spent: int
    delta_spent: int
    epoch_spent: int


def canonical(payload: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys and no spaces: equal payloads give equal bytes. No NaN, no infinity."""
    try:
        _check_keys(payload)
        text = json.dumps(
            payload, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
        )
    except (TypeError, ValueError, RecursionError):
        raise ConfigError(
            "A payload is JSON: texts, finite numbers, lists, and mappings with texts as keys."
        ) from None
    return text.encode("ascii")


def _check_keys(value: object) -> None:
    """JSON would write the number 1 and the text "1" as the same key."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        for entry in value.values():
            _check_keys(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            _check_keys(entry)


def check_name(text: str, what: str) -> None:
    """A short text in Unicode's composed form (NFC) without control signs; never echoed."""
    good = (
        isinstance(text, str)
        and 1 <= len(text) <= LONGEST_NAME
        and unicodedata.is_normalized("NFC", text)
        and all(unicodedata.category(sign)[0] != "C" for sign in text)
    )
    if not good:
        raise ConfigError(
            f"The name of a {what} is 1 to {LONGEST_NAME} signs in Unicode's composed form (NFC), "
            "without control signs."
        )
