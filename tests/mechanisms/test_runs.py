"""A running mechanism keeps its one noise: no two threads share a step, no child has a twin."""

from __future__ import annotations

import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.mechanisms import samplers
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate

RUNS = [(ThresholdGate(1.0, 5), "stops_at"), (TreeCounter(1.0, 40), "add")]


@pytest.fixture
def slow(monkeypatch):
    """Noise 0, drawn so slowly that threads without a lock would meet; counts the draws."""
    drawn = []

    def draw(values, scale):
        time.sleep(0.002)
        drawn.append(len(values))
        return np.zeros(len(values), dtype=np.int64)

    monkeypatch.setattr(samplers, "discrete_laplace", draw)
    return drawn


def many(step, count):
    """`count` calls of a step from eight threads; refusals are None."""

    def one(_):
        try:
            return step(1)
        except PrivacyError:
            return None

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.usefixtures("slow")
def test_threads_do_not_share_a_step():
    """Forty values from eight threads give the totals 1 to 40, each once, and five are refused."""
    totals = many(TreeCounter(1.0, 40).start().add, 45)
    assert sorted(total for total in totals if total is not None) == list(range(1, 41))
    assert totals.count(None) == 5


def test_threads_do_not_pass_a_stop(slow):
    """Once one thread has shut the gate, no other draws for its count."""
    run = ThresholdGate(1.0, 1).start()
    assert many(run.stops_at, 40) == [True] * 40
    assert sum(slow) == 2  # the threshold's, and that of the count at which it stopped


@pytest.mark.parametrize(("mechanism", "step"), RUNS)
def test_a_forked_child_is_refused(mechanism, step, monkeypatch):
    """In a real child process the run answers nothing, even if a thread was in the middle of a
    step at the fork; its parent goes on."""
    run, drawing, forked = mechanism.start(), threading.Event(), threading.Event()

    def draw(values, _):
        drawing.set()
        forked.wait(60)
        return np.zeros(len(values), dtype=np.int64)

    monkeypatch.setattr(samplers, "discrete_laplace", draw)
    busy = threading.Thread(target=getattr(run, step), args=(0,))
    busy.start()
    assert drawing.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child only asks
        child = os.fork()
    if child == 0:
        try:
            getattr(run, step)(0)
        except PrivacyError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    forked.set()
    busy.join()
    getattr(run, step)(0)


@pytest.mark.parametrize(
    ("mechanism", "field"), [(RUNS[0][0], "has_stopped"), (RUNS[1][0], "step")]
)
def test_state_is_not_set_back(mechanism, field):
    """A gate is not opened again, nor a counter wound back, by an assignment."""
    with pytest.raises(AttributeError):
        setattr(mechanism.start(), field, 0)
