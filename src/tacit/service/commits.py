"""Commits of several changes at once: the first change waits some milliseconds for others.

A commit takes two syncs of the disk, and as much time of the processor as several changes, whatever
the number of its changes. So the event loop gathers a group of changes, and one thread hands the
group to the ledger. No request is answered before the commit that holds its change.

A change waits only while others are expected. That is decided by the times at which changes came,
never by whose they are or what they say.
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
"""Most changes in one commit."""
MOST_DELAY = 0.02
"""Most seconds that the first change of a group waits for others."""
OVERLAP_TO_WAIT = 0.2
"""Least share of recent changes that came while another was in progress, for a change to wait. With
a client that sends one request after the other the share is 0, and no change waits."""
SMOOTHING_WINDOW = 16
"""Number of recent changes over which that share and the mean interval are averaged, roughly."""
MOST_INTERVAL = 1.0
"""Longest interval between two changes, in seconds, that enters the mean: a pause counts as this
much."""

REQUEST_DEADLINE: ContextVar[float] = ContextVar("REQUEST_DEADLINE")
"""Time of the loop at which the request of the running operation is answered with a problem."""


@dataclass
class _Change:
    """A change that waits for its commit. Times are the loop's."""

    spending: SpendRequest
    """What the ledger is asked to charge, draw and store."""
    deadline: float
    """When its request is answered with a problem, committed or not."""
    commit_at: float
    """When its commit starts, if it is the first of a group."""
    outcome: asyncio.Future[Release]
    """Set to the release once it is committed, or to the error."""


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
        self._mean_overlap = 0.0

    def close(self) -> None:
        """Start no further commit."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def release(self, spending: SpendRequest) -> Release:
        """Do what `Ledger.release` does, in a commit with other changes.

        Raises:
            Problem: Status 503; the request's deadline passed before the commit started, and
                nothing was stored.
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
        """Compute when the commit starts of a change that comes now and is first in its group.

        The change waits for at most half of the time that its request has left.
        """
        overlap = 1.0 if self._task is not None else 0.0
        interval = min(now - self._last_arrival, MOST_INTERVAL)
        # Exponential moving averages over the changes.
        self._mean_overlap += (overlap - self._mean_overlap) / SMOOTHING_WINDOW
        self._mean_interval += (interval - self._mean_interval) / SMOOTHING_WINDOW
        self._last_arrival = now
        if self._mean_interval > MOST_DELAY or self._mean_overlap < OVERLAP_TO_WAIT:
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
        """Commit one group, and set the outcome of each change."""
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
