"""The store's own errors as sentences, without statements, values or addresses."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from tacit.errors import TacitError
from tacit.ledger.refusals import LedgerRefused, LedgerUnavailable

_IO, _CORRUPT, _FULL, _NO_DATABASE = 10, 11, 13, 26
"""SQLite's result codes."""
_RAISED = "P0001"
"""PostgreSQL's code for what a trigger raises."""


def explained(error: SQLAlchemyError) -> TacitError:
    """LedgerRefused for damage, LedgerUnavailable for what may pass."""
    if isinstance(error, IntegrityError) or _sqlstate(error) == _RAISED:
        return LedgerRefused(
            "A guard inside the store stopped a change that its log does not allow, so somebody or "
            "something else wrote to it. It is not used. Look at it with  tacit ledger verify."
        )
    code = _sqlite_code(error)
    if code in (_CORRUPT, _NO_DATABASE):
        return LedgerRefused("The store is damaged, or is no ledger. It is not used.")
    if code == _IO:
        return LedgerUnavailable(
            "The disk failed while the ledger was written. What is on it is in doubt, so this "
            "process does nothing more with it. Mend the disk and start again. Nothing was "
            "released."
        )
    if code == _FULL:
        return LedgerUnavailable(
            "There is no room for the ledger. Nothing was spent or released. Make room, ask again."
        )
    return LedgerUnavailable(
        "The ledger's store cannot be reached or is busy. Nothing was released. Ask again with the "
        "same key: if it was recorded nevertheless, the same answer comes without a new charge."
    )


def is_final(error: SQLAlchemyError) -> bool:
    """Whether this process must stop: after a failed sync, trying again proves nothing."""
    return isinstance(explained(error), LedgerRefused) or _sqlite_code(error) == _IO


def _sqlstate(error: SQLAlchemyError) -> str | None:
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def _sqlite_code(error: SQLAlchemyError) -> int | None:
    """The primary result code, without the extension in the higher bits."""
    if not isinstance(error, DBAPIError):
        return None
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
