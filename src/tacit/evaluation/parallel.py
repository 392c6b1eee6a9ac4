"""Independent pieces of one experiment on all cores, each on one thread."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

T = TypeVar("T")

Progress = Callable[[int], None]
"""Told how many more steps are done."""

_context: Any = None


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Workers that all hold one context (sent once), to which tasks are applied.

    workers: 0 for all cores; 1 runs everything in this process. Functions are called as
    function(context, *arguments) and must be importable.
    """

    def __init__(self, context: Any, *, workers: int = 0) -> None:
        self._workers = workers or cores()
        self._context = context
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Pool:
        if self._workers > 1:
            # Fresh interpreters: a forked child would share the parent's compiled-code locks.
            self._executor = ProcessPoolExecutor(
                self._workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_receive,
                initargs=(self._context,),
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def run(
        self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]], progress: Progress
    ) -> list[T]:
        """Results in the order of `arguments`."""
        if self._executor is None:
            done = (function(self._context, *each) for each in arguments)
            return list(_counted(done, progress))
        futures = {
            self._executor.submit(_apply, function, each): number
            for number, each in enumerate(arguments)
        }
        results: dict[int, T] = {}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            progress(1)
        return [results[number] for number in range(len(arguments))]


def _counted(results: Iterator[T], progress: Progress) -> Iterator[T]:
    for result in results:
        progress(1)
        yield result


def _receive(context: Any) -> None:
    global _context
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    _context = context


def _apply(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    return function(_context, *arguments)
