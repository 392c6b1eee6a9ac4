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
