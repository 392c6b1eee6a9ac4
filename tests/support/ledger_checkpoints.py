"""Who can write a ledger's store tries what a checkpoint might let through: all has to be refused.

A probe makes a ledger, edits its store by hand, and says what was let through; nothing if all was
refused. PROBES says which planted fault each notices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from tacit.ledger import Cap, Holder, Ledger, LedgerRefused, checkpoints, open_ledger
from tacit.ledger import replay as replaying_
from tacit.ledger.chain import entry_body, entry_hash
from tacit.ledger.log_state import CHECKPOINT, LogState, state_digest
from tacit.ledger.opener import connect_to
from tests.support import ledger_faults as faults
from tests.support.ledger_faults import Fault
from tests.support.ledger_requests import FILMS, ask, by_hand, count

TOM = Holder.subject("shop", "tom")


_PATIENT = 300.0
"""Seconds, on a machine however busy."""


@contextmanager
def checkpoints_every(entries: int, running: int = 10**9) -> Iterator[None]:
    """Checkpoints after so few entries at a start or a stop, and while a process goes on."""
    before = (
        checkpoints.ENTRIES_AT_START_OR_STOP,
        checkpoints.ENTRIES_WHILE_RUNNING,
        checkpoints.STOP_SECONDS,
    )
    checkpoints.ENTRIES_AT_START_OR_STOP, checkpoints.ENTRIES_WHILE_RUNNING = entries, running
    checkpoints.STOP_SECONDS = _PATIENT
    try:
        yield
    finally:
        (
            checkpoints.ENTRIES_AT_START_OR_STOP,
            checkpoints.ENTRIES_WHILE_RUNNING,
            checkpoints.STOP_SECONDS,
        ) = before


@dataclass(frozen=True)
class Place:
    """Where a ledger is: `open_ledger(where, second=second)`."""

    where: str | Path
    second: Path

    def open(self) -> Ledger:
        return open_ledger(self.where, second=self.second, patience=_PATIENT)

    def edit(self, *statements: str, **values: Any) -> list[Any]:
        """As an attacker who knows SQL and removes the guards first; rows of the last one."""
        found: list[Any] = []
        if isinstance(self.where, Path):
            with by_hand(self.where) as raw:
                raw.execute("PRAGMA foreign_keys = ON")
                for statement in statements:
                    found = raw.execute(statement, values).fetchall()
            return found
        engine, _, _ = connect_to(self.where, self.second, patience=5)
        try:
            with engine.begin() as connection:
                guards = [f"ALTER TABLE ledger_{name} DISABLE TRIGGER USER" for name in _TABLES]
                for statement in (*guards, *statements):
                    wanted = {name: values[name] for name in values if f":{name}" in statement}
                    result = connection.execute(text(statement), wanted)
                    found = list(result.all()) if result.returns_rows else []
                return found
        finally:
            engine.dispose()

    def reopens(self) -> bool:
        """Whether a start takes it."""
        try:
            self.open().close()
        except LedgerRefused:
            return False
        return True


_TABLES = ("head", "budgets", "requests", "answers", "log", "states")


def with_a_checkpoint(place: Place, tail: int = 3) -> int:
    """A ledger of two budgets and a state, with a checkpoint and so many releases after it.

    Entries: 1 created, 2 and 3 budgets, 4 and 5 a release and a counting, 6 the checkpoint (whose
    number is given back), then the tail. Budget 1 has spent 2 and a step for each of the tail.
    """
    with place.open() as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.001"))
        ledger.open_budget(TOM, Cap.pure("0.001"))
        ask(ledger, "a", FILMS)
        count(ledger, "b", FILMS)
        with checkpoints_every(2):
            ledger.close()
    with place.open() as ledger:
        for n in range(tail):
            ask(ledger, f"t{n}", FILMS)
    ((number,),) = place.edit("SELECT max(sequence) FROM ledger_checkpoints")
    return int(number)


_REFUND = "UPDATE ledger_budgets SET spent = spent - 1, epoch_spent = epoch_spent - 1 WHERE id = 1"


def refund(place: Place) -> str:
    """A step given back in the table of budgets."""
    with_a_checkpoint(place)
    place.edit(_REFUND)
    return "a refund" if place.reopens() else ""


def older_state(place: Place) -> str:
    """A kept state put back."""
    with_a_checkpoint(place)
    place.edit("UPDATE ledger_states SET state = :old", old=b"0")
    return "an older state" if place.reopens() else ""


def forged_checkpoint(place: Place) -> str:
    """A step given back in the table of budgets and in the checkpoint's text."""
    number = with_a_checkpoint(place)
    place.edit(
        *(_REFUND, "UPDATE ledger_checkpoints SET state = :text"), text=_refunded(place, number)
    )
    return "a forged checkpoint" if place.reopens() else ""


