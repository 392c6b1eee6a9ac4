"""A start from a checkpoint: as sure of every budget as a replay of everything, and much sooner."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, event, insert, text

from tacit.ledger import (
    Cap,
    LedgerFailed,
    LedgerRefused,
    LedgerUnavailable,
    checkpoints,
    open_ledger,
    sqlite,
)
from tacit.ledger.log_state import BudgetState, LogState
from tacit.ledger.replay import read_entries, read_entries_in_one_row
from tacit.ledger.schema import answers, create_tables, log, requests
from tacit.ledger.statements import Statement
from tests.support.ledger_checkpoints import (
    PROBES,
    TOM,
    Place,
    checkpoints_every,
    with_a_checkpoint,
)
from tests.support.ledger_crowds import crowd
from tests.support.ledger_faults import planted
from tests.support.ledger_kills import kill_spenders
from tests.support.ledger_requests import FILMS, ask, by_hand, count, fork


@pytest.fixture
def quick(quick_folder):
    """A place in memory, SQLite."""
    return Place(quick_folder / "budgets.db", quick_folder / "head")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, quick_folder):
    """A place for a ledger in each store."""
    if request.param == "sqlite":
        return Place(quick_folder / "budgets.db", quick_folder / "head")
    return Place(request.getfixturevalue("postgres").database(), quick_folder / "head")


@pytest.fixture
def read(monkeypatch):
    """The numbers of the entries that were replayed since it was last emptied."""
    numbers = []
    entry = LogState.add_entry
    monkeypatch.setattr(
        LogState, "add_entry", lambda told, row: (numbers.append(row.sequence), entry(told, row))[1]
    )
    return numbers


def rows(place):
    """The checkpoints of the table: (entry, text)."""
    return [tuple(row) for row in place.edit("SELECT * FROM ledger_checkpoints ORDER BY sequence")]


def test_a_start_reads_what_was_added(place, read):
    """After a checkpoint a start replays its entry and the later ones, and knows everything."""
    number = with_a_checkpoint(place, tail=3)
    read.clear()
    with place.open() as ledger:
        assert read == [number, number + 1, number + 2, number + 3]
        assert ledger.balance(FILMS).spent == 5
        assert ledger.verify().is_sound
        assert read[4:] == list(range(1, number + 4))


def test_a_start_writes_one_for_the_next(place, read):
    """A replay of much leaves a checkpoint: who opens next, as a worker does, has little to do."""
    with place.open() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        for n in range(20):
            ask(ledger, f"k{n}", FILMS)
    with checkpoints_every(15):
        place.open().close()
        read.clear()
        with place.open() as worker:
            assert read == [23]
            assert worker.balance(FILMS).spent == 20
        assert [number for number, _ in rows(place)] == [23]


def test_a_calm_stop_writes_one(place, read):
    """What was added since the start is not read again after a calm stop."""
    with checkpoints_every(15):
        with place.open() as ledger:
            ledger.open_budget(FILMS, Cap.pure("1"))
            for n in range(20):
                ask(ledger, f"k{n}", FILMS)
        read.clear()
        with place.open() as ledger:
            assert read == [23]
            assert ledger.verify().is_sound


def rested():
    """When no thread writes a checkpoint any more."""
    for thread in threading.enumerate():
        if thread.name == "ledger":
            thread.join()


def test_a_process_that_goes_on_writes_some(place):
    """Killed after long spending, a start has no more to read than was added since the last one."""
    with checkpoints_every(5, running=10), place.open() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        for n in range(60):
            ask(ledger, f"k{n}", FILMS)
            if n % 10 == 9:
                rested()
        assert ledger.verify().is_sound
        kept = [number for number, _ in rows(place)]
        assert 1 <= len(kept) <= 2
        assert kept[-1] > 30


def test_small_ledgers_have_none(place):
    """Where a replay is a matter of milliseconds everything is looked at at every start."""
    for _ in range(2):
        with place.open() as ledger:
            ledger.open_budget(FILMS, Cap.pure("1"))
            count(ledger, "a")
    assert rows(place) == []


def test_what_is_written_pays(quick, monkeypatch):
    """A checkpoint holds every budget, so it waits for a quarter as many entries."""
    monkeypatch.setattr(checkpoints, "least_entries", lambda told: 10 * len(told.budgets))
    with checkpoints_every(2):
        with quick.open() as ledger:
            for n in range(3):
                ledger.open_budget(TOM if n else FILMS, Cap.pure("1"))
            for n in range(15):
                ask(ledger, f"k{n}", FILMS)
        assert rows(quick) == []
        with quick.open() as ledger:
            ask(ledger, "more", FILMS)
            ask(ledger, "still more", FILMS)
        assert [number for number, _ in rows(quick)] == [21]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
def test_nothing_is_let_through(place, probe):
    """Who can write the store, and not the second place, gets no step back by a checkpoint."""
    assert probe(place) == ""


@pytest.mark.parametrize(
    ("probe", "fault"),
    [(probe, fault) for probe, all_ in PROBES.items() for fault in all_],
    ids=lambda value: value.__name__,
)
def test_planted_faults_let_it_through(quick, probe, fault):
    """The probe notices the fault, so it would notice a ledger that has it."""
    with planted(fault):
        assert probe(quick) != ""


EDITS = {
    "a larger cap": "UPDATE ledger_budgets SET cap = cap + 1 WHERE id = 1",
    "an untouched budget": "UPDATE ledger_budgets SET name = 'tim' WHERE id = 2",
    "a budget gone": "DELETE FROM ledger_budgets WHERE id = 2",
    "an answer changed": "UPDATE ledger_answers SET answer = NULL WHERE sequence = 8",
    "an answer gone": "DELETE FROM ledger_answers WHERE sequence = 8",
    "a payload changed": "UPDATE ledger_requests SET payload = '0' WHERE sequence = 8",
    "an entry changed": "UPDATE ledger_log SET body = replace(body, '[1,1,', '[1,2,')"
    " WHERE sequence = 8",
    "an entry gone": "DELETE FROM ledger_log WHERE sequence = 8",
    "the last entry gone": "DELETE FROM ledger_log WHERE sequence = 9",
    "a request slipped in": "INSERT INTO ledger_requests VALUES (99, 'a', 'b', 'c', 'd', 'e')",
    "an epoch granted": "UPDATE ledger_head SET epoch = 1",
    "no head": "DELETE FROM ledger_head",
    "a state gone": "DELETE FROM ledger_states",
    "a state renamed": "UPDATE ledger_states SET name = 'rounds/b'",
    "a state of another entry": "UPDATE ledger_states SET sequence = 4",
    "a state slipped in": "INSERT INTO ledger_states VALUES ('rounds/b', 5, x'00')",
}


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_an_edit_after_the_checkpoint_is_refused(quick, statement):
    """All rows of budgets and states, the head, and everything of the entries after it."""
    assert with_a_checkpoint(quick, tail=3) == 6
    with by_hand(quick.where) as connection:  # without foreign keys
        connection.execute(statement)
    with pytest.raises(LedgerRefused):
        quick.open()


OLD = {
    "an answer changed": "UPDATE ledger_answers SET answer = NULL WHERE sequence = 4",
    "a key changed": "UPDATE ledger_requests SET request_key = 'z' WHERE sequence = 4",
    "an entry changed": "UPDATE ledger_log SET body = '{}' WHERE sequence = 4",
    "an entry gone": "DELETE FROM ledger_log WHERE sequence = 4",
    "an entry slipped in": "INSERT INTO ledger_log VALUES (0, 'release', '{}', '')",
}


@pytest.mark.parametrize("statement", OLD.values(), ids=OLD.keys())
def test_what_a_start_does_not_look_at(place, statement):
    """Of entries before the checkpoint only what they left in budgets and states is compared at
    a start, and that is right; `verify` tells the rest."""
    with_a_checkpoint(place)
    place.edit(statement)
    with place.open() as ledger:
        assert ledger.balance(FILMS).spent == 5
        assert not ledger.verify().is_sound


def damaged(place, text):
    place.edit("UPDATE ledger_checkpoints SET state = :text", text=text)


@pytest.mark.parametrize(
    "change",
    [
        *(lambda text: "", lambda text: "[]", lambda text: text[:-1], lambda text: "[" * 10**5),
        *(lambda text: text.replace("films", "filmz"), lambda text: text + "\n"),
        *(lambda text: text.replace("[1, ", '["1", '), lambda text: "\n".join(["[1]"] * 5)),
        *(lambda text: text.split("\n")[0] + "\n[]", lambda text: text.split("\n")[0] + '\n""'),
    ],
)
def test_a_damaged_checkpoint_is_passed_over(place, read, change):
    """Torn or nonsense, it costs a longer start, and the next one is quick again."""
    number = with_a_checkpoint(place)
    damaged(place, change(rows(place)[0][1]))
    read.clear()
    with checkpoints_every(5), place.open() as ledger:
        assert read == list(range(1, number + 4))
        assert ledger.verify().is_sound
    read.clear()
    with place.open():
        assert read == [number + 4]


def test_any_bytes_are_passed_over(quick, read):
    """Whatever byte of it changes, it is not believed."""
    number = with_a_checkpoint(quick)
    whole = rows(quick)[0][1]
    chance = random.Random(1)  # noqa: S311  # which byte
    for at in chance.sample(range(len(whole)), 40):
        damaged(quick, whole[:at] + chance.choice('0123xyz[],"\n ') + whole[at + 1 :])
        if rows(quick)[0][1] == whole:
            continue
        read.clear()
        with quick.open() as ledger:
            assert read[0] == 1
            assert ledger.balance(FILMS).spent == 5
    damaged(quick, whole)
    read.clear()
    quick.open().close()
    assert read[0] == number


def test_a_missing_checkpoint_is_missed_by_nobody(place, read):
    """The table may be emptied at any time."""
    with_a_checkpoint(place)
    place.edit("DELETE FROM ledger_checkpoints")
    read.clear()
    with place.open() as ledger:
        assert read[0] == 1
        assert ledger.balance(FILMS).spent == 5


def test_an_older_checkpoint_is_harmless(place, read):
    """Put back by somebody, it is a longer start, and every budget holds what it held."""
    number = with_a_checkpoint(place)
    old = rows(place)
    with checkpoints_every(2):
        with place.open() as ledger:
            count(ledger, "c", FILMS)
        newer = rows(place)[-1][0]
    assert newer > number
    place.edit("DELETE FROM ledger_checkpoints")
    place.edit("INSERT INTO ledger_checkpoints VALUES (:n, :text)", n=number, text=old[0][1])
    read.clear()
    with place.open() as ledger:
        assert read[0] == number
        assert ledger.balance(FILMS).spent == 6
        assert ledger.state("rounds/a") == b"2"
        assert ledger.verify().is_sound


def test_a_checkpoint_of_another_ledger_is_passed_over(place, read, tmp_path):
    """The same entries of another ledger have other hashes."""
    other = Place(tmp_path / "other.db", tmp_path / "other.head")
    number = with_a_checkpoint(place)
    assert with_a_checkpoint(other, tail=9) == number
    damaged(place, rows(other)[0][1])
    read.clear()
    with place.open() as ledger:
        assert read[0] == 1
        assert ledger.balance(FILMS).spent == 5


def test_a_checkpoint_ahead_of_the_store_saves_no_older_store(quick, tmp_path):
    """An older copy with a newer checkpoint is an older copy: the second place refuses it."""
    with_a_checkpoint(quick)
    backup = tmp_path / "backup"
    shutil.copy(quick.where, backup)
    with checkpoints_every(2), quick.open() as ledger:
        count(ledger, "c", FILMS)
    newer = rows(quick)[-1]
    shutil.copy(backup, quick.where)
    quick.edit("INSERT INTO ledger_checkpoints VALUES (:n, :text)", n=newer[0], text=newer[1])
    with pytest.raises(LedgerRefused, match="older"):
        quick.open()


def test_an_older_store_with_its_own_checkpoint_is_refused(quick, tmp_path):
    """A restored backup begins with its own checkpoint, and the second place knows better."""
    with_a_checkpoint(quick)
    backup = tmp_path / "backup"
    shutil.copy(quick.where, backup)
    with quick.open() as ledger:
        ask(ledger, "c", FILMS)
    shutil.copy(backup, quick.where)
    with pytest.raises(LedgerRefused, match="older"):
        quick.open()


def test_a_checkpoint_that_the_second_place_missed(quick, read):
    """Killed between the two, the next start takes the checkpoint before."""
    number = with_a_checkpoint(quick)
    before = quick.second.read_bytes()
    with checkpoints_every(2), quick.open():
        pass
    assert [at for at, _ in rows(quick)] == [number, number + 4]
    quick.second.write_bytes(before)
    read.clear()
    with quick.open() as ledger:
        assert read[0] == number
        assert ledger.verify().is_sound


def test_a_false_checkpoint_in_the_chain_is_told(quick, monkeypatch):
    """An entry that says another state than the log, whoever wrote it, is found by a replay."""
    text = LogState.text
    monkeypatch.setattr(
        LogState, "text", lambda told, *rest: text(told, *rest).replace("films", "filmz")
    )
    with_a_checkpoint(quick)
    monkeypatch.undo()
    with pytest.raises(LedgerRefused, match="checkpoint of another state"):
        quick.open()


def test_damage_found_while_running_stops(quick):
    """A checkpoint of a process that goes on is a replay too: what it finds is final."""
    with_a_checkpoint(quick)
    with checkpoints_every(1000, running=2), quick.open() as ledger:
        quick.edit("UPDATE ledger_answers SET answer = NULL WHERE sequence = 8")
        with suppress(LedgerRefused):
            for n in range(10):
                ask(ledger, f"c{n}", FILMS)
                rested()
        with pytest.raises(LedgerRefused, match="Entry 8"):
            ask(ledger, "d", FILMS)


def test_a_history_that_was_exchanged_while_running_gets_no_checkpoint(quick):
    """What a process reads has to pass the head that it was told itself."""
    with_a_checkpoint(quick)
    with quick.open() as ledger:
        heads = [replace(ledger.head, sequence=0)]
        keeping = checkpoints.CheckpointWriter(ledger.read_transaction, None, lambda: heads[-1])
        heads.append(replace(ledger.head, hash="0" * 64))
        with checkpoints_every(2):
            keeping.end()
        with pytest.raises(LedgerRefused, match="remembers"):
            ask(ledger, "c", FILMS)


@pytest.fixture(scope="module")
def empty_tables():
    """An engine on the ledger's tables in memory; a test rolls back what it writes."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        create_tables(connection)
    yield engine
    engine.dispose()


