"""What is asked of a ledger, and what it answers.

Amounts of privacy as integers: costs are rounded up, caps down, and units never mix.

Source     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016), for sums of epsilons
           and deltas; Feldman, Zrnic: Individual privacy accounting (2021), for sums of rho.
Guarantee  Costs chosen one after the other, with knowledge of all answers, whose sum stays within
           the cap are together as private as the cap says.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal, Self

from tacit.accounting import Event, PureAccountant, ZCDPAccountant
from tacit.errors import ConfigError

LONGEST_NAME = 200  # signs of a tenant, a subject, an operation, a key


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
    """JSON with sorted keys and no spaces: equal payloads, equal bytes. ConfigError of no JSON."""

    def check_keys(value: object) -> None:
        """JSON would write the number 1 and the text "1" as the same key."""
        if isinstance(value, Mapping) and not all(isinstance(key, str) for key in value):
            raise TypeError
        if isinstance(value, Mapping | list | tuple):
            for entry in value.values() if isinstance(value, Mapping) else value:
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
    """A short text in Unicode's composed form (NFC) without control signs; never echoed."""
    if (
        not isinstance(text, str)
        or not 1 <= len(text) <= LONGEST_NAME
        or not unicodedata.is_normalized("NFC", text)
        or any(unicodedata.category(sign)[0] == "C" for sign in text)
    ):
        raise ConfigError(
            f"The name of a {what} is 1 to {LONGEST_NAME} signs in Unicode's composed form (NFC), "
            "without control signs."
        )


MICRO = 10**6  # steps of one nat of epsilon, or of one unit of rho

ATTO = 10**18  # steps of a delta of one

LARGEST = 10**18  # of any amount: two of them still add up in 64 bits

Number = int | str | Decimal | Fraction | float
"""A float counts at its exact value, so 0.1 costs a step more than "0.1"."""


class Unit(StrEnum):
    """What a budget counts."""

    PURE = "pure"  # epsilon of pure differential privacy, in millionths of a nat
    ZCDP = "zcdp"  # rho of zero-concentrated differential privacy, in millionths
    APPROXIMATE = "approximate"  # epsilon in millionths, delta in steps of 1e-18, each by itself


@dataclass(frozen=True)
class Cost:
    """What one release takes from one budget. Depends on the public request only.

    amount: millionths, 1 to 10**18. delta: steps of 1e-18; 0 unless the unit is approximate.
    """

    unit: Unit
    amount: int
    delta: int = 0

    def __post_init__(self) -> None:
        _check(self.unit, self.amount, self.delta, what="A cost")

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """epsilon: nats, above 0 and finite."""
        return cls(Unit.PURE, _up(epsilon))

    @classmethod
    def zcdp(cls, rho: Number) -> Self:
        """rho: above 0 and finite."""
        return cls(Unit.ZCDP, _up(rho))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Self:
        """epsilon: nats, above 0 and finite; delta: 0 to 1."""
        return cls(Unit.APPROXIMATE, _up(epsilon), _up(delta, ATTO))

    @classmethod
    def of(cls, event: Event, unit: Unit) -> Self:
        """The price of an event, for a budget kept in pure or zcdp; ConfigError for another."""
        if unit is Unit.PURE:
            return cls.pure(PureAccountant().add(event).epsilon())
        if unit is Unit.ZCDP:
            return cls.zcdp(ZCDPAccountant().add(event).rho)
        raise ConfigError(
            "An event has no single epsilon and delta. State them:  Cost.approximate(...)."
        )


@dataclass(frozen=True)
class Cap:
    """What a budget may spend in its whole life, and in one epoch if that is limited too.

    amount, per_epoch: millionths. delta: steps of 1e-18. An epoch limits the amount only.
    """

    unit: Unit
    amount: int
    delta: int = 0
    per_epoch: int | None = None

    def __post_init__(self) -> None:
        _check(self.unit, self.amount, self.delta, what="A cap")
        if self.per_epoch is not None:
            _check(self.unit, self.per_epoch, 0, what="A cap per epoch")

    @classmethod
    def pure(cls, epsilon: Number, *, per_epoch: Number | None = None) -> Self:
        """epsilon: nats over a lifetime."""
        return cls(Unit.PURE, _down(epsilon), per_epoch=_optional(per_epoch))

    @classmethod
    def zcdp(cls, rho: Number, *, per_epoch: Number | None = None) -> Self:
        """rho: over a lifetime."""
        return cls(Unit.ZCDP, _down(rho), per_epoch=_optional(per_epoch))

    @classmethod
    def approximate(
        cls, epsilon: Number, delta: Number, *, per_epoch: Number | None = None
    ) -> Self:
        """epsilon: nats, and delta: 0 to 1, over a lifetime."""
        amount, most = _down(epsilon), _down(delta, ATTO)
        return cls(Unit.APPROXIMATE, amount, most, _optional(per_epoch))


def _optional(number: Number | None) -> int | None:
    return None if number is None else _down(number)


def _up(number: Number, steps: int = MICRO) -> int:
    return math.ceil(_exact(number) * steps)


def _down(number: Number, steps: int = MICRO) -> int:
    return math.floor(_exact(number) * steps)


def _exact(number: Number) -> Fraction:
    """Refuses NaN, infinities, negatives, and text that is no plain decimal."""
    if isinstance(number, bool) or not isinstance(number, int | str | Decimal | Fraction | float):
        raise ConfigError("An amount of privacy is a number, or its decimals in a text.")
    try:
        value = Decimal(number) if isinstance(number, str) else number
        if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > 40:
            raise ConfigError("An amount of privacy lies between 1e-18 and 1e12.")
        exact = Fraction(value)
    except (InvalidOperation, ValueError, OverflowError):
        raise ConfigError(
            "An amount of privacy is finite: an infinite or undefined one belongs in no budget."
        ) from None
    if exact < 0:
        raise ConfigError("An amount of privacy is not negative: nothing is ever refunded.")
    return exact


def _check(unit: Unit, amount: int, delta: int, *, what: str) -> None:
    if not isinstance(unit, Unit):
        raise ConfigError(f"{what} needs its unit: one of {', '.join(Unit)}.")
    if type(amount) is not int or type(delta) is not int:
        raise ConfigError(f"{what} is kept in whole steps, as integers.")
    if not 1 <= amount <= LARGEST:
        raise ConfigError(f"{what} is from one millionth to 10**12.")
    if not 0 <= delta <= ATTO:
        raise ConfigError(f"{what} has a delta from 0 to 1.")
    if delta and unit is not Unit.APPROXIMATE:
        raise ConfigError(f"{what} in {unit.value} has no delta; use the approximate unit.")
