"""Addresses of a ledger and of the second place of its head."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tacit.errors import ConfigError

SHARED_DEVICE_WARNING = (
    "the ledger and the second place of its head lie on one device or server. If a snapshot or a "
    "backup of it is restored as a whole, spent budgets come back and nothing can notice it. Name "
    "a second place elsewhere:  --second PATH  on another device, or  "
    "--second postgresql://HOST/DATABASE."
)
"""A warning, after the word."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def parse_address(where: str | Path) -> tuple[URL, Path | None]:
    """Return the address, and the file if it is one.

    An address may hold a password, so no error repeats it.

    Raises:
        ConfigError: It is neither a path nor an address of SQLite or PostgreSQL.
    """
    if isinstance(where, Path) or "://" not in where:
        return make_url("sqlite://"), Path(where)
    try:
        url = make_url(where)
    except ArgumentError:
        raise ConfigError("The ledger's address cannot be read as a path or a URL.") from None
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return url, Path(url.database)
    if kind not in ("postgresql", "postgres"):
        raise ConfigError("A ledger is a file, sqlite:///PATH, or postgresql://HOST/DATABASE.")
    return url, None


def default_head_path(path: Path) -> Path:
    """Return the second place of a ledger in a file where none is named."""
    return path.with_name(path.name + ".head")


def shares_device(where: str | Path, second: str | Path | None) -> bool:
    """Say whether a ledger and its second place are on one device, or in one PostgreSQL server.

    A file and a server are taken to be apart: where the server keeps its files is not seen from
    here.
    """
    url, path = parse_address(where)
    if second is None:
        return path is not None
    other_url, other = parse_address(second)
    if path is not None and other is not None:
        return _device(path) == _device(other)
    return path is None and other is None and _server(url) == _server(other_url)


def _device(path: Path) -> int:
    """Return the device of the file, or of the nearest folder above it that exists."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    return place.stat().st_dev


def _server(url: URL) -> tuple[object, ...]:
    """Return the host, "" for this machine by whatever name, and the port."""
    host = str(url.host or url.query.get("host") or "").lower()
    return "" if host in _THIS_MACHINE or host.startswith("/") else host, url.port or 5432
