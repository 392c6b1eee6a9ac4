"""Pieces of an experiment run anywhere and come back in order."""

from __future__ import annotations

import multiprocessing
import operator
import os
import threading
import time
from concurrent.futures import BrokenExecutor
from pickle import PicklingError

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tacit.errors import OutputError
from tacit.evaluation import runner as runner_module
from tacit.evaluation.runner import Runner, cores


@pytest.mark.parametrize("workers", [1, 2])
def test_results_keep_their_order(workers):
    """Results come in the order of the arguments, applied to the one context."""
    steps = []
    with Runner(10, workers=workers) as runner:
        got = runner.run(operator.sub, [(n,) for n in range(20)], steps.append)
    assert got == [10 - n for n in range(20)]
    assert steps == [1] * 20


@pytest.mark.parametrize("workers", [1, 2])
def test_failure_comes_through(workers):
    """A piece that fails ends the run with its own error."""
    with Runner(1, workers=workers) as runner, pytest.raises(ZeroDivisionError):
        runner.run(operator.truediv, [(1,), (0,), (2,)], lambda done: None)


@pytest.mark.parametrize("workers", [1, 2])
def test_pool_serves_several_runs(workers):
    """A pool is used again without being made again."""
    with Runner(2, workers=workers) as runner:
        for function, expected in ((operator.add, [3, 4]), (operator.mul, [2, 4])):
            assert runner.run(function, [(1,), (2,)], lambda done: None) == expected


def wait_and_name_process(context, number):
    """Return this process's number after a while, so that other processes get tasks as well."""
    time.sleep(context)
    return os.getpid()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_calling_process_is_one_of_the_workers(workers):
    """It runs tasks while the others do; together they are as many as was asked for."""
    with Runner(0.05, workers=workers) as runner:
        runner.run(operator.add, [(n,) for n in range(8)], lambda done: None)  # all have started
        processes = set(
            runner.run(wait_and_name_process, [(n,) for n in range(20)], lambda done: None)
        )
    assert os.getpid() in processes
    assert len(processes) == workers


def wait_for_another_process(context, number):
    """In the calling process, wait until another one has run a task; return whether one has."""
    process, folder = context
    marker = folder / "another process"
    if os.getpid() != process:
        marker.touch()
    for _ in range(6000):
        if marker.exists():
            return True
        time.sleep(0.01)
    return False


def test_other_processes_are_started_while_a_long_task_runs(tmp_path, monkeypatch):
    """Also if the first task alone takes longer than the time after which they are started."""
    monkeypatch.setattr(runner_module, "START_AFTER", 0.1)
    monkeypatch.setattr(runner_module, "cores", lambda: 2)
    with Runner((os.getpid(), tmp_path), workers=0) as runner:
        for _ in range(2):  # the second run finds them started
            assert (
                runner.run(wait_for_another_process, [(1,), (2,)], lambda done: None) == [True] * 2
            )
            (tmp_path / "another process").unlink()


def test_no_other_process_is_started_for_short_work(monkeypatch):
    """The calling process has finished before."""
    monkeypatch.setattr(runner_module, "START_AFTER", 60.0)
    monkeypatch.setattr(runner_module, "cores", lambda: 2)
    with Runner(0.01, workers=0) as runner:
        processes = runner.run(wait_and_name_process, [(n,) for n in range(9)], lambda done: None)
        assert processes == [os.getpid()] * 9
        assert multiprocessing.active_children() == []
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_nothing_is_begun_after_an_interrupt_between_tasks(monkeypatch):
    """Ctrl-C may come while progress is shown; the error, with its traceback, is still held."""
    monkeypatch.setattr(runner_module, "START_AFTER", 60.0)
    monkeypatch.setattr(runner_module, "cores", lambda: 2)

    def interrupt(done):
        raise KeyboardInterrupt

    with Runner(1, workers=0) as runner, pytest.raises(KeyboardInterrupt) as interrupted:
        runner.run(operator.add, [(n,) for n in range(9)], interrupt)
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())
    assert interrupted.value.__traceback__ is not None


@pytest.mark.parametrize("workers", [0, 2])
def test_processes_that_cannot_be_started_end_the_run(workers, monkeypatch):
    """Also if a timer starts them, whose thread nobody waits for."""
    monkeypatch.setattr(runner_module, "START_AFTER", 0.05)
    monkeypatch.setattr(runner_module, "cores", lambda: 2)

    def refuse(self):
        raise MemoryError("no memory for another process")

    monkeypatch.setattr(Runner, "_make_executor", refuse)
    with Runner(0.1, workers=workers) as runner, pytest.raises(MemoryError):
        runner.run(wait_and_name_process, [(n,) for n in range(9)], lambda done: None)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_context_that_cannot_be_sent_ends_the_run(workers, monkeypatch):
    """A function without a name is one."""
    monkeypatch.setattr(runner_module, "START_AFTER", 0.05)
    monkeypatch.setattr(runner_module, "cores", lambda: 2)
    with (
        Runner(lambda: 0, workers=workers) as runner,
        pytest.raises((PicklingError, AttributeError)),
    ):
        runner.run(sleep_a_tenth, [(n,) for n in range(9)], lambda done: None)


