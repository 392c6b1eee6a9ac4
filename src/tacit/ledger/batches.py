"""Many callers, one transaction: whoever gets the writer's place does the work of all who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tacit.ledger.refusals import LedgerUnavailable

Work = TypeVar("Work")
Result = TypeVar("Result")

LARGEST = 64
"""Pieces of work in one transaction."""


class _Ticket(Generic[Work, Result]):
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

    One caller leads at a time. When its group is done it wakes all of them and gives the lead to
    whoever waits longest, so nobody queues to learn an outcome that is there.
    """

    def __init__(self, serve: Callable[[Sequence[Work]], Sequence[Result | Exception]]) -> None:
        self._serve = serve
        self._waiting: list[_Ticket[Work, Result]] = []
        self._led = False
        self._lock = threading.Lock()

    def run(self, work: Work) -> Result:
        """What `serve` made of this work; raises what it raised for it."""
        ticket: _Ticket[Work, Result] = _Ticket(work)
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

    def _wait(self, ticket: _Ticket[Work, Result]) -> None:
        """A caller that is interrupted takes its work back, and passes on the lead if it has it."""
        try:
            ticket.woken.wait()
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


STOPPED = (
    "The program was stopped while this request was being written. Nothing was released; asking "
    "again with the same key is safe."
)
