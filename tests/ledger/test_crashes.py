"""Killed at any step, the ledger comes back with nothing, or with charge and answer together."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest
from sqlalchemy import Engine, event

from tacit.ledger import BudgetExhausted, Cap, FileHead, LedgerUnavailable, open_ledger
from tacit.ledger.statements import Statement
from tests.support.ledger_kills import kill_server, kill_spenders, kill_workers
from tests.support.ledger_requests import FILMS, ask, engine_of, fork, refused


def child(work):
    """Run `work` in a forked process that opens its own ledger; gives how it ended."""
    number = fork()
    if number == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def before_statement(ledger, step, act):
    """Do something before statement number `step` of this process, whoever runs it."""
    seen = iter(range(10_000))
    run = Statement.run

    def count(*_):
        if next(seen) == step:
            act()

    def counted(*given):
        count()
        return run(*given)

    event.listen(engine_of(ledger), "before_cursor_execute", count)
    Statement.run = counted


def dying_at(opening, step):
    """One release by a process that kills itself before its statement number `step`, or around
    the commit and the second place: "commit", "second", "reply"."""

    def work():
        ledger = opening()
        before_statement(ledger, step, die)
        if step == "commit":
            event.listen(Engine, "commit", die)  # before the ledger's own, which commits
        if step == "second":
            FileHead.advance = die
        if step == "reply":
            advance = FileHead.advance

            def then_die(*given):
                advance(*given)
                die()

            FileHead.advance = then_die
        ask(ledger, "a", FILMS, draw=lambda _: b"first")

    return child(work)


def check_after(opening, *, stored):
    """After the crash: sound; charged and answered, or neither; asking again ends well."""
    with opening() as ledger:
        assert ledger.verify().is_sound
        spent = ledger.balance(FILMS).spent
        assert spent == stored if stored is not None else spent in (0, 1)
        again = ask(ledger, "a", FILMS, draw=lambda _: b"second")
        assert again.repeated == (spent == 1)
        assert again.answer == (b"first" if spent else b"second")
        assert ledger.balance(FILMS).spent == 1


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


def test_killed_before_every_statement(opening):
    """Before the commit, nothing of a killed request is there, whichever statement was next."""
    for step in range(100):
        ended = dying_at(opening, step)
        with opening() as ledger:
            assert ledger.verify().is_sound
            if ended == 0:
                assert ledger.balance(FILMS).spent == 1
                break
            assert ended == -signal.SIGKILL
            assert ledger.balance(FILMS).spent == 0
    assert 8 <= step < 20


@pytest.mark.parametrize(
    ("step", "stored"), [("commit", 0), ("second", 1), ("reply", 1)], ids=lambda value: str(value)
)
def test_killed_around_the_commit(opening, step, stored):
    """Before the commit nothing is there; after it the charge and the answer are, told or not."""
    assert dying_at(opening, step) == -signal.SIGKILL
    check_after(opening, stored=stored)


def hammer(opening, *, processes, tries):
    """Processes that ask for one step at a time; gives how many were granted."""
    readers = []
    for number in range(processes):
        reader, writer = os.pipe()
        if fork() == 0:
            try:
                with opening() as ledger:
                    for n in range(tries):
                        try:
                            ask(ledger, f"{number}-{n}", FILMS)
                        except BudgetExhausted:
                            continue
                        os.write(writer, b"x")
            finally:
                os._exit(0)
        os.close(writer)
        readers.append(reader)
    granted = 0
    for reader in readers:
        while got := os.read(reader, 1000):
            granted += len(got)
        os.close(reader)
    for _ in readers:
        os.wait()
    return granted


def test_processes_never_pass_the_cap(postgres, tmp_path):
    """Three processes ask for four steps each from a budget of ten: ten are granted."""
    address = postgres.database()

    def opening():
        return open_ledger(address, second=tmp_path / "head")

    with opening() as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
    assert hammer(opening, processes=3, tries=4) == 10
    with opening() as ledger:
        assert ledger.balance(FILMS).spent == 10
        assert ledger.verify().is_sound


@pytest.fixture
def in_a_file(tmp_path):
    """Opens one and the same ledger, new at first."""
    return lambda: open_ledger(tmp_path / "budgets.db")


def test_killed_at_random_moments(in_a_file):
    """Five processes killed while they spend: no acknowledged answer is lost."""
    found = kill_spenders(in_a_file, 5)
    assert found.sound, found
    assert found.told >= 5


@pytest.mark.long
def test_killed_at_three_hundred_random_moments(in_a_file):
    """The same three hundred times, with answers on the way when the blow falls."""
    found = kill_spenders(in_a_file, 300)
    assert found.sound, found
    assert found.told >= 300


@pytest.mark.long
def test_a_killed_server_loses_nothing(postgres, tmp_path):
    """Thirty times all of PostgreSQL is killed under a spender: acknowledged answers stay."""
    address = postgres.database()
    found = kill_server(
        lambda: open_ledger(address, second=tmp_path / "head", patience=60), postgres, 30
    )
    assert found.sound, found
    assert found.told >= 30


def test_killed_workers_and_servers_lose_nothing(postgres, tmp_path):
    """Three workers on PostgreSQL; one is killed in each of four rounds, in two the server too:
    the others ask again with the same keys, and no acknowledged answer is lost or changed."""
    address = postgres.database()
    opened = partial(open_ledger, address, second=tmp_path / "head", patience=60)
    found = kill_workers(opened, postgres, 4)
    assert found.sound, found
    assert found.told >= 12


@pytest.mark.long
def test_many_killed_workers_and_servers_lose_nothing(postgres, tmp_path):
    """The same sixty times, with five workers."""
    address = postgres.database()
    opened = partial(open_ledger, address, second=tmp_path / "head", patience=60)
    found = kill_workers(opened, postgres, 60, workers=5)
    assert found.sound, found


def test_a_stopped_server_is_outlived(postgres, tmp_path):
    """While PostgreSQL is away nothing is released, which is told; then the same ledger works."""
    address = postgres.database()
    with open_ledger(address, second=tmp_path / "head", patience=60) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        ask(ledger, "a", FILMS)
        postgres.stop()
        try:
            for _ in range(2):
                refused(LedgerUnavailable, lambda: ask(ledger, "b", FILMS))
        finally:
            postgres.start()
        assert not ask(ledger, "b", FILMS).repeated
        assert ledger.balance(FILMS).spent == 2
        assert ledger.verify().is_sound


def test_a_server_killed_within_a_request_is_outlived(postgres, tmp_path):
    """The request under way is undone and told; it can be asked again with the same key."""
    address = postgres.database()
    with open_ledger(address, second=tmp_path / "head", patience=60) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))

        def killed(_):
            postgres.kill()
            return b"drawn"

        refused(LedgerUnavailable, lambda: ask(ledger, "a", FILMS, draw=killed))
        postgres.start()
        assert not ask(ledger, "a", FILMS).repeated
        assert ledger.balance(FILMS).spent == 1