@given(texts=st.lists(st.text(), min_size=4, max_size=4), answer=st.none() | st.binary())
@settings(max_examples=60, deadline=None)
def test_entries_at_once_are_the_same(empty_tables, texts, answer):
    """What SQLite gives in one row is what it gives in many, whatever people are called."""
    with empty_tables.connect() as connection:
        names = dict(zip(("tenant", "subject", "operation", "request_key"), texts, strict=True))
        connection.execute(insert(requests).values(sequence=2, payload="p", **names))
        connection.execute(insert(answers).values(sequence=2, answer=answer))
        for number in (1, 2, 3):
            row = {"sequence": number, "kind": texts[0], "body": texts[1], "hash": texts[2]}
            connection.execute(insert(log).values(**row))
        for last, most in ((0, 10), (0, 2), (1, 1), (3, 5)):
            many = read_entries(connection, last, most)
            once = read_entries_in_one_row(connection, last, most)
            assert len(once) == len(many)
            for one, other in zip(once, many, strict=True):
                assert all(getattr(one, name) == said for name, said in other._asdict().items())


def test_the_text_of_a_state_stays(quick):
    """Its hashes are in logs: this text, of format 1, never changes."""
    told = LogState(ledger="a", operator=None, hash="b", sequence=7, epoch=2, releases=3)
    opened = {
        2: BudgetState("shop", "dataset", "films", "approximate", 9, 8, 7, 6, 5, 2, 1),
        1: BudgetState("shop", "subject", "é", "pure", 10**18, 0, None),
    }
    told.budgets = opened
    told.states = {"b": (5, "d"), "a": (6, "c")}
    assert told.text() == (
        '[1, "a", null, 7, "b", 2, 3, 2]\n'
        '[1, "shop", "subject", "\\u00e9", "pure", 1000000000000000000, 0, null, 0, 0, 0, 0]\n'
        '[2, "shop", "dataset", "films", "approximate", 9, 8, 7, 6, 5, 2, 1]\n'
        '["a", 6, "c"]\n["b", 5, "d"]'
    )
    again = LogState.from_text(told.text())
    assert again.budgets == opened
    assert again.states == told.states


