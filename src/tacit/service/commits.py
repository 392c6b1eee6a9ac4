"""Changes that share a commit: the first of a group waits some milliseconds for the others.

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

MOST_CHANGES = 64
"""Changes in one commit."""
MOST_DELAY = 0.02
"""Seconds that the first change of a group waits for others."""
OVERLAP_TO_WAIT = 0.2
"""Share of changes that came while others were in progress, from which on waiting is worth it. A
client that sends one request after the other is never waited for."""
SMOOTHING_WINDOW = 16
"""Number of changes over which that share and the mean interval are averaged, about."""
MOST_INTERVAL = 1.0
"""Seconds between two changes, at most, in that mean: after a pause the past does not count."""

REQUEST_DEADLINE: ContextVar[float] = ContextVar("REQUEST_DEADLINE")
"""The loop's time until which the request waits whose operation runs."""


@dataclass
class _Change:
    """A change that waits for its commit. Times are the loop's."""

    spending: SpendRequest
    deadline: float
    """When its request is answered without it."""
    commit_at: float
    """When its commit starts, if it is the first of a group."""
    outcome: asyncio.Future[Release]


class CommitQueue:
    """The changes of one ledger that wait for a commit, on one loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ThreadPoolExecutor(1, "commits")
        self._queue: list[_Change] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._last_arrival = float("-inf")
        self._mean_interval = MOST_INTERVAL
        self._overlap = 0.0

    def close(self) -> None:
        """Start no further commit."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def release(self, spending: SpendRequest) -> Release:
        """Do what `Ledger.release` does, in a commit with others.

        Raises:
            Problem: Status 503; the request's time was over before the commit started, and nothing
                was stored.
        """
        loop = asyncio.get_running_loop()
        deadline = REQUEST_DEADLINE.get(float("inf"))
        commit_at = self._commit_time(loop.time(), deadline)
        change = _Change(spending, deadline, commit_at, loop.create_future())
        self._queue.append(change)
        if self._task is None:
            self._task = loop.create_task(self._commit_all())
        return await change.outcome

    def _commit_time(self, now: float, deadline: float) -> float:
        """The time at which a change that comes now starts its commit, if it is first in its group.

        It never waits for as much as half of the time that its request has.
        """
        overlaps = self._task is not None
        interval = min(now - self._last_arrival, MOST_INTERVAL)
        self._overlap += (overlaps - self._overlap) / SMOOTHING_WINDOW
        self._mean_interval += (interval - self._mean_interval) / SMOOTHING_WINDOW
        self._last_arrival = now
        if self._mean_interval > MOST_DELAY or self._overlap < OVERLAP_TO_WAIT:
            return now
        return now + min(MOST_DELAY, (deadline - now) / 2)

    async def _commit_all(self) -> None:
        """Commit one group after the other until no change waits."""
        loop = asyncio.get_running_loop()
        while self._queue:
            await asyncio.sleep(self._queue[0].commit_at - loop.time())
            group = self._queue[:MOST_CHANGES]
            self._queue = self._queue[MOST_CHANGES:]
            for change in group:
                if change.deadline <= loop.time() and not change.outcome.done():
                    change.outcome.set_exception(problems.retry_later(problems.LATE))
            await self._commit([change for change in group if not change.outcome.done()])
        self._task = None

    async def _commit(self, group: list[_Change]) -> None:
        """Commit one group, and tell each change its outcome."""
        spendings = [change.spending for change in group]
        loop = asyncio.get_running_loop()
        outcomes: list[Release | BaseException]
        try:
            releases = await loop.run_in_executor(self._thread, self._ledger.release_all, spendings)
            outcomes = list(releases)
        except (Exception, asyncio.CancelledError) as error:
            failure = problems.retry_later(problems.UNAVAILABLE) if self._closed else error
            outcomes = [failure] * len(group)
        for change, outcome in zip(group, outcomes, strict=True):
            if change.outcome.done():
                continue
            if isinstance(outcome, BaseException):
                change.outcome.set_exception(outcome)
            else:
                change.outcome.set_result(outcome)
