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


class Batches(Generic[Work, Result]):
    """Hands waiting work in groups to `serve`, one group at a time.

    serve: returns one result or exception per piece of work, after all of them are durable; or
    raises, and then nobody's work was done.
    """

    def __init__(self, serve: Callable[[Sequence[Work]], Sequence[Result | Exception]]) -> None:
        self._serve = serve
        self._waiting: list[_Ticket[Work, Result]] = []
        self._list = threading.Lock()
        self._turn = threading.Lock()

    def run(self, work: Work) -> Result:
        """What `serve` made of this work; raises what it raised for it."""
        ticket: _Ticket[Work, Result] = _Ticket(work)
        with self._list:
            self._waiting.append(ticket)
        while not ticket.outcome:
            with self._turn:
                if not ticket.outcome:
                    self._lead()
        outcome = ticket.outcome[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _lead(self) -> None:
        with self._list:
            group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
        try:
            outcomes = self._serve([ticket.work for ticket in group])
        except Exception as error:
            outcomes = [error] * len(group)
        except BaseException:
            for ticket in group:
                ticket.outcome.append(LedgerUnavailable(STOPPED))
            raise
        for ticket, outcome in zip(group, outcomes, strict=True):
            ticket.outcome.append(outcome)


STOPPED = (
    "The program was stopped while this request was being written. Nothing was released; asking "
    "again with the same key is safe."
)