STATE_LINES = (
    [1, "a", None, 7, "b", 2, 3, 1],
    [1, "shop", "dataset", "films", "pure", 9, 8, 7, 6, 5, 2, 1],
    ["a", 6, "c"],
)
"""Lines of a state's text: facts about the chain, a budget, and a stored state."""


def state_text(number=0, index=0, value=1):
    """The text of `STATE_LINES`, with `value` in place of one entry of line `number`."""
    lines = [list(line) for line in STATE_LINES]
    lines[number][index] = value
    return "\n".join(map(json.dumps, lines))


def test_a_state_with_a_field_of_another_type_is_not_read():
    """A text without a fault is read; with any field that is an object or true, it is not."""
    assert LogState.from_text(state_text()).budgets[1].name == "films"
    fields = [(number, index) for number in (0, 1, 2) for index in range(len(STATE_LINES[number]))]
    assert len(fields) == 23
    for number, index in fields:
        for value in ({}, ["x"], True, 1.5):
            assert LogState.from_text(state_text(number, index, value)) is None, (number, index)


@pytest.mark.parametrize("field", range(1, 5))
def test_a_state_whose_budget_has_a_number_for_a_text_is_not_read(field):
    """The tenant, the kind, the name and the unit of a budget are texts."""
    assert LogState.from_text(state_text(1, field, 5)) is None
    assert LogState.from_text(state_text(1, field, None)) is None


