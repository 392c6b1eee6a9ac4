"""Many callers, one transaction: the caller that leads does the work of all who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tacit.ledger.refusals import LedgerUnavailable

Work = TypeVar("Work")
Result = TypeVar("Result")

LARGEST = 64
"""Pieces of work in one transaction."""


class Ticket(Generic[Work, Result]):
    """One caller's work, and its outcome once that is on disk."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.outcome: list[Result | Exception] = []
        self.woken = threading.Event()
        """Set when there is an outcome, or when this caller has to lead."""


class Batches(Generic[Work, Result]):
    """Hands waiting work in groups to `serve`, one group at a time.

    serve: returns one result or exception per piece of work, after all of them are durable; or
    raises, and then nobody's work was done.
    patience: seconds that a caller waits for another one that leads, whose store may not answer;
    then LedgerUnavailable, whether the work was done or not.

    One caller leads at a time. When its group is done it wakes all of them and gives the lead to
    the caller who has waited longest, so nobody queues to learn an outcome that is there.
    """

    def __init__(
        self, serve: Callable[[Sequence[Work]], Sequence[Result | Exception]], patience: float
    ) -> None:
        self._serve = serve
        self._patience = patience
        self._waiting: list[Ticket[Work, Result]] = []
        self._led = False
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """Callers whose work was not begun."""
        with self._lock:
            return len(self._waiting)

    def run(self, work: Work) -> Result:
        """What `serve` made of this work; raises what it raised for it."""
        ticket: Ticket[Work, Result] = Ticket(work)
        with self._lock:
            self._waiting.append(ticket)
            leads = not self._led
            self._led = True
        if not leads:
            self._wait(ticket)
        if not ticket.outcome:
            self._lead()
        outcome = ticket.outcome[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _wait(self, ticket: Ticket[Work, Result]) -> None:
        """A caller that is interrupted, or whose patience is over, takes back what was not begun,
        and passes on the lead if it has it."""
        try:
            if not ticket.woken.wait(self._patience):
                raise LedgerUnavailable(SILENT)
        except BaseException:
            with self._lock:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    if ticket.woken.is_set():
                        self._pass_on()
            raise

    def _lead(self) -> None:
        """Serve those who wait, oldest first; the leader is the oldest."""
        with self._lock:
            group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
        outcomes: Sequence[Result | Exception] = [LedgerUnavailable(STOPPED)] * len(group)
        try:
            outcomes = self._serve([ticket.work for ticket in group])
        except Exception as error:
            outcomes = [error] * len(group)
        finally:
            for ticket, outcome in zip(group, outcomes, strict=True):
                ticket.outcome.append(outcome)
                ticket.woken.set()
            with self._lock:
                self._pass_on()

    def _pass_on(self) -> None:
        """Inside the lock."""
        if self._waiting:
            self._waiting[0].woken.set()
        else:
            self._led = False


SILENT = (
    "The ledger's store does not answer in time. Nothing was released. Ask again with the same "
    "key: if it was recorded nevertheless, the same answer comes without a new charge."
)
STOPPED = (
    "The program was stopped while this request was being written. Nothing was released; asking "
    "again with the same key is safe."
)
