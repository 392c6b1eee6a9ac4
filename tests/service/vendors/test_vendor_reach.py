"""Who can be asked is found out by asking, at most so often, and by nothing that visits do."""

from __future__ import annotations

import asyncio

import pytest

from tacit.designs.pdap.serve import neighbours as reach
from tacit.designs.pdap.serve.neighbours import CHECK_INTERVAL, LONGEST_REST, Reach


class Clock:
    """The time, as far as the breaker knows."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(reach.time, "monotonic", lambda: self.now)


class Calls:
    """Says whether the neighbour is ready, and counts how often it was asked."""

    def __init__(self, ready=True):
        self.ready, self.looks = ready, 0

    async def is_ready(self, peer):
        self.looks += 1
        return self.ready


class Peer:
    name = "arthouse"


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def visits(reach, clock, times):
    """Somebody comes at each of these seconds after the start; what could be asked then."""

    async def run():
        found, start = [], clock.now
        for at in times:
            clock.now = start + at
            found.append(bool(reach.peers_up()))
            await asyncio.sleep(0)  # the question is answered before the next one comes
            await asyncio.sleep(0)
        return found

    return asyncio.run(run())


def test_one_question_serves_many_visits(clock):
    """A thousand visits in a second cost one question."""
    calls = Calls()
    assert all(visits(Reach(calls, [Peer()]), clock, [number / 1000 for number in range(1000)]))
    assert calls.looks == 1


def test_who_is_down_is_left_alone_longer_and_longer(clock):
    """Down: questions at 2, 4, 8, 16, 30, 30 seconds from each other; nobody is sent there."""
    calls = Calls(ready=False)
    found = visits(Reach(calls, [Peer()]), clock, range(120))
    assert found[0]
    assert not any(found[1:])
    assert calls.looks == 1 + len([2, 4, 8, 16, 30, 30])


def test_who_is_back_is_asked_again(clock):
    """Up again at the next question, and down again at the one after a failure."""
    calls = Calls(ready=False)
    reach = Reach(calls, [Peer()])
    assert visits(reach, clock, [0, 1]) == [True, False]
    calls.ready = True
    assert visits(reach, clock, [LONGEST_REST, LONGEST_REST + 0.1]) == [False, True]
    calls.ready = False
    assert visits(reach, clock, [CHECK_INTERVAL, CHECK_INTERVAL + 0.1]) == [True, False]