def forged_chain(place: Place) -> str:
    """The same, with a chain that was made anew from the checkpoint's entry on."""
    number = with_a_checkpoint(place)
    forged = _refunded(place, number)
    ((before,),) = place.edit("SELECT hash FROM ledger_log WHERE sequence = :n", n=number - 1)
    rows = place.edit(
        "SELECT sequence, kind, body FROM ledger_log WHERE sequence >= :n ORDER BY 1", n=number
    )
    for at, kind, body in rows:
        new = entry_body({"at": 0, "replayed": state_digest(forged)}) if at == number else body
        before = entry_hash(before, at, kind, new)
        change = "UPDATE ledger_log SET body = :new, hash = :hash WHERE sequence = :at"
        place.edit(change, new=new, hash=before, at=at)
    place.edit(
        *("UPDATE ledger_head SET hash = :hash", _REFUND),
        "UPDATE ledger_checkpoints SET state = :text",
        hash=before,
        text=forged,
    )
    return "a forged chain" if place.reopens() else ""


def forged_end(place: Place) -> str:
    """A step given back, and a checkpoint of that at the end, where the second place knows none."""
    with_a_checkpoint(place)
    ((ledger, last, before, releases),) = place.edit(
        "SELECT ledger, sequence, hash, (SELECT count(*) FROM ledger_requests) FROM ledger_head"
    )
    told = LogState(ledger=ledger, sequence=last, hash=before, releases=releases)
    with place.open() as found:
        replay = LogState()
        replaying_.replay(found.read_transaction, replay)
    told.budgets, told.states = replay.budgets, replay.states
    told.budgets[1].spent -= 1
    told.budgets[1].epoch_spent -= 1
    body = entry_body({"at": 0, "replayed": state_digest(told.text())})
    place.edit(
        _REFUND,
        "INSERT INTO ledger_log VALUES (:n, :kind, :body, :hash)",
        "UPDATE ledger_head SET sequence = :n, hash = :hash",
        "INSERT INTO ledger_checkpoints VALUES (:n, :text)",
        n=last + 1,
        kind=CHECKPOINT,
        body=body,
        hash=entry_hash(before, last + 1, CHECKPOINT, body),
        text=told.text(),
    )
    return "a forged end" if place.reopens() else ""


def changed_old_answer(place: Place) -> str:
    """An answer before the checkpoint: a start may miss it, `verify` may not."""
    with_a_checkpoint(place)
    place.edit("UPDATE ledger_answers SET answer = :other WHERE sequence = 4", other=b"other")
    with place.open() as ledger:
        return "an old answer" if ledger.verify().is_sound else ""


def changed_new_answer(place: Place) -> str:
    """An answer after the checkpoint, changed under a process that then writes another one."""
    number = with_a_checkpoint(place)
    with place.open() as ledger:
        place.edit(
            "UPDATE ledger_answers SET answer = :other WHERE sequence = :n", other=b"", n=number + 1
        )
        with checkpoints_every(2):
            ledger.close()
    return "a new answer" if place.reopens() else ""


def _refunded(place: Place, number: int) -> str:
    """The checkpoint's text with a step less of budget 1."""
    ((said,),) = place.edit("SELECT state FROM ledger_checkpoints WHERE sequence = :n", n=number)
    told = LogState.from_text(said)
    assert told is not None
    told.budgets[1].spent -= 1
    told.budgets[1].epoch_spent -= 1
    return told.text()


PROBES: dict[Callable[[Place], str], tuple[Fault, ...]] = {
    refund: (faults.budget_rows_unseen,),
    older_state: (faults.states_unseen,),
    forged_checkpoint: (faults.checkpoint_without_the_chain,),
    forged_chain: (faults.checkpoint_without_the_second_place,),
    forged_end: (faults.checkpoint_beyond_the_second_place,),
    changed_old_answer: (faults.verify_from_a_checkpoint,),
    changed_new_answer: (faults.checkpoint_of_what_is_not_sound,),
}
"""What each lets through under which planted fault."""
