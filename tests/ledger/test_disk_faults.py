"""A call to the disk that fails within a commit, or as the log is emptied, is told as what it is,
and nothing is lost."""

from __future__ import annotations

import errno
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from tacit.ledger import Cap, LedgerFailed, LedgerUnavailable, heads, open_ledger, sqlite
from tests.support.ledger_requests import FILMS, ask, refused
from tests.support.seen import require_any

FAULTS = Path(__file__).parents[1] / "support" / "disk_faults.py"
WRITES = {"pwrite64", "fdatasync", "ftruncate64", "fsync", "open64"}
"""Calls that must be among those that failed, by the names that SQLite uses on Linux."""


@pytest.fixture(scope="module")
def every_fault(shim):
    """By errno, what came of a release in which each call failed in turn."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield functools.cache(lambda error: with_faults(shim, Path(folder), error))


def with_faults(shim, base, error):
    """One line for each call of a release that failed."""
    folder = base / str(error)
    folder.mkdir()
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment = {**os.environ, **paths, "LD_PRELOAD": str(shim), "TACIT_FAULTS": str(folder)}
    command = [sys.executable, str(FAULTS), str(folder), str(error)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["failed"] for one in told} >= WRITES
    assert told[-1]["first"] is None
    return told[:-1]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_every_call_of_a_commit_fails_once(every_fault, error):
    """Afterwards the store is sound, an acknowledged release is there, and asking again charges
    nothing twice; no failure is told as a busy store."""
    for one in require_any(every_fault(error)):
        acknowledged = [told is None for told in (one["first"], one["second"])]
        assert one["sound"], one
        assert one["then"] == 2, one
        assert one["spent"] == sum(one["repeated"]), one
        there = zip(one["repeated"], acknowledged, strict=True)
        assert all(repeated or not told for repeated, told in there), one
        for told in (one["first"], one["emptied"], one["second"]):
            assert told is None or not ("busy" in told[1] or "reached" in told[1]), one


def test_a_failed_disk_ends_writing(every_fault):
    """After a call that failed with EIO nothing more is written by that process, which says why."""
    for one in require_any(every_fault(errno.EIO)):
        told = one["first"] or one["emptied"]
        if told is not None:
            assert one["second"] == told, one
            assert told[0] in ("LedgerFailed", "LedgerRefused"), one
            assert "disk" in told[1] or "cannot be read" in told[1], one


def test_a_full_disk_is_named(every_fault):
    """A write that found no room says so, and the process goes on once there is room."""
    found = every_fault(errno.ENOSPC)
    writes = [one for one in found if one["failed"].startswith("pwrite")]
    assert writes
    for one in writes:
        assert "no room" in (one["first"] or one["emptied"])[1], one
        assert one["second"] is None, one


def test_a_failed_second_place_ends_writing(tmp_path, monkeypatch):
    """A sync of the second place that failed is as final as one of the store."""

    def failing(_):
        raise OSError(errno.EIO, "Input/output error")

    with open_ledger(tmp_path / "budgets.db") as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        with monkeypatch.context() as patched:
            patched.setattr(heads.os, "fsync", failing)
            refused(LedgerFailed, lambda: ask(ledger, "a", FILMS))
        refused(LedgerFailed, lambda: ask(ledger, "b", FILMS))
    with open_ledger(tmp_path / "budgets.db") as ledger:
        assert ask(ledger, "a", FILMS).repeated
        assert not ask(ledger, "b", FILMS).repeated


def test_a_folder_that_cannot_be_synced_is_told(tmp_path, monkeypatch):
    """SQLite would overlook it, and with it a log whose name is not on disk."""

    def failing(_):
        raise OSError(errno.EIO, "Input/output error")

    open_ledger(tmp_path / "budgets.db").close()
    monkeypatch.setattr(sqlite, "sync_folder", failing)
    refused(LedgerFailed, lambda: open_ledger(tmp_path / "budgets.db"))
    monkeypatch.undo()
    open_ledger(tmp_path / "budgets.db").close()


@contextmanager
def backend_ends(postgres, how):
    """The server's process of a transaction ends before COMMIT is sent to it."""

    def at_commit(connection):
        process = connection.connection.driver_connection.info.backend_pid
        if how == "killed":
            os.kill(process, signal.SIGKILL)
        else:
            postgres.say(f"SELECT pg_terminate_backend({process})")

    event.listen(Engine, "commit", at_commit)
    yield
    event.remove(Engine, "commit", at_commit)


@pytest.mark.parametrize("how", ["terminated", "killed"])
def test_a_backend_that_ends_at_commit(postgres, tmp_path, how, wait_until):
    """PostgreSQL's process ends when COMMIT is due: nothing is released or charged, it is told as
    a store that cannot be reached, and the same key is charged once."""
    address, second = postgres.database(), tmp_path / "head"
    with open_ledger(address, second=second, patience=60) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        with backend_ends(postgres, how):
            told = refused(LedgerUnavailable, lambda: ask(ledger, "a", FILMS))
        assert "cannot be reached" in told
        wait_until(postgres.answers)
        assert not ask(ledger, "a", FILMS).repeated
        assert ledger.balance(FILMS).spent == 1
        assert ledger.verify().is_sound


def test_a_commit_that_is_not_answered(postgres, tmp_path, wait_until):
    """The server commits and its process ends before it says so: the release is refused, and asking
    again gives the stored answer without a new charge."""
    address, second = postgres.database(), tmp_path / "head"
    with open_ledger(address, second=second, patience=60) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        postgres.say("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        postgres.say("SELECT pg_reload_conf()")
        try:
            wait_until(lambda: postgres.asked("SHOW synchronous_standby_names") == "nobody")
            with postgres.ending("SyncRep"):
                refused(LedgerUnavailable, lambda: ask(ledger, "a", FILMS, draw=lambda _: b"first"))
        finally:
            postgres.say("ALTER SYSTEM RESET synchronous_standby_names")
            postgres.say("SELECT pg_reload_conf()")
        wait_until(lambda: postgres.asked("SHOW synchronous_standby_names") == "")
        again = ask(ledger, "a", FILMS, draw=lambda _: b"second")
        assert (again.answer, again.repeated) == (b"first", True)
        assert ledger.balance(FILMS).spent == 1


def test_the_service_says_it():
    """503, without a promise that asking again helps, and nothing of what failed."""
    from tacit.service.problems import problem_of_error, problem_response

    answer = problem_response(
        problem_of_error(LedgerFailed("The disk failed while the ledger was used."))
    )
    assert answer.status_code == 503
    assert "retry-after" not in answer.headers
    assert b"tell the operator" in answer.body
    assert b"while the ledger was used" not in answer.body
