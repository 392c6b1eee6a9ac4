"""Changes that share a commit: who comes first waits some milliseconds for the others.

A commit costs two syncs of a disk, and of the processor as much as several changes, however many it
has. So a group of changes is gathered on the loop, without a thread for each, and is handed to the
ledger by the one thread that commits: its outcome wakes the loop once. Nobody is answered before
the commit that their change is in.

A change waits only while others are expected, and that follows from when changes came: never from
whose they are or what they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass

from tacit.ledger import Ledger, Release
from tacit.ledger.batches import LARGEST
from tacit.ledger.spending import Spending
from tacit.service import problems

DELAY = 0.02
"""Seconds that the first of a group waits for others, at most."""
TOGETHER = 0.2
"""Share of the changes that found another one in hand, from which on waiting is worth it: a client
that asks one thing after the other is never waited for."""
_OF = 16
"""Changes that the share and the mean time between changes are of, about."""
_LONGEST = 1.0
"""Seconds between two changes, at most, in that mean: after a pause the past does not count."""

UNTIL: ContextVar[float] = ContextVar("UNTIL")
"""In the loop's time, how long the request waits whose operation runs."""


@dataclass
class _Change:
    spending: Spending
    until: float
    due: float
    answer: asyncio.Future[Release]


class Commits:
    """Of one ledger, on one loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ThreadPoolExecutor(1, "commits")
        self._waiting: list[_Change] = []
        self._committing = False
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0
        self._last = float("-inf")
        self._between = _LONGEST
        self._together = 0.0

    def begin(self) -> None:
        """Start the thread, so that no later moment takes its memory."""
        self._thread.submit(lambda: None)

    def close(self) -> None:
        """What was not begun does not begin."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def release(self, spending: Spending) -> Release:
        """As `Ledger.release`, in a commit with others. What has not begun when the request's time
        is over does not begin."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        answer: asyncio.Future[Release] = loop.create_future()
        until = UNTIL.get(float("inf"))
        due = self._due(now, until)
        self._waiting.append(_Change(spending, until, due, answer))
        self._plan(now)
        return await answer

    def _due(self, now: float, until: float) -> float:
        """When a change that comes now asks for its commit, if it is the first. It never waits
        for as much as half of the time that its request has."""
        in_hand = self._committing or bool(self._waiting)
        self._together += (in_hand - self._together) / _OF
        self._between += (min(now - self._last, _LONGEST) - self._between) / _OF
        self._last = now
        expected = self._between <= DELAY and self._together >= TOGETHER
        return now + min(DELAY, (until - now) / 2) if expected else now

    def _plan(self, now: float) -> None:
        """Begin the next group, or set the clock for it."""
        if self._committing or not self._waiting:
            return
        due = min(one.due for one in self._waiting)
        if due <= now or len(self._waiting) >= LARGEST:
            self._commit(now)
            return
        if self._timer is None or due < self._rings:
            self._stop_clock()
            self._rings = due
            self._timer = asyncio.get_running_loop().call_at(due, self._ring)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        if not self._committing:
            self._commit(asyncio.get_running_loop().time())

    def _commit(self, now: float) -> None:
        self._stop_clock()
        group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
        for one in group:
            if one.until <= now and not one.answer.done():
                one.answer.set_exception(problems.late())
        group = [one for one in group if not one.answer.done()]
        try:
            work = asyncio.get_running_loop().run_in_executor(
                self._thread, self._ledger.release_all, [one.spending for one in group]
            )
        except RuntimeError:  # it was closed
            for one in group:
                one.answer.set_exception(problems.unavailable())
            return
        self._committing = True
        work.add_done_callback(lambda work: self._done(group, work))

    def _done(
        self, group: Sequence[_Change], work: asyncio.Future[list[Release | Exception]]
    ) -> None:
        self._committing = False
        for one, outcome in zip(group, _outcomes(work, len(group)), strict=True):
            if one.answer.done():
                continue
            if isinstance(outcome, BaseException):
                one.answer.set_exception(outcome)
            else:
                one.answer.set_result(outcome)
        self._plan(asyncio.get_running_loop().time())


def _outcomes(
    work: asyncio.Future[list[Release | Exception]], count: int
) -> Sequence[Release | BaseException]:
    if work.cancelled():
        return [problems.unavailable()] * count
    failed = work.exception()
    return work.result() if failed is None else [failed] * count
