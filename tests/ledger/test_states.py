"""Kept states: in one transaction with the answer, and covered by the log."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, event

from tacit.ledger import (
    BudgetExhausted,
    Cap,
    Charge,
    Cost,
    FileHead,
    LedgerRefused,
    Request,
    open_ledger,
    transactions,
)
from tacit.ledger.statements import Statement
from tacit.ledger.states import StateCache, TransactionStates, read_state
from tacit.ledger.transactions import SpendRequest
from tests.support.ledger_requests import FILMS, count, engine_of, fork


@pytest.fixture(params=["sqlite", "postgres"])
def opening(request, tmp_path):
    """Opens one and the same ledger, which has a budget of ten steps."""
    if request.param == "sqlite":
        where = tmp_path / "budgets.db"
    else:
        where = request.getfixturevalue("postgres").database()

    def opened():
        return open_ledger(where, second=tmp_path / "head")

    with opened() as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
    return opened


def dying_at(opening, step, patch=None):
    """One counting by a process that kills itself before its statement number `step`, or before
    the commit ("commit"), before the second place ("second") or before the reply ("reply")."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    child = fork()
    if child == 0:
        code = 1
        try:
            ledger = opening()
            seen, run = iter(range(10_000)), Statement.run
            Statement.run = lambda *given: die() if next(seen) == step else run(*given)
            if step == "commit":
                event.listen(Engine, "commit", die)  # before the ledger's own, which commits
            advance = FileHead.advance
            if step == "second":
                FileHead.advance = die
            if step == "reply":
                FileHead.advance = lambda *given: (advance(*given), die())
            if patch is not None:
                patch(ledger)
            count(ledger, "b", FILMS)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_before_every_statement(opening):
    """Before the commit neither the answer nor the state is there, whichever statement was next."""
    with opening() as ledger:
        count(ledger, "a")
    for step in range(100):
        ended = dying_at(opening, step)
        with opening() as ledger:
            assert ledger.verify().is_sound
            if ended == 0:
                assert (ledger.state("rounds/a"), ledger.balance(FILMS).spent) == (b"2", 1)
                break
            assert (ledger.state("rounds/a"), ledger.balance(FILMS).spent) == (b"1", 0)
    assert 8 <= step < 25


@pytest.mark.parametrize(("step", "kept"), [("commit", b"1"), ("second", b"2"), ("reply", b"2")])
def test_killed_around_the_commit(opening, step, kept):
    """The state moves with the charge and the answer, and asking again moves it once."""
    with opening() as ledger:
        count(ledger, "a")
    assert dying_at(opening, step) == -signal.SIGKILL
    with opening() as ledger:
        assert ledger.verify().is_sound
        assert ledger.state("rounds/a") == kept
        assert ledger.balance(FILMS).spent == int(kept) - 1
        assert count(ledger, "b", FILMS).answer == b"2"
        assert ledger.state("rounds/a") == b"2"


def write_afterwards(ledger):
    """The planted fault: states go to disk after the commit, in a transaction of their own."""
    write = TransactionStates.write
    late = []
    TransactionStates.write = lambda kept: late.append(kept)
    advance, engine = FileHead.advance, engine_of(ledger)

    def then_write(*given):
        os.kill(os.getpid(), signal.SIGKILL) if late else None
        with engine.begin() as late[0].connection:
            write(late[0])
        advance(*given)

    FileHead.advance = then_write


def test_a_state_written_outside_the_transaction_is_noticed(opening):
    """A planted fault: killed between commit and state, the ledger is not sound."""
    with opening() as ledger:
        count(ledger, "a")
    assert dying_at(opening, "planted", patch=write_afterwards) == -signal.SIGKILL
    with pytest.raises(LedgerRefused, match="stored state of entry 4"):
        opening()


def together(ledger, *asked):
    """Several countings in one transaction: (key, steps to pay)."""

    def draw(_, before):
        after = b"%d" % (int(before or 0) + 1)
        return after, after

    return ledger.release_all(
        [
            SpendRequest(
                Request("shop", "x", "count", key, b"p"),
                (Charge(FILMS, Cost.pure(f"0.{steps:06d}")),),
                *(draw, "rounds/a"),
            )
            for key, steps in asked
        ]
    )


def test_requests_of_one_transaction_see_each_other(opening):
    """Each finds what the one before it left; who is refused in between leaves nothing."""
    with opening() as ledger:
        found = together(ledger, ("a", 1), ("b", 1), ("c", 99), ("d", 1), ("a", 1))
        assert isinstance(found.pop(2), BudgetExhausted)
        assert [stored.answer for stored in found] == [b"1", b"2", b"3", b"1"]
        assert ledger.state("rounds/a") == b"3"
        assert ledger.verify().is_sound


