"""A store that went back in time, was copied or edited is refused; `verify` says what is wrong."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest
from sqlalchemy import text

from tacit.errors import ConfigError, PrivacyError
from tacit.ledger import (
    Cap,
    FileHead,
    LedgerHeld,
    LedgerRefused,
    LedgerUnavailable,
    inspect_ledger,
    open_ledger,
    operator_anchor,
    transactions,
)
from tacit.ledger import replay as replay_module
from tacit.ledger import sqlite as sqlite_store
from tacit.ledger.chain import START, entry_body, entry_hash
from tacit.ledger.replay import read_transaction, replay
from tests.support.ledger_faults import payment_without_guard, planted
from tests.support.ledger_requests import FILMS, ask, by_hand, engine_of

EDITS = {
    "a refund": "UPDATE ledger_budgets SET spent = spent - 1, epoch_spent = epoch_spent - 1",
    "a larger cap": "UPDATE ledger_budgets SET cap = cap + 1",
    "a budget gone": "DELETE FROM ledger_budgets",
    "another holder": "UPDATE ledger_budgets SET name = 'books'",
    "an answer changed": "UPDATE ledger_answers SET answer = x'00' WHERE sequence = 3",
    "an answer gone": "DELETE FROM ledger_answers WHERE sequence = 3",
    "an answer made a failure": "UPDATE ledger_answers SET answer = NULL WHERE sequence = 3",
    "a payload changed": "UPDATE ledger_requests SET payload = '0' WHERE sequence = 3",
    "a key changed": "UPDATE ledger_requests SET request_key = 'z' WHERE sequence = 3",
    "an entry changed": "UPDATE ledger_log SET body = replace(body, '[[1,1,', '[[1,2,')",
    "an entry gone": "DELETE FROM ledger_log WHERE sequence = 3",
    "the last entry gone": "DELETE FROM ledger_log WHERE sequence = 4",
    "the first entry gone": "DELETE FROM ledger_log WHERE sequence = 1",
    "an entry slipped in": "INSERT INTO ledger_log VALUES (0, 'release', '{}', '')",
    "a request slipped in": "INSERT INTO ledger_requests VALUES (9, 'a', 'b', 'c', 'd', 'e')",
    "an epoch granted": "UPDATE ledger_head SET epoch = 1",
    "no head": "DELETE FROM ledger_head",
    "no JSON": "UPDATE ledger_log SET body = '[' WHERE sequence = 3",
}


@pytest.fixture
def spent(quick_folder, ledger_at):
    """A closed ledger with one budget of ten steps and two releases."""
    path = quick_folder / "budgets.db"
    with ledger_at(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        ask(ledger, "a", FILMS)
        ask(ledger, "b", FILMS)
    return path


def test_a_long_log_is_read_while_it_grows(spent, ledger_at, monkeypatch):
    """Between two transactions of a replay a writer goes on; what it wrote is verified too."""
    monkeypatch.setattr(replay_module, "_ENTRIES_AT_ONCE", 2)
    with ledger_at(spent, create=False) as ledger:
        keys = iter("cde")

        @contextmanager
        def read():
            with ledger.read_transaction() as connection:
                yield connection
            for key in keys:
                ask(ledger, key, FILMS)
                break

        found = replay(read)
        assert found.is_sound
        assert found.releases == 5
        assert found.entries == ledger.head.sequence


def test_large_answers_are_read_in_portions(quick_folder, ledger_at, monkeypatch):
    """What is read at once is bounded in bytes: no portion holds more, but for a single answer."""
    monkeypatch.setattr(replay_module, "BYTES_AT_ONCE", 50_000)
    portions = []
    for name in ("read_entries", "read_entries_in_one_row"):
        real = getattr(replay_module, name)

        def noted(*given, real=real):
            rows = real(*given)
            portions.append([len(row.answer or b"") for row in rows])
            return rows

        monkeypatch.setattr(replay_module, name, noted)
    path = quick_folder / "budgets.db"
    with ledger_at(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        for number in range(12):
            size = 120_000 if number == 5 else 20_000
            ask(ledger, str(number), FILMS, draw=lambda _, size=size: bytes(size))
        assert ledger.verify().is_sound
    engine = sqlite_store.make_engine(path, patience=5)
    with read_transaction(engine) as connection:
        for last in (0, 6, 7, 9):
            replay_module.read_entries_in_one_row(connection, last, 1000)
    engine.dispose()
    assert sum(map(len, portions)) >= 12
    assert all(sum(sizes) <= 50_000 or sizes == [120_000] for sizes in portions)


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_an_edited_store_is_found(spent, edit, ledger_at, statement):
    """Whatever is edited by hand, `verify` sees it and the ledger does not open again."""
    with ledger_at(spent, create=False) as ledger:
        assert ledger.verify().is_sound
        edit(spent, statement)
        assert not ledger.verify().is_sound
    with pytest.raises((LedgerRefused, ConfigError)):
        open_ledger(spent, create=False)


def test_what_verify_says_has_no_names(spent, edit, ledger_at):
    """Problems are told by numbers of entries and budgets, never by names."""
    with ledger_at(spent, create=False) as ledger:
        edit(spent, *(EDITS[name] for name in ("a larger cap", "a payload changed", "no JSON")))
        said = " ".join(ledger.verify().problems)
    assert "Entry 3" in said
    assert "Budget 1" in said
    assert not any(name in said for name in ("films", "shop"))


def test_an_older_copy_is_refused(spent, ledger_at, tmp_path):
    """Yesterday's backup in the store's place opens no more: the second place knows better."""
    backup = tmp_path / "backup"
    shutil.copy(spent, backup)
    with ledger_at(spent) as ledger:
        ask(ledger, "c", FILMS)
    shutil.copy(backup, spent)
    with pytest.raises(LedgerRefused, match="older"):
        open_ledger(spent)


def test_a_copy_that_went_its_own_way_is_refused(spent, ledger_at, tmp_path):
    """Of two copies with one second place only one can go on, even while both are open."""
    other = tmp_path / "other.db"
    shutil.copy(spent, other)
    second = spent.with_name("budgets.db.head")
    with ledger_at(spent) as one, ledger_at(other, second=second) as two:
        ask(one, "c", FILMS)
        with pytest.raises(LedgerRefused, match=r"older|histories"):
            ask(two, "d", FILMS)
        with pytest.raises(LedgerRefused):
            ask(two, "e", FILMS)
        ask(one, "d", FILMS)
    with pytest.raises(LedgerRefused):
        open_ledger(other, second=second)


@pytest.mark.parametrize("more", [False, True], ids=["as long", "longer"])
def test_a_history_forged_while_open_is_refused(spent, edit, ledger_at, more):
    """A log that is whole, but another one: the second place has the hash of an entry of the first,
    and what the process remembers is not asked."""
    with ledger_at(spent, create=False) as ledger:
        forge(spent, more)
        with pytest.raises(LedgerRefused, match="different histories"):
            ask(ledger, "c", FILMS)
    with pytest.raises(LedgerRefused):
        open_ledger(spent)


def forge(path, more):
    """Every entry says more than it did, in a chain of its own; perhaps with one more entry."""
    with by_hand(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        _forge(connection, more)
        connection.execute("COMMIT")


def _forge(connection, more):
    before = START
    rows = connection.execute("SELECT sequence, kind, body FROM ledger_log ORDER BY sequence")
    for sequence, kind, body in rows.fetchall():
        text = json.dumps({**json.loads(body), "forged": True})
        before = entry_hash(before, sequence, kind, text)
        connection.execute(
            "UPDATE ledger_log SET body = ?, hash = ? WHERE sequence = ?", (text, before, sequence)
        )
    if more:
        before = entry_hash(before, sequence + 1, kind, text)
        connection.execute(
            "INSERT INTO ledger_log VALUES (?, ?, ?, ?)", (sequence + 1, kind, text, before)
        )
    connection.execute("UPDATE ledger_head SET sequence = ?, hash = ?", (sequence + more, before))


def test_a_store_exchanged_while_open_is_refused(spent, ledger_at, tmp_path):
    """An older file put under a running process grants nothing."""
    backup = tmp_path / "backup"
    shutil.copy(spent, backup)
    with ledger_at(spent) as ledger:
        ask(ledger, "c", FILMS)
        engine_of(ledger).dispose()  # as when a connection was lost
        shutil.copy(backup, spent)
        with pytest.raises(LedgerRefused, match="exchanged"):
            ask(ledger, "d", FILMS)


@pytest.mark.parametrize("again", [False, True], ids=["removed", "exchanged"])
def test_a_log_removed_while_open_is_refused(spent, ledger_at, again):
    """A commit to a file that nobody finds again is not acknowledged; what was is not lost."""
    wal = spent.with_name("budgets.db-wal")
    with ledger_at(spent) as ledger:
        ask(ledger, "c", FILMS)
        shutil.move(wal, spent.with_name("old"))
        if again:
            wal.touch()
        with pytest.raises(LedgerRefused, match="log was exchanged"):
            ask(ledger, "d", FILMS)
        head = ledger.head.sequence
    with ledger_at(spent) as ledger:
        assert ledger.head.sequence == head


def test_a_lost_store_is_not_begun_anew(spent):
    """A deleted store does not come back empty and with full budgets."""
    spent.unlink()
    with pytest.raises(LedgerRefused, match="gone or empty"):
        open_ledger(spent)
    assert not spent.exists()
    sqlite3.connect(spent).close()
    with pytest.raises(LedgerRefused, match="gone or empty"):
        open_ledger(spent)


def test_a_lost_second_place_is_refused(spent):
    """Without the second place nobody knows whether this is the newest store."""
    spent.with_name("budgets.db.head").unlink()
    with pytest.raises(LedgerRefused, match="second place"):
        open_ledger(spent)


def test_another_ledgers_second_place_is_refused(spent, ledger_at, tmp_path):
    """Second places are not exchanged."""
    ledger_at(tmp_path / "other.db").close()
    with pytest.raises(LedgerRefused, match="another ledger"):
        open_ledger(spent, second=tmp_path / "other.db.head")


@pytest.mark.parametrize("lost", [0, 4096], ids=["first slot", "second slot"])
def test_one_torn_slot_is_survived(spent, ledger_at, lost):
    """A power cut may tear the slot being written; the other one still stands."""
    head = spent.with_name("budgets.db.head")
    newest = FileHead(head).read()
    raw = bytearray(head.read_bytes())
    raw[lost + 60] ^= 1
    head.write_bytes(raw)
    left = FileHead(head).read()
    assert left.sequence in (newest.sequence, newest.sequence - 1)
    with ledger_at(spent) as ledger:
        assert ledger.verify().is_sound


def test_two_torn_slots_are_refused(spent):
    """Nothing is guessed when both slots are damaged."""
    spent.with_name("budgets.db.head").write_bytes(b"x" * 5000)
    with pytest.raises(LedgerRefused, match="damaged"):
        open_ledger(spent)


def test_a_newer_schema_is_refused(spent, edit):
    """An older program does not touch what a newer one made."""
    edit(spent, "INSERT INTO ledger_schema VALUES (2)")
    with pytest.raises(LedgerRefused, match="another version"):
        open_ledger(spent)


@pytest.mark.parametrize(
    "statement",
    [
        *("DELETE FROM ledger_budgets", "DELETE FROM ledger_log", "DELETE FROM ledger_requests"),
        *("UPDATE ledger_log SET body = ''", "UPDATE ledger_answers SET answer = NULL"),
        *("UPDATE ledger_budgets SET spent = 0", "UPDATE ledger_budgets SET spent = cap + 1"),
        *("UPDATE ledger_budgets SET spent = 2.5", "UPDATE ledger_requests SET payload = ''"),
    ],
)
def test_the_store_guards_itself(spent, statement):
    """A slip at a prompt is stopped by the store: no deletion, no refund, no fraction."""
    connection = sqlite3.connect(spent)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()


def test_postgres_guards_itself(postgres, ledger_at, tmp_path):
    """The same in PostgreSQL."""
    with ledger_at(postgres.database(), second=tmp_path / "head") as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        ask(ledger, "a", FILMS)
        for statement in (
            *("DELETE FROM ledger_budgets", "TRUNCATE ledger_log", "DELETE FROM ledger_requests"),
            *("UPDATE ledger_log SET body = ''", "UPDATE ledger_answers SET answer = NULL"),
            *("UPDATE ledger_budgets SET spent = 0", "UPDATE ledger_budgets SET spent = cap + 1"),
        ):
            with pytest.raises(AssertionError, match=r"only added to|check constraint"):
                postgres.say(f"SET search_path = ledger{postgres.databases}; {statement}")
        assert ledger.verify().is_sound


def test_a_guard_that_stops_the_ledger_itself_is_final(postgres, ledger_at, tmp_path, monkeypatch):
    """What a trigger refuses is no passing trouble: the ledger is not used any more."""
    with ledger_at(postgres.database(), second=tmp_path / "head") as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        deletion = text("DELETE FROM ledger_log")
        monkeypatch.setattr(
            transactions, "open_budget", lambda writing, *_: writing.connection.execute(deletion)
        )
        with pytest.raises(LedgerRefused, match="guard"):
            ledger.open_budget(FILMS, Cap.pure("0.00001"))
        monkeypatch.undo()
        with pytest.raises(LedgerRefused, match="guard"):
            ask(ledger, "a", FILMS)


@pytest.mark.parametrize("setting", ["fsync=off", "synchronous_commit=off", "full_page_writes=off"])
def test_unsafe_postgres_is_refused(postgres, tmp_path, wait_until, setting):
    """A server, or a role, that does not keep what it commits is refused at the start."""
    name, value = setting.split("=")
    address = postgres.database()
    if name == "synchronous_commit":
        address += "%20-csynchronous_commit%3Doff"
        with pytest.raises(LedgerRefused, match=name):
            open_ledger(address, second=tmp_path / "head")
        return
    before = postgres.asked(f"SHOW {name}")
    postgres.say(f"ALTER SYSTEM SET {name} = {value}")
    try:
        postgres.say("SELECT pg_reload_conf()")
        wait_until(lambda: postgres.asked(f"SHOW {name}") == value)
        with pytest.raises(LedgerRefused, match=name):
            open_ledger(address, second=tmp_path / "head")
    finally:
        postgres.say(f"ALTER SYSTEM RESET {name}")
        postgres.say("SELECT pg_reload_conf()")
        wait_until(lambda: postgres.asked(f"SHOW {name}") == before)


def test_a_commit_survives_a_power_cut(spent, ledger_at):
    """The settings that the documentation of SQLite asks for, read back from a connection."""
    with ledger_at(spent) as ledger, ledger.read_transaction() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in (
                *("journal_mode", "locking_mode", "synchronous", "foreign_keys"),
                *("secure_delete", "wal_autocheckpoint", "temp_store"),
            )
        }
    assert found == {
        "journal_mode": "wal",
        "locking_mode": "exclusive",
        "synchronous": 2,
        "wal_autocheckpoint": 0,
        "foreign_keys": 1,
        "secure_delete": 1,
        "temp_store": 2,
    }


@pytest.mark.parametrize("mode", ["truncate", "delete"])
def test_a_store_with_another_journal_is_opened(spent, ledger_at, mode):
    """As versions before this one left it; looking at it leaves it as it is."""
    connection = sqlite3.connect(spent)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.close()
    before = spent.read_bytes()
    assert inspect_ledger(spent).verification.is_sound
    assert spent.read_bytes() == before
    with ledger_at(spent) as ledger:
        assert ask(ledger, "a", FILMS).repeated
        with ledger.read_transaction() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_there_is_no_shared_memory(spent, ledger_at):
    """The write-ahead log has no index that a second process could share."""
    with ledger_at(spent) as ledger:
        ask(ledger, "c", FILMS)
        assert {file.name for file in spent.parent.iterdir()} == {
            *("budgets.db", "budgets.db-wal", "budgets.db.head")
        }
    assert not spent.with_name("budgets.db-wal").exists()


def test_a_second_owner_is_refused_at_once(spent, ledger_at):
    """Another process, and another ledger of this one; looking at it, and a copy, are refused alike
    where no service can be asked."""
    with ledger_at(spent) as ledger:
        command = [sys.executable, "-m", "tacit.cli.app", "ledger"]
        for words in (["show"], ["backup", "--out", f"{spent}.copy"], ["advance", "--token", "x"]):
            told = subprocess.run(
                [*command, words[0], str(spent), *words[1:]],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                text=True,
            )
            assert told.returncode == 1
            assert "One process owns it" in told.stderr
            assert "Traceback" not in told.stderr
        began = time.monotonic()
        with pytest.raises(LedgerHeld, match="in use"):
            open_ledger(spent, patience=300)
        assert time.monotonic() - began < 100  # no waiting, however busy the machine is
        assert ask(ledger, "a", FILMS).repeated


FORKING = """
import os, pathlib, signal, sys
from tests.support.ledger_requests import FILMS, ask, by_hand
from tacit.ledger import open_ledger
ledger = open_ledger(pathlib.Path(sys.argv[1]))
ask(ledger, "c", FILMS)
if (child := os.fork()) == 0:
    ledger.close()
    sys.exit()  # the child's interpreter ends, and frees all that it has
