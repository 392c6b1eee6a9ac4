"""What a device keeps is there after a crash, for its owner alone."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from tacit.client import FileMemory, Memory, MemoryContent, private_files
from tacit.designs.standard_scheme.memory import Record, State
from tacit.errors import DataError, OutputError

DIGEST = "0123456789abcdef"


@pytest.fixture(params=["file", "passing"])
def memory(request, tmp_path):
    """A memory of either kind."""
    return FileMemory(tmp_path / "memory") if request.param == "file" else Memory()


def test_round_trip(memory):
    """What was kept comes back, with ids of both types and any size."""
    records = {1: Record(None, DIGEST, 0), "1": Record(4, DIGEST, 1), 2**70: Record(0, DIGEST, 2)}
    state = State(5, "x", records, {"é"}, {"later": 7}, 2, b"{}", 2, ((9, DIGEST),))
    everything = MemoryContent(
        *("account", {"ab": (10**6, b"\x00\xff")}, "gender", state, True, "other", 8, 2, b"[]"),
        last_answer=(b"{}", b"[]"),
    )
    with memory.transaction() as kept:
        vars(kept).update(vars(everything))
    with memory.transaction() as kept:
        assert kept == everything


def test_nothing_is_kept_after_an_error(memory):
    """A turn that fails leaves what was there before."""
    with memory.transaction() as kept:
        kept.reports["ab"] = (1, b"x")

    def failing():
        with memory.transaction() as kept:
            kept.reports["cd"] = (2, b"y")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with memory.transaction() as kept:
        assert set(kept.reports) == {"ab"}


def test_devices_take_turns(memory):
    """Threads that count at the same moment lose nothing."""

    def count():
        for _ in range(5):
            with memory.transaction() as kept:
                spent, _ = kept.reports.get("ab", (0, b""))
                kept.reports["ab"] = (spent + 1, b"")

    threads = [threading.Thread(target=count) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with memory.transaction() as kept:
        assert kept.reports["ab"][0] == 30


def test_killed_at_any_moment(tmp_path):
    """A process that is killed while it keeps leaves the old memory or the new one."""
    path = tmp_path / "memory"
    code = (
        "import sys; from tacit.client import FileMemory; memory = FileMemory(sys.argv[1])\n"
        "for number in range(10**6):\n"
        "    with memory.transaction() as kept:\n"
        "        kept.reports = {f'{number}': (number, b'x' * 20000)}\n"
        "    print(number, flush=True)\n"
    )
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            done = int(process.stdout.readline())
            for _ in range(20):
                done = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            *_, last = [done, *map(int, process.stdout.read().split())]
        with FileMemory(path).transaction() as kept:
            [(name, (number, sent))] = kept.reports.items()
        assert name == str(number)
        assert number in (last, last + 1)
        assert len(sent) == 20000


def test_only_the_owner_reads(tmp_path):
    """Files are made for their owner alone, whatever the habits of the account are."""
    before = os.umask(0)
    try:
        with FileMemory(tmp_path / "memory").transaction() as kept:
            kept.account = "x"
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"memory": 0o600, "memory.lock": 0o600}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        '{"version":2,"reports":{},"releases":[]}',
        '{"version":3,"reports":{},"releases":[]}',
        '{"version":1,"reports":{"ab":[1]},"releases":[]}',
        '{"version":1,"reports":{"ab":[1,"xy"]},"releases":[]}',
        '{"version":1,"reports":{"ab":[NaN,"00"]},"releases":[]}',
        '{"version":1,"reports":{"ab":[true,"00"]},"releases":[]}',
        '{"version":1,"reports":{},"releases":[[1,2]]}',
        '{"version":1,"reports":{},"releases":[[1.5,2,3,[],"x"]]}',
        '{"version":1,"reports":{},"reports":{},"releases":[]}',
    ],
)
def test_other_files_are_refused(tmp_path, text):
    """What is no memory is neither used nor replaced."""
    path = tmp_path / "memory"
    path.write_text(text)
    with pytest.raises(DataError, match="not a device's memory"), FileMemory(path).transaction():
        pass
    assert path.read_text() == text


def test_no_folder(tmp_path):
    """A folder that is not there is said in one sentence."""
    with (
        pytest.raises(OutputError, match="cannot be read or written"),
        FileMemory(tmp_path / "no" / "memory").transaction(),
    ):
        pass


@pytest.mark.parametrize(
    ("stored", "changed"),
    [
        ('"tried":0', '"tried":-1'),
        ('"settled":-1', '"settled":-2'),
        ('"settled":-1', f'"settled":{2**70}'),
        ('"reports":{}', '"reports":{"ab":[-1,"00"]}'),
    ],
)
def test_numbers_out_of_their_range_are_refused(tmp_path, stored, changed):
    """A negative epsilon would allow more reports, a huge epoch would stop all letters."""
    path = tmp_path / "memory"
    with FileMemory(path).transaction() as content:
        content.account = "x"
    text = path.read_text()
    assert stored in text
    path.write_text(text.replace(stored, changed))
    with pytest.raises(DataError, match="not a device's memory"), FileMemory(path).transaction():
        pass


def test_a_lock_that_the_file_system_refuses_is_said(tmp_path, monkeypatch):
    """Some network drives have no locks."""

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(private_files.fcntl, "flock", refuse)
    with (
        pytest.raises(OutputError, match="No locks available"),
        FileMemory(tmp_path / "memory").transaction(),
    ):
        pass
