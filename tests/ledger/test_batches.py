"""Waiting callers share one transaction, and nobody is left behind."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.ledger import LedgerUnavailable, batches
from tacit.ledger.batches import LARGEST, Batches


class Desk:
    """Serves doubles of numbers; the first group waits until the gate opens."""

    def __init__(self, patience=300):
        self.gate, self.groups = threading.Event(), []
        self.batches = Batches(self.serve, patience)
        self.answers, self.threads = {}, []

    def serve(self, group):
        self.groups.append(list(group))
        self.gate.wait()
        if -1 in group:
            raise KeyboardInterrupt
        return [ValueError(work) if work == 13 else 2 * work for work in group]

    def ask(self, work):
        try:
            self.answers[work] = self.batches.run(work)
        except BaseException as error:
            self.answers[work] = error

    def begin(self, work):
        """A thread that asks."""
        self.threads.append(threading.Thread(target=self.ask, args=(work,), daemon=True))
        self.threads[-1].start()

    def start(self, *works):
        """Each asks when the one before it leads or waits."""
        for work in works:
            before, first = self.batches.waiting, not self.threads
            self.begin(work)
            while not self.groups if first else self.batches.waiting == before:
                time.sleep(0.001)

    def finish(self):
        self.gate.set()
        for thread in self.threads:
            thread.join()


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


def test_waiting_for_a_leader_ends():
    """Behind a leader whose store does not answer, callers give up after their patience. Their work
    is not done later, and the next caller is served."""
    desk = Desk(patience=0.05)
    desk.start(0)
    for work in (1, 2):
        desk.begin(work)
    for thread in desk.threads[1:]:
        thread.join()
    assert isinstance(desk.answers[1], LedgerUnavailable)
    assert isinstance(desk.answers[2], LedgerUnavailable)
    desk.finish()
    assert desk.answers[0] == 0
    assert desk.groups == [[0]]
    assert desk.batches.run(3) == 6


def test_waiting_within_a_group_ends(monkeypatch):
    """A caller gives up as well while the group that holds its work is being written; the error
    says that the same key tells what came of it."""
    over, second = threading.Event(), threading.Event()

    class Impatient(batches.Ticket):
        def __init__(self, work):
            super().__init__(work)
            if work == 2:
                self.woken.wait = lambda patience: not over.wait()

    monkeypatch.setattr(batches, "Ticket", Impatient)
    desk = Desk()
    first = desk.serve

    def serve(group):
        if group == [0]:
            return first(group)
        desk.groups.append(list(group))
        over.set()
        second.wait()
        return [2 * work for work in group]

    desk.serve = serve
    desk.batches = Batches(serve, 300)
    desk.start(0, 1, 2)
    desk.gate.set()
    desk.threads[2].join()
    assert desk.groups == [[0], [1, 2]]
    assert isinstance(desk.answers[2], LedgerUnavailable)
    assert "same key" in str(desk.answers[2])
    second.set()
    desk.finish()
    assert (desk.answers[0], desk.answers[1]) == (0, 2)


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

    class Interrupted(batches.Ticket):
        def __init__(self, work):
            super().__init__(work)
            wait = self.woken.wait
            self.woken.wait = lambda patience: self.interrupt(wait)

        def interrupt(self, wait):
            if leads:
                wait()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batches, "Ticket", Interrupted)
        late = threading.Thread(target=desk.ask, args=(1,))
        late.start()
        while not desk.batches.waiting if leads else 1 not in desk.answers:
            time.sleep(0.001)
    if leads:
        desk.start(2)
    desk.finish()
    late.join()
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