def test_requests_that_do_not_see_each_other_are_noticed(opening, monkeypatch):
    """A planted fault: each request of a transaction reads the state of the beginning."""
    monkeypatch.setattr(
        TransactionStates, "read", lambda kept, name: read_state(kept.connection, name)
    )
    with opening() as ledger:
        found = together(ledger, ("a", 1), ("b", 1))
        assert [stored.answer for stored in found] == [b"1", b"1"]


EDITS = {
    "changed": "UPDATE ledger_states SET state = x'00'",
    "gone": "DELETE FROM ledger_states",
    "slipped in": "INSERT INTO ledger_states VALUES ('rounds/b', 3, x'00')",
    "renamed": "UPDATE ledger_states SET name = 'rounds/b'",
    "of another entry": "UPDATE ledger_states SET sequence = 3",
    "older": "UPDATE ledger_states SET state = '1'",
}


@pytest.fixture
def counted(quick_folder, ledger_at):
    """A closed ledger whose state was changed twice."""
    path = quick_folder / "budgets.db"
    with ledger_at(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        count(ledger, "a", FILMS)
        count(ledger, "b", FILMS)
    return path


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_an_edited_state_is_refused(counted, edit, ledger_at, statement):
    """A state that is not the one the log tells is found, and the ledger does not open."""
    with ledger_at(counted, create=False) as ledger:
        assert ledger.verify().is_sound
        edit(counted, statement.replace("'1'", "CAST('1' AS BLOB)"))
        assert any("stored state" in problem for problem in ledger.verify().problems)
    with pytest.raises(LedgerRefused, match="stored state"):
        open_ledger(counted, create=False)


def test_a_state_without_a_hash_is_noticed(quick_folder, monkeypatch, ledger_at):
    """A planted fault: states that the log does not tell of do not pass `verify`."""
    append = transactions.append_entry
    monkeypatch.setattr(
        transactions,
        "append_entry",
        lambda place, kind, facts: append(
            place, kind, {name: facts[name] for name in facts if name != "state"}
        ),
    )
    with ledger_at(quick_folder / "budgets.db") as ledger:
        count(ledger, "a")
        assert not ledger.verify().is_sound


def test_a_state_goes_forward_only(counted):
    """The store stops a slip at a prompt: no deletion, and no state of an earlier entry."""
    connection = sqlite3.connect(counted)
    for statement in (
        "DELETE FROM ledger_states",
        "UPDATE ledger_states SET state = x'00'",
        "UPDATE ledger_states SET state = x'00', sequence = 3",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(statement)
    connection.close()


def test_an_older_store_with_its_state_is_refused(counted, tmp_path):
    """A restored backup is whole in itself; the second place knows better."""
    backup = tmp_path / "backup"
    shutil.copy(counted, backup)
    with open_ledger(counted) as ledger:
        count(ledger, "c")
    shutil.copy(backup, counted)
    with pytest.raises(LedgerRefused, match="older"):
        open_ledger(counted)


def test_a_read_waits_for_no_commit(tmp_path):
    """The owner of a file remembers the newest states: one is given while the store is in use."""
    with open_ledger(tmp_path / "budgets.db") as ledger:
        assert ledger.state("a/state") is None
        for key, name in (("a", "a/state"), ("b", "another/state"), ("c", "another/state")):
            request = Request("shop", "x", "count", key, b"p")
            ledger.release(request, [], lambda *_, key=key: (b"", key.encode()), state=name)
        with ledger.read_transaction(), ThreadPoolExecutor(1) as other:
            assert other.submit(ledger.state, "a/state").result(timeout=60) == b"a"
            assert other.submit(ledger.state, "another/state").result(timeout=60) == b"c"


def test_a_commit_in_doubt_is_not_remembered():
    """Where a commit did not succeed the store is asked."""
    remembered = StateCache(10_000)
    remembered.note({"a": b"old", "b": b"other"})
    states = TransactionStates(None, remembered)
    states.change("a", b"new", 2)
    with pytest.raises(OSError, match="lost"), states.note_after_commit():
        raise OSError("lost")
    assert (remembered.look_up("a"), remembered.look_up("b")) == (None, (b"other",))
    with states.note_after_commit():
        pass
    assert remembered.look_up("a") == (b"new",)


def test_what_is_remembered_has_a_bound():
    """The states that rested longest are forgotten; where others write, all are."""
    remembered, none = StateCache(10_000), StateCache(0)
    for number in range(9):
        remembered.note({f"{number}": b"x" * 3000})
        none.note({f"{number}": b"x" * 3000})
    assert [number for number in range(9) if remembered.look_up(f"{number}")] == [6, 7, 8]
    remembered.note({"9": b"x" * 10_001})
    assert not any(remembered.look_up(f"{number}") for number in range(10))
    assert none.look_up("8") is None


def test_states_of_nothing_take_room_too():
    """That people without a state have none is remembered of so many only."""
    remembered = StateCache(10_000)
    remembered.note({f"{number}": None for number in range(1000)})
    known = [number for number in range(1000) if remembered.look_up(f"{number}")]
    assert 0 < len(known) < 60
    assert known[-1] == 999