def sleep_a_tenth(context, number):
    """Take a while, whatever the context is."""
    time.sleep(0.1)


def end_process(context, number):
    """End another process than the calling one; in the calling one, do nothing."""
    if os.getpid() != context:
        os._exit(1)


def test_a_process_that_ends_ends_the_run():
    """The run neither waits for its task for ever nor goes on without it."""
    with Runner(os.getpid(), workers=2) as runner, pytest.raises(BrokenExecutor):
        runner.run(end_process, [(n,) for n in range(50)], lambda done: time.sleep(0.1))


def test_nothing_is_begun_after_an_error(tmp_path):
    """Tasks that wait are left out when one has failed."""
    with Runner(tmp_path, workers=2) as runner, pytest.raises(FileExistsError):
        runner.run(make_folder, [(str(n // 2),) for n in range(200)], lambda done: None)
    assert len([*tmp_path.iterdir()]) < 100


def interrupt_calling_process(context, number):
    """Return the number; in the calling process, be interrupted after a while."""
    if os.getpid() != context:
        return number
    time.sleep(3)
    raise KeyboardInterrupt


def test_results_of_other_processes_are_kept_when_the_calling_one_is_interrupted(tmp_path):
    """Ctrl-C reaches the calling process in a task of its own."""
    kept = tmp_path / "kept.jsonl"
    with Runner(os.getpid(), workers=2, resume=kept) as runner, pytest.raises(KeyboardInterrupt):
        runner.run(interrupt_calling_process, [(n,) for n in range(20)], lambda done: None)
    assert len([line for line in kept.read_text().splitlines() if line]) >= 2


def make_folder(context, name):
    """Make a folder; its second making fails."""
    time.sleep(0.01)
    (context / name).mkdir()


def test_nothing_to_do():
    """No arguments, no results."""
    with Runner(None, workers=1) as runner:
        assert runner.run(operator.add, [], lambda done: None) == []


def count_threads(context, number):
    """Count the threads that linear algebra may use."""
    np.linalg.inv(np.eye(2))
    return max(library["num_threads"] for library in threadpool_info())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_has_one_thread(workers):
    """In this process, too, where more are allowed around the run."""
    with threadpool_limits(3), Runner(None, workers=workers) as runner:
        assert count_threads(None, 0) == 3
        assert runner.run(count_threads, [(1,), (2,)], lambda done: None) == [1, 1]
        assert count_threads(None, 0) == 3


def test_cores():
    """There is at least one processor."""
    assert cores() >= 1


@pytest.mark.parametrize("workers", [1, 2])
def test_finished_tasks_are_not_run_again(tmp_path, workers):
    """What a file has is read; what is missing runs and is added; a line cut off is no task."""
    kept, counted = tmp_path / "kept.jsonl", []
    for tasks in ([(1,), (2,)], [(1,), (2,), (3,)], [(1,), (2,), (3,)]):
        with Runner(10, workers=workers, resume=kept, identity="data") as runner:
            assert runner.run(operator.add, tasks, counted.append) == [10 + n for (n,) in tasks]
        with kept.open("a") as file:
            file.write('{"key": "cut')
    assert counted == [1, 1, 2, 1, 3]
    with Runner(20, workers=1, resume=kept, identity="other data") as runner:
        assert runner.run(operator.add, [(1,)], counted.append) == [21]


@pytest.mark.parametrize("workers", [1, 2])
def test_only_its_owner_reads_a_file_of_finished_tasks(tmp_path, workers):
    """Results may be of single people; a file that was there keeps its mode."""
    kept = tmp_path / "kept.jsonl"
    with Runner(10, workers=workers, resume=kept, identity="data") as runner:
        runner.run(operator.add, [(1,)], lambda _: None)
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o640)
    with Runner(10, workers=workers, resume=kept, identity="data") as runner:
        runner.run(operator.add, [(1,), (2,)], lambda _: None)
    assert kept.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("place", [".", "missing/finished"])
def test_a_place_that_takes_no_file_is_refused_before_the_work(tmp_path, place):
    """A folder, and a file in a folder that does not exist."""
    with pytest.raises(OutputError, match="cannot be written"):
        Runner(1, workers=1, resume=tmp_path / place, identity="data")
