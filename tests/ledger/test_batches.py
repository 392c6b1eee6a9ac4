"""Waiting callers share one transaction, and nobody is left behind."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.ledger import LedgerUnavailable, batches
from tacit.ledger.batches import LARGEST, Batches


class Desk:
    """Serves doubles of numbers; the first group waits until the gate opens."""

    def __init__(self):
        self.gate, self.groups = threading.Event(), []
        self.batches = Batches(self.serve)
        self.answers, self.threads = {}, []

    def serve(self, group):
        self.groups.append(list(group))
        self.gate.wait(10)
        if -1 in group:
            raise KeyboardInterrupt
        return [ValueError(work) if work == 13 else 2 * work for work in group]

    def ask(self, work):
        try:
            self.answers[work] = self.batches.run(work)
        except BaseException as error:
            self.answers[work] = error

    def start(self, *works):
        for work in works:
            before = len(self.batches._waiting)
            self.threads.append(threading.Thread(target=self.ask, args=(work,)))
            self.threads[-1].start()
            while not self.groups or len(self.batches._waiting) < before + bool(
                len(self.threads) > 1
            ):
                time.sleep(0.001)

    def finish(self):
        self.gate.set()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


def test_those_who_wait_are_served_together():
    """One group for all who came while the first was served, up to the largest size."""
    desk = Desk()
    desk.start(*range(LARGEST + 6))
    desk.finish()
    assert [len(group) for group in desk.groups] == [1, LARGEST, 5]
    assert {work: desk.answers[work] for work in desk.answers if work != 13} == {
        work: 2 * work for work in range(LARGEST + 6) if work != 13
    }
    assert isinstance(desk.answers[13], ValueError)


def test_a_stopped_leader_leaves_nobody_behind():
    """Whoever shared its group is told; who came later is served."""
    desk = Desk()
    desk.start(0, 1, -1, 2)
    desk.gate.set()
    desk.finish()
    stopped = [answer for answer in desk.answers.values() if isinstance(answer, BaseException)]
    assert sorted(type(error).__name__ for error in stopped) == [
        *("KeyboardInterrupt", "LedgerUnavailable", "LedgerUnavailable")
    ]
    desk.ask(5)
    assert desk.answers[5] == 10


@pytest.mark.parametrize("leads", [False, True], ids=["waiting", "about to lead"])
def test_an_interrupted_caller_takes_its_work_back(monkeypatch, leads):
    """Its work is not done behind its back, and the lead goes on to the next."""
    desk = Desk()
    desk.start(0)

    class Interrupted(batches._Ticket):
        def __init__(self, work):
            super().__init__(work)
            wait = self.woken.wait
            self.woken.wait = lambda: self.interrupt(wait)

        def interrupt(self, wait):
            if leads:
                wait(10)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batches, "_Ticket", Interrupted)
        late = threading.Thread(target=desk.ask, args=(1,))
        late.start()
        while not desk.batches._waiting if leads else 1 not in desk.answers:
            time.sleep(0.001)
    if leads:
        desk.start(2)
    desk.finish()
    late.join(10)
    desk.ask(3)
    assert isinstance(desk.answers.pop(1), KeyboardInterrupt)
    assert desk.answers == ({0: 0, 2: 4, 3: 6} if leads else {0: 0, 3: 6})
    assert [1] not in desk.groups


def test_what_a_stopped_program_says():
    """Others of the group learn that nothing was released."""
    desk = Desk()
    desk.start(0, -1, 1)
    desk.finish()
    told = [a for a in desk.answers.values() if isinstance(a, LedgerUnavailable)]
    assert "same key is safe" in str(told[0])
