"""Checkpoints: the state of a sound replay, so that a start reads the entries after it only.

Source     The chain itself: a checkpoint is an entry of the log that holds the SHA-256 of the state
           before it; the state's text lies in a table beside.
Assumes    Nothing of that table. A state counts if its hash is in an entry that the second place's
           head covers; otherwise it is passed over, and the replay begins at the first entry.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, delete, insert, select

from tacit.ledger.chain import Head, link
from tacit.ledger.history import CHECKPOINT, LogState, digest_of
from tacit.ledger.schema import checkpoints, log
from tacit.ledger.spending import Place, append

_TRIED = 2
"""As many as `write` leaves: the newest may be one that the second place does not know of yet."""


def newest(connection: Connection, known: Head) -> LogState | None:
    """The newest checkpoint that `known`, a head of the second place, covers; None without one.

    It is believed for the time being: the replay that begins with it has to pass `known`.
    """
    rows = connection.execute(
        select(checkpoints)
        .where(checkpoints.c.sequence <= known.sequence)
        .order_by(checkpoints.c.sequence.desc())
        .limit(_TRIED)
    ).all()
    for number, text in rows:
        told = LogState.from_text(text)
        if told is not None and told.ledger == known.ledger and told.sequence == number - 1:
            told.passes = known
            if is_told(connection, told, text):
                return told
    return None


def is_told(connection: Connection, told: LogState, text: str) -> bool:
    """Whether the entry that follows the state is in the log, and holds the hash of its text."""
    row = connection.execute(select(log).where(log.c.sequence == told.sequence + 1)).first()
    if row is None or row.kind != CHECKPOINT:
        return False
    try:
        said = json.loads(row.body)["replayed"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return False
    follows = link(told.hash, row.sequence, row.kind, row.body) == row.hash
    return follows and bool(said == digest_of(text))


def write(place: Place, told: LogState) -> None:
    """Put the state into the table and its hash into the chain, in the caller's transaction.

    told: a sound replay up to the place's last entry. What it began with is left there as well.
    """
    text = told.text()
    append(place, CHECKPOINT, {"replayed": digest_of(text)})
    kept = told.begun + 1 if told.begun else 0
    place.connection.execute(delete(checkpoints).where(checkpoints.c.sequence != kept))
    place.connection.execute(insert(checkpoints).values(sequence=place.sequence, state=text))