@pytest.mark.parametrize("number", [1, 2])
def test_a_state_with_a_line_of_another_length_is_not_read(number):
    """What a line lacks is not replaced by the fields of a new budget."""
    lines = list(STATE_LINES)
    for line in (lines[number][:-1], [*lines[number], 1]):
        lines[number] = line
        assert LogState.from_text("\n".join(map(json.dumps, lines))) is None


@pytest.mark.parametrize("count", [-1, 3])
def test_a_state_with_another_number_of_budgets_is_not_read(count):
    """The number of budgets is that of their lines."""
    assert LogState.from_text(state_text(0, 7, count)) is None


def test_the_text_follows_every_payment(quick):
    """A line that was made before is made again after its budget paid: the text is that of a state
    whose text was never asked for."""
    with quick.open() as ledger:
        for holder in (FILMS, TOM):
            ledger.open_budget(holder, Cap.pure("1"))
        for n in range(6):
            ask(ledger, f"k{n}", TOM if n % 2 else FILMS)
        told, texts = LogState(), set()
        with ledger.read_transaction() as connection:
            for row in read_entries(connection, 0, 100):
                told.add_entry(row)
                texts.add(told.text())
                assert told.text() == LogState.from_text(told.text()).text()
    assert len(texts) == 9


def test_a_stop_without_time_writes_none(quick, monkeypatch):
    """A stop takes a second at most: what is not read by then is the next start's."""
    monkeypatch.setattr(checkpoints, "ENTRIES_AT_ONCE", 5)
    with checkpoints_every(2), quick.open() as ledger:
        monkeypatch.setattr(checkpoints, "STOP_SECONDS", -1)
        ledger.open_budget(FILMS, Cap.pure("1"))
        for n in range(20):
            ask(ledger, f"k{n}", FILMS)
    assert rows(quick) == []


