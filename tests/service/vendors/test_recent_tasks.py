"""A task is started once for each key, and its result is kept for a while."""

from __future__ import annotations

import asyncio

import pytest

from tacit.designs.pdap.serve import recent_tasks
from tacit.designs.pdap.serve.recent_tasks import KEPT_SECONDS, RecentTasks


@pytest.fixture
def clock(monkeypatch):
    """`clock.append(seconds)` sets the time."""
    times = [0.0]
    monkeypatch.setattr(recent_tasks.time, "monotonic", lambda: times[-1])
    return times


def test_a_key_starts_one_task_for_a_while(clock):
    """It is started again only when it has ended and its time is over."""
    started = []

    async def work(key):
        started.append(key)
        await asyncio.sleep(0)
        return len(started)

    async def run():
        recent = RecentTasks()
        results = []
        for seconds, key in ((0, "a"), (0, "a"), (1, "b"), (KEPT_SECONDS - 1, "a")):
            clock.append(seconds)
            results.append(await recent.run_once(key, lambda key=key: work(key)))
        clock.append(KEPT_SECONDS)
        results.append(await recent.run_once("a", lambda: work("a")))
        results.append(await recent.run_once("b", lambda: work("b")))
        return results

    assert asyncio.run(run()) == [1, 1, 2, 1, 3, 2]
    assert started == ["a", "b", "a"]


def test_a_task_that_runs_is_not_forgotten(clock):
    """However long it takes, a second one is not started beside it."""

    async def run():
        recent = RecentTasks()
        end = asyncio.Event()
        first = recent.run_once("a", end.wait)
        clock.append(10 * KEPT_SECONDS)
        second = recent.run_once("a", end.wait)
        end.set()
        await first
        return first is second

    assert asyncio.run(run())


def test_a_task_that_runs_keeps_no_other_from_being_forgotten(clock):
    """Results of tasks that ended are forgotten in their time, though an older task runs on."""

    async def work():
        return "result"

    async def run():
        recent = RecentTasks()
        end = asyncio.Event()
        running = recent.run_once("a", end.wait)
        await recent.run_once("b", work)
        clock.append(KEPT_SECONDS + 1)
        found = recent.find("a"), recent.find("b")
        end.set()
        await running
        return found == (running, None)

    assert asyncio.run(run())


def test_a_forgotten_key_starts_another_task(clock):
    """It may be forgotten although its time is not over, and even if there is none."""

    async def work():
        return "result"

    async def run():
        recent = RecentTasks()
        recent.forget("a")
        first = recent.run_once("a", work)
        await first
        assert recent.find("a") is first
        recent.forget("a")
        assert recent.find("a") is None
        return recent.run_once("a", work) is not first

    assert asyncio.run(run())
