"""The public log of a disclosure: one digest an epoch, and a history that stays."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tacit.designs.standard_scheme.serve.operator import DigestLog
from tacit.errors import ConfigError, OutputError

WEEK = 604_800
FIRST, SECOND = "0" * 16, "1" * 16


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gender.digests"


def served(path, *entries) -> DigestLog:
    log = DigestLog(path, WEEK)
    for epoch, digest in entries:
        log.enter_digest(digest, epoch)
    return log


def test_a_digest_is_added(path):
    """What is served is in the log, and is there for the next one that reads it."""
    served(path, (7, FIRST))
    assert served(path, (9, SECOND)).entries() == [
        {"epoch": 7, "digest": FIRST},
        {"epoch": 9, "digest": SECOND},
    ]


def test_nothing_is_added_twice(path):
    """The same digest again in the same epoch leaves the file as it is."""
    served(path, (7, FIRST))
    before = path.read_bytes()
    served(path, (7, FIRST), (7, FIRST))
    assert path.read_bytes() == before


def test_lines_stay(path):
    """What stands in the file stands there for ever, byte for byte."""
    served(path, (7, FIRST))
    before = path.read_bytes()
    served(path, (8, FIRST))
    assert path.read_bytes().startswith(before)


def test_a_second_digest_of_one_epoch(path):
    """Another digest in the same epoch is refused with the epoch that may have it."""
    served(path, (7, FIRST))
    with pytest.raises(ConfigError, match=f"{FIRST} was served in this epoch.*epoch 8"):
        served(path, (7, SECOND))


def test_a_clock_that_went_back(path):
    """An epoch before the last entry is refused: what was said is said."""
    served(path, (7, FIRST))
    with pytest.raises(ConfigError, match="Set the clock"):
        served(path, (6, FIRST))


def test_every_change_is_noticed(path):
    """A history with one bit turned, a line taken out, doubled or cut is refused, and kept."""
    served(path, (7, FIRST), (8, SECOND), (9, FIRST))
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    changed = [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(len(whole))]
    changed += [b"".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines) - 1)]
    changed += [whole + lines[-1], whole[:-1], b"", b"{}\n"]
    for data in changed:
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=r"history was changed|is no log"):
            served(path, (10, FIRST))
        assert path.read_bytes() == data


def test_another_epoch_length(path):
    """Epochs of another length are another log."""
    served(path, (7, FIRST))
    with pytest.raises(ConfigError, match="epoch_length"):
        DigestLog(path, 2 * WEEK).enter_digest(FIRST, 8)


def test_many_at_once(path):
    """Services that start at the same moment write one entry."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: served(path, (7, FIRST)), range(16)))
    assert served(path, (7, FIRST)).entries() == [{"epoch": 7, "digest": FIRST}]


def test_two_digests_at_once(path):
    """Of services that begin with different disclosures in one epoch, exactly one is refused."""
    together = Barrier(2)

    def refused(epoch: int, digest: str) -> bool:
        together.wait()
        try:
            served(path, (epoch, digest))
        except ConfigError as error:
            return "was served in this epoch" in str(error)
        return False

    with ThreadPoolExecutor(2) as pool:
        for epoch in range(100):
            assert sum(pool.map(refused, (epoch, epoch), (FIRST, SECOND))) == 1
    assert len(path.read_bytes().splitlines()) == 101


def test_no_folder(tmp_path):
    """A log that cannot be written is an error, not a missing entry."""
    with pytest.raises(OutputError):
        served(tmp_path / "no" / "log", (7, FIRST))


def test_a_log_that_cannot_be_read(path):
    """The error names the log and the reason of the operating system."""
    path.mkdir()
    with pytest.raises(OutputError, match=r"gender\.digests: the log cannot be read or written"):
        served(path, (7, FIRST))


def test_a_folder_that_cannot_be_locked(path, monkeypatch):
    """Where the file system has no locks, nothing is said to be logged."""

    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", fail)
    log = DigestLog(path, WEEK)
    with pytest.raises(OutputError, match="No locks available"):
        log.enter_digest(FIRST, 7)
    assert log.entries() == []
