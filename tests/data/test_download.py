"""Downloads, from a server on this machine: checked, unpacked carefully, refused in words."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tacit.data import movielens
from tacit.data.movielens import ARCHIVES, get
from tacit.errors import ConfigError, DownloadError, MissingExtra

FILES = {"ml-tiny/u.data": b"1\t1\t3\t5\n", "ml-tiny/more/README": b"terms"}


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


class Host:
    """A folder that is served, and what is offered of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = monkeypatch
        self.base = ""

    def offer(self, content: bytes, *, claimed: bytes | None = None) -> None:
        (self.folder / "ml-tiny.zip").write_bytes(content)
        sha = hashlib.sha256(claimed or content).hexdigest()
        self._patch.setitem(ARCHIVES, "ml-tiny", sha)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A server on 127.0.0.1 in place of the official one."""
    folder = tmp_path / "host"
    folder.mkdir()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    made = Host(folder, monkeypatch)
    made.base = f"http://127.0.0.1:{server.server_port}/"
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_an_archive_is_fetched_and_unpacked(host: Host, tmp_path: Path) -> None:
    """The folder holds the files of the archive."""
    host.offer(zipped(FILES))
    folder = get("ml-tiny", tmp_path / "to", base=host.base)
    assert (folder / "u.data").read_bytes() == FILES["ml-tiny/u.data"]
    assert (folder / "more" / "README").read_bytes() == b"terms"
    assert left_in(tmp_path / "to") == ["ml-tiny", "ml-tiny.zip"]


def test_a_second_time_nothing_is_fetched(host: Host, tmp_path: Path) -> None:
    """Data already unpacked is returned, with the host gone."""
    host.offer(zipped(FILES))
    first = get("ml-tiny", tmp_path / "to", base=host.base)
    assert get("ml-tiny", tmp_path / "to", base="http://127.0.0.1:9/") == first


def test_without_the_package_that_fetches(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the line that installs it; nothing is left behind."""
    host.offer(zipped(FILES))
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tacit-rec\[datasets\]'"):
        get("ml-tiny", tmp_path / "data", base=host.base)
    assert left_in(tmp_path / "data" / "ml-tiny") == []


def test_an_archive_fetched_by_hand_is_used(host: Host, tmp_path: Path) -> None:
    """The right zip in the right place needs no host."""
    content = zipped(FILES)
    host.offer(content)
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "ml-tiny.zip").write_bytes(content)
    assert (get("ml-tiny", tmp_path / "to", base="http://127.0.0.1:9/") / "u.data").exists()


def test_another_checksum_is_refused(host: Host, tmp_path: Path) -> None:
    """A file that is not the published one leaves nothing behind."""
    host.offer(zipped({"ml-tiny/u.data": b"evil"}), claimed=zipped(FILES))
    with pytest.raises(DownloadError, match="is not the published file: its SHA-256 differs"):
        get("ml-tiny", tmp_path / "to", base=host.base)
    assert left_in(tmp_path / "to") == []


def test_a_host_that_is_down_tells_what_to_do(host: Host, tmp_path: Path) -> None:
    """Where to fetch the file by hand and where to put it."""
    host.offer(zipped(FILES))
    with pytest.raises(DownloadError) as caught:
        get("ml-tiny", tmp_path / "to", base="http://127.0.0.1:9/")
    said = str(caught.value)
    assert "could not be fetched from http://127.0.0.1:9/: the host cannot be reached" in said
    assert f"by hand from {movielens.PAGE}, put it at {tmp_path / 'to' / 'ml-tiny.zip'}" in said


def test_a_missing_file_on_the_host_is_said(host: Host, tmp_path: Path) -> None:
    """The status the host answered with."""
    host.offer(zipped(FILES))
    (host.folder / "ml-tiny.zip").unlink()
    with pytest.raises(DownloadError, match="the host answered 404"):
        get("ml-tiny", tmp_path / "to", base=host.base)


def test_an_archive_without_its_folder_is_refused(host: Host, tmp_path: Path) -> None:
    """Files of other folders are left aside; nothing of its own is an error."""
    host.offer(zipped({"__MACOSX/u.data": b"0"}))
    with pytest.raises(DownloadError, match="cannot be unpacked"):
        get("ml-tiny", tmp_path / "to", base=host.base)


def test_what_is_no_zip_is_refused(host: Host, tmp_path: Path) -> None:
    """Even with the right checksum."""
    host.offer(b"not a zip file")
    with pytest.raises(DownloadError, match="cannot be unpacked"):
        get("ml-tiny", tmp_path / "to", base=host.base)


def test_a_folder_that_cannot_be_written_is_said(host: Host, tmp_path: Path) -> None:
    """A file where the folder should be."""
    host.offer(zipped(FILES))
    (tmp_path / "to").write_text("")
    with pytest.raises(DownloadError, match=r"could not be written.*another folder with --out"):
        get("ml-tiny", tmp_path / "to", base=host.base)


def test_an_unknown_name_lists_the_known(tmp_path: Path) -> None:
    """Names come from a short list."""
    with pytest.raises(ConfigError, match=r"No data set 'ml-9'.*ml-100k, ml-1m"):
        get("ml-9", tmp_path)


def test_every_offer_has_a_checksum() -> None:
    """No archive is offered without a SHA-256 of its own."""
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in ARCHIVES.values())
    assert len(set(ARCHIVES.values())) == len(ARCHIVES)
