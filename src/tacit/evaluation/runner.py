"""Run the independent tasks of one experiment in several processes, each with one thread."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from tacit.atomic_writes import append_secret, check_writable
from tacit.errors import ConfigError

T = TypeVar("T")

Progress = Callable[[int], None]
"""Function that is called with the number of steps that were done since the last call."""

START_AFTER = 10.0
"""Seconds of work after which a runner that may use all cores starts other processes. Until then
this process works alone: starting another one takes seconds of processor time, mostly imports, so
short experiments would gain nothing."""

_context: Any = None
"""First argument of every task; each process of a `Runner` sets it once."""


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Runner:
    """Runs the tasks of one experiment in several processes, each with one thread.

    The calling process is one of them: it has the context and most imports already. Several threads
    would not help: the matrices of most tasks are too small. Use a runner as a context manager, so
    that its other processes are started and ended.

    A task is a call `function(context, *arguments)`. The context is sent to each other process
    once. The function must be importable by its name.

    Args:
        context: First argument of every task.
        workers: Number of processes, the calling one included; 0: one for each core, where those
            beside the calling one are only started if a run takes longer than `START_AFTER`.
        resume: File with results of finished tasks, which are not run again; further results are
            added. Results must then be JSON. They may be of single people, so only its owner can
            read a new file. None: no file is read or written.
        identity: Text of all that results depend on apart from the arguments, such as a digest of
            the data. Results in the file are used only if their identity is the same.

    Raises:
        ConfigError: `resume` is not a file of finished tasks.
        OutputError: `resume` is a folder, or cannot be written.
    """

    def __init__(
        self, context: Any, *, workers: int = 0, resume: Path | None = None, identity: str = ""
    ) -> None:
        self._workers = workers or cores()
        self._starts_at_once = workers > 0
        self._context = context
        self._executor: ProcessPoolExecutor | None = None
        self._resume = resume
        self._identity = identity
        if resume is not None:
            check_writable(resume)
        self._known = {} if resume is None else _read_finished(resume)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def run(
        self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]], progress: Progress
    ) -> list[T]:
        """Run a function for each tuple of arguments.

        Args:
            function: Function that is called with the context and the entries of a tuple.
            arguments: A tuple for each task.
            progress: Called first with the number of tasks that need not run, if there are any,
                then with 1 after each task that was run.

        Returns:
            Results in the order of `arguments`.
        """
        keys: list[str] = []
        if self._resume:
            keys = [
                self._compute_key(function, arguments_of_task) for arguments_of_task in arguments
            ]
        results = {}
        for number, key in enumerate(keys):
            if key in self._known:
                results[number] = self._known[key]
        if results:
            progress(len(results))
        missing = [number for number in range(len(arguments)) if number not in results]

        def keep(number: int, result: T) -> None:
            """Add a result to the file, if there is one."""
            if self._resume:
                line = json.dumps({"key": keys[number], "result": result})
                # The first newline ends a line that was cut off.
                append_secret(self._resume, f"\n{line}\n")

        # Closed also if `progress` raises, so that no further task is begun.
        with closing(self._run_missing(function, arguments, missing, keep)) as finished_tasks:
            for number, result in finished_tasks:
                results[number] = result
                progress(1)
        return [results[number] for number in range(len(arguments))]

    def _compute_key(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
        """Return the key under which the file holds a task's result."""
        text = f"{self._identity} {function.__module__}.{function.__name__} {arguments!r}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _run_missing(
        self,
        function: Callable[..., T],
        arguments: Sequence[tuple[Any, ...]],
        numbers: list[int],
        keep: Callable[[int, T], None],
    ) -> Generator[tuple[int, T], None, None]:
        """Run the tasks of these numbers; yield each one's number and result when it ends.

        Each other process gets its next task when it has finished one; in between, this process
        runs tasks, too. If it is interrupted in one, results that the others have finished are
        kept all the same.

        Args:
            function: As in `run`.
            arguments: As in `run`.
            numbers: Positions in `arguments` of the tasks to run.
            keep: Called with each number and result before they are yielded.
        """
        waiting = deque(numbers)
        finished: SimpleQueue[tuple[int, Future[T]]] = SimpleQueue()  # tasks of other processes

        def start_next() -> None:
            """Give another process the next task, if one is waiting.

            An error, also that of starting the process, is the task's: a timer's thread would keep
            it to itself, and the task would be waited for without end.
            """
            number = _take_first(waiting)
            if number is None:
                return
            try:
                if self._executor is None:
                    self._executor = self._make_executor()
                future = self._executor.submit(_apply, function, arguments[number])
            except Exception as error:
                future = Future()
                future.set_exception(error)
            future.add_done_callback(partial(finish, number))

        def finish(number: int, future: Future[T]) -> None:
            """Hand over a task of another process, and give it the next one."""
            finished.put((number, future))
            if not future.cancelled() and future.exception() is None:
                start_next()

        def start_others() -> None:
            """Give each other process a task, if tasks are waiting."""
            for _ in range(self._workers - 1):
                start_next()

        timer = threading.Timer(START_AFTER, start_others)
        if self._workers > 1:
            if self._starts_at_once or self._executor is not None:
                start_others()
            else:
                timer.start()
        try:
            for _ in numbers:
                own_number = _take_first(waiting) if finished.empty() else None
                if own_number is not None:
                    number, result = own_number, self._run_here(function, arguments[own_number])
                else:
                    number, future = finished.get()
                    result = future.result()
                keep(number, result)
                yield number, result
        finally:
            waiting.clear()  # after an error nothing more is begun
            timer.cancel()
            if timer.is_alive():
                timer.join()
            while not finished.empty():
                number, future = finished.get()
                if not future.cancelled() and future.exception() is None:
                    keep(number, future.result())

    def _make_executor(self) -> ProcessPoolExecutor:
        """Make the pool of the processes beside this one. Each is started for its first task."""
        # Fresh interpreters: a forked child would inherit locks of compiled code that a thread of
        # the parent holds, and could wait for them for ever.
        return ProcessPoolExecutor(
            self._workers - 1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_set_context,
            initargs=(self._context,),
        )

    def _run_here(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Run a task in this process, with one thread."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return function(self._context, *arguments)


def _take_first(numbers: deque[int]) -> int | None:
    """Remove and return the first number; None if there is none. Threads may call it at once."""
    try:
        return numbers.popleft()
    except IndexError:
        return None


_LINE_START = '{"key": "'
"""First characters of the line of each finished task."""


def _read_finished(file: Path) -> dict[str, Any]:
    """Read the results of finished tasks by their keys.

    A line that was cut off is ignored. A file that does not exist has no results.

    Raises:
        ConfigError: The file has a line that is no finished task.
    """
    results: dict[str, Any] = {}
    lines = file.read_text("utf-8", errors="replace").splitlines() if file.exists() else []
    for line in lines:
        is_cut_off = _LINE_START.startswith(line)  # an empty line, too
        if not (line.startswith(_LINE_START) or is_cut_off):
            raise ConfigError(
                f"{file} is not a file of finished tasks of tacit. Nothing was added to it. Name a "
                "new file."
            )
        with suppress(ValueError):
            task = json.loads(line)
            results[task["key"]] = task["result"]
    return results


def _set_context(context: Any) -> None:
    """Prepare a process for tasks: limit it to one thread, and store the tasks' context."""
    global _context
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    _context = context


def _apply(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Run a task in a process that `_set_context` has prepared."""
    return function(_context, *arguments)
