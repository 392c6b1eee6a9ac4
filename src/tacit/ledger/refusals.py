"""Errors of the ledger, and functions that translate errors of its store into them.

No message holds an id, an amount, a remaining budget, an SQL statement or value, or an address.
"""

from __future__ import annotations

import errno

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.errors import ConfigError, PrivacyError, TacitError


class BudgetExhausted(PrivacyError):
    """A budget does not cover the cost. Nothing was spent or released."""

    def __init__(self) -> None:
        super().__init__(
            "A budget of this request does not cover its cost. Nothing was spent and nothing is "
            "released. Answers that were given before can still be asked for with their own keys."
        )


class UnknownBudget(ConfigError):
    """A charge names a budget that was never opened."""

    def __init__(self) -> None:
        super().__init__(
            "A charge of this request names a budget that this ledger does not hold. Open it "
            "first, with its lifetime cap. Nothing was spent."
        )


class UnitsDiffer(ConfigError):
    """A cost in one unit was charged to a budget kept in another."""

    def __init__(self) -> None:
        super().__init__(
            "The cost of this request is not in the unit of the budget that it charges. State "
            "the cost in the budget's own unit. Nothing was spent."
        )


class KeyReused(ConfigError):
    """The key of an earlier request came back with another payload."""

    def __init__(self) -> None:
        super().__init__(
            "This key was used before, with another payload. Ask again with the payload of the "
            "first time, or with a new key. Nothing was spent."
        )


class CapChanged(ConfigError):
    """A budget is opened again with another cap, but a cap never changes."""

    def __init__(self) -> None:
        super().__init__(
            "This budget exists with another unit or cap, and a cap is for life. Nothing changed."
        )


class DrawFailed(PrivacyError):
    """The function that draws the answer failed, or returned what cannot be stored.

    The charge stands, because whether drawing fails may depend on the data.
    """

    def __init__(self) -> None:
        super().__init__(
            "The answer of this request could not be drawn. Its charge stands, and its key will "
            "always give this refusal: whether drawing fails may depend on the data. Mend the "
            "function that draws, and ask with a new key."
        )


class LedgerRefused(PrivacyError):
    """The store must not be used: for example, it is an old or second copy, damaged, or unsafe."""


class LedgerUnavailable(TacitError):
    """The store cannot be reached or written now.

    The request may or may not have been recorded; nothing was released. Asking again with the same
    key and payload is safe.
    """


class LedgerFailed(LedgerUnavailable):
    """A disk failed under the store or its second place.

    This process writes nothing more: after a failed sync, a second sync may report success although
    data is lost. Mend the disk and start again.
    """


class LedgerHeld(LedgerUnavailable):
    """Another process, or another `Ledger` of this process, has the file open."""

    def __init__(self) -> None:
        super().__init__(
            "The ledger is in use: another process, or this one, has it open. One process owns it "
            "at a time. Stop that one, or ask the service that runs there.  tacit ledger show | "
            "verify | export | backup  work beside a service."
        )


_SAME_KEY = (
    "Nothing was released. Ask again with the same key: if it was recorded nevertheless, the same "
    "answer comes without a new charge."
)
FAILED = (
    "The disk failed while the ledger was used. What is on it is in doubt, so this process does "
    "nothing more with it. Mend the disk and start again. Nothing was released."
)
_FULL = "There is no room on the disk for the ledger. Make room. " + _SAME_KEY
_DAMAGED = "The store is damaged, cannot be read, or is no ledger. It is not used."
_READ_ONLY = "The ledger's store cannot be written: look at its permissions. " + _SAME_KEY
_BUSY = "The ledger's store is busy: others write to it for too long. " + _SAME_KEY
_UNREACHABLE = "The ledger's store cannot be reached. " + _SAME_KEY
_GUARD = (
    "A guard inside the store stopped a change that its log does not allow, so a person or "
    "another program wrote to it. It is not used. Look at it with  tacit ledger verify."
)

_SQLITE: dict[int, TacitError] = {
    5: LedgerUnavailable(_BUSY),  # SQLITE_BUSY
    6: LedgerUnavailable(_BUSY),  # SQLITE_LOCKED
    7: LedgerUnavailable("There is no memory for the ledger's store. " + _SAME_KEY),  # NOMEM
    8: LedgerUnavailable(_READ_ONLY),  # SQLITE_READONLY
    10: LedgerFailed(FAILED),  # SQLITE_IOERR
    11: LedgerRefused(_DAMAGED),  # SQLITE_CORRUPT
    13: LedgerUnavailable(_FULL),  # SQLITE_FULL
    14: LedgerUnavailable("The ledger's file cannot be opened. " + _SAME_KEY),  # CANTOPEN
    26: LedgerRefused(_DAMAGED),  # SQLITE_NOTADB
}
"""The ledger's errors by SQLite's primary result code."""
_POSTGRESQL: dict[str, TacitError] = {
    "P0001": LedgerRefused(_GUARD),  # raised by a trigger
    "53100": LedgerUnavailable(_FULL),  # disk full
    "55P03": LedgerUnavailable(_BUSY),  # lock not available in time
    "58030": LedgerFailed(FAILED),  # I/O error
    "XX001": LedgerRefused(_DAMAGED),  # data corrupted
    "XX002": LedgerRefused(_DAMAGED),  # index corrupted
}
"""The ledger's errors by PostgreSQL's SQLSTATE."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def explain_store_error(error: SQLAlchemyError) -> TacitError:
    """Return the ledger's error for an error of the store, whose own message is not repeated.

    Returns:
        LedgerRefused if the store is damaged or a guard stopped a change, LedgerFailed if a disk
        failed, and LedgerUnavailable for all others.
    """
    if isinstance(error, IntegrityError):
        return LedgerRefused(_GUARD)
    if isinstance(error, PoolTimeout):
        return LedgerUnavailable(_BUSY)
    driver = error.orig if isinstance(error, DBAPIError) else None
    explanation = _POSTGRESQL.get(getattr(driver, "sqlstate", None) or "")
    if explanation is None:
        primary_code = getattr(driver, "sqlite_errorcode", 0) & 0xFF
        explanation = _SQLITE.get(primary_code)
    if explanation is None:
        return LedgerUnavailable(_UNREACHABLE)
    # A new error, because one that is raised keeps its traceback.
    return type(explanation)(str(explanation))


def explain_head_error(error: OSError) -> TacitError:
    """Return the ledger's error for an error of the file that is the second place of the head."""
    if error.errno in _NO_ROOM:
        return LedgerUnavailable(
            "There is no room for the second place of the ledger's head. Make room. " + _SAME_KEY
        )
    if error.errno == errno.EIO:
        return LedgerFailed(
            "The disk under the second place of the ledger's head failed, so this process does "
            "nothing more with the ledger. Mend the disk and start again. Nothing was released."
        )
    return LedgerUnavailable(
        f"The second place of the ledger's head cannot be used ({error.strerror}). {_SAME_KEY}"
    )
