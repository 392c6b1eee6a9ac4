"""The store's own errors as sentences, without statements, values or addresses."""

from __future__ import annotations

import errno

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from tacit.errors import TacitError
from tacit.ledger.refusals import LedgerFailed, LedgerRefused, LedgerUnavailable

_SAME_KEY = (
    "Nothing was released. Ask again with the same key: if it was recorded nevertheless, the same "
    "answer comes without a new charge."
)
_FAILED = (
    "The disk failed while the ledger was used. What is on it is in doubt, so this process does "
    "nothing more with it. Mend the disk and start again. Nothing was released."
)
_FULL = "There is no room on the disk for the ledger. Make room. " + _SAME_KEY
_DAMAGED = "The store is damaged, cannot be read, or is no ledger. It is not used."
_READ_ONLY = "The ledger's store cannot be written: look at its permissions. " + _SAME_KEY
_BUSY = "The ledger's store is busy: others write to it for too long. " + _SAME_KEY
_AWAY = "The ledger's store cannot be reached. " + _SAME_KEY
_GUARD = (
    "A guard inside the store stopped a change that its log does not allow, so a person or "
    "another program wrote to it. It is not used. Look at it with  tacit ledger verify."
)

_SQLITE: dict[int, TacitError] = {
    5: LedgerUnavailable(_BUSY),
    6: LedgerUnavailable(_BUSY),
    7: LedgerUnavailable("There is no memory for the ledger's store. " + _SAME_KEY),
    8: LedgerUnavailable(_READ_ONLY),
    10: LedgerFailed(_FAILED),
    11: LedgerRefused(_DAMAGED),
    13: LedgerUnavailable(_FULL),
    14: LedgerUnavailable("The ledger's file cannot be opened. " + _SAME_KEY),
    26: LedgerRefused(_DAMAGED),
}
"""By SQLite's primary result code: BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN,
NOTADB."""
_POSTGRESQL: dict[str, TacitError] = {
    "P0001": LedgerRefused(_GUARD),  # what a trigger raises
    "53100": LedgerUnavailable(_FULL),
    "55P03": LedgerUnavailable(_BUSY),  # the lock's time is over
    "58030": LedgerFailed(_FAILED),
    "XX001": LedgerRefused(_DAMAGED),
    "XX002": LedgerRefused(_DAMAGED),
}
"""By PostgreSQL's SQLSTATE."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def explained(error: SQLAlchemyError) -> TacitError:
    """LedgerRefused for damage, LedgerFailed for a disk, LedgerUnavailable for what may pass."""
    if isinstance(error, IntegrityError):
        return LedgerRefused(_GUARD)
    known = _POSTGRESQL.get(getattr(_driver_error(error), "sqlstate", None) or "")
    if known is None:
        known = _SQLITE.get(getattr(_driver_error(error), "sqlite_errorcode", 0) & 0xFF)
    return LedgerUnavailable(_AWAY) if known is None else type(known)(str(known))


def explained_second(error: OSError) -> TacitError:
    """The same for the second place of the head."""
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


def _driver_error(error: SQLAlchemyError) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else None