def checkpoints_of(ledger):
    """How many there are, while others write."""
    with ledger.read_transaction() as connection:
        return connection.scalar(text("SELECT count(*) FROM ledger_checkpoints"))


def test_it_keeps_up_with_many_threads(quick, wait_until):
    """Forty spenders at full speed leave the thread beside them enough to come to an end: they go
    on until its second checkpoint is there."""
    over = threading.Event()

    def spend(ledger, number):
        for n in itertools.count():
            ask(ledger, f"{number}-{n}", FILMS)
            if over.is_set():
                return

    with checkpoints_every(5, running=200), quick.open() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1000"))
        with ThreadPoolExecutor(40) as threads:
            done = [threads.submit(spend, ledger, number) for number in range(40)]
            try:
                wait_until(lambda: checkpoints_of(ledger) == 2)
            finally:
                over.set()
        assert [one.result() for one in done] == [None] * 40
        assert ledger.verify().is_sound


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def killed_starting(place, step):
    """A start that writes a checkpoint, by a process that kills itself before statement `step`,
    before the commit, or before the second place."""
    child = fork()
    if child == 0:
        code = 1
        try:
            from sqlalchemy import Engine

            seen, run = iter(range(10_000)), Statement.run
            check = lambda *_: die() if next(seen) == step else None  # noqa: E731
            Statement.run = lambda *given: (check(), run(*given))[1]
            event.listen(Engine, "before_cursor_execute", check)
            if step == "commit":
                event.listen(Engine, "commit", lambda c: die() if _writes(c) else None)
            if step == "second":
                from tacit.ledger import FileHead

                advance = FileHead.advance
                heads = []
                FileHead.advance = lambda *given: (
                    die() if heads else heads.append(1),
                    advance(*given),
                )
            with checkpoints_every(2):
                place.open()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _writes(connection):
    return not connection.get_execution_options().get("ledger_reads", False)


