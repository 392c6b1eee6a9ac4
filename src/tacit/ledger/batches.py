"""Many callers, one transaction: the caller that leads does the work of all who wait."""

from __future__ import annotations

import threading
import time
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
        (outcome,) = self.run_all([work])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def run_all(self, works: Sequence[Work]) -> list[Result | Exception]:
        """The same for many that one caller brings: side by side in as few groups as may be."""
        tickets: list[Ticket[Work, Result]] = [Ticket(work) for work in works]
        end = time.monotonic() + self._patience
        with self._lock:
            self._waiting += tickets
            leads = bool(tickets) and not self._led
            self._led |= leads
        if leads:
            tickets[0].woken.set()
        try:
            for ticket in tickets:
                if not ticket.woken.wait(max(0.0, end - time.monotonic())):
                    raise LedgerUnavailable(SILENT)
                if not ticket.outcome:
                    self._lead()
        except LedgerUnavailable as silent:
            self._take_back(tickets)
            return [ticket.outcome[0] if ticket.outcome else silent for ticket in tickets]
        except BaseException:
            self._take_back(tickets)
            raise
        return [ticket.outcome[0] for ticket in tickets]

    def _take_back(self, tickets: Sequence[Ticket[Work, Result]]) -> None:
        """A caller that is interrupted, or whose patience is over, takes back what was not begun,
        and passes on the lead if it has it."""
        with self._lock:
            mine = [one for one in tickets if one in self._waiting]
            self._waiting = [one for one in self._waiting if one not in mine]
            if any(one.woken.is_set() for one in mine):
                self._pass_on()

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