os.waitpid(child, 0)
ask(ledger, "d", FILMS)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_leaves_the_owners_files_alone(spent, ledger_at):
    """A child that closes its copy of the open ledger, and ends, takes nothing from its parent:
    what was acknowledged before and after is there when the parent is killed."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(spent)], env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == -signal.SIGKILL
    with ledger_at(spent) as ledger:
        assert [ask(ledger, key, FILMS).repeated for key in "cd"] == [True, True]
        assert ledger.verify().is_sound


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_network_file_systems_are_refused(tmp_path, kind):
    """Locks and syncs of a network file system are not relied on."""
    local = "1 0 8:1 / / rw - ext4 /dev/a rw\n"
    mounts = f"{local}2 1 0:5 / {tmp_path} rw shared:1 - {kind} host:/a rw\n"
    with pytest.raises(LedgerRefused, match=kind):
        sqlite_store.check_local(tmp_path / "budgets.db", mounts)
    sqlite_store.check_local(tmp_path / "budgets.db", local)


def test_the_files_are_for_the_owner_only(spent):
    """Neither the store nor the second place can be read by other people of the machine."""
    for name in ("budgets.db", "budgets.db.head"):
        assert spent.with_name(name).stat().st_mode & 0o077 == 0


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    """Something else under the name is refused, and stays as it was."""
    path = tmp_path / "budgets.db"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 40)
    before = path.read_bytes()
    with pytest.raises(LedgerRefused, match="cannot be read, or is no ledger"):
        open_ledger(path)
    assert path.read_bytes() == before


def test_addresses(tmp_path):
    """What is no address is refused without an echo: it may hold a password."""
    for odd in (
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://a:geheim@b/c",
        "://",
        "http://geheim",
        "postgresql://h:geheim/db",
        ".",
    ):
        with pytest.raises(ConfigError) as refused:
            open_ledger(odd, second=None if odd == "." else tmp_path / "head")
        assert "geheim" not in str(refused.value)
    with pytest.raises(ConfigError, match="second"):
        open_ledger("postgresql://a:geheim@b/c")
    with pytest.raises(ConfigError, match="no ledger here"):
        open_ledger(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_server_that_is_away(tmp_path):
    """A server that does not answer is an error that may pass, without its address."""
    pytest.importorskip("psycopg")
    address = f"postgresql://ann:geheim@/x?host={tmp_path}"
    with pytest.raises(LedgerUnavailable) as refused:
        open_ledger(address, second=tmp_path / "head", patience=2)
    assert "geheim" not in str(refused.value)
    assert str(tmp_path) not in str(refused.value)


def test_a_busy_store_is_told(spent, ledger_at):
    """Who waits too long for the store gets a sentence, and the store later."""
    with ledger_at(spent, patience=0.2) as ledger:
        with ledger.read_transaction(), pytest.raises(LedgerUnavailable, match="busy"):
            ask(ledger, "c", FILMS)
        assert not ask(ledger, "c", FILMS).repeated


def test_an_error_leaves_no_lock(spent, ledger_at):
    """Where the store stopped a request halfway, it can be opened again as soon as it is closed."""
    with (
        ledger_at(spent) as ledger,
        planted(payment_without_guard),
        pytest.raises(LedgerRefused) as kept,
    ):
        ask(ledger, "c", FILMS, steps=99)
    ledger_at(spent).close()
    del kept


def test_a_second_place_that_cannot_be_written(spent, ledger_at):
    """No answer leaves before the second place has the head; the retry gives the stored one."""
    with ledger_at(spent) as ledger:
        path = spent.with_name("budgets.db.head")
        kept = path.rename(path.with_name("away"))
        path.mkdir()
        with pytest.raises(LedgerUnavailable, match="second place"):
            ask(ledger, "c", FILMS)
        path.rmdir()
        kept.rename(path)
        assert ask(ledger, "c", FILMS).repeated
        assert ledger.balance(FILMS).spent == 3


def test_pickling_is_refused(spent, ledger_at):
    """A copy of a ledger in another process would be a fork of it."""
    with ledger_at(spent) as ledger, pytest.raises(PrivacyError):
        copy.copy(ledger)


def test_a_closed_ledger_is_closed(spent, ledger_at):
    """After `close` nothing is spent or read."""
    ledger = ledger_at(spent)
    ledger.close()
    for call in (lambda: ask(ledger, "c", FILMS), lambda: ledger.balance(FILMS), ledger.verify):
        with pytest.raises(LedgerRefused, match="closed"):
            call()


def test_commits_go_on_while_a_copy_is_made(tmp_path, monkeypatch):
    """What is committed between two steps of the copy is in it, and the copy is sound."""
    monkeypatch.setattr(sqlite_store, "COPIED_AT_ONCE", 1)
    with open_ledger(tmp_path / "budgets.db") as ledger, ThreadPoolExecutor(1) as other:
        ledger.open_budget(FILMS, Cap.pure("1"))
        ask(ledger, "first", FILMS)
        copying, asked = other.submit(ledger.copy, tmp_path / "copy.db"), 0
        while not copying.done():
            asked += 1
            ask(ledger, f"k{asked}", FILMS)
        copying.result()
    engine = sqlite_store.make_engine(tmp_path / "copy.db", patience=0, owns=False)
    found = replay(partial(read_transaction, engine))
    engine.dispose()
    assert found.is_sound
    assert 1 < found.releases <= 1 + asked


def test_an_entry_before_the_first_is_named(spent):
    """An entry that someone inserted with a number below 1 is told from missing ones."""
    row = (-5, "created", "{}", entry_hash(START, -5, "created", "{}"))
    with by_hand(spent) as connection:
        connection.execute("INSERT INTO ledger_log VALUES (?, ?, ?, ?)", row)
    problems = inspect_ledger(spent).verification.problems
    assert "Entry -5 of the log was inserted, before the first." in problems
    assert not any("missing" in problem for problem in problems)


CREATED = ("created", {"ledger": "a", "operator": operator_anchor(bytes(32))})
OPENED = {
    "number": 1,
    "tenant": "shop",
    "kind": "dataset",
    "name": "films",
    "unit": "pure",
    "cap": 10,
    "delta_cap": 0,
    "epoch_cap": None,
}
PAID = {
    "epoch": 0,
    "charges": [],
    "tenant": None,
    "subject": None,
    "operation": None,
    "key": None,
    "payload": None,
    "answer": None,
}
MALFORMED = {
    "a token that is a number": [CREATED, ("epoch", {"token": 5, "epoch": 1})],
    "an epoch that is a text": [CREATED, ("epoch", {"token": "a", "epoch": "x"})],
    "a budget's number that is a text": [CREATED, ("budget", OPENED | {"number": "x"})],
    "a budget's number that is true": [CREATED, ("budget", OPENED | {"number": True})],
    "a tenant that is a number": [CREATED, ("budget", OPENED | {"tenant": 5})],
    "a kind that is nothing": [CREATED, ("budget", OPENED | {"kind": None})],
    "a budget's name that is a list": [CREATED, ("budget", OPENED | {"name": ["films"]})],
    "a unit that is an object": [CREATED, ("budget", OPENED | {"unit": {}})],
    "a cap that is a text": [CREATED, ("budget", OPENED | {"cap": "x"})],
    "an operator that is a number": [("created", {"ledger": "a", "operator": 5})],
    "an amount beyond all floats": [
        CREATED,
        ("budget", OPENED | {"cap": 10**400}),
        ("release", PAID | {"charges": [[1, 10**399, 0], [1, 0.5, 0]]}),
    ],
    "a state's name that is a number": [CREATED, ("release", PAID | {"state": [5, "a"]})],
    "a state's name that no store holds": [CREATED, ("release", PAID | {"state": ["\ud800", "a"]})],
}


@pytest.mark.parametrize("entries", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_entry_is_a_problem(spent, entries):
    """Whatever its facts are, with a hash that fits: the problem names it, and nothing crashes."""
    previous_hash = START
    with by_hand(spent) as connection:
        for table in ("log", "budgets", "requests", "answers", "states"):
            connection.execute(f"DELETE FROM ledger_{table}")
        for number, (kind, facts) in enumerate(entries, 1):
            body = entry_body(facts)
            previous_hash = entry_hash(previous_hash, number, kind, body)
            row = (number, kind, body, previous_hash)
            connection.execute("INSERT INTO ledger_log VALUES (?, ?, ?, ?)", row)
            if kind == "release":
                connection.execute("INSERT INTO ledger_answers VALUES (?, NULL)", (number,))
        columns = "1, 'shop', 'dataset', 'films', 'pure', 10, 0, 0, 0, NULL, 0, 0"
        connection.execute(f"INSERT INTO ledger_budgets VALUES ({columns})")
    problems = inspect_ledger(spent).verification.problems
    assert f"Entry {len(entries)} of the log cannot be read." in problems