def test_killed_before_every_statement_of_a_start(place, read):
    """Killed wherever a checkpoint is written, the next start is as sure as before."""
    number = with_a_checkpoint(place)
    for step in range(100):
        ended = killed_starting(place, step)
        read.clear()
        with place.open() as ledger:
            assert ledger.balance(FILMS).spent == 5
            assert ledger.verify().is_sound
        if ended == 0:
            assert read[0] == number + 4
            break
        assert ended == -signal.SIGKILL
        assert read[0] == number
    assert step > 15


@pytest.mark.parametrize(("step", "written"), [("commit", 0), ("second", 1)])
def test_killed_around_the_commit_of_a_checkpoint(place, step, written):
    """It is there or not; nothing else changes."""
    number = with_a_checkpoint(place)
    assert killed_starting(place, step) == -signal.SIGKILL
    assert len(rows(place)) == 1 + written
    with place.open() as ledger:
        assert ledger.head.sequence == number + 3 + written
        assert ledger.balance(FILMS).spent == 5
        assert ledger.verify().is_sound


def test_a_store_without_room_is_opened_all_the_same(quick, monkeypatch):
    """A start that cannot write now goes without a checkpoint."""

    def full(place, replayed):
        raise LedgerUnavailable("There is no room.")

    with_a_checkpoint(quick)
    with checkpoints_every(2), monkeypatch.context() as patched:
        patched.setattr(checkpoints, "store_checkpoint", full)
        ledger = quick.open()
    assert len(rows(quick)) == 1
    assert not ask(ledger, "c", FILMS).repeated
    ledger.close()


def test_a_disk_that_fails_under_a_checkpoint_is_final(quick, monkeypatch):
    """What a failed sync leaves in doubt is not used, a checkpoint's as any other's."""

    def fails(place, replayed):
        raise LedgerFailed("The disk failed.")

    with_a_checkpoint(quick)
    monkeypatch.setattr(checkpoints, "store_checkpoint", fails)
    with checkpoints_every(2), pytest.raises(LedgerFailed, match="disk failed"):
        quick.open()


def test_a_crowd_with_checkpoints(place):
    """Eight spenders, checkpoints at every few entries: nothing goes wrong."""
    openings = 1 if isinstance(place.where, Path) else 2
    with checkpoints_every(5, running=15):
        found = crowd(place.open, spenders=8, times=12, cap=2, openings=openings)
    assert found.sound, found
    assert rows(place)


def test_kills_with_checkpoints(quick_folder):
    """Spenders killed at random moments while checkpoints are written all the time."""
    with checkpoints_every(2, running=3):
        found = kill_spenders(lambda: open_ledger(quick_folder / "budgets.db"), 6)
    assert found.sound, found


