"""Where a ledger and the second place of its head are, and whether one restore moves both back."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tacit.errors import ConfigError

TOGETHER = (
    "the ledger and the second place of its head lie on one device or server. If a snapshot or a "
    "backup of it is restored as a whole, spent budgets come back and nothing can notice it. Name "
    "a second place elsewhere:  --second PATH  on another device, or  "
    "--second postgresql://HOST/DATABASE."
)
"""A warning, after the word."""
_HERE = ("localhost", "127.0.0.1", "::1")


def address(where: str | Path) -> tuple[URL, Path | None]:
    """The address, and the file if it is one. It may hold a password: never echoed."""
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


def beside(path: Path) -> Path:
    """The second place of a ledger in a file where none is named."""
    return path.with_name(path.name + ".head")


def together(where: str | Path, second: str | Path | None) -> bool:
    """Whether both are on one device, or in one server of PostgreSQL. A file and a server are taken
    to be apart: where the server keeps its files is not seen from here."""
    url, path = address(where)
    if second is None:
        return path is not None
    other_url, other = address(second)
    if path is not None and other is not None:
        return _device(path) == _device(other)
    return path is None and other is None and _server(url) == _server(other_url)


def _device(path: Path) -> int:
    """Of the file, or of the nearest folder above it that is there."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    return place.stat().st_dev


def _server(url: URL) -> tuple[object, ...]:
    """Its host, "" for this machine by whatever name, and its port."""
    host = str(url.host or url.query.get("host") or "").lower()
    return "" if host in _HERE or host.startswith("/") else host, url.port or 5432
