"""Changes that come together share a commit, and none waits longer than it is worth."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tacit.ledger import LedgerUnavailable
from tacit.service import commits
from tacit.service.commits import REQUEST_DEADLINE, CommitQueue
from tacit.service.problems import Problem


class Ledger:
    """Notes the groups that it is given; answers when the gate is open."""

    def __init__(self):
        self.gate, self.groups = threading.Event(), []
        self.gate.set()

    def release_all(self, asked):
        self.groups.append(list(asked))
        self.gate.wait(10)
        if "away" in asked:
            raise LedgerUnavailable("It is away.")
        return [LedgerUnavailable("Not this.") if one == "refused" else one for one in asked]


@pytest.fixture
def ledger():
    return Ledger()


def run(ledger, scenario):
    """On a loop of its own, with the changes of `ledger`."""
    made = CommitQueue(ledger)

    async def main():
        return await asyncio.wait_for(scenario(made), 30)

    try:
        return asyncio.run(main())
    finally:
        made.close()


async def used_to(made, ledger):
    """Many changes came together lately, so that others are expected."""
    for _ in range(4):
        await asyncio.gather(*(made.release(("early", number)) for number in range(20)))
    ledger.groups.clear()


def test_one_after_the_other_waits_for_nobody(ledger, monkeypatch):
    """However quickly a client asks again: nobody came while its change was in hand."""
    monkeypatch.setattr(commits, "MOST_DELAY", 1.0)

    async def scenario(made):
        begun = time.monotonic()
        for number in range(50):
            await made.release(number)
        return time.monotonic() - begun

    assert run(ledger, scenario) < 1.0
    assert ledger.groups == [[number] for number in range(50)]


def test_a_lone_change_after_a_pause_waits_for_nobody(ledger, monkeypatch):
    """Who came before the pause says nothing of who comes now."""
    monkeypatch.setattr(commits, "MOST_DELAY", 0.05)

    async def scenario(made):
        await used_to(made, ledger)
        loop, clock = asyncio.get_running_loop(), asyncio.get_running_loop().time
        monkeypatch.setattr(loop, "time", lambda: clock() + 20)  # the pause
        begun = time.monotonic()
        await made.release("alone")
        return time.monotonic() - begun

    assert run(ledger, scenario) < 0.05


def test_companions_share_a_commit(ledger, monkeypatch):
    """Where changes come together, the first waits for those that come within the delay."""

    async def scenario(made):
        await used_to(made, ledger)
        monkeypatch.setattr(commits, "MOST_DELAY", 2.0)
        first = asyncio.ensure_future(made.release(0))
        await asyncio.sleep(0.05)
        late = [asyncio.ensure_future(made.release(number)) for number in (1, 2)]
        return await asyncio.gather(first, *late)

    assert run(ledger, scenario) == [0, 1, 2]
    assert ledger.groups == [[0, 1, 2]]


def test_a_group_has_a_largest_size(ledger):
    """Who does not fit into it is in the next one."""

    async def scenario(made):
        await asyncio.gather(*(made.release(number) for number in range(commits.MOST_CHANGES + 3)))

    run(ledger, scenario)
    assert [len(group) for group in ledger.groups] == [commits.MOST_CHANGES, 3]


def test_a_deadline_is_kept(ledger, monkeypatch):
    """A change waits for others for less than its request waits for it."""

    async def scenario(made):
        await used_to(made, ledger)
        monkeypatch.setattr(commits, "MOST_DELAY", 20.0)
        REQUEST_DEADLINE.set(asyncio.get_running_loop().time() + 2)
        await asyncio.wait_for(made.release("hasty"), 2)

    run(ledger, scenario)
    assert ledger.groups == [["hasty"]]


def test_what_nobody_waits_for_does_not_begin(ledger):
    """Behind a store that stands still, a change whose time is over is not made later."""

    async def scenario(made):
        ledger.gate.clear()
        first = asyncio.ensure_future(made.release("first"))
        await asyncio.sleep(0.01)
        REQUEST_DEADLINE.set(asyncio.get_running_loop().time() + 0.02)
        late = asyncio.ensure_future(made.release("late"))
        await asyncio.sleep(0.05)
        ledger.gate.set()
        assert await first == "first"
        with pytest.raises(Problem) as refused:
            await late
        assert refused.value.status == 503

    run(ledger, scenario)
    assert [group for group in ledger.groups if group] == [["first"]]


def test_nobody_is_answered_before_the_commit(ledger):
    """Not the first, not who shares it, not who comes meanwhile."""

    async def scenario(made):
        ledger.gate.clear()
        asked = [asyncio.ensure_future(made.release(number)) for number in range(5)]
        done, _ = await asyncio.wait(asked, timeout=0.1)
        assert not done
        ledger.gate.set()
        return await asyncio.gather(*asked)

    assert run(ledger, scenario) == list(range(5))


def test_a_refusal_is_its_own_and_a_failure_everybodys(ledger):
    """Others of a group are not refused with one; if the store is away, all are told, and the next
    are served."""

    async def scenario(made):
        ledger.gate.clear()
        first = asyncio.ensure_future(made.release("first"))
        await asyncio.sleep(0.01)
        asked = [asyncio.ensure_future(made.release(one)) for one in ("refused", "taken")]
        await asyncio.sleep(0.01)
        ledger.gate.set()
        found = await asyncio.gather(first, *asked, return_exceptions=True)
        assert isinstance(found[1], LedgerUnavailable)
        assert (found[0], found[2]) == ("first", "taken")
        gone = await asyncio.gather(made.release("away"), return_exceptions=True)
        assert isinstance(gone[0], LedgerUnavailable)
        return await made.release("after")

    assert run(ledger, scenario) == "after"


def test_what_comes_after_the_end_is_refused_at_once(ledger):
    """Each of them, and nobody waits until the time of their request is over."""

    async def scenario(made):
        made.close()
        return await asyncio.gather(*map(made.release, range(3)), return_exceptions=True)

    found = run(ledger, scenario)
    assert [(type(one), one.status) for one in found] == [(Problem, 503)] * 3
    assert ledger.groups == []