def test_openings_at_once_write_one(postgres, tmp_path, monkeypatch):
    """Of two that found the same, the one that comes second does not write it again."""
    place = Place(postgres.database(), tmp_path / "head")
    with place.open() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        for n in range(20):
            ask(ledger, f"k{n}", FILMS)
    both, begin = threading.Barrier(2, timeout=60), checkpoints.CheckpointWriter.begin
    monkeypatch.setattr(
        checkpoints.CheckpointWriter, "begin", lambda *given: (both.wait(), begin(*given))
    )
    with checkpoints_every(10), ThreadPoolExecutor(2) as threads:
        found = [*threads.map(lambda _: place.open(), range(2))]
        assert [number for number, _ in rows(place)] == [23]
        assert [ledger.verify().entries for ledger in found] == [23, 23]
        for ledger in found:
            ledger.close()


def unnamed():
    """The files that this process has open and that have no name any more."""
    open_ = Path(f"/proc/{os.getpid()}/fd").iterdir()
    return [one for one in open_ if one.exists() and one.readlink().name.endswith(" (deleted)")]


def test_a_state_that_was_replaced_is_overwritten(tmp_path, wait_until):
    """Of a kept state that was replaced no byte is left in the file, in its log and in unnamed
    files of the process: after a second, or where it was killed before that, at the next start."""
    path = tmp_path / "budgets.db"
    secret = b"what somebody watched on 3 May; "

    def held():
        """By a process of its own: a file that is closed here gives its lock back."""
        files = [path, f"{path}-wal", *unnamed()]
        found = subprocess.run(["grep", "-c", secret, *files], capture_output=True)
        return found.returncode == 0

    with open_ledger(path) as ledger:
        for key, copies in (("a", 4000), ("b", 2)):
            count(ledger, key, draw=lambda *_, n=copies: (b"1", secret * n))
            assert held()
            count(ledger, f"{key}2", draw=lambda *_: (b"1", b"{}"))
            assert held()  # in the log
            wait_until(lambda: not held())
        count(ledger, "c", draw=lambda *_: (b"1", secret))
        count(ledger, "d", draw=lambda *_: (b"1", b"{}"))
        copy = tmp_path / "killed.db"  # as it lies there when the process is killed
        for end in ("", "-wal", ".head"):
            subprocess.run(["cp", f"{path}{end}", f"{copy}{end}"], check=True)
    path = copy
    assert held()
    with open_ledger(path):
        assert not held()


def test_without_the_log_emptied_it_lingers(tmp_path, monkeypatch):
    """The search finds what a log that is not emptied still holds."""
    monkeypatch.setattr(sqlite, "WAL_CHECKPOINT_AFTER_S", 60)
    with open_ledger(tmp_path / "b.db") as ledger:
        count(ledger, "a", draw=lambda *_: (b"1", b"an older state"))
        count(ledger, "b", draw=lambda *_: (b"1", b"{}"))
        time.sleep(2)
        found = subprocess.run(["grep", "-q", "an older state", tmp_path / "b.db-wal"])
        assert found.returncode == 0


@pytest.mark.parametrize("busy", ["emptying its log", "reading"])
def test_a_closed_file_has_no_owner(tmp_path, monkeypatch, busy):
    """Closed while a thread empties the log, or reads: that comes to its end first, and then the
    file is the next one's at once."""
    began, goes_on, empty = threading.Event(), threading.Event(), sqlite.checkpoint_wal

    def slowly(engine):
        began.set()
        goes_on.wait()
        empty(engine)

    if busy == "emptying its log":
        monkeypatch.setattr(sqlite, "WAL_CHECKPOINT_AFTER_S", 0.01)
        monkeypatch.setattr(sqlite, "checkpoint_wal", slowly)
    ledger = open_ledger(tmp_path / "b.db")
    count(ledger, "a")
    taken = ExitStack()
    if busy == "reading":
        taken.enter_context(ledger.read_transaction())
    else:
        assert began.wait(300)
    closing = threading.Thread(target=ledger.close)
    closing.start()
    closing.join(0.5)
    waits = closing.is_alive()
    goes_on.set()
    taken.close()
    closing.join()
    with open_ledger(tmp_path / "b.db") as next_one:
        count(next_one, "b")
    assert waits
