"""Tasks that are started once for each key, and whose results are kept for a while.

A visitor who repeats a request joins the calls that the first one started, or gets their results:
nothing is sent again. Otherwise one visitor could use up, by repeating one visit that was charged
once, what a neighbour lets this vendor ask for all others; and a neighbour that is slow would see
from a repeated message that a visitor waits for its offer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

KEPT_SECONDS = 60.0
"""Seconds from the start of a task for which its key is not used again."""


class RecentTasks:
    """Runs tasks to their end, whether or not anybody waits for them, and keeps their results."""

    def __init__(self) -> None:
        self._started: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}
        """When each task was started, by `time.monotonic`, and the task; the oldest first."""

    def run_once(
        self, key: Hashable, make: Callable[[], Coroutine[Any, Any, Any]]
    ) -> asyncio.Task[Any]:
        """Start a task, or return the one that was started for this key a short time ago.

        Args:
            key: names the task.
            make: makes the coroutine that the task runs.
        """
        task = self.find(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(make())
            self._started[key] = (time.monotonic(), task)
        return task

    def find(self, key: Hashable) -> asyncio.Task[Any] | None:
        """Return the task that was started for this key a short time ago; None if none was."""
        self._forget_old()
        if key not in self._started:
            return None
        _, task = self._started[key]
        return task

    def forget(self, key: Hashable) -> None:
        """Forget the task of this key, if there is one, so that the key can start another one."""
        self._started.pop(key, None)

    def _forget_old(self) -> None:
        """Forget tasks that ended and were started more than KEPT_SECONDS ago."""
        newest_to_forget = time.monotonic() - KEPT_SECONDS
        old_keys: list[Hashable] = []
        for key, (started, task) in self._started.items():
            if started > newest_to_forget:
                break
            if task.done():
                old_keys.append(key)
        for key in old_keys:
            del self._started[key]
