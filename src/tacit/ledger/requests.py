"""Holders of budgets, requests to a ledger, and the answers and balances that it returns."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from tacit.errors import ConfigError
from tacit.ledger.amounts import Cap, Cost

LONGEST_NAME = 200
"""Most characters of the name of a tenant, data set, subject or operation, and of a key."""


@dataclass(frozen=True)
class Holder:
    """The holder of a budget: a data set or one person."""

    tenant: str
    """The tenant that the budget belongs to."""
    kind: Literal["dataset", "subject"]
    """A data set, or one person."""
    name: str
    """A pseudonym, unique among the tenant's holders of this kind."""

    def __post_init__(self) -> None:
        if self.kind not in ("dataset", "subject"):
            raise ConfigError("A budget belongs to a 'dataset' or to a 'subject'.")
        check_name(self.tenant, "tenant")
        check_name(self.name, self.kind)

    @classmethod
    def dataset(cls, tenant: str, name: str) -> Self:
        """Return the holder of a whole data set's budget."""
        return cls(tenant, "dataset", name)

    @classmethod
    def subject(cls, tenant: str, name: str) -> Self:
        """Return the holder of one person's budget."""
        return cls(tenant, "subject", name)


@dataclass(frozen=True)
class Charge:
    """The price of one release, to be paid from one budget."""

    holder: Holder
    """Holder of the budget."""
    cost: Cost
    """The price."""
    opens: Cap | None = None
    """Cap with which the budget is opened, if it is not open yet. With None, the charge is refused
    unless the budget is open."""


@dataclass(frozen=True)
class Request:
    """One request, identified by its tenant, subject, operation and key."""

    tenant: str
    """The tenant whose budgets pay."""
    subject: str
    """The person or account that asks."""
    operation: str
    """The operation, for example `top-items`."""
    key: str
    """Idempotency key: the same request with the same key again gets the same answer, without a
    charge."""
    payload: bytes
    """All that the answer depends on, as bytes that are equal for equal requests, such as
    `canonical` returns. Only their SHA-256 is stored."""

    def __post_init__(self) -> None:
        check_name(self.tenant, "tenant")
        check_name(self.subject, "subject")
        check_name(self.operation, "operation")
        check_name(self.key, "key")
        if not isinstance(self.payload, bytes):
            raise ConfigError("The payload of a request is bytes:  canonical({...})  makes them.")

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, in hexadecimal digits."""
        return hashlib.sha256(self.payload).hexdigest()


@dataclass(frozen=True)
class Release:
    """An answer that was paid for and is on disk."""

    answer: bytes
    """The answer's bytes."""
    repeated: bool
    """Whether an earlier request had drawn the answer, so that this one was charged nothing."""
    sequence: int
    """Number of the release's entry in the log."""


@dataclass(frozen=True)
class Balance:
    """One budget at one moment, to be shown to its holder and the operator only.

    Amounts are in steps of the cap's unit, deltas in steps of 1e-18.
    """

    number: int
    """Number of the budget in the store."""
    holder: Holder
    """Its holder."""
    cap: Cap
    """The most that it may spend."""
    spent: int
    """Amount spent over its lifetime."""
    delta_spent: int
    """Delta spent over its lifetime."""
    epoch_spent: int
    """Amount spent in the present epoch."""


def canonical(payload: Mapping[str, Any]) -> bytes:
    """Encode a payload as JSON with sorted keys and no spaces.

    So the order of keys does not change the bytes. But 1 and 1.0 are written differently, and so
    have different bytes.

    Raises:
        ConfigError: The payload cannot be written as JSON.
    """

    def check_keys(value: object) -> None:
        """Raise TypeError for keys that are not texts, as JSON writes the keys 1 and "1" alike."""
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                raise TypeError
            for entry in value.values():
                check_keys(entry)
        elif isinstance(value, list | tuple):
            for entry in value:
                check_keys(entry)

    try:
        check_keys(payload)
        text = json.dumps(
            payload, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
        )
    except (TypeError, ValueError, RecursionError):
        raise ConfigError(
            "A payload is JSON: texts, finite numbers, lists, and mappings with texts as keys."
        ) from None
    return text.encode("ascii")


def check_name(text: str, what: str) -> None:
    """Raise ConfigError unless a name has 1 to `LONGEST_NAME` characters, none of them refused.

    `_is_composed_and_visible` says which characters are refused.

    Args:
        text: The name, which the message does not repeat.
        what: What it names, such as "tenant".
    """
    has_valid_length = isinstance(text, str) and 1 <= len(text) <= LONGEST_NAME
    if not has_valid_length or not _is_composed_and_visible(text):
        raise ConfigError(
            f"The name of a {what} is 1 to {LONGEST_NAME} characters in Unicode's composed form "
            "(NFC), without control characters."
        )


def _is_composed_and_visible(text: str) -> bool:
    """Say whether a text is in Unicode's composed form and has no invisible characters.

    These are the characters of Unicode's categories C, such as control and format characters.
    """
    if text.isascii():  # quick, and the case of nearly all names
        return text.isprintable()
    if not unicodedata.is_normalized("NFC", text):
        return False
    return all(unicodedata.category(character)[0] != "C" for character in text)
