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
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass

from tacit.ledger import Ledger, Release
from tacit.ledger.transactions import SpendRequest
from tacit.service import problems

LARGEST = 64  # changes in one commit
DELAY = 0.02  # seconds that the first of a group waits for others, at most
TOGETHER = 0.2
"""Share of the changes that found another one in hand, from which on waiting is worth it: a client
that asks one thing after the other is never waited for."""
_OF = 16  # changes that the share and the mean time between changes are of, about
_LONGEST = 1.0
"""Seconds between two changes, at most, in that mean: after a pause the past does not count."""

UNTIL: ContextVar[float] = ContextVar("UNTIL")
"""In the loop's time, how long the request waits whose operation runs."""


@dataclass
class _Change:
    spending: SpendRequest
    until: float
    due: float
    answer: asyncio.Future[Release]


class Commits:
    """Of one ledger, on one loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ThreadPoolExecutor(1, "commits")
        self._waiting: list[_Change] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._last = float("-inf")
        self._between = _LONGEST
        self._together = 0.0

    def close(self) -> None:
        """What was not begun does not begin."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def release(self, spending: SpendRequest) -> Release:
        """As `Ledger.release`, in a commit with others. What has not begun when the request's time
        is over does not begin."""
        loop = asyncio.get_running_loop()
        until = UNTIL.get(float("inf"))
        change = _Change(spending, until, self._due(loop.time(), until), loop.create_future())
        self._waiting.append(change)
        if self._task is None:
            self._task = loop.create_task(self._commit_all())
        return await change.answer

    def _due(self, now: float, until: float) -> float:
        """When a change that comes now asks for its commit, if it is the first. It never waits
        for as much as half of the time that its request has."""
        in_hand = self._task is not None
        self._together += (in_hand - self._together) / _OF
        self._between += (min(now - self._last, _LONGEST) - self._between) / _OF
        self._last = now
        expected = self._between <= DELAY and self._together >= TOGETHER
        return now + min(DELAY, (until - now) / 2) if expected else now

    async def _commit_all(self) -> None:
        """One group after the other, as long as changes wait."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(self._waiting[0].due - loop.time())
            group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
            for one in group:
                if one.until <= loop.time() and not one.answer.done():
                    one.answer.set_exception(problems.not_now(problems.LATE))
            await self._commit([one for one in group if not one.answer.done()])
        self._task = None

    async def _commit(self, group: list[_Change]) -> None:
        asked = [one.spending for one in group]
        loop = asyncio.get_running_loop()
        outcomes: list[Release | BaseException]
        try:
            outcomes = [*await loop.run_in_executor(self._thread, self._ledger.release_all, asked)]
        except (Exception, asyncio.CancelledError) as error:
            failure = problems.not_now(problems.UNAVAILABLE) if self._closed else error
            outcomes = [failure] * len(group)
        for one, outcome in zip(group, outcomes, strict=True):
            if one.answer.done():
                continue
            if isinstance(outcome, BaseException):
                one.answer.set_exception(outcome)
            else:
                one.answer.set_result(outcome)
