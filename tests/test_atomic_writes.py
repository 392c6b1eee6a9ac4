"""Where a file can be written, and where it is said beforehand that it cannot."""

from __future__ import annotations

import os

import pytest

from tacit.atomic_writes import check_writable, write_whole
from tacit.errors import OutputError


def test_a_folder_that_takes_no_files_is_named(tmp_path, monkeypatch):
    """Rights are asked about before the work, and the sentence names file and folder."""
    monkeypatch.setattr("tacit.atomic_writes.os.access", lambda *_: False)
    with pytest.raises(OutputError, match="takes no new files") as refused:
        check_writable(tmp_path / "m")
    assert str(refused.value).startswith(f"{tmp_path / 'm'}: cannot be written")


def test_a_device_is_not_replaced(tmp_path):
    """A pipe or device by that name stays what it is."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="not an ordinary file"):
        write_whole(tmp_path / "pipe", b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_what_the_system_refuses_is_no_bug(tmp_path):
    """A name too long for the disk is refused in the system's words."""
    with pytest.raises(OutputError, match="cannot be written"):
        write_whole(tmp_path / ("n" * 300), b"x")
    assert list(tmp_path.iterdir()) == []


def test_new_content_is_never_more_open_than_the_old_file(tmp_path, monkeypatch):
    """A file of its owner alone is replaced by one that nobody else could read on the way."""
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(0o600)
    modes = []
    fsync = os.fsync

    def record_mode(number):
        """Note the rights of the new file once its content is written."""
        modes.append(os.fstat(number).st_mode & 0o777)
        fsync(number)

    monkeypatch.setattr("tacit.atomic_writes.os.fsync", record_mode)
    write_whole(path, b"new")
    assert (path.read_bytes(), modes, path.stat().st_mode & 0o777) == (b"new", [0o600], 0o600)
