"""Commits of several changes at once: the first change waits some milliseconds for others.

A part of a commit's cost is the same for any number of changes: a sync of the disk, and about as
much processor time as several changes take. So the event loop gathers a group of changes,
and one thread hands the group to the ledger. A change is confirmed only after the commit that holds
it.

Apart from the commits before its own, a change waits only while other changes are expected. This is
decided by the times at which earlier changes came, never by who sent them or what they hold.
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
"""A change waits only if at least this share of recent changes came while another change waited or
was being committed. The share is 0, and no change waits, if a single client sends one request after
the other."""
SMOOTHING_WINDOW = 16
"""Rough number of recent changes over which the share of OVERLAP_TO_WAIT and the interval between
changes are averaged."""
MOST_INTERVAL = 1.0
"""Longest interval between two changes, in seconds, that enters the mean: a longer pause counts as
this much."""

REQUEST_DEADLINE: ContextVar[float] = ContextVar("REQUEST_DEADLINE")
"""Time, by the event loop's clock, from which on the request of the running operation is answered
with a problem. It is not set outside of a request: then there is no deadline."""


@dataclass
class _Change:
    """A change that waits for its commit. Times are those of the event loop's clock, in seconds."""

    spending: SpendRequest
    """What the ledger is asked to charge, draw and store."""
    deadline: float
    """When its request is answered with a problem, whether the change is committed or not; infinity
    where there is no deadline."""
    commit_at: float
    """When the commit of its group starts at the earliest, if the change is the group's first."""
    outcome: asyncio.Future[Release]
    """The release, once it is committed; or the error because of which it is not."""


class CommitQueue:
    """The changes of one ledger that wait for a commit, all on one event loop."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ThreadPoolExecutor(1, "commits")
        self._queue: list[_Change] = []
        self._task: asyncio.Task[None] | None = None
        """The task that commits the queue; None while no change waits or is being committed."""
        self._closed = False
        self._last_arrival = float("-inf")
        self._mean_interval = MOST_INTERVAL
        """Mean time between recent changes, in seconds."""
        self._mean_overlap = 0.0
        """Share of recent changes that came while another waited or was being committed."""

    def close(self) -> None:
        """Start no further commit; changes that wait are answered with status 503."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def release(self, spending: SpendRequest) -> Release:
        """Do what `Ledger.release` does, in a commit with other changes.

        Raises:
            Problem: Status 503; the request's deadline passed before the commit started, or the
                queue is closed. Nothing was stored.
            TacitError: As `Ledger.release` does.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        deadline = REQUEST_DEADLINE.get(float("inf"))
        self._count_arrival(now)
        commit_at = self._choose_commit_time(now, deadline)
        change = _Change(spending, deadline, commit_at, loop.create_future())
        self._queue.append(change)
        if self._task is None:
            self._task = loop.create_task(self._commit_all())
        return await change.outcome

    def _count_arrival(self, now: float) -> None:
        """Add a change that comes now to the exponential moving averages over the changes."""
        overlap = 1.0 if self._task is not None else 0.0
        interval = min(now - self._last_arrival, MOST_INTERVAL)
        self._mean_overlap += (overlap - self._mean_overlap) / SMOOTHING_WINDOW
        self._mean_interval += (interval - self._mean_interval) / SMOOTHING_WINDOW
        self._last_arrival = now

    def _choose_commit_time(self, now: float, deadline: float) -> float:
        """Choose when to commit a group whose first change comes now.

        The change waits for at most MOST_DELAY, and at most half of the time until its deadline. It
        does not wait if no other change is expected within MOST_DELAY, or if too few recent changes
        overlapped (OVERLAP_TO_WAIT).
        """
        if self._mean_interval > MOST_DELAY or self._mean_overlap < OVERLAP_TO_WAIT:
            return now
        return now + min(MOST_DELAY, (deadline - now) / 2)

    async def _commit_all(self) -> None:
        """Commit one group after the other until no change waits.

        A change whose deadline has passed is answered with a problem, and not committed.
        """
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
