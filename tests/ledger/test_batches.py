"""Waiting callers share one transaction, and nobody is left behind."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.ledger import LedgerUnavailable, batches
from tacit.ledger.batches import LARGEST, Batches


class Store:
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
    store = Store()
    store.start(*range(LARGEST + 6))
    store.finish()
    assert [len(group) for group in store.groups] == [1, LARGEST, 5]
    assert {work: store.answers[work] for work in store.answers if work != 13} == {
        work: 2 * work for work in range(LARGEST + 6) if work != 13
    }
    assert isinstance(store.answers[13], ValueError)


def test_waiting_for_a_leader_ends():
    """Behind a leader whose store does not answer, callers give up after their patience. Their work
    is not done later, and the next caller is served."""
    store = Store(patience=0.05)
    store.start(0)
    for work in (1, 2):
        store.begin(work)
    for thread in store.threads[1:]:
        thread.join()
    assert isinstance(store.answers[1], LedgerUnavailable)
    assert isinstance(store.answers[2], LedgerUnavailable)
    store.finish()
    assert store.answers[0] == 0
    assert store.groups == [[0]]
    assert store.batches.run(3) == 6


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
    store = Store()
    first = store.serve

    def serve(group):
        if group == [0]:
            return first(group)
        store.groups.append(list(group))
        over.set()
        second.wait()
        return [2 * work for work in group]

    store.serve = serve
    store.batches = Batches(serve, 300)
    store.start(0, 1, 2)
    store.gate.set()
    store.threads[2].join()
    assert store.groups == [[0], [1, 2]]
    assert isinstance(store.answers[2], LedgerUnavailable)
    assert "same key" in str(store.answers[2])
    second.set()
    store.finish()
    assert (store.answers[0], store.answers[1]) == (0, 2)


def test_a_stopped_leader_leaves_nobody_behind():
    """Whoever shared its group is told; who came later is served."""
    store = Store()
    store.start(0, 1, -1, 2)
    store.gate.set()
    store.finish()
    stopped = [answer for answer in store.answers.values() if isinstance(answer, BaseException)]
    assert sorted(type(error).__name__ for error in stopped) == [
        *("KeyboardInterrupt", "LedgerUnavailable", "LedgerUnavailable")
    ]
    store.ask(5)
    assert store.answers[5] == 10


@pytest.mark.parametrize("leads", [False, True], ids=["waiting", "about to lead"])
def test_an_interrupted_caller_takes_its_work_back(monkeypatch, leads):
    """Its work is not done behind its back, and the lead goes on to the next."""
    store = Store()
    store.start(0)

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
        late = threading.Thread(target=store.ask, args=(1,))
        late.start()
        while not store.batches.waiting if leads else 1 not in store.answers:
            time.sleep(0.001)
    if leads:
        store.start(2)
    store.finish()
    late.join()
    store.ask(3)
    assert isinstance(store.answers.pop(1), KeyboardInterrupt)
    assert store.answers == ({0: 0, 2: 4, 3: 6} if leads else {0: 0, 3: 6})
    assert [1] not in store.groups


def test_what_a_stopped_program_says():
    """Others of the group learn that nothing was released."""
    store = Store()
    store.start(0, -1, 1)
    store.finish()
    told = [a for a in store.answers.values() if isinstance(a, LedgerUnavailable)]
    assert "same key is safe" in str(told[0])
